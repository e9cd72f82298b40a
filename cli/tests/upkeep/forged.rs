//! A pack that has the hash of its name and does not hold what it says: only the key shows it, and only the key acquits it.

use copal_client::entropy::SystemEntropy;
use copal_client::wait::wait;
use copal_format::id::{ObjectHash, PackId};
use copal_format::index::SegmentWriter;
use copal_format::layout::{self, Place};
use copal_format::pack::{self, PackKind};
use copal_format::repository::Descriptor;
use copal_format::state::PackRecord;
use copal_jobs::commit::{Proposal, commit};
use copal_jobs::context::JobContext;
use copal_jobs::scratch::Files;
use copal_jobs::view::{self, View};
use copal_store::fs::FsStore;

use crate::kit::{Machine, noise};

fn machine() -> Machine {
    Machine::saved([("file", noise(1, 200_000))])
}

/// Changes the state behind everyone's back.
fn change(machine: &Machine, changed: impl FnOnce(&View) -> Proposal) {
    let store = FsStore::open(machine.path("repository")).unwrap();
    let name = machine.names("copal/").remove(0);
    let descriptor = std::fs::read(machine.object(&name)).unwrap();
    let descriptor = Descriptor::decode(layout::trailing_number(&name).unwrap(), &descriptor).unwrap();
    let (repository, owner_key) = (descriptor.repository, descriptor.owner_key);
    let job = JobContext { store: &store, entropy: &SystemEntropy, scratch: &Files::default(), repository, owner_key };
    let view = wait(view::read(&store)).unwrap();
    let proposal = Proposal { is_baseline: true, ..changed(&view) };
    assert!(wait(commit(&job, &view, proposal)).unwrap().is_some());
}

/// Lets a data pack be what it would be if a client's memory had changed a byte before it hashed the pack; gives its name.
fn forge(machine: &Machine) -> String {
    let name = machine.packs(0).remove(0);
    let honest = layout::pack_of(&name).unwrap().1;
    let mut bytes = std::fs::read(machine.object(&name)).unwrap();
    let block = pack::parse(&bytes).unwrap().blocks[0].offset as usize;
    bytes[block + 20] ^= 1;
    let forged = PackId(ObjectHash::of(&bytes).0);
    let forged_name = layout::pack(Place::Packs, forged);
    machine.replace(&forged_name, &bytes);
    change(machine, |view| {
        let record = view.state.packs[&honest].clone();
        let mut writer = SegmentWriter::new(record.domain, [9; 16]);
        for (id, of) in &view.state.packs {
            let id = if *id == honest { forged } else { *id };
            let bytes = std::fs::read(machine.object(&layout::pack(of.place, id))).unwrap();
            writer.add_pack(id, of.place, &pack::parse(&bytes).unwrap()).unwrap();
        }
        let segment = writer.finish().unwrap();
        let mut proposal = Proposal::default();
        proposal.delta.segments.extend(view.state.segments.keys().map(|key| (*key, None)));
        proposal.delta.segments.insert((record.domain, segment.hash), Some(segment.record));
        proposal.segments.push((segment.hash, segment.bytes));
        proposal.delta.packs.extend([(honest, None), (forged, Some(record))]);
        proposal
    });
    std::fs::remove_file(machine.object(&name)).unwrap();
    forged_name
}

#[test]
fn what_the_key_has_shown_no_hash_hides_again() {
    let machine = machine();
    let name = forge(&machine);
    assert_eq!(machine.check(&["--read-data"]).0, 0, "its bytes are what its name says");
    let (code, report) = machine.check(&["--full"]);
    assert_eq!((code, &report["errors"][0]["kind"]), (4, &"forged".into()), "{report}");
    for depth in [&["--read-data"][..], &[], &["--full"]] {
        let (code, report) = machine.check(depth);
        assert_eq!((code, &report["errors"][0]["object"]), (4, &name.as_str().into()), "{depth:?} {report}");
        let repaired = machine.run(&["repair"]);
        assert!(repaired.code == 4 && repaired.text().contains("source/file"), "{depth:?} {repaired}");
    }
    machine.backup(&[]);
    for depth in [&["--read-data"][..], &[], &["--full"]] {
        let (code, report) = machine.check(depth);
        assert_eq!(code, 0, "{depth:?} {report}");
    }
    machine.ok(&["restore", &machine.whole(), "-t", "out"]);
}

#[test]
fn what_was_thought_to_be_forged_is_acquitted_by_who_opens_it() {
    for acquits in [&["repair"][..], &["check", "--full"]] {
        let machine = machine();
        change(&machine, |view| {
            let mut packs = view.state.packs.iter();
            let (id, record) = packs.find(|(_, record)| record.kind == PackKind::Data).unwrap();
            let suspected = PackRecord { is_damaged: true, read: PackRecord::FORGED, ..record.clone() };
            let mut proposal = Proposal::default();
            proposal.delta.packs.insert(*id, Some(suspected));
            proposal
        });
        for depth in [&["--read-data"][..], &[]] {
            assert_eq!(machine.check(depth).0, 4, "{acquits:?}");
        }
        assert_eq!(machine.run(acquits).code, 0, "{acquits:?}");
        assert_eq!(machine.check(&[]).0, 0, "{acquits:?}");
    }
}
