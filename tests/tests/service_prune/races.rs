//! Races: other writers create roots while a prune decides, copies and writes its own.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::SnapshotId;
use copal_format::layout;
use copal_format::manifest::Manifest;
use copal_format::receipt::Outcome;
use copal_format::state::{PackRecord, SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_jobs::budget::Budget;
use copal_jobs::commit::{Proposal, commit};
use copal_jobs::error::JobError;
use copal_jobs::prune::{self, Options};
use copal_store::Op;
use copal_store::fault::{Fate, Fault};
use copal_tests::kit::{Client, DAY, How, Tree, World, asked};
use futures::executor::block_on;

use super::moves::mostly_forgotten;
use super::{files, left_behind};

fn begin() -> (Arc<World>, SnapshotId, Tree) {
    let (world, client) = World::with_client();
    let (kept, tree) = mostly_forgotten(&world, &client);
    (Arc::new(world), kept, tree)
}

/// Runs a prune whose store does something before each call that is meant, and returns how often it listed the packs.
fn beside(
    world: &Arc<World>,
    grace: Duration,
    is_meant: impl FnMut(Op, &str) -> bool + Send + 'static,
    act: impl Fn(&World) + Send + Sync + 'static,
) -> (Result<prune::Report, JobError>, u64) {
    beside_with(world, &Options { grace, ..Options::new([4096, 3072]) }, is_meant, act)
}

/// Like [`beside`], with other options.
fn beside_with(
    world: &Arc<World>,
    options: &Options,
    mut is_meant: impl FnMut(Op, &str) -> bool + Send + 'static,
    act: impl Fn(&World) + Send + Sync + 'static,
) -> (Result<prune::Report, JobError>, u64) {
    let (other, act) = (world.clone(), Arc::new(act));
    let listings = Arc::new(AtomicU64::new(0));
    let seen = listings.clone();
    let store = Fault::new(&world.store, move |call| {
        seen.fetch_add(u64::from(call.op == Op::List && call.key.starts_with("packs/")), Ordering::Relaxed);
        if is_meant(call.op, call.key) {
            let (world, act) = (other.clone(), act.clone());
            std::thread::spawn(move || act(&world)).join().unwrap();
        }
        Fate::Proceed
    });
    let ended = block_on(prune::prune(&world.job_of(&store), options));
    (ended, listings.load(Ordering::Relaxed))
}

#[test]
fn beside_a_writer_that_is_faster_most_times_a_prune_ends_copies_once_and_leaves_nothing_behind() {
    let (world, kept, tree) = begin();
    let alone = world.copy().prune(Duration::ZERO);
    let writer = world.register(2, Role::Full);
    let commits = Arc::new(AtomicU64::new(0));
    let count = commits.clone();
    let save = move |world: &World| {
        let number = count.fetch_add(1, Ordering::Relaxed);
        world.back_up(&writer, &files(1000 + number, 1, 300));
    };
    let mut tries = 0;
    // Another writer wins three of every four root numbers, and one more for each pack that the prune moves.
    let is_faster = move |op, key: &str| {
        let is_root = op == Op::Create && key.starts_with("roots/");
        tries += u64::from(is_root);
        is_root && tries % 4 != 0 || op == Op::Create && key.starts_with("moved/")
    };
    let report = beside(&world, Duration::ZERO, is_faster, save).0.unwrap();
    assert!(commits.load(Ordering::Relaxed) > 5);
    assert!(report.packs_rewritten > 0);
    assert_eq!(report.bytes_copied, alone.bytes_copied);
    assert_eq!(left_behind(&world), Vec::<String>::new());
    assert_eq!(world.restore(kept), Ok(tree));
    assert!(world.check().is_ok());
}

#[test]
fn beside_a_writer_that_is_always_faster_a_prune_gives_up_and_harms_nothing() {
    // The writer comes before a prune creates its root, and while it verifies the state.
    for (meant, prefix) in [(Op::Create, "roots/"), (Op::List, "deletions/")] {
        let (world, kept, tree) = begin();
        let writer = world.register(2, Role::Full);
        let mut times = 0;
        let is_faster = move |op, key: &str| {
            let is_meant = op == meant && key.starts_with(prefix);
            times += u64::from(is_meant);
            assert!(times < 200, "the prune never gives up");
            is_meant
        };
        let (ended, _) = beside(&world, Duration::ZERO, is_faster, move |world| {
            world.back_up(&writer, &Tree::new());
        });
        assert!(matches!(ended, Err(JobError::Contended { .. })), "{prefix}: {ended:?}");
        assert_eq!(world.restore(kept), Ok(tree));
    }
}

#[test]
fn beside_a_writer_for_each_look_at_the_packs_a_prune_decides_once_for_each_root() {
    let (world, kept, tree) = begin();
    let alone = beside(&Arc::new(world.copy()), Duration::ZERO, |_, _| false, |_| ()).1;
    let writer = world.register(2, Role::Full);
    let saved = Arc::new(AtomicU64::new(0));
    let number = saved.clone();
    let save = move |world: &World| {
        let number = number.fetch_add(1, Ordering::Relaxed);
        world.back_up(&writer, &files(1000 + number, 1, 300));
    };
    let is_meant = |op, key: &str| op == Op::List && ["packs/", "moved/", "index/"].contains(&key);
    let (ended, listings) = beside(&world, Duration::ZERO, is_meant, save);
    let report = ended.unwrap();
    assert!(report.entries_removed > 0 && report.packs_rewritten > 0, "{report:?}");
    assert!(saved.load(Ordering::Relaxed) >= 3 * listings);
    assert_eq!(listings, alone, "nothing is decided twice");
    assert_eq!(left_behind(&world), Vec::<String>::new());
    assert_eq!(world.restore(kept), Ok(tree));
    assert!(world.check().is_ok());
}

/// A world whose next prune removes a forgotten snapshot, and moves what is left of its packs.
fn due() -> (Arc<World>, Client, SnapshotId, Tree) {
    let world = Arc::new(World::new());
    let client = world.register(1, Role::Full);
    let tree = files(1, 8, 3000);
    let old = world.back_up(&client, &tree);
    world.back_up(&client, &files(2, 2, 3000));
    world.change(&client, vec![Operation::Forget(vec![old])]);
    world.prune(DAY);
    world.wait(DAY + Duration::from_secs(60));
    (world, client, old, tree)
}

/// True before the first root is created.
fn first_root() -> impl FnMut(Op, &str) -> bool + Send {
    let mut is_due = true;
    move |op, key| op == Op::Create && key.starts_with("roots/") && std::mem::take(&mut is_due)
}

#[test]
fn what_somebody_undeletes_before_the_root_that_removes_it_stays() {
    let (world, client, old, tree) = due();
    let undelete = move |world: &World| world.change(&client, vec![Operation::Undelete(vec![old])]);
    let (ended, listings) = beside(&world, DAY, first_root(), undelete);
    assert_eq!(ended.unwrap().entries_removed, 0);
    assert!(listings > 1, "the decision is made again");
    assert_eq!(world.restore(old), Ok(tree));
    assert!(world.check().is_ok());
}

#[test]
fn what_somebody_names_again_before_the_root_that_removes_it_stays() {
    let (world, client, _, tree) = due();
    let bytes = world.read(&layout::manifest(client.id, 1));
    let key = client.keys.manifest_key().verifying_key().to_bytes();
    let old = Manifest::verify(world.repository.owner.repository(), &key, client.id, 1, &bytes).unwrap().manifest;
    let again = Arc::new(Mutex::new(None));
    let set = again.clone();
    let name = move |world: &World| {
        let (job, how, view) = (world.job(), How::default(), world.view());
        let snapshot = old.snapshot.clone().map(|claim| (claim, &tree));
        let written = client.write_manifest(&job, &view, &old.packs, snapshot.as_ref(), &how);
        let written = block_on(written).unwrap();
        world.ingest().unwrap();
        assert_eq!(world.receipt(&client, written.number).outcome, Outcome::Accepted);
        *set.lock().unwrap() = Some((written.hash.snapshot(), tree.clone()));
    };
    let (ended, listings) = beside(&world, DAY, first_root(), name);
    ended.unwrap();
    assert!(listings > 1, "the decision is made again");
    let (snapshot, tree) = again.lock().unwrap().take().unwrap();
    assert_eq!(world.restore(snapshot), Ok(tree));
    assert!(world.check().is_ok());
}

#[test]
fn segments_that_others_merge_meanwhile_lose_what_leaves_as_well() {
    let (world, client, old, _) = due();
    let (tree, saved) = (files(3, 8, 3000), Arc::new(Mutex::new(None)));
    // A backup folds smaller segments into its own.
    let (copy, set) = (tree.clone(), saved.clone());
    let save = move |world: &World| *set.lock().unwrap() = Some(world.back_up(&client, &copy));
    let before = world.view().state.segments;
    let (ended, listings) = beside(&world, DAY, first_root(), save);
    assert!(ended.unwrap().entries_removed > 0);
    assert_eq!(listings, 1, "nothing is decided again");
    let after = world.view().state.segments;
    assert!(before.keys().all(|segment| !after.contains_key(segment)));
    assert_eq!(world.snapshot(old).state, SnapshotState::Gone);
    assert_eq!(world.restore(saved.lock().unwrap().take().unwrap()), Ok(tree));
    super::picture(&world);
    assert!(world.check().is_ok());
}

#[test]
fn wrong_times_that_others_write_meanwhile_are_put_right_without_another_decision() {
    let (world, client, old, _) = due();
    let save = move |world: &World| {
        world.back_up(&client, &files(3, 2, 3000));
        // Whoever may write states calls what is new older than it is.
        let view = world.view();
        let mut proposal = Proposal::default();
        let snapshot =
            view.state.snapshots.iter().max_by_key(|(_, of)| of.accepted).map(|(key, of)| (*key, of.clone()));
        let (key, snapshot) = snapshot.unwrap();
        let packs = view.state.packs.iter().filter(|(_, of)| of.accepted == snapshot.accepted);
        proposal.delta.packs =
            packs.map(|(id, of)| (*id, Some(PackRecord { accepted: Time(0), ..of.clone() }))).collect();
        proposal.delta.snapshots.insert(key, Some(SnapshotRecord { accepted: Time(0), ..snapshot }));
        block_on(commit(&world.job(), &view, proposal)).unwrap().expect("nobody else writes");
    };
    let (ended, listings) = beside(&world, DAY, first_root(), save);
    assert!(ended.unwrap().entries_removed > 0);
    assert_eq!(listings, 1, "nothing is decided again");
    let state = world.view().state;
    assert!(state.packs.values().all(|pack| pack.accepted > Time(0)));
    assert!(state.snapshots.values().all(|snapshot| snapshot.accepted > Time(0)));
    assert_eq!(state.snapshots.values().filter(|of| of.id == old && of.state == SnapshotState::Gone).count(), 1);
    assert!(world.check().is_ok());
}

#[test]
fn copies_that_the_next_decision_does_not_want_are_deleted_by_the_same_run() {
    let (world, kept, tree) = begin();
    // Before the root that names the copies, another prune moves the same blocks.
    let (ended, _) = beside(&world, Duration::ZERO, first_root(), |world| {
        world.prune(Duration::ZERO);
    });
    let report = ended.unwrap();
    assert_eq!(report.packs_rewritten, 0);
    assert_eq!(left_behind(&world), Vec::<String>::new());
    assert_eq!(world.restore(kept), Ok(tree));
    assert!(world.check().is_ok());
}

/// Does something once, between the copies of a prune and the root that names them.
fn lose_copies(lose: fn(&World)) {
    let (world, kept, tree) = begin();
    let is_lost = Arc::new(AtomicBool::new(false));
    let set = is_lost.clone();
    let lose_once = move |world: &World| {
        if !world.names("moved/").is_empty() && !set.swap(true, Ordering::Relaxed) {
            lose(world);
        }
    };
    let is_root = |op, key: &str| op == Op::Create && key.starts_with("roots/");
    beside(&world, Duration::ZERO, is_root, lose_once).0.unwrap();
    assert!(is_lost.load(Ordering::Relaxed));
    assert_eq!(world.restore(kept).as_ref(), Ok(&tree));
    assert!(world.check().is_ok());
    assert!(world.prune(Duration::ZERO).packs_rewritten > 0, "the next prune copies them");
}

#[test]
fn copies_that_are_gone_once_another_writer_was_faster_are_named_by_no_root() {
    lose_copies(|world| {
        world.destroy_all("moved/");
        world.back_up(&world.register(2, Role::Full), &Tree::new());
    });
}

#[test]
fn copies_that_another_prune_deletes_as_orphans_are_named_by_no_root() {
    lose_copies(|world| {
        // The prune has slept until its copies are as old as orphans.
        world.wait(8 * DAY);
        let options = Options { grace: Duration::MAX, repack_most: 0, ..Options::new([4096, 3072]) };
        world.try_prune(&options).unwrap();
    });
}

/// A snapshot that somebody undeletes behind a rebuild, while the prune that removes it sleeps; and one that stays.
fn slept(
    budget: Budget,
    is_meant: impl FnMut(Op, &str) -> bool + Send + 'static,
) -> (Arc<World>, SnapshotId, Tree, SnapshotId) {
    let (world, client) = World::with_client();
    let tree = files(1, 4, 3000);
    let old = world.back_up(&client, &tree);
    let kept = world.back_up(&client, &files(2, 4, 3000));
    world.change(&client, vec![Operation::Forget(vec![old])]);
    let before = world.view().number();
    let world = Arc::new(world);
    let options = Options { grace: Duration::ZERO, budget, ..Options::new([4096, 3072]) };
    let (ended, _) = beside_with(&world, &options, is_meant, move |world| {
        world.rebuild();
        world.change(&client, vec![Operation::Undelete(vec![old])]);
    });
    assert!(ended.unwrap().packs_dead > 0);
    assert!(world.view().number() > before + 1000, "there was a rebuild");
    (world, old, tree, kept)
}

/// True after the root that dooms the packs, and before their deletion is recorded.
fn before_the_record() -> impl FnMut(Op, &str) -> bool + Send {
    let (mut has_doomed, mut has_slept) = (false, false);
    move |op, key| {
        has_doomed |= op == Op::Create && key.starts_with("roots/");
        has_doomed && op == Op::Stat && key.starts_with("packs/") && !std::mem::replace(&mut has_slept, true)
    }
}

#[test]
fn a_prune_that_slept_while_the_index_was_rebuilt_deletes_nothing_that_the_new_state_may_count() {
    let (world, old, tree, kept) = slept(Budget::unlimited(), before_the_record());
    for _ in 0..3 {
        assert_eq!(world.restore(old).as_ref(), Ok(&tree));
        assert!(world.restore(kept).is_ok());
        world.wait_and_prune(1, DAY * 8);
    }
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
}

/// The names that the prune has recorded without deleting anything take nothing from a rebuild, nor from the next one.
fn survive_rebuilds((world, old, tree, kept): (Arc<World>, SnapshotId, Tree, SnapshotId)) {
    for _ in 0..2 {
        let report = world.rebuild();
        assert_eq!((report.snapshots, report.lost), (2, 0), "{report:?}");
        world.wait_and_prune(2, DAY * 8);
        assert_eq!(world.restore(old).as_ref(), Ok(&tree));
        assert!(world.restore(kept).is_ok());
    }
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
}

#[test]
fn what_a_prune_that_slept_has_recorded_and_not_deleted_counts_in_a_second_rebuild() {
    survive_rebuilds(slept(Budget::unlimited(), before_the_record()));
}

#[test]
fn what_a_prune_with_a_time_budget_has_recorded_for_a_root_that_nobody_reads_counts_in_a_second_rebuild() {
    survive_rebuilds(slept(asked(1_000), first_root()));
}
