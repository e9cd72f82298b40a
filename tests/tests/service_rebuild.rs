//! Rebuild: the state folded anew from what clients and prunes have left.

use std::time::Duration;

use async_trait::async_trait;
use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::{ObjectHash, PackTag};
use copal_format::index::Bits;
use copal_format::layout::{self, Place, Prunable};
use copal_format::manifest::Manifest;
use copal_format::pack::{self, PackKind};
use copal_format::receipt::Outcome;
use copal_format::root::Deletion;
use copal_format::state::{DoomedState, SnapshotState};
use copal_format::time::Time;
use copal_jobs::rebuild::rebuild;
use copal_store::Store;
use copal_store::memory::MemoryStore;
use copal_tests::kit::craft::{data_pack, id, tree_pack};
use copal_tests::kit::repository::key;
use copal_tests::kit::{DAY, Tree, World, files};
use futures::executor::block_on;

#[test]
fn everything_restores_after_roots_index_or_state_are_lost() {
    let lost: [&[&str]; 5] = [&["roots/"], &["index/"], &["state/"], &["roots/", "index/", "state/"], &[]];
    for prefixes in lost {
        let (world, client) = World::with_client();
        let trees: Vec<Tree> = (0..3).map(|seed| files(seed, 4)).collect();
        let ids: Vec<_> = trees.iter().map(|tree| world.back_up(&client, tree)).collect();
        let before = world.view().number();
        let report = world.rebuild_without(prefixes);
        assert!(report.root >= before + 1000, "{prefixes:?}: root {}", report.root);
        assert_eq!((report.snapshots, report.lost), (3, 0), "{prefixes:?}");
        for (id, tree) in ids.iter().zip(&trees) {
            assert_eq!(world.restore(*id).as_ref(), Ok(tree), "{prefixes:?}");
        }
        assert!(world.check().is_ok(), "{prefixes:?}: {:?}", world.check().findings);
        let next = world.back_up(&client, &files(9, 2));
        assert_eq!(world.restore(next), Ok(files(9, 2)));
    }
}

#[test]
fn forgotten_stays_forgotten_and_deleted_stays_deleted() {
    let (world, client) = World::with_client();
    let gone = world.back_up(&client, &files(1, 4));
    let tree = files(2, 4);
    let kept = world.back_up(&client, &tree);
    world.change(&client, vec![Operation::Forget(vec![gone])]);
    world.prune(Duration::ZERO);
    let deleted = world.names("deletions/");
    assert!(!deleted.is_empty());
    let forgotten = world.back_up(&client, &files(3, 4));
    world.change(&client, vec![Operation::Forget(vec![forgotten]), Operation::Pin(vec![kept])]);
    world.rebuild_without(&["roots/"]);
    assert_eq!(world.snapshot(gone).state, SnapshotState::Gone);
    assert_eq!(world.snapshot(forgotten).state, SnapshotState::Forgotten);
    assert!(world.snapshot(kept).pinned);
    assert_eq!(world.restore(kept), Ok(tree));
    assert!(world.view().state.doomed.values().all(|record| record.state == DoomedState::Spent));
    assert!(world.check().is_ok());
}

#[test]
fn a_name_that_a_deletion_recorded_is_not_taken_although_the_object_is_there() {
    let (world, client) = World::with_client();
    let gone = world.back_up(&client, &files(1, 4));
    let packs: Vec<(String, Vec<u8>)> =
        world.names("packs/").into_iter().map(|name| (name.clone(), world.read(&name))).collect();
    world.back_up(&client, &files(2, 4));
    world.change(&client, vec![Operation::Forget(vec![gone])]);
    world.prune(Duration::ZERO);
    packs.into_iter().for_each(|(name, bytes)| world.put(&name, bytes));
    world.rebuild_without(&["roots/"]);
    assert_eq!(world.snapshot(gone).state, SnapshotState::Gone);
    world.wait(DAY * 8);
    world.prune(DAY);
    assert!(world.check().is_ok());
}

#[test]
fn a_record_that_names_what_kept_snapshots_need_takes_nothing_from_them() {
    let (world, client) = World::with_client();
    let (first, second) = (files(1, 4), files(2, 4));
    let ids = [world.back_up(&client, &first), world.back_up(&client, &second)];
    for only in [PackKind::Data, PackKind::Tree] {
        let names = world.packs(only).iter().map(|name| Prunable::parse(name).unwrap()).collect();
        let random = [only as u8; 16];
        let forged = Deletion { root_number: world.view().number(), random, time: Time(0), names, baseline: None };
        world.put(&forged.name(), forged.encode());
        let report = world.rebuild_without(&["roots/"]);
        assert_eq!((report.lost, report.snapshots), (0, 2), "{only:?}");
        assert_eq!(ids.map(|id| world.restore(id)), [Ok(first.clone()), Ok(second.clone())], "{only:?}");
        assert!(world.view().state.doomed.is_empty(), "{only:?}: what counts is not spent");
    }
    world.wait_and_prune(3, DAY * 8);
    assert_eq!(ids.map(|id| world.restore(id)), [Ok(first), Ok(second)]);
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
}

#[test]
fn a_recorded_pack_whose_table_cannot_be_read_may_hold_what_a_kept_snapshot_needs() {
    let (world, client) = World::with_client();
    let kept = world.back_up(&client, &files(1, 4));
    let name = world.packs(PackKind::Data).remove(0);
    let names = vec![Prunable::parse(&name).unwrap()];
    let record = Deletion { root_number: world.view().number(), random: [1; 16], time: Time(0), names, baseline: None };
    world.put(&record.name(), record.encode());
    let whole = world.read(&name);
    world.store.corrupt(&key(&name), |bytes| bytes.truncate(bytes.len() - 40)).unwrap();
    let report = world.rebuild_without(&["roots/", "index/", "state/"]);
    assert_eq!(world.snapshot(kept).state, SnapshotState::Kept, "{report:?}");
    assert!(world.view().state.doomed.is_empty(), "its name is not spent");
    world.store.corrupt(&key(&name), |bytes| *bytes = whole).unwrap();
    assert_eq!(world.rebuild().lost, 0);
    assert_eq!(world.restore(kept), Ok(files(1, 4)));
}

#[test]
fn an_unresolved_reference_of_a_kept_snapshot_becomes_lost_and_its_page_stays() {
    let (world, client) = World::with_client();
    let tree = files(1, 4);
    let kept = world.back_up(&client, &tree);
    let name = world.packs(PackKind::Data).remove(0);
    world.destroy(&name);
    let report = world.rebuild_without(&["roots/"]);
    assert!(report.lost > 0);
    assert_eq!(world.snapshot(kept).state, SnapshotState::Kept);
    world.prune_and_wait(3, DAY * 2);
    client.forget_memory();
    let again = world.back_up(&client, &tree);
    assert_eq!((world.restore(kept).as_ref(), world.restore(again).as_ref()), (Ok(&tree), Ok(&tree)));
    world.prune(DAY);
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
}

#[test]
fn what_is_lost_stays_so_and_a_prune_with_nothing_new_to_say_of_it_writes_no_root() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 4));
    let name = world.packs(PackKind::Data).remove(0);
    let ids = pack::parse(&world.read(&name)).unwrap().ids;
    world.destroy(&name);
    world.rebuild_without(&["roots/"]);
    let is_lost =
        |id| world.view().index(client.domain).unwrap().overlay().bits(id, PackTag::NONE).contains(Bits::LOST);
    world.prune(DAY);
    assert!(ids.iter().all(is_lost));
    // At the same time as the store tells it, and later.
    for wait in [Duration::ZERO, DAY] {
        world.wait(wait);
        let before = world.view().number();
        world.prune(DAY);
        assert!(ids.iter().all(is_lost));
        assert_eq!(world.view().number(), before, "after {wait:?}");
    }
}

#[test]
fn packs_of_another_domain_and_packs_nobody_names_are_not_taken() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 2));
    let other = world.register(2, Role::WriteOnly);
    let foreign = world.put_pack(&data_pack(client.domain, 1, &[id(1)]));
    let tree = world.put_pack(&tree_pack(other.domain, 2, &[(id(2), 1, &[])]));
    world.put_pack(&data_pack(client.domain, 3, &[id(3)]));
    world.put_manifest(&other, &world.manifest(&other, &[foreign, tree], Some(id(2))));
    let report = world.rebuild_without(&["roots/"]);
    let left: Vec<&str> = report.packs_left_out.iter().map(|(_, why)| why.as_str()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(world.view().height(client.domain, &id(1)).is_none());
}

#[test]
fn a_write_only_client_cannot_smuggle_a_manifest_into_another_domain() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 2));
    let other = world.register(2, Role::WriteOnly);
    let pack = world.put_pack(&tree_pack(client.domain, 2, &[(id(2), 1, &[])]));
    let root_seen = Some((u64::MAX - 1, ObjectHash([1; 32])));
    let own = world.manifest(&other, &[pack], Some(id(2)));
    world.put_manifest(&other, &Manifest { domain: client.domain, root_seen, ..own });
    let report = world.rebuild_without(&["roots/"]);
    assert!(report.root < 1_000_000, "nor drive the numbers up: {}", report.root);
    assert_eq!(world.receipt(&other, 1).outcome, Outcome::Rejected);
    assert!(world.view().height(client.domain, &id(2)).is_none());
}

#[test]
fn a_lost_or_damaged_manifest_does_not_take_later_snapshots_with_it() {
    for is_lost in [true, false] {
        let (world, client) = World::with_client();
        let trees: Vec<Tree> = (0..4).map(|seed| files(seed, 3)).collect();
        let ids: Vec<_> = trees.iter().map(|tree| world.back_up(&client, tree)).collect();
        let name = layout::manifest(client.id, 2);
        world.harm(&name, is_lost);
        let report = world.rebuild_without(&["roots/"]);
        assert_eq!(report.snapshots, 3, "{report:?}");
        for at in [0, 2, 3] {
            assert_eq!(world.restore(ids[at]).as_ref(), Ok(&trees[at]));
        }
        world.back_up(&client, &files(9, 1));
    }
}

#[test]
fn a_damaged_change_does_not_undo_later_ones() {
    let (world, client) = World::with_client();
    let tree = files(1, 3);
    let kept = world.back_up(&client, &tree);
    world.change(&client, vec![Operation::Forget(vec![kept])]);
    world.change(&client, vec![Operation::Pin(vec![kept])]);
    world.change(&client, vec![Operation::Undelete(vec![kept])]);
    world.flip(&layout::change(2));
    let report = world.rebuild_without(&["roots/"]);
    assert_eq!(report.unreadable.len(), 1);
    assert_eq!(world.snapshot(kept).state, SnapshotState::Kept);
    assert_eq!(world.restore(kept), Ok(tree));
}

#[test]
fn what_nobody_answered_is_decided_and_answered() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 3));
    world.upload(&client, &files(2, 3));
    let missing = world.put_manifest(&client, &world.manifest(&client, &[], Some(id(77))));
    let report = world.rebuild_without(&["roots/"]);
    assert_eq!(report.snapshots, 2);
    assert_eq!(world.receipt(&client, 2).outcome, Outcome::Accepted);
    assert_eq!(world.receipt(&client, missing).outcome, Outcome::Rejected);
    assert_eq!(world.ingest().unwrap(), []);
}

#[test]
fn with_all_answers_lost_too_snapshots_whose_packs_were_moved_stay() {
    let (world, client) = World::with_client();
    let mut tree = files(1, 6);
    tree.values_mut().for_each(|content| content.truncate(900));
    let old = world.back_up(&client, &tree);
    tree.retain(|path, _| path.as_bytes() == b"1-00");
    let kept = world.back_up(&client, &tree);
    world.change(&client, vec![Operation::Forget(vec![old])]);
    world.prune(Duration::ZERO);
    assert!(!world.names("moved/").is_empty());
    world.rebuild_without(&["roots/", "receipts/"]);
    assert_eq!(world.restore(kept), Ok(tree));
    assert_ne!(world.view().state.snapshots.values().filter(|of| of.state == SnapshotState::Kept).count(), 0);
}

#[test]
fn a_second_rebuild_goes_beyond_the_first_although_its_root_is_lost() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 3));
    let first = world.rebuild().root;
    assert_eq!(world.rebuild_without(&["roots/"]).root, first + 1000);
}

#[test]
fn what_no_kept_snapshot_reaches_is_flagged_and_gets_a_new_grace_period() {
    let (world, client) = World::with_client();
    let old = world.back_up(&client, &files(1, 3));
    world.back_up(&client, &files(2, 3));
    world.change(&client, vec![Operation::Forget(vec![old])]);
    world.prune(DAY);
    world.wait(DAY * 2);
    world.rebuild_without(&["roots/"]);
    let packs = world.names("packs/");
    world.prune(DAY);
    assert_eq!(world.names("packs/"), packs);
    world.wait(DAY * 8);
    world.prune(DAY);
    assert!(world.names("packs/").len() < packs.len());
}

#[test]
fn changes_of_a_client_count_in_a_rebuild_up_to_its_revocation_and_not_beyond() {
    let (world, client) = World::with_client();
    let lost = world.register(2, Role::Full);
    let [first, second] = [1, 2].map(|seed| world.back_up(&client, &files(seed, 1)));
    world.change(&lost, vec![Operation::Forget(vec![first])]);
    let last_change = world.view().root.unwrap().0.change_head;
    block_on(world.repository.revoke(&world.store, &lost, (0, ObjectHash::NONE), last_change)).unwrap();
    world.change(&lost, vec![Operation::Forget(vec![second]), Operation::Undelete(vec![first])]);
    world.change(&client, vec![Operation::Pin(vec![second])]);
    let before = [world.snapshot(first), world.snapshot(second)];
    assert_eq!(before.each_ref().map(|of| of.state), [SnapshotState::Forgotten, SnapshotState::Kept]);
    let report = world.rebuild_without_state();
    let after = [world.snapshot(first), world.snapshot(second)];
    assert_eq!(after.each_ref().map(|of| of.state), [SnapshotState::Forgotten, SnapshotState::Kept]);
    assert!(after[1].pinned);
    let names: Vec<&String> = report.unreadable.iter().map(|(name, _)| name).collect();
    assert_eq!(names, [&layout::change(2)]);
}

#[test]
fn a_change_that_a_revocation_lets_count_is_folded_in_also_after_it() {
    let (world, client) = World::with_client();
    let lost = world.register(2, Role::Full);
    let snapshot = world.back_up(&client, &files(1, 1));
    world.write_change(&lost, vec![Operation::Pin(vec![snapshot])]);
    let last_change = Some((1, ObjectHash::of(&world.read(&layout::change(1)))));
    block_on(world.repository.revoke(&world.store, &lost, (0, ObjectHash::NONE), last_change)).unwrap();
    world.ingest().unwrap();
    assert!(world.snapshot(snapshot).pinned);
}

#[test]
fn a_pack_of_which_a_rebuild_takes_nothing_becomes_an_orphan_and_goes() {
    let (world, client) = World::with_client();
    // Somebody was answered: receipts are not lost.
    world.back_up(&client, &files(1, 1));
    let other = world.register(2, Role::WriteOnly);
    let pack = tree_pack(other.domain, 1, &[(id(1), 1, &[id(2)])]);
    let name = layout::pack(Place::Packs, pack.id);
    let named = world.put_pack(&pack);
    world.put_manifest(&other, &world.manifest(&other, &[named], Some(id(1))));
    let report = world.rebuild();
    assert_eq!(report.packs_left_out.len(), 1, "{report:?}");
    assert!(world.view().state.packs.values().all(|record| record.domain == client.domain));
    world.wait(8 * DAY);
    world.prune(DAY);
    assert!(!world.has(&name));
}

/// A store that says of itself that it takes only segments of 40 entries.
struct Narrow<'a> {
    store: &'a MemoryStore,
}

#[async_trait]
impl Store for Narrow<'_> {
    copal_store::pass_on!(store: create, read, read_range, stat, list, delete, now);

    fn largest(&self) -> Option<u64> {
        Some(40 * 96)
    }
}

#[test]
fn a_domain_with_more_entries_than_a_segment_may_have_gets_several_segments() {
    let (world, client) = World::with_client();
    let (old, tree) = (world.back_up(&client, &files(1, 20)), files(2, 30));
    let kept = world.back_up(&client, &tree);
    world.change(&client, vec![Operation::Forget(vec![old])]);
    world.lose_state();
    let report = block_on(rebuild(&world.job_of(&Narrow { store: &world.store }))).unwrap();
    let entries: Vec<u64> = world.view().state.segments.values().map(|segment| segment.entries).collect();
    assert!(entries.len() > 4 && entries.iter().sum::<u64>() == report.entries, "{entries:?}");
    assert_eq!((report.snapshots, report.lost), (1, 0));
    assert_eq!(world.restore(kept).as_ref(), Ok(&tree));
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
    world.wait_and_prune(3, DAY * 8);
    assert_eq!(world.restore(kept), Ok(tree));
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
}
