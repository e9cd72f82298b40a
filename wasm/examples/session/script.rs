//! The script: one session with keys, clock, random numbers and input fixed. Whatever runs it makes the same objects,
//! byte for byte; `tests/wasm/session.mjs` is the same script for the JavaScript face and a browser's own cipher.
//!
//! A report has a line for each thing that the JavaScript has to start with (`given`), and one for each object made.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Write;
use std::rc::Rc;

use copal_format::id::{DomainId, ObjectHash, RepositoryId, SlotId};
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::secret::Secret;
use copal_format::keys::slot::{Argon2Params, SlotInput, SlotParams, seal};
use copal_format::path::TreePath;
use copal_format::repository::{Descriptor, IngestBy};
use copal_format::request::Request;
use copal_format::snapshot::SnapshotInfo;
use copal_format::time::Time;
use copal_wasm::backup::{Action, Backup, FileFacts, FileKind, Start, Verdict};
use copal_wasm::chunker::Chunker;
use copal_wasm::client::HostKeys;
use copal_wasm::owner::Owner;
use copal_wasm::sealer::{self, Sealer};
use copal_wasm::view::View;

/// The files: a path, a length, and how many bits of a byte are random.
const FILES: [(&str, usize, u8); 12] = [
    ("Photos/2024/empty.txt", 0, 8),
    ("Photos/2024/large.raw", 3_000_000, 8),
    ("Photos/2024/small.txt", 100, 4),
    ("Photos/2024/text.txt", 1_200_000, 3),
    ("Photos/2024-05/a/b/c/deep.bin", 70_001, 8),
    ("Photos/Grüße.md", 513, 5),
    ("Photos/again.raw", 3_000_000, 8),
    ("Photos/just.raw", 16_384, 8),
    ("Photos/long.txt", 5_000_000, 2),
    ("Photos/z1", 512, 8),
    ("Photos/z2", 600_000, 6),
    ("Photos/\u{10000}.txt", 40_000, 4),
];
/// After this many files there is a checkpoint.
const BEFORE_CHECKPOINT: usize = 5;
/// Bytes of a window.
const WINDOW: usize = 1 << 20;
/// The file that has the bytes of another.
const AGAIN: (usize, usize) = (6, 1);
const PASSPHRASE: &str = "correct horse battery staple";
const NOW: i64 = 1_790_000_000_000_000_000;

/// Runs the session; a line for each object, its name and its SHA-256.
pub(crate) fn report() -> String {
    let mut report = String::new();
    let (slot, descriptor_bytes) = given();
    writeln!(report, "given slot {}", hex(&slot)).expect("a string takes all");
    writeln!(report, "given descriptor {}", hex(&descriptor_bytes)).expect("a string takes all");
    let mut made = |name: &str, bytes: &[u8]| {
        writeln!(report, "{name} {}", ObjectHash::of(bytes)).expect("a string takes all");
    };

    let descriptor = Descriptor::decode(1, &descriptor_bytes).expect("the descriptor is sound");
    let input = SlotInput::passphrase(PASSPHRASE).expect("the passphrase is one");
    let owner = Owner::open(&slot, &input).expect("the slot opens");
    let joined = owner
        .register(&descriptor, "browser", Time(NOW), &fixed(1), HostKeys::default())
        .expect("the owner may register");
    made(&joined.key, &joined.bytes);
    let client = joined.client;
    made("kept client", &client.keep(fixed(2)));
    let request = Request { method: "GET", uri: "https://backup.example/v1/index", digest: Request::digest(b"") };
    let headers = client.sign_request(&request, 1_790_000_000, 1_790_000_060, fixed(3)).expect("the key is here");
    made("request", headers.signature.as_bytes());

    let view = View::new(None, [client.domain()].into()).expect("there is no root");
    let start = Start {
        random: fixed(4),
        kept_salt: fixed(5),
        now: Time(NOW),
        info: SnapshotInfo {
            host: "browser".to_owned(),
            paths: vec![b"Photos".to_vec()],
            label: "Photos".to_owned(),
            tags: vec!["test".to_owned()],
            program: "script".to_owned(),
            user: "ann".to_owned(),
            ..SnapshotInfo::default()
        },
        pack_target: 4 << 20,
    };
    let key = client.domain_key().clone();
    let view = Rc::new(RefCell::new(view));
    let begun = Backup::begin(client, &descriptor, view, &start, Box::new(sealer::compressor));
    let backup = begun.expect("all is set");
    let chunker = Chunker::new(&key, 16 << 10, 64 << 10, 256 << 10).expect("the sizes are sound");
    let sealer = Sealer::new(chunker.keys().clone(), &backup.sealer_key(), 3);
    let mut run = Run {
        backup,
        chunker,
        sealer,
        held: VecDeque::new(),
        kept: Vec::new(),
        inline_max: descriptor.parameters.inline_max as usize,
    };
    run.backup.manifest(None);
    for (at, (path, length, bits)) in FILES.iter().enumerate() {
        let seed = if at == AGAIN.0 { AGAIN.1 } else { at };
        run.take(path, at, &content(seed as u64, *length, *bits), &mut made);
        if at + 1 == BEFORE_CHECKPOINT {
            run.backup.checkpoint().expect("it may be claimed");
            run.claim(&mut made);
        }
    }
    run.backup.finish().expect("all was taken");
    run.claim(&mut made);
    made("kept tree", &run.kept);
    report
}

struct Run {
    backup: Backup,
    chunker: Chunker,
    sealer: Sealer,
    /// New chunks that are in no block yet.
    held: VecDeque<Vec<u8>>,
    kept: Vec<u8>,
    inline_max: usize,
}

impl Run {
    fn take(&mut self, path: &str, at: usize, bytes: &[u8], made: &mut impl FnMut(&str, &[u8])) {
        let facts = FileFacts {
            path: TreePath::new(path).expect("the path is one"),
            size: bytes.len() as u64,
            modified: Time(NOW - 1_000_000_000_000 + at as i64 * 1_001_000_000),
            kind: FileKind::File,
        };
        assert_eq!(self.backup.compare(&facts), Ok(Verdict::New));
        if bytes.len() <= self.inline_max {
            self.backup.take_inline(&facts, bytes).expect("it is small");
            return self.act(made);
        }
        self.backup.begin_file().expect("it was compared");
        let mut start = 0;
        while start < bytes.len() {
            let end = (start + WINDOW).min(bytes.len());
            let window = &bytes[start..end];
            let cut = self.chunker.cut(window, end == bytes.len());
            let new = self.backup.take_chunks(&cut.ids, &cut.lengths).expect("the chunks are sound");
            let mut rest = window;
            for (length, is_new) in cut.lengths.iter().zip(new) {
                let (chunk, behind) = rest.split_at(*length as usize);
                rest = behind;
                self.held.extend(is_new.then(|| chunk.to_vec()));
            }
            self.act(made);
            start += cut.consumed;
        }
        self.backup.end_file(&facts).expect("all was taken");
        self.act(made);
    }

    fn act(&mut self, made: &mut impl FnMut(&str, &[u8])) {
        while let Some(action) = self.backup.poll() {
            match action {
                Action::Store(pack) => {
                    let name = self.backup.named(pack.number, &ObjectHash::of(&pack.bytes).0);
                    made(&name.expect("it waits for its name"), &pack.bytes);
                }
                Action::Seal { block, mut raw } => {
                    if !block.is_tree {
                        raw = self.held.drain(..block.ids.len()).collect::<Vec<_>>().concat();
                    }
                    let plaintext = self.sealer.plaintext(&block, &raw).expect("it is a block");
                    self.backup.seal(block.counter, &plaintext).expect("it reads back");
                }
            }
        }
    }

    fn claim(&mut self, made: &mut impl FnMut(&str, &[u8])) {
        self.act(made);
        while !self.backup.is_idle() {
            self.act(made);
        }
        while let Some(claim) = self.backup.next_claim().expect("all is stored") {
            assert_eq!(claim.message, None);
            let claimed = self.backup.claimed(None).expect("the key is here");
            made(&claimed.key, &claimed.bytes);
        }
        self.kept.extend(self.backup.take_kept().expect("pages were made"));
    }
}

/// What the repository has before: a key slot and the descriptor.
fn given() -> (Vec<u8>, Vec<u8>) {
    let secret = |seed| Secret::new(fixed(seed));
    let owner = OwnerSecret::new(RepositoryId(fixed(10)), secret(11), secret(12), secret(13));
    let params = SlotParams {
        id: SlotId(fixed(14)),
        created: Time(NOW),
        nonce: fixed(15),
        salt: fixed(16),
        argon2: Argon2Params { m_kib: 8 << 10, t: 1, p: 1 },
    };
    let input = SlotInput::passphrase(PASSPHRASE).expect("the passphrase is one");
    let descriptor = Descriptor::new(&owner, Time(NOW), IngestBy::Service, DomainId(fixed(17)));
    (seal(&input, &params, &owner), descriptor.sign(&owner.signing_key()))
}

fn content(seed: u64, length: usize, bits: u8) -> Vec<u8> {
    let mask = if bits == 8 { 0xff } else { (1u8 << bits) - 1 };
    stream(1_000 + seed, length).into_iter().map(|byte| byte & mask).collect()
}

fn fixed<const N: usize>(seed: u64) -> [u8; N] {
    stream(seed, N).try_into().expect("as many as were asked for")
}

/// Pseudo-random bytes (SplitMix64).
fn stream(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend((word ^ (word >> 31)).to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
