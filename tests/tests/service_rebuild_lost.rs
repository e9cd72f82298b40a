//! Rebuild, where more than roots, state and index is lost: what snapshots, packs and changes that are gone or damaged take
//! with them, and what they do not.

use std::time::Duration;

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::SnapshotId;
use copal_format::layout;
use copal_format::pack::{self, PackKind};
use copal_format::state::SnapshotState;
use copal_jobs::rebuild;
use copal_store::Op;
use copal_store::fault::{Fate, Fault};
use copal_tests::kit::repository::key;
use copal_tests::kit::{Client, DAY, Tree, World, files, keep_last, path};
use futures::executor::block_on;

/// Backs up; gives the names of the data packs that it has stored as well.
fn back_up(world: &World, client: &Client, tree: &Tree) -> (SnapshotId, Vec<String>) {
    let before = world.packs(PackKind::Data);
    let id = world.back_up(client, tree);
    (id, world.packs(PackKind::Data).into_iter().filter(|name| !before.contains(name)).collect())
}

fn is_damaged(world: &World, name: &str) -> bool {
    world.view().state.packs[&layout::pack_of(name).unwrap().1].is_damaged
}

const LOSSES: [&[&str]; 2] = [&["roots/"], &["roots/", "index/", "state/"]];

#[test]
fn a_snapshot_that_was_brought_back_stays_when_a_pack_is_lost_with_the_roots() {
    for prefixes in LOSSES {
        let (world, client) = World::with_client();
        let tree = files(1, 4);
        let (kept, packs) = back_up(&world, &client, &tree);
        world.change(&client, vec![Operation::Forget(vec![kept])]);
        world.change(&client, vec![Operation::Undelete(vec![kept])]);
        world.destroy(&packs[0]);
        let report = world.rebuild_without(prefixes);
        assert_eq!(world.snapshot(kept).state, SnapshotState::Kept, "{prefixes:?}");
        assert_eq!((&report.packs_lost, &report.snapshots_harmed), (&vec![packs[0].clone()], &vec![kept]));
        assert!(report.lost > 0, "{report:?}");
        // Nothing more of it is lost, and who still has the files heals it.
        world.wait_and_prune(3, DAY * 2);
        client.forget_memory();
        world.back_up(&client, &tree);
        assert_eq!(world.restore(kept).as_ref(), Ok(&tree), "{prefixes:?}");
    }
}

#[test]
fn a_prune_that_removes_what_is_left_of_a_damaged_pack_does_not_take_a_snapshot_that_was_brought_back() {
    let (world, client) = World::with_client();
    let tree = files(1, 4);
    let (kept, packs) = back_up(&world, &client, &tree);
    world.destroy(&packs[0]);
    world.put(&packs[0], vec![7; 100]);
    assert_eq!(world.rebuild_without(LOSSES[1]).packs_lost, packs[..1]);
    world.change(&client, vec![Operation::Forget(vec![kept])]);
    world.change(&client, vec![Operation::Undelete(vec![kept])]);
    world.wait_and_prune(3, DAY * 40);
    assert!(!world.has(&packs[0]), "nobody can read it");
    assert_eq!(world.rebuild_without(LOSSES[1]).snapshots_harmed, [kept]);
    assert_eq!(world.snapshot(kept).state, SnapshotState::Kept);
    client.forget_memory();
    world.back_up(&client, &tree);
    assert_eq!(world.restore(kept), Ok(tree));
}

#[test]
fn a_pin_that_voided_an_expiry_keeps_its_snapshot_when_a_pack_is_lost_with_the_roots() {
    for prefixes in LOSSES {
        let (world, client) = World::with_client();
        let (first, packs) = back_up(&world, &client, &files(1, 4));
        world.wait(DAY);
        back_up(&world, &client, &files(2, 4));
        world.change(&client, vec![keep_last(1)]);
        world.wait(DAY);
        assert_eq!(world.expire().expired, [first]);
        world.change(&client, vec![Operation::Undelete(vec![first]), Operation::Pin(vec![first])]);
        world.destroy(&packs[0]);
        let report = world.rebuild_without(prefixes);
        let record = world.snapshot(first);
        assert_eq!((record.state, record.pinned), (SnapshotState::Kept, true), "{prefixes:?}");
        assert_eq!(report.snapshots_harmed, [first]);
        assert_eq!(report.expiries_left_out.len(), 1, "{report:?}");
        assert!(report.lost > 0);
    }
}

#[test]
fn a_pack_that_a_prune_has_moved_and_that_is_lost_takes_no_snapshot_that_was_brought_back_with_it() {
    for has_others in [false, true] {
        let (world, client) = World::with_client();
        let mut tree = files(1, 6);
        tree.values_mut().for_each(|content| content.truncate(900));
        let old = world.back_up(&client, &tree);
        tree.retain(|path, _| path.as_bytes() == b"1-00");
        let kept = world.back_up(&client, &tree);
        // Another one that nobody ever wanted to leave, and that needs the same pack.
        if has_others {
            tree.insert(path("more"), vec![7; 900]);
            world.back_up(&client, &tree);
        }
        world.change(&client, vec![Operation::Forget(vec![old])]);
        world.prune(Duration::ZERO);
        let moved = world.names("moved/");
        assert!(!moved.is_empty());
        world.change(&client, vec![Operation::Forget(vec![kept])]);
        world.change(&client, vec![Operation::Undelete(vec![kept])]);
        moved
            .iter()
            .filter(|name| pack::parse(&world.read(name)).unwrap().kind == PackKind::Data)
            .for_each(|name| world.destroy(name));
        // Runs of the state know what was moved; without them a snapshot does that needs it and never left.
        let report = world.rebuild_without(if has_others { LOSSES[1] } else { LOSSES[0] });
        assert_eq!(world.snapshot(kept).state, SnapshotState::Kept, "{has_others}");
        assert_eq!(report.snapshots_harmed, [kept]);
        assert_eq!(world.snapshot(old).state, SnapshotState::Gone);
    }
}

#[test]
fn what_a_prune_has_removed_before_it_was_to_come_back_is_gone_and_not_called_lost() {
    for prefixes in LOSSES {
        let (world, client) = World::with_client();
        let (gone, _) = back_up(&world, &client, &files(1, 4));
        let tree = files(2, 4);
        let (kept, _) = back_up(&world, &client, &tree);
        world.change(&client, vec![Operation::Forget(vec![gone])]);
        world.prune(Duration::ZERO);
        world.change(&client, vec![Operation::Undelete(vec![gone])]);
        let report = world.rebuild_without(prefixes);
        assert_eq!(world.snapshot(gone).state, SnapshotState::Gone, "{prefixes:?}");
        assert_eq!((report.lost, report.packs_lost.len(), report.snapshots_harmed.len()), (0, 0, 0), "{report:?}");
        assert_eq!(world.restore(kept).as_ref(), Ok(&tree));
        assert!(world.check().is_ok());
    }
}

#[test]
fn what_a_prune_has_removed_in_part_stays_gone_although_somebody_has_undeleted_it_too_late() {
    for left in [PackKind::Data, PackKind::Tree] {
        let (world, client) = World::with_client();
        let (gone, _) = back_up(&world, &client, &files(1, 4));
        let packs: Vec<_> = world.packs(left).into_iter().map(|name| (world.read(&name), name)).collect();
        let tree = files(2, 4);
        let (kept, _) = back_up(&world, &client, &tree);
        world.change(&client, vec![Operation::Forget(vec![gone])]);
        world.prune(Duration::ZERO);
        // As if the prune had been killed before it deleted these.
        packs.into_iter().for_each(|(bytes, name)| world.put(&name, bytes));
        world.change(&client, vec![Operation::Undelete(vec![gone])]);
        let report = world.rebuild_without(LOSSES[1]);
        assert_eq!(world.snapshot(gone).state, SnapshotState::Gone, "{left:?}");
        assert_eq!((report.lost, report.packs_lost.len(), report.snapshots_harmed.len()), (0, 0, 0), "{report:?}");
        assert_eq!(world.restore(kept).as_ref(), Ok(&tree));
        assert!(world.check().is_ok(), "{left:?}");
    }
}

#[test]
fn of_two_copies_the_good_one_stays_although_a_rebuild_has_forgotten_which_is_bad() {
    for bad in [1, 0] {
        let (world, client) = World::with_client();
        let other = world.register(2, Role::Full);
        let tree = files(1, 1);
        // Neither knows of the other's.
        world.upload(&other, &tree);
        let kept = world.back_up(&client, &tree);
        world.ingest().unwrap();
        let copies = world.packs(PackKind::Data);
        assert_eq!(copies.len(), 2);
        world.flip(&copies[bad]);
        world.check();
        let damaged = || copies.iter().map(|name| is_damaged(&world, name)).collect::<Vec<_>>();
        assert_eq!(damaged(), [bad == 0, bad == 1]);
        let report = world.rebuild_without(LOSSES[0]);
        let known = damaged();
        world.prune_and_wait(3, DAY * 2);
        assert_eq!(world.restore(kept).as_ref(), Ok(&tree), "the bad one is {bad}");
        assert!(world.check().is_ok(), "{:?}", world.check().findings);
        assert_eq!((report.packs_damaged, known), (vec![copies[bad].clone()], vec![bad == 0, bad == 1]));
    }
}

#[test]
fn packs_that_share_nothing_are_not_read_by_a_rebuild() {
    let (world, client) = World::with_client();
    let (_, packs) = back_up(&world, &client, &files(1, 4));
    back_up(&world, &client, &files(2, 4));
    world.flip(&packs[0]);
    assert!(world.rebuild_without(LOSSES[1]).packs_damaged.is_empty());
    assert!(!world.check().is_ok(), "a check finds it");
}

/// A backup whose pack's table cannot be read; the pack's name and its bytes as they were.
fn with_a_table_cut_off(world: &World, client: &Client) -> (String, Vec<u8>) {
    let (_, packs) = back_up(world, client, &files(1, 2));
    let whole = world.read(&packs[0]);
    world.store.corrupt(&key(&packs[0]), |bytes| bytes.truncate(bytes.len() - 40)).unwrap();
    (packs[0].clone(), whole)
}

#[test]
fn what_a_rebuild_leaves_out_stays_for_a_week_and_for_the_grace_period() {
    for (grace, before, after) in [(DAY, 6, 2), (DAY * 20, 19, 2)] {
        let (world, client) = World::with_client();
        let (name, _) = with_a_table_cut_off(&world, &client);
        world.wait(DAY * 30);
        let report = world.rebuild_without(LOSSES[1]);
        assert_eq!(report.packs_left_out.len(), 1, "{report:?}");
        world.prune(grace);
        world.wait(DAY * before);
        world.prune(grace);
        assert!(world.has(&name), "{before} days after the rebuild, grace {grace:?}");
        world.wait(DAY * after);
        world.prune(grace);
        assert!(!world.has(&name), "grace {grace:?}");
    }
}

#[test]
fn a_second_rebuild_takes_what_the_first_has_left_out_and_somebody_has_mended() {
    let (world, client) = World::with_client();
    let (name, whole) = with_a_table_cut_off(&world, &client);
    world.wait(DAY * 30);
    assert!(world.rebuild_without(LOSSES[0]).lost > 0);
    world.prune(DAY);
    world.store.corrupt(&key(&name), |bytes| *bytes = whole).unwrap();
    assert_eq!(world.rebuild().lost, 0);
    assert!(world.check().is_ok());
}

#[test]
fn a_pack_that_the_medium_does_not_give_is_left_out_alone() {
    let (world, client) = World::with_client();
    let (_, packs) = back_up(&world, &client, &files(1, 2));
    let tree = files(2, 2);
    let kept = world.back_up(&client, &tree);
    world.lose_state();
    let bad = packs[0].clone();
    let store = Fault::at(&world.store, move |call| call.op == Op::ReadRange && call.key == bad, Fate::broken);
    let report = block_on(rebuild::rebuild(&world.job_of(&store))).unwrap();
    let left: Vec<&String> = report.packs_left_out.iter().map(|(name, _)| name).collect();
    assert_eq!((left, &report.packs_lost), (vec![&packs[0]], &vec![packs[0].clone()]));
    assert_eq!(world.restore(kept), Ok(tree));
}

/// A client's snapshot that was forgotten and brought back, and rests on the pack of another client; that one's manifest is
/// the first or the last of its chain. Gives both, and the pack.
fn with_a_neighbour(is_last: bool) -> (World, SnapshotId, String, String) {
    let (world, client) = World::with_client();
    let other = world.register(2, Role::Full);
    let prune_one = || {
        let (old, _) = back_up(&world, &client, &files(9, 4));
        world.change(&client, vec![Operation::Forget(vec![old])]);
        world.prune(Duration::ZERO);
    };
    if is_last {
        prune_one();
    }
    let tree = files(1, 4);
    let (_, packs) = back_up(&world, &client, &tree);
    let manifest = world.names(&format!("manifests/{}/", client.id)).pop().unwrap();
    if !is_last {
        prune_one();
    }
    let (shared, own) = back_up(&world, &other, &tree);
    assert!(own.is_empty());
    world.change(&client, vec![Operation::Forget(vec![shared])]);
    world.change(&client, vec![Operation::Undelete(vec![shared])]);
    (world, shared, manifest, packs[0].clone())
}

#[test]
fn a_pack_that_only_a_lost_or_damaged_manifest_named_takes_no_other_client_s_snapshot_with_it() {
    for is_gone in [true, false] {
        let (world, shared, manifest, pack) = with_a_neighbour(false);
        world.harm(&manifest, is_gone);
        world.destroy(&pack);
        let report = world.rebuild_without(LOSSES[1]);
        assert_eq!(world.snapshot(shared).state, SnapshotState::Kept, "{is_gone} {report:?}");
        assert_eq!(report.snapshots_harmed, [shared]);
    }
}

#[test]
fn a_damaged_pack_of_which_nobody_knows_what_it_held_takes_no_snapshot_with_it() {
    let (world, shared, manifest, pack) = with_a_neighbour(true);
    world.destroy(&manifest);
    world.destroy(&manifest.replace("manifests/", "receipts/"));
    world.store.corrupt(&key(&pack), |bytes| bytes.truncate(bytes.len() - 40)).unwrap();
    let report = world.rebuild_without(LOSSES[1]);
    assert_eq!(world.snapshot(shared).state, SnapshotState::Kept, "{report:?}");
    assert_eq!(report.snapshots_harmed, [shared]);
}

#[test]
fn what_a_rebuild_flags_stays_for_a_week_and_for_the_grace_period() {
    for (grace, before, after) in [(Duration::ZERO, 6, 2), (DAY, 6, 2), (DAY * 20, 19, 2)] {
        let (world, client) = World::with_client();
        let (old, packs) = back_up(&world, &client, &files(1, 3));
        let (later, others) = back_up(&world, &client, &files(2, 3));
        world.change(&client, vec![Operation::Forget(vec![old])]);
        world.wait(DAY * 30);
        world.rebuild_without(LOSSES[1]);
        world.prune(grace);
        world.wait(DAY * before);
        world.prune(grace);
        assert!(packs.iter().all(|name| world.has(name)), "{before} days after the rebuild, grace {grace:?}");
        // What is forgotten since has only the policy's time.
        world.change(&client, vec![Operation::Forget(vec![later])]);
        world.prune(grace);
        assert_eq!(others.iter().any(|name| world.has(name)), grace > Duration::ZERO);
        world.wait(DAY * after);
        world.prune(grace);
        assert!(!packs.iter().any(|name| world.has(name)), "grace {grace:?}");
    }
}

#[test]
fn runs_of_the_state_that_a_rebuild_has_found_stay_as_long_for_another_one() {
    let (world, client) = World::with_client();
    back_up(&world, &client, &files(1, 3));
    let runs = world.names("state/");
    world.wait(DAY * 30);
    world.rebuild_without(LOSSES[0]);
    world.prune(DAY);
    world.wait(DAY * 6);
    world.prune(DAY);
    assert!(runs.iter().all(|name| world.has(name)));
    world.wait(DAY * 2);
    world.prune(DAY);
    assert!(!runs.iter().any(|name| world.has(name)));
}

#[test]
fn a_damaged_expiry_does_not_take_the_next_one_with_it() {
    let (world, client) = World::with_client();
    world.change(&client, vec![keep_last(1)]);
    let [first, second] = [1, 2].map(|seed| {
        world.wait(DAY);
        back_up(&world, &client, &files(seed, 1)).0
    });
    world.wait(DAY);
    assert_eq!(world.expire().expired, [first]);
    back_up(&world, &client, &files(3, 1));
    world.wait(DAY);
    assert_eq!(world.expire().expired, [second]);
    let damaged = layout::expiry(1);
    world.store.corrupt(&key(&damaged), |bytes| bytes.truncate(20)).unwrap();
    let report = world.rebuild_without(LOSSES[1]);
    let unreadable: Vec<&String> = report.unreadable.iter().map(|(name, _)| name).collect();
    assert_eq!(unreadable, [&damaged], "{report:?}");
    assert_eq!(world.snapshot(second).state, SnapshotState::Forgotten);
}
