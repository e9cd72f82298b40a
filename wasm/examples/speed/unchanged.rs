//! Unchanged: a run whose every entry is as it was in the run before.

use std::cell::RefCell;
use std::rc::Rc;

use copal_format::id::ObjectHash;
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::slot::SlotInput;
use copal_format::path::TreePath;
use copal_format::repository::Descriptor;
use copal_format::snapshot::SnapshotInfo;
use copal_format::time::Time;
use copal_wasm::backup::{Action, Backup, FileFacts, FileKind, Start, Verdict};
use copal_wasm::client::{Client, HostKeys};
use copal_wasm::owner::Owner;
use copal_wasm::sealer::{self, Sealer};
use copal_wasm::view::View;

use crate::processor_seconds;

/// Prints entries and processor seconds.
pub(crate) fn run(session: &str, runs: usize) {
    let golden = std::fs::read_to_string(session).expect("the golden session can be read");
    let descriptor = Descriptor::decode(1, &given(&golden, "descriptor")).expect("the descriptor is sound");
    let input = SlotInput::passphrase("correct horse battery staple").expect("it is one");
    let owner = Owner::open(&given(&golden, "slot"), &input).expect("the slot opens");
    let (random, host) = ([1; Owner::RANDOM], HostKeys::default());
    let joined = owner.register(&descriptor, "measured", Time(NOW), &random, host).expect("it may register");
    let files: Vec<FileFacts> = (0..ENTRIES).map(facts).collect();
    let kept = back_up(&joined.client, &descriptor, &files, None);
    let second = || {
        let begun = processor_seconds();
        back_up(&joined.client, &descriptor, &files, Some(kept.clone()));
        processor_seconds() - begun
    };
    let best = (0..runs).map(|_| second()).fold(f64::INFINITY, f64::min);
    println!("{{\"entries\":{ENTRIES},\"seconds\":{best:.4}}}");
}

/// Takes all files; gives the tree that is kept.
fn back_up(client: &Client, descriptor: &Descriptor, files: &[FileFacts], kept: Option<Vec<u8>>) -> Vec<u8> {
    let view = View::new(None, [client.domain()].into()).expect("there is no root");
    let start = Start {
        random: [2; 128],
        kept_salt: [3; 16],
        now: Time(NOW),
        info: SnapshotInfo { label: "measured".to_owned(), ..SnapshotInfo::default() },
        pack_target: 16 << 20,
    };
    let view = Rc::new(RefCell::new(view));
    let compressors = Box::new(sealer::compressor);
    let mut backup = Backup::begin(client.clone(), descriptor, view, &start, compressors).expect("all is set");
    backup.manifest(None);
    let is_known = kept.is_some_and(|kept| backup.parent(kept));
    let mut sealer = Sealer::new(DomainKeys::new(client.domain_key()), &backup.sealer_key(), 3);
    for batch in files.chunks(512) {
        for facts in batch {
            let verdict = backup.compare(facts).expect("they are in order");
            assert_eq!(verdict == Verdict::Same, is_known);
        }
        for facts in batch {
            if is_known {
                backup.take_same().expect("it is as it was");
            } else {
                backup.take_inline(facts, &[7; SIZE as usize]).expect("it is small");
            }
        }
        act(&mut backup, &mut sealer);
    }
    backup.finish().expect("all was taken");
    while !backup.is_idle() {
        act(&mut backup, &mut sealer);
    }
    while backup.next_claim().expect("all is stored").is_some() {
        backup.claimed(None).expect("the key is here");
    }
    backup.take_kept().expect("pages were made")
}

fn act(backup: &mut Backup, sealer: &mut Sealer) {
    while let Some(action) = backup.poll() {
        match action {
            Action::Seal { block, raw } => {
                let plaintext = sealer.plaintext(&block, &raw).expect("it is a block");
                backup.seal(block.counter, &plaintext).expect("it reads back");
            }
            Action::Store(pack) => {
                let hash = ObjectHash::of(&pack.bytes);
                backup.named(pack.number, &hash.0).expect("it waits for its name");
            }
        }
    }
}

fn facts(at: usize) -> FileFacts {
    let path = TreePath::new(format!("Photos/{:03}/{:05}.txt", at / 200, at)).expect("the path is one");
    FileFacts { path, size: SIZE, modified: Time(NOW - 1_000_000_000_000), kind: FileKind::File }
}

fn given(golden: &str, name: &str) -> Vec<u8> {
    let line = golden.lines().find_map(|line| line.strip_prefix("given ")?.strip_prefix(name)?.strip_prefix(' '));
    let digits = line.expect("the session begins with it").as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect::<Option<_>>().expect("its bytes are hexadecimal")
}

const NOW: i64 = 1_790_000_000_000_000_000;
const ENTRIES: usize = 50_000;
const SIZE: u64 = 100;
