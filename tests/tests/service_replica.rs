//! Replicas of a source that goes on, has lost records, or tells lies: a prune that deletes while a sync copies, gaps
//! in chains, false heads, and clients that join between two syncs.

use core::time::Duration;
use std::sync::atomic::{AtomicU32, Ordering};

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::{ObjectHash, SnapshotId};
use copal_format::layout;
use copal_format::limits::NUMBER;
use copal_format::manifest::Manifest;
use copal_format::state::{ClientHead, SnapshotState};
use copal_format::time::Time;
use copal_jobs::check::{self, Finding};
use copal_jobs::commit::{Proposal, commit};
use copal_jobs::prune::{Options, prune};
use copal_jobs::rebuild::rebuild;
use copal_jobs::replica::{SyncError, Synced, end, found, sync};
use copal_jobs::view;
use copal_store::fault::{Call, Fate, Fault};
use copal_store::memory::MemoryStore;
use copal_store::record::Record;
use copal_store::{Op, Store};
use copal_tests::kit::repository::key;
use copal_tests::kit::{Client, DAY, Reader, World, keep_last, noise};
use futures::executor::block_on;

/// A repository with one forgotten snapshot and another one.
fn begin() -> (&'static World, Client) {
    let world: &'static World = Box::leak(Box::new(World::new()));
    let client = world.register(1, Role::Full);
    let first = world.back_up(&client, &noise(1, 3, 5_000));
    world.back_up(&client, &noise(2, 3, 5_000));
    world.change(&client, vec![Operation::Forget(vec![first])]);
    (world, client)
}

/// The source, where something happens each time the sync is about to read a pack.
fn while_packs_are_read(world: &'static World, mut act: impl FnMut() + Send + 'static) -> Fault<&'static MemoryStore> {
    Fault::new(&world.store, move |call| {
        if call.op == Op::ReadRange && call.key.starts_with("packs/") {
            // A thread of its own: the sync waits in the executor of this one.
            std::thread::scope(|scope| scope.spawn(&mut act).join()).expect("it does not panic");
        }
        Fate::Proceed
    })
}

#[test]
fn a_sync_beside_a_prune_copies_the_newer_root_whole() {
    let (world, client) = begin();
    let target = MemoryStore::new();
    block_on(found(&world.job(), &target, &|_| true)).unwrap();
    let reads = AtomicU32::new(0);
    let source = while_packs_are_read(world, move || {
        if reads.fetch_add(1, Ordering::Relaxed) == 0 {
            let before = world.names("packs/").len();
            world.prune(Duration::ZERO);
            assert!(world.names("packs/").len() < before);
        }
    });
    let synced = block_on(sync(&world.job_of(&source), &target, &|_| true)).unwrap();
    assert_eq!((synced.root, synced.is_current, &synced.faults[..]), (world.view().number(), true, &[][..]));
    assert_eq!(block_on(view::read(&target)).unwrap().state, world.view().state);
    let depth = check::Depth::Data { part: 1, parts: 1 };
    let (found, _) = block_on(check::inspect(&world.job_of(&target), depth)).unwrap();
    assert!(found.is_ok(), "{:?}", found.findings);
    // The next backup goes on from there.
    world.back_up(&client, &noise(3, 3, 5_000));
    let next = block_on(sync(&world.job(), &target, &|_| true)).unwrap();
    assert!(next.is_current && next.faults.is_empty(), "{:?}", next.faults);
}

#[test]
fn a_missing_base_is_no_damage_in_a_replica_whose_sync_was_killed_and_is_damage_in_a_repository() {
    let (world, client) = begin();
    let target = replica(world);
    let before = synced(world, &target).root;
    // The replica lacks the base of the newest root.
    world.back_up(&client, &noise(3, 3, 5_000));
    world.back_up(&client, &noise(4, 3, 5_000));
    let creates_root = |call: &Call<'_>| call.op == Op::Create && call.key.starts_with("roots/");
    let dying = Fault::at(&target, creates_root, |_| Fate::CrashAfter);
    assert!(block_on(sync(&world.job(), &dying, &|_| true)).is_err());
    let view = block_on(view::read(&target)).unwrap();
    assert_eq!((view.number(), view.unreached.len(), &view.passed[..]), (before, 1, &[][..]));
    let checked = || block_on(check::inspect(&world.job_of(&target), check::Depth::Structure)).unwrap().0;
    assert!(checked().is_ok(), "{:?}", checked().findings);
    block_on(end(&target)).unwrap();
    let is_base = |finding: &Finding| finding.object == "roots/" && finding.why.contains("the base of");
    assert!(checked().findings.iter().any(is_base), "{:?}", checked().findings);
}

#[test]
fn the_sync_after_a_killed_one_brings_the_base() {
    let (world, client) = begin();
    let target = replica(world);
    synced(world, &target);
    world.back_up(&client, &noise(3, 3, 5_000));
    world.back_up(&client, &noise(4, 3, 5_000));
    let creates_root = |call: &Call<'_>| call.op == Op::Create && call.key.starts_with("roots/");
    let dying = Fault::at(&target, creates_root, |_| Fate::CrashAfter);
    assert!(block_on(sync(&world.job(), &dying, &|_| true)).is_err());
    assert!(synced(world, &target).is_current);
    assert_eq!(block_on(view::read(&target)).unwrap().number(), world.view().number());
}

#[test]
fn a_reader_that_has_passed_over_a_root_takes_it_once_a_sync_has_created_its_base() {
    let (world, client) = begin();
    world.back_up(&client, &noise(3, 3, 5_000));
    let newest = world.view().root.unwrap().0;
    let base = layout::root(newest.base.unwrap().0);
    let bytes = world.read(&base);
    world.destroy(&base);
    let mut is_absent = true;
    // A reader that has passed over a root looks among the deletion records for evidence of a newer one.
    let store = Fault::new(&world.store, move |call| {
        if call.op == Op::List && call.key == "deletions/" && std::mem::take(&mut is_absent) {
            // A thread of its own: the reader waits in the executor of this one.
            let create = || world.put(&base, bytes.clone());
            std::thread::scope(|scope| scope.spawn(create).join()).expect("it does not panic");
        }
        Fate::Proceed
    });
    let view = block_on(view::read(&store)).unwrap();
    assert_eq!((view.number(), view.unreached.len(), view.passed.len()), (newest.number, 0, 0));
}

#[test]
fn a_sync_that_is_told_to_end_keeps_what_it_has() {
    let (world, _) = begin();
    let target = MemoryStore::new();
    block_on(found(&world.job(), &target, &|_| true)).unwrap();
    let left = AtomicU32::new(4);
    let goes_on = |bytes| bytes == 0 && left.fetch_sub(1, Ordering::Relaxed) > 1;
    let ended = block_on(sync(&world.job(), &target, &goes_on));
    assert!(matches!(ended, Err(SyncError::Interrupted)), "{ended:?}");
    let kept = block_on(copal_store::list_all(&target, "")).unwrap().len() as u64;
    let synced = block_on(sync(&world.job(), &target, &|_| true)).unwrap();
    let all = block_on(copal_store::list_all(&target, "")).unwrap().len() as u64;
    assert!(kept > 3 && synced.stored.objects < all - 3 && synced.is_current, "{kept} {all} {synced:?}");
}

#[test]
fn a_sync_asks_for_each_missing_object_once_and_little_besides() {
    let (world, client) = begin();
    let (source, target) = (Record::new(&world.store), Record::new(MemoryStore::new()));
    let job = world.job_of(&source);
    block_on(found(&job, &target, &|_| true)).unwrap();
    block_on(sync(&job, &target, &|_| true)).unwrap();
    let asked = || (source.events().len() as u64, target.events().len() as u64);
    let requests = |synced: &dyn Fn() -> u64| {
        let before = asked();
        let objects = synced();
        (objects, asked().0 - before.0, asked().1 - before.1)
    };
    let round = || block_on(sync(&job, &target, &|_| true)).unwrap().stored.objects;
    let (objects, here, there) = requests(&round);
    assert!(objects == 0 && here <= 21 && there <= 26, "{here} {there}");
    for seed in 3..9 {
        world.back_up(&client, &noise(seed, 3, 5_000));
    }
    let (objects, here, there) = requests(&round);
    assert!(objects > 20 && here <= 25 + objects && there <= 28 + objects, "{objects} {here} {there}");
}

/// A new replica, whose clock shows the same time as the source's.
fn replica(world: &World) -> MemoryStore {
    let target = MemoryStore::new();
    target.set_now(block_on(world.store.now()).unwrap());
    block_on(found(&world.job(), &target, &|_| true)).unwrap();
    target
}

fn synced(world: &World, target: &MemoryStore) -> Synced {
    block_on(sync(&world.job(), target, &|_| true)).unwrap()
}

/// The objects that were not copied, each with the reason.
fn not_copied(synced: &Synced) -> Vec<(&str, &str)> {
    synced.faults.iter().map(|fault| (fault.object.as_str(), fault.why.as_str())).collect()
}

/// A write-only client that has written every second manifest up to 2005. A rebuild moves its head to the last one.
fn with_gaps(manifest: impl Fn(&World, &Client, u64) -> Vec<u8>) -> (World, Client) {
    let (world, owner) = World::with_client();
    world.back_up(&owner, &noise(1, 3, 5_000));
    let client = world.register(2, Role::WriteOnly);
    for number in (1..=2005).step_by(2) {
        world.put(&layout::manifest(client.id, number), manifest(&world, &client, number));
    }
    world.rebuild();
    assert_eq!(world.view().state.heads[&client.id].number, 2005);
    (world, client)
}

#[test]
fn a_thousand_gaps_in_the_chain_of_a_client_are_one_fault_and_block_no_sync() {
    let (world, client) = with_gaps(|world, client, number| {
        let before = if number == 1 { ObjectHash::NONE } else { ObjectHash([1; 32]) };
        let manifest = Manifest::new(client.id, number, before, client.domain);
        manifest.sign(world.repository.owner.repository(), &client.keys.manifest_key())
    });
    let target = replica(&world);
    let synced = synced(&world, &target);
    assert!(synced.is_current);
    let why = "the source does not have it any more; not copied either: 1001 more of this folder";
    assert_eq!(not_copied(&synced), [(layout::manifest(client.id, 2).as_str(), why)]);
    assert_eq!(block_on(view::read(&target)).unwrap().state, world.view().state);
}

#[test]
fn a_thousand_manifests_that_their_client_has_not_signed_are_one_fault_and_block_no_sync() {
    let (world, client) = with_gaps(|_, _, number| number.to_string().into());
    let synced = synced(&world, &replica(&world));
    assert!(synced.is_current);
    let why = "its client has not signed it; not copied either: 2004 more of this folder";
    assert_eq!(not_copied(&synced), [(layout::manifest(client.id, 1).as_str(), why)]);
}

#[test]
fn what_is_lost_at_the_beginning_of_a_chain_is_named() {
    let (world, client) = World::with_client();
    world.back_up_daily(&client, [5_000, 6_000]);
    world.change(&client, vec![keep_last(1)]);
    world.wait(DAY);
    assert_eq!(world.expire().expired.len(), 1);
    let first = [layout::change(1), layout::expiry(1), layout::manifest(client.id, 1)];
    first.iter().for_each(|name| world.destroy(name));
    let synced = synced(&world, &replica(&world));
    assert!(synced.is_current);
    assert_eq!(synced.faults.iter().map(|fault| fault.object.clone()).collect::<Vec<_>>(), first);
}

#[test]
fn heads_that_are_falsely_far_away_are_faults_and_do_not_keep_a_sync_from_ending() {
    let (world, client) = begin();
    let head = ClientHead { number: NUMBER, hash: ObjectHash::NONE, time: Time(0), decisions: Vec::new() };
    let mut lie = Proposal { change_head: Some((NUMBER, ObjectHash::NONE)), ..Proposal::default() };
    lie.delta.heads.insert(client.id, Some(head));
    assert!(block_on(commit(&world.job(), &world.view(), lie)).unwrap().is_some());
    let synced = synced(world, &replica(world));
    assert!(synced.is_current);
    let why = |more| format!("the source does not have it any more; not copied either: {more} more of this folder");
    let expected = [(layout::change(2), why(NUMBER - 2)), (layout::manifest(client.id, 3), why(NUMBER - 3))];
    assert_eq!(not_copied(&synced), expected.each_ref().map(|(object, why)| (object.as_str(), why.as_str())));
}

/// A snapshot, and another full client that was invited for an hour.
fn invited() -> (World, SnapshotId, Client) {
    let (world, owner) = World::with_client();
    let snapshot = world.back_up(&owner, &noise(1, 3, 5_000));
    let hour = Duration::from_secs(3_600);
    let client = block_on(world.repository.invite(&world.store, 2, Role::Full, hour)).unwrap();
    (world, snapshot, client)
}

/// The client joins. All that it ever signs is a change.
fn join_and_forget(world: &World, client: &Client, snapshot: SnapshotId) {
    world.put(&layout::client(client.id, 2), world.repository.joined(client, Time(0)));
    world.change(client, vec![Operation::Forget(vec![snapshot])]);
}

/// What becomes of a snapshot in the replica after the next sync, as "sync --end" makes the state again.
fn state_after_end(world: &World, target: &MemoryStore, snapshot: SnapshotId) -> SnapshotState {
    let synced = synced(world, target);
    assert!(synced.is_current && synced.faults.is_empty(), "{:?}", synced.faults);
    block_on(rebuild(&world.job_of(target))).unwrap();
    let view = block_on(view::read(target)).unwrap();
    view.state.snapshots.values().find(|of| of.id == snapshot).expect("the snapshot is known").state
}

#[test]
fn a_client_that_joined_in_time_between_two_syncs_counts_in_the_replica() {
    let (world, snapshot, client) = invited();
    let target = replica(&world);
    assert!(synced(&world, &target).is_current);
    let records = block_on(copal_store::list_all(&target, &format!("clients/{}/", client.id))).unwrap();
    assert!(records.is_empty(), "an invitation waits in the source: {records:?}");
    join_and_forget(&world, &client, snapshot);
    assert_eq!(world.snapshot(snapshot).state, SnapshotState::Forgotten);
    target.advance(DAY);
    assert_eq!(state_after_end(&world, &target, snapshot), SnapshotState::Forgotten);
}

#[test]
fn a_client_that_joined_late_does_not_count_in_a_replica_that_dates_its_records_anew() {
    let (world, snapshot, client) = invited();
    world.wait(DAY);
    join_and_forget(&world, &client, snapshot);
    assert_eq!(world.snapshot(snapshot).state, SnapshotState::Kept);
    assert_eq!(state_after_end(&world, &replica(&world), snapshot), SnapshotState::Kept);
}

#[test]
fn what_the_source_has_pruned_stays_after_the_end_until_its_owner_had_time_to_revoke_who_forgot_it() {
    let (world, owner) = World::with_client();
    let kept = world.back_up(&owner, &noise(2, 3, 5_000));
    let others = world.names("packs/");
    let tree = noise(1, 3, 5_000);
    let first = world.back_up(&owner, &tree);
    let packs: Vec<String> = world.names("packs/").into_iter().filter(|name| !others.contains(name)).collect();
    let target = replica(&world);
    synced(&world, &target);
    world.change(&owner, vec![Operation::Pin(vec![kept])]);
    let last_change = world.view().root.unwrap().0.change_head;
    let thief = world.register(2, Role::Full);
    world.change(&thief, vec![Operation::Forget(vec![first])]);
    world.prune(Duration::ZERO);
    assert!(!packs.iter().any(|name| world.has(name)));
    assert!(synced(&world, &target).is_current);
    target.advance(8 * DAY);
    let job = world.job_of(&target);
    assert!(block_on(rebuild(&job)).unwrap().packs_recorded >= packs.len() as u64);
    block_on(prune(&job, &Options::new([4096, 3072]))).unwrap();
    assert!(packs.iter().all(|name| block_on(target.stat(&key(name))).unwrap().is_some()));
    block_on(world.repository.revoke(&target, &thief, (0, ObjectHash::NONE), last_change)).unwrap();
    block_on(rebuild(&job)).unwrap();
    let view = block_on(view::read(&target)).unwrap();
    let snapshot = view.state.snapshots.values().find(|of| of.id == first).expect("the snapshot is known");
    assert_eq!(block_on(Reader::new(&world.repository).restore(&target, &view, snapshot)), Ok(tree));
}
