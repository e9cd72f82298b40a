//! Fuzzing: every decoder as a function of bytes that must return, whatever the bytes.
//!
//! A new decoder is one line in [`targets`], and one in [`seeds`] so that mutations start from something valid.
//! Beyond not panicking, a target asserts what must hold for input that it accepts. Whoever runs the targets bounds what they
//! allocate ([`assert_room`]). The ordinary suite runs them over the corpus in `tests/fuzz/corpus/` and what it makes of that;
//! `cargo xtask fuzz` has libFuzzer search for more.

#[path = "fuzz/inside.rs"] // `tests/fuzz/main.rs` takes this file in by its path, and this name would be another one's there.
mod inside;
#[path = "fuzz/seeds.rs"]
mod seeds;

use core::fmt::Debug;
use std::path::{Path, PathBuf};

use copal_format::id::{ChunkId, ObjectHash, PackTag};
use copal_format::index::ranged::{EntrySearch, SegmentHead, Wanted};
use copal_format::index::{OverlayRun, Segment};
use copal_format::keys::session::SessionRecord;
use copal_format::keys::text::{decode_key_file, decode_recovery, encode_recovery};
use copal_format::layout::{self, Prunable};
use copal_format::limits::BLOCK_BYTES;
use copal_format::pack;
use copal_format::path::TreePath;
use copal_format::policy::SignedPolicy;
use copal_format::snapshot::SnapshotInfo;
use copal_format::state::{RunReader, SegmentRecord, StateFold};
use copal_format::wire::cbor::Reader;
use copal_format::wire::cursor::Cursor;
use copal_format::wire::record::{self, Kind, Unverified};
use copal_format::wire::varint;

pub use seeds::seeds;

/// A decoder's name, and the decoder.
pub type Target = (&'static str, fn(&[u8]));

/// All decoders. The name is also that of the folder of its corpus.
pub fn targets() -> Vec<Target> {
    vec![
        ("cbor", cbor),
        ("signed-record", signed_record),
        ("plain-record", plain_record),
        ("varint", varints),
        ("path", path),
        ("object-name", object_name),
        ("key-text", key_text),
        ("enrollment", inside::enrollment),
        ("pack", |bytes| drop(pack::parse(bytes))),
        ("segment", segment),
        ("segment-in-parts", segment_in_parts),
        ("overlay", overlay),
        ("state-run", |bytes| drop(RunReader::parse(bytes).map(|run| StateFold::default().add(&run)))),
        ("slot", inside::slot),
        ("session-record", |bytes| drop(SessionRecord::parse(bytes))),
        ("page", inside::page),
        ("block-plaintext", inside::block_plaintext),
        ("manifest-body", inside::manifest_body),
        ("client-record-bodies", inside::client_bodies),
        ("request-headers", inside::request_headers),
        ("snapshot", |bytes| reads_back(bytes, SnapshotInfo::decode, SnapshotInfo::encode)),
        ("descriptor-body", inside::descriptor_body),
        ("root-body", inside::root_body),
        ("deletion-body", inside::deletion_body),
        ("receipt-body", inside::receipt_body),
        ("change-body", inside::change_body),
        ("expiry-body", inside::expiry_body),
        ("policy", |bytes| reads_back(bytes, SignedPolicy::decode, SignedPolicy::encode)),
    ]
}

/// Gets the name of a target, an input, and what gives one to the other.
pub type Around = dyn Fn(&str, &[u8], &mut dyn FnMut());

/// Gives each target its corpus, and then `rounds` inputs that are pseudo-random bytes or mutations of the corpus, the same for
/// the same `seed`. Prints the input before it passes on a target's panic. `around` calls what it is given, and may look what
/// that took.
pub fn run(seed: u64, rounds: u32, around: &Around) {
    let mut random = Random(seed);
    for (name, target) in targets() {
        let corpus = corpus(name);
        let one = |input: &[u8]| {
            let _reported = Reported { name, input };
            around(name, input, &mut || target(input));
        };
        corpus.iter().for_each(|input| one(input));
        (0..rounds).for_each(|_| one(&random.input(&corpus)));
    }
}

/// The inputs that are kept for a target.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|_| panic!("no corpus: run `cargo xtask fuzz {target}`"));
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("listed a corpus").path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).expect("read an input of a corpus")).collect()
}

/// Refuses that a target allocates more than it may: a multiple of what was read, and for a block what it says that it is
/// unpacked, up to the limit.
pub fn assert_room(target: &str, input: &[u8], most: usize) {
    let fixed = if target == "block-plaintext" { BLOCK_BYTES as usize + (1 << 20) } else { 1 << 20 };
    let room = fixed + 64 * input.len();
    assert!(most <= room, "the target {target:?} allocated {most} bytes of {room} for {} bytes", input.len());
}

/// A decoder and its encoder: what is read is written as something that reads as the same. Fields that may be ignored are lost.
fn reads_back<T, E>(bytes: &[u8], decode: impl Fn(&[u8]) -> Result<T, E>, encode: impl Fn(&T) -> Vec<u8>)
where
    T: PartialEq + Debug,
    E: Debug,
{
    if let Ok(read) = decode(bytes) {
        assert_eq!(decode(&encode(&read)).expect("it was written just now"), read);
    }
}

fn cbor(bytes: &[u8]) {
    let Ok(mut reader) = Reader::new(bytes) else { return };
    assert!(Reader::new(&[bytes, &[0]].concat()).is_err(), "bytes after an item are refused");
    let _ = reader.map().map(|fields| fields.end());
    let _ = [reader.uint().is_ok(), reader.int().is_ok(), reader.bool().is_ok(), reader.fixed::<32>().is_ok()];
    let _ = [reader.text(1 << 16).is_ok(), reader.bytes(1 << 16).is_ok()];
    let _ = reader.list(1 << 16, Reader::uint);
}

fn signed_record(bytes: &[u8]) {
    let Ok(record) = Unverified::parse(Kind::Manifest, bytes) else { return };
    assert_eq!(record.claimed_body().len() + 14 + 64, bytes.len(), "a signed record has no bytes of no meaning");
}

fn plain_record(bytes: &[u8]) {
    if let Ok(body) = record::open(Kind::Root, bytes) {
        assert_eq!(record::close(Kind::Root, body), bytes, "a body has one form");
    }
    // The checksum would keep mutations away from what lies behind it.
    let before = &bytes[..bytes.len().saturating_sub(ObjectHash::LEN)];
    let _ = record::open(Kind::Root, &[before, ObjectHash::of(before).as_bytes()].concat());
}

fn varints(bytes: &[u8]) {
    let mut cursor = Cursor::new(bytes);
    let mut again = Vec::new();
    while let Ok(value) = varint::take(&mut cursor) {
        varint::put(&mut again, value);
    }
    assert!(bytes.starts_with(&again), "a number has one form");
    let _ = varint::take_signed(&mut Cursor::new(bytes));
}

fn path(bytes: &[u8]) {
    let Ok(path) = TreePath::new(bytes) else { return };
    if let Some(parent) = path.parent() {
        assert!(path.is_within(&parent) && parent < path);
        assert_eq!(parent.join(path.name()), Ok(path));
    }
}

fn object_name(bytes: &[u8]) {
    let name = String::from_utf8_lossy(bytes);
    let _ = (Prunable::parse(&name).map(|read| assert_eq!(read.to_string(), name)), layout::client_version(&name));
}

fn key_text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for secret in [decode_recovery(&text), decode_key_file(&text)].into_iter().flatten() {
        assert!(decode_recovery(&encode_recovery(&secret)).is_ok_and(|again| again.expose() == secret.expose()));
    }
}

/// Lookups in what `verify` would refuse give wrong answers, but give them.
fn segment(bytes: &[u8]) {
    let Ok(segment) = Segment::parse(bytes) else { return };
    let _ = segment.verify();
    let ids = ids_at_the_end_of(bytes);
    let _ = (segment.bounds(), ids.iter().map(|id| segment.find(id).count()).sum::<usize>());
    segment.find_many(&ids, |_, _| {});
}

fn segment_in_parts(bytes: &[u8]) {
    let Some(entries) = bytes.get(48..56).and_then(|count| count.try_into().ok()).map(u64::from_le_bytes) else {
        return;
    };
    let [first, last] = [0, u8::MAX].map(|byte| ChunkId([byte; ChunkId::LEN]));
    let record = SegmentRecord { entries, length: bytes.len() as u64, first, last };
    let Ok(head) = SegmentHead::parse(bytes, &record) else { return };
    let ids = ids_at_the_end_of(bytes);
    for wanted in [Wanted::First, Wanted::All] {
        let mut search = EntrySearch::new(&head, &ids, wanted);
        for round in 0.. {
            let parts = search.next_round();
            if parts.is_empty() {
                break;
            }
            let mut parts = parts.iter().map(|range| &bytes[range.start as usize..range.end as usize]).enumerate();
            if parts.any(|(at, part)| search.take(at, part).is_err()) {
                return;
            }
            assert!(round < 1_000, "each round narrows the search");
        }
        search.finish();
    }
}

fn overlay(bytes: &[u8]) {
    let Ok(run) = OverlayRun::parse(bytes) else { return };
    let _ = run.verify();
    ids_at_the_end_of(bytes).iter().for_each(|id| {
        let _ = (run.of(id).count(), run.find(id, PackTag::NONE));
    });
    assert!(run.iter().count() <= run.len());
}

/// What is looked up in an index: ids that entries may have.
fn ids_at_the_end_of(bytes: &[u8]) -> Vec<ChunkId> {
    let mut ids: Vec<ChunkId> =
        bytes.rchunks_exact(32).take(8).filter_map(|row| ChunkId::from_slice(&row[..24])).collect();
    ids.sort_unstable();
    ids
}

/// Prints the input if it is dropped by a panic.
struct Reported<'a> {
    name: &'static str,
    input: &'a [u8],
}

impl Drop for Reported<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let hex: String = self.input.iter().map(|byte| format!("{byte:02x}")).collect();
            eprintln!("the target {:?} panicked on this input: {hex}", self.name);
        }
    }
}

/// A source of pseudo-random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn input(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        if self.below(4) == 0 {
            let length = self.below(300);
            return (0..length).map(|_| self.next() as u8).collect();
        }
        let mut input = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(3) {
            self.mutate(&mut input, seeds);
        }
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        let at = self.below(input.len());
        match self.below(6) {
            0 => input.truncate(at),
            1 => input.insert(at, self.next() as u8),
            2 => {
                let other = &seeds[self.below(seeds.len())];
                input.truncate(at);
                input.extend_from_slice(&other[self.below(other.len())..]);
            }
            3 => {
                let extreme = [0, 1, 0x7f, 0x80, 0xff, u32::MAX >> 1, u32::MAX][self.below(7)];
                input.iter_mut().skip(at).zip(extreme.to_le_bytes()).for_each(|(byte, new)| *byte = new);
            }
            4 => input.iter_mut().skip(at).take(1).for_each(|byte| *byte = self.next() as u8),
            _ => input.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << self.below(8)),
        }
    }
}
