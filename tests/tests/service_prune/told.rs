//! Told: besides its baseline a state is compared with receipts, decisions, rejections and revocations.

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::{ObjectHash, PackId, SnapshotId, TagId};
use copal_format::index::{Bits, Mark, SegmentWriter};
use copal_format::layout::{self, Place};
use copal_format::pack::{self, Pack};
use copal_format::receipt::{IngestBy, Outcome};

use copal_format::state::{PackClaim, PackRecord, SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_jobs::commit::Proposal;
use copal_jobs::expire;
use copal_jobs::view::View;
use copal_tests::kit::craft::{data_pack, id};
use copal_tests::kit::{DAY, Tree, World, keep_last, noise as files};
use futures::executor::block_on;

use super::contradicted::{
    Begun, assert_refused, begin, change_packs, change_snapshot, leave_out_entries, leave_out_kept, write,
};

#[test]
fn a_missing_snapshot_is_noticed_whether_a_receipt_or_the_state_tells_of_it() {
    let begun = begin(true);
    // The state holds the decisions of the last root that decided something about the client.
    begun.world.back_up(&begun.client, &Tree::new());
    write(&begun, &leave_out_kept);
    assert_refused(&begun, "a receipt tells");
    let begun = begin(true);
    begun.world.destroy_all("receipts/");
    write(&begun, &leave_out_kept);
    assert_refused(&begun, "the state tells");
}

fn tag(snapshots: &[SnapshotId], number: u8) -> Operation {
    let add = vec![(TagId([number; 16]), vec![number])];
    Operation::Tag { snapshots: snapshots.to_vec(), add, remove: Vec::new() }
}

#[test]
fn a_forgotten_snapshot_stays_forgotten_when_it_is_tagged() {
    let Begun { world, client, forgotten, .. } = begin(false);
    world.change(&client, vec![tag(&[forgotten], 1)]);
    world.prune(DAY * 9);
    assert_eq!(world.snapshot(forgotten).state, SnapshotState::Forgotten);
}

/// Adds a pack of this manifest to the state, with its entries.
fn add_pack(begun: &Begun, number: u64, pack: &Pack, view: &View, proposal: &mut Proposal) {
    let (client, domain) = (begun.client.id, begun.client.domain);
    let table = pack::parse(&pack.bytes).unwrap();
    let mut writer = SegmentWriter::new(domain, [6; 16]);
    writer.add_pack(pack.id, Place::Packs, &table).unwrap();
    let segment = writer.finish().unwrap();
    proposal.delta.segments.insert((domain, segment.hash), Some(segment.record));
    proposal.segments.push((segment.hash, segment.bytes));
    let claim = Some(PackClaim { client, number, by_full_client: true });
    let other = view.state.packs.values().find(|of| of.kind == table.kind).unwrap().clone();
    let record = PackRecord { claim, length: pack.bytes.len() as u64, is_proven: false, ..other };
    proposal.delta.packs.insert(pack.id, Some(record));
}

#[test]
fn what_a_rejected_manifest_says_does_not_count() {
    for (is_pruned, is_pack) in [(false, false), (false, true), (true, false), (true, true)] {
        let begun = begin(false);
        let Begun { world, client, kept, .. } = &begun;
        let pack = data_pack(client.domain, 1, &[id(1)]);
        let named = world.put_pack(&pack);
        let number = world.put_manifest(client, &world.manifest(client, &[named], Some(id(2))));
        world.ingest().unwrap();
        let receipt = world.receipt(client, number);
        assert_eq!(receipt.outcome, Outcome::Rejected);
        if is_pruned {
            world.prune(DAY);
        }
        world.back_up(client, &Tree::new());
        write(&begun, &|begun, view, proposal| match is_pack {
            true => add_pack(begun, number, &pack, view, proposal),
            false => {
                let rejected = SnapshotRecord { id: receipt.manifest.snapshot(), ..world.snapshot(*kept) };
                proposal.delta.snapshots.insert((client.id, number), Some(rejected));
            }
        });
        assert_refused(&begun, &format!("{is_pruned} {is_pack}"));
    }
}

#[test]
fn a_rejected_manifest_without_its_receipt_stops_no_prune() {
    let begun = begin(true);
    let Begun { world, client, .. } = &begun;
    let number = world.put_manifest(client, &world.manifest(client, &[], Some(id(2))));
    world.ingest().unwrap();
    world.back_up(client, &Tree::new());
    world.destroy(&copal_format::layout::receipt(client.id, number));
    world.prune(DAY);
}

#[test]
fn what_a_revoked_client_saved_before_stays() {
    let (world, _) = World::with_client();
    let thief = world.register(2, Role::Full);
    let trees = [files(1, 2, 2000), files(2, 2, 2000)];
    let saved = trees.each_ref().map(|tree| world.back_up(&thief, tree));
    block_on(world.repository.revoke(&world.store, &thief, (0, ObjectHash::NONE), None)).unwrap();
    world.prune(DAY);
    assert_eq!(saved.map(|id| world.restore(id)), trees.map(Ok));
}

#[test]
fn an_index_that_has_lost_entries_of_packs_known_before_is_refused() {
    let begun = begin(true);
    begun.world.prune(DAY);
    write(&begun, &|_, view, proposal| leave_out_entries(view, proposal, |_| true));
    assert_refused(&begun, "no entries of known packs");
}

#[test]
fn flags_may_stay_and_may_not_become_older() {
    let begun = begin(true);
    let world = &begun.world;
    let flags = |view: &View| -> Vec<_> {
        let marks = view.indexes[&begun.client.domain].overlay().marks();
        marks.filter(|(_, mark)| mark.bits.contains(Bits::FLAGGED)).map(|(of, _)| of).collect()
    };
    world.wait(DAY * 4);
    world.prune(DAY * 9);
    assert!(!flags(&world.view()).is_empty());
    write(&begun, &|begun, _, proposal| {
        let lost = ((id(1), PackId([1; 32]).tag()), Mark { time: Time(1), bits: Bits::WANTED });
        proposal.overlay.insert(begun.client.domain, [lost].into());
    });
    world.prune(DAY * 9);
    write(&begun, &|begun, view, proposal| {
        let older = Mark { time: Time(0), bits: Bits::FLAGGED };
        proposal.overlay.insert(begun.client.domain, flags(view).into_iter().map(|of| (of, older)).collect());
    });
    assert_refused(&begun, "flagged since long ago");
}

#[test]
fn what_a_check_has_noted_about_known_packs_stops_no_prune() {
    let begun = begin(true);
    write(&begun, &|_, view, proposal| change_packs(view, proposal, |of| of.is_damaged = true));
    begun.world.prune(DAY);
}

#[test]
fn packs_that_nobody_has_proven_and_a_state_calls_proven_are_refused() {
    for is_pruned in [false, true] {
        let mut begun = begin(false);
        begun.client = begun.client.stolen();
        begun.world.back_up(&begun.client, &files(5, 3, 3000));
        if is_pruned {
            begun.world.prune(DAY);
        }
        write(&begun, &|_, view, proposal| change_packs(view, proposal, |of| of.is_proven = true));
        assert_refused(&begun, "proven");
    }
}

#[test]
fn packs_of_a_manifest_that_is_lost_are_neither_proven_nor_older_than_the_last_prune() {
    let mut begun = begin(false);
    begun.client = begun.client.stolen();
    let Begun { world, client, .. } = &begun;
    world.prune(DAY);
    world.wait(DAY);
    world.back_up(client, &files(5, 3, 3000));
    let number = world.view().state.heads[&client.id].number;
    let is_its = |of: &PackRecord| of.claim.is_some_and(|claim| claim.number == number);
    // A thief never writes the manifest, or whoever has the store takes it away.
    world.destroy(&layout::manifest(client.id, number));
    world.back_up(client, &files(6, 3, 3000));
    write(&begun, &|_, view, proposal| {
        change_packs(view, proposal, |of| {
            if is_its(of) {
                (of.is_proven, of.accepted) = (true, Time(0));
            }
        });
    });
    world.prune(DAY);
    let packs = world.view().state.packs;
    assert!(packs.values().any(is_its));
    assert!(packs.values().all(|of| !is_its(of) || !of.is_proven && of.accepted > Time(0)));
}

#[test]
fn an_expiry_counts_behind_the_changes_that_it_has_seen() {
    for is_expired_again in [false, true] {
        let begun = begin(false);
        let Begun { world, client, kept, .. } = &begun;
        let expire = || {
            block_on(expire::expire(&world.job(), IngestBy::Service)).unwrap();
            world.ingest().unwrap();
            world.snapshot(*kept).state
        };
        world.change(client, vec![keep_last(1)]);
        world.back_up(client, &files(2, 3, 3000));
        world.wait(DAY * 9);
        assert_eq!(expire(), SnapshotState::Forgotten);
        world.change(client, vec![Operation::Undelete(vec![*kept]), tag(&[*kept], 1)]);
        let due = if is_expired_again {
            expire()
        } else {
            write(&begun, &|_, view, proposal| {
                change_snapshot(*kept, view, proposal, |of| of.state = SnapshotState::Forgotten);
            });
            SnapshotState::Kept
        };
        world.prune(DAY * 9);
        assert_eq!(world.snapshot(*kept).state, due, "{is_expired_again}");
    }
}

#[test]
fn beside_many_uncertain_changes_a_snapshot_keeps_what_no_change_may_change() {
    let lies: [fn(&mut SnapshotRecord); 2] = [|of| of.root = id(1), |of| of.state = SnapshotState::Gone];
    for lie in lies {
        let begun = begin(true);
        let Begun { world, kept, .. } = &begun;
        let thief = world.register(2, Role::Full);
        (0..12).for_each(|number| world.change(&thief, vec![tag(&[*kept], number)]));
        block_on(world.repository.revoke(&world.store, &thief, (0, ObjectHash::NONE), None)).unwrap();
        write(&begun, &|_, view, proposal| change_snapshot(*kept, view, proposal, lie));
        assert_refused(&begun, "another snapshot");
    }
}

#[test]
fn changes_of_a_snapshot_stop_no_prune_however_many_there_are() {
    let begun = begin(true);
    let Begun { world, client, kept, forgotten, .. } = &begun;
    let both = [*kept, *forgotten];
    for number in 0..12 {
        world.change(client, vec![tag(&both, number)]);
    }
    world.prune(DAY);
    assert_eq!(world.snapshot(*kept).tags.len(), 12, "a new snapshot");
    let thief = world.register(2, Role::Full);
    for number in 20..32 {
        world.change(&thief, vec![tag(&both, number), Operation::Pin(vec![*kept])]);
    }
    world.change(client, vec![Operation::Undelete(vec![*forgotten])]);
    block_on(world.repository.revoke(&world.store, &thief, (0, ObjectHash::NONE), None)).unwrap();
    world.prune(DAY);
    assert_eq!(world.snapshot(*kept).tags.len(), 24, "what counted before the revocation");
    assert_eq!(world.restore(*kept).as_ref(), Ok(&begun.tree));
}
