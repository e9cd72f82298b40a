//! Rebuild, where receipts are lost with the roots: nothing tells then what was accepted, and nothing is refused for good that
//! may have been.

use std::time::Duration;

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::SnapshotId;
use copal_format::layout;
use copal_format::pack::PackKind;
use copal_format::receipt::Outcome;
use copal_format::state::SnapshotState;
use copal_jobs::rebuild;
use copal_store::Op;
use copal_store::fault::{Call, Fate, Fault};
use copal_tests::kit::craft::id;
use copal_tests::kit::{Client, DAY, Tree, World, noise};
use futures::executor::block_on;

const ALL: [&str; 4] = ["roots/", "index/", "state/", "receipts/"];

/// A series that grows; all of it needs the packs of the first backup.
fn series(world: &World, client: &Client) -> Vec<(SnapshotId, Tree)> {
    let mut tree = Tree::new();
    let mut add = |seed| {
        tree.extend(noise(seed, 3, 2_000));
        (world.back_up(client, &tree), tree.clone())
    };
    [1, 2, 3].map(&mut add).into()
}

fn are_kept(world: &World, series: &[(SnapshotId, Tree)]) -> bool {
    series.iter().all(|(id, _)| world.snapshot(*id).state == SnapshotState::Kept)
}

fn are_whole(world: &World, series: &[(SnapshotId, Tree)]) -> bool {
    series.iter().all(|(id, tree)| world.restore(*id).as_ref() == Ok(tree))
}

#[test]
fn a_series_stays_when_receipts_and_a_pack_are_lost_and_is_whole_once_the_pack_is_back() {
    // What lies below a lost page nobody knows: it stays for a week.
    for (kind, prunes) in [(PackKind::Data, 6), (PackKind::Tree, 2)] {
        let (world, client) = World::with_client();
        // The first pack by name is any: what needs it is harmed.
        let series = series(&world, &client);
        let name = world.packs(kind).remove(0);
        let bytes = world.read(&name);
        world.destroy(&name);
        let report = world.rebuild_without(&ALL);
        assert_eq!((&report.packs_lost, report.manifests_left_out.len()), (&vec![name.clone()], 0), "{report:?}");
        assert!(report.lost > 0 && !report.snapshots_harmed.is_empty(), "{report:?}");
        assert!(are_kept(&world, &series));
        for number in 1..=3 {
            assert_eq!(world.receipt(&client, number).outcome, Outcome::Accepted);
        }
        assert!(world.ingest().unwrap().is_empty());
        world.wait_and_prune(prunes, 2 * DAY);
        world.put(&name, bytes);
        assert_eq!(world.rebuild_without(&["roots/"]).lost, 0);
        assert!(are_whole(&world, &series), "{kind:?}");
        assert!(world.check().is_ok(), "{:?}", world.check().findings);
    }
}

#[test]
fn who_still_has_the_files_heals_a_series_of_which_receipts_and_a_pack_were_lost() {
    let (world, client) = World::with_client();
    let series = series(&world, &client);
    world.destroy(&world.packs(PackKind::Data)[0]);
    world.rebuild_without(&ALL);
    world.wait_and_prune(6, 2 * DAY);
    client.forget_memory();
    world.back_up(&client, &series[2].1);
    assert!(are_whole(&world, &series));
}

#[test]
fn only_the_last_receipts_lost_with_a_pack_refuse_nothing_either() {
    for left in [1, 2] {
        let (world, client) = World::with_client();
        let series = series(&world, &client);
        world.destroy(&world.packs(PackKind::Data)[0]);
        (left + 1..=3).for_each(|number| world.destroy(&layout::receipt(client.id, number)));
        world.rebuild_without(&ALL[..3]);
        assert!(are_kept(&world, &series), "{left} receipts are left");
    }
}

#[test]
fn what_was_forgotten_and_pruned_stays_away_with_receipts_and_a_pack_lost() {
    let (world, client) = World::with_client();
    let gone = world.back_up(&client, &noise(7, 3, 2_000));
    let series = series(&world, &client);
    world.change(&client, vec![Operation::Forget(vec![gone])]);
    world.prune(Duration::ZERO);
    world.destroy(&world.packs(PackKind::Data)[0]);
    let report = world.rebuild_without(&ALL);
    assert_eq!(world.snapshot(gone).state, SnapshotState::Gone);
    assert!(!report.snapshots_harmed.contains(&gone), "{report:?}");
    assert!(are_kept(&world, &series));
}

#[test]
fn a_moved_pack_of_which_nothing_tells_takes_no_snapshot_without_a_receipt_with_it() {
    // Of all receipts none, or only the last one is left.
    for is_last_left in [false, true] {
        let (world, client) = World::with_client();
        let mut tree = noise(1, 6, 2_000);
        tree.values_mut().for_each(|content| content.truncate(900));
        let old = world.back_up(&client, &tree);
        tree.retain(|path, _| path.as_bytes() == b"1-00");
        let kept = world.back_up(&client, &tree);
        let last = world.back_up(&client, &noise(2, 2, 2_000));
        world.change(&client, vec![Operation::Forget(vec![old])]);
        world.prune(Duration::ZERO);
        let moved = world.names("moved/");
        assert!(!moved.is_empty());
        moved.iter().for_each(|name| world.destroy(name));
        let answer = world.read(&layout::receipt(client.id, 3));
        ALL.iter().for_each(|prefix| world.destroy_all(prefix));
        if is_last_left {
            world.put(&layout::receipt(client.id, 3), answer);
        }
        let report = world.rebuild();
        assert_eq!(world.snapshot(kept).state, SnapshotState::Kept, "{report:?}");
        assert_eq!((world.snapshot(old).state, world.snapshot(last).state), (SnapshotState::Gone, SnapshotState::Kept));
        assert_eq!(report.snapshots_harmed, [kept]);
    }
}

#[test]
fn a_damaged_manifest_without_a_receipt_is_not_refused_for_good() {
    for at in [2, 3] {
        let (world, client) = World::with_client();
        let series = series(&world, &client);
        ALL.iter().for_each(|prefix| world.destroy_all(prefix));
        let name = layout::manifest(client.id, at);
        world.flip(&name);
        let report = world.rebuild();
        let left: Vec<&String> = report.manifests_left_out.iter().map(|(name, _)| name).collect();
        assert_eq!(left, [&name], "{report:?}");
        assert!(world.ingest().unwrap().is_empty());
        assert!(!world.has(&layout::receipt(client.id, at)));
        world.flip(&name);
        world.rebuild();
        assert!(are_whole(&world, &series), "manifest {at}");
        assert_eq!(world.receipt(&client, at).outcome, Outcome::Accepted);
        world.back_up(&client, &noise(9, 1, 2_000));
    }
}

#[test]
fn manifests_of_a_client_whose_record_and_receipts_are_lost_are_not_refused_for_good() {
    let (world, client) = World::with_client();
    let other = world.register(2, Role::Full);
    world.back_up(&other, &noise(8, 1, 2_000));
    let series = series(&world, &client);
    ALL.iter().for_each(|prefix| world.destroy_all(prefix));
    let is_of_client = |name: &String| name.contains(&client.id.to_string());
    let records: Vec<String> = world.names("clients/").into_iter().filter(is_of_client).collect();
    let record: Vec<(String, Vec<u8>)> = records.iter().map(|name| (name.clone(), world.read(name))).collect();
    assert!(!records.is_empty());
    records.iter().for_each(|name| world.destroy(name));
    let report = world.rebuild();
    assert_eq!(report.manifests_left_out.len(), 3, "{report:?}");
    assert!(world.ingest().unwrap().is_empty());
    world.prune(DAY);
    world.wait(DAY * 6);
    world.prune(DAY);
    record.into_iter().for_each(|(name, bytes)| world.put(&name, bytes));
    world.rebuild();
    assert!(are_whole(&world, &series));
}

#[test]
fn a_manifest_that_waits_and_claims_what_never_was_is_refused_if_nothing_is_lost() {
    let (world, client) = World::with_client();
    let series = series(&world, &client);
    world.put_manifest(&client, &world.manifest(&client, &[], Some(id(77))));
    world.rebuild_without(&ALL[..3]);
    assert_eq!(world.receipt(&client, 4).outcome, Outcome::Rejected);
    assert!(are_whole(&world, &series));
}

#[test]
fn a_manifest_that_waits_and_names_packs_whose_deletion_was_only_recorded_is_accepted() {
    let (world, client) = World::with_client();
    let old = world.back_up(&client, &noise(7, 3, 2_000));
    let root = world.snapshot(old).root;
    let packs: Vec<_> = world.names("packs/").into_iter().map(|name| (world.read(&name), name)).collect();
    let series = series(&world, &client);
    world.change(&client, vec![Operation::Forget(vec![old])]);
    world.prune(Duration::ZERO);
    packs.iter().for_each(|(bytes, name)| world.put(name, bytes.clone()));
    let named = packs.iter().map(|(bytes, name)| (layout::pack_of(name).unwrap().1, bytes.len() as u64));
    let named: Vec<_> = named.collect();
    let number = world.put_manifest(&client, &world.manifest(&client, &named, Some(root)));
    world.rebuild_without(&ALL[..3]);
    assert_eq!(world.receipt(&client, number).outcome, Outcome::Accepted);
    assert_eq!(world.snapshot(old).state, SnapshotState::Forgotten, "it is whole, and nobody has undeleted it");
    assert!(are_whole(&world, &series));
}

#[test]
fn a_rebuild_that_dies_behind_its_root_leaves_no_client_without_an_answer() {
    let (world, client) = World::with_client();
    let count = 70;
    for seed in 0..count {
        world.back_up(&client, &noise(seed, 1, 10));
    }
    ALL.iter().for_each(|prefix| world.destroy_all(prefix));
    let is_receipt = |call: &Call<'_>| call.op == Op::Create && call.key.starts_with("receipts/");
    let store = Fault::at(&world.store, is_receipt, Fate::broken);
    assert!(block_on(rebuild::rebuild(&world.job_of(&store))).is_err());
    assert!(world.names("receipts/").is_empty());
    world.ingest().unwrap();
    assert_eq!(world.names("receipts/").len() as u64, count);
}
