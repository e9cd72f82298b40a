//! Races: other writers create roots while a prune decides, copies and writes its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use copal_format::client::Role;
use copal_jobs::error::JobError;
use copal_jobs::prune::{self, Options};
use copal_store::Op;
use copal_store::fault::{Fate, Fault};
use copal_tests::kit::{DAY, Tree, World};
use futures::executor::block_on;

use super::moves::mostly_forgotten;
use super::{files, left_behind};

#[test]
fn beside_a_writer_that_is_faster_most_times_a_prune_ends_copies_once_and_leaves_nothing_behind() {
    let world = Arc::new(World::new());
    let client = world.register(1, Role::Full);
    let (kept, tree) = mostly_forgotten(&world, &client);
    let alone = {
        let world = World::new();
        let client = world.register(1, Role::Full);
        mostly_forgotten(&world, &client);
        world.prune(Duration::ZERO)
    };
    let writer = Arc::new(world.register(2, Role::Full));
    let commits = Arc::new(AtomicU64::new(0));
    let others = (world.clone(), commits.clone());
    let mut tries = 0;
    let store = Fault::new(&world.store, move |call| {
        // Another writer wins three of every four root numbers, and one more for each pack that the prune moves.
        let is_root = call.op == Op::Create && call.key.starts_with("roots/");
        tries += u64::from(is_root);
        if is_root && tries % 4 != 0 || call.op == Op::Create && call.key.starts_with("moved/") {
            let (world, writer) = (others.0.clone(), writer.clone());
            let number = others.1.fetch_add(1, Ordering::Relaxed);
            std::thread::spawn(move || world.back_up(&writer, &files(1000 + number, 1, 300))).join().unwrap();
        }
        Fate::Proceed
    });
    let options = Options { grace: Duration::ZERO, ..Options::new([4096, 3072]) };
    let report = block_on(prune::prune(&world.job_of(&store), &options)).unwrap();
    assert!(commits.load(Ordering::Relaxed) > 5);
    assert!(report.packs_rewritten > 0);
    assert_eq!(report.bytes_copied, alone.bytes_copied);
    assert_eq!(left_behind(&world), Vec::<String>::new());
    assert_eq!(world.restore(kept), Ok(tree));
    assert!(world.check().is_ok());
}

#[test]
fn beside_a_writer_that_is_always_faster_a_prune_gives_up_and_harms_nothing() {
    // The writer comes before a prune creates its root, while it verifies the state, and while it decides.
    for (op, prefix) in [(Op::Create, "roots/"), (Op::List, "deletions/"), (Op::List, "packs/")] {
        let world = Arc::new(World::new());
        let client = world.register(1, Role::Full);
        let (kept, tree) = mostly_forgotten(&world, &client);
        let (other, writer) = (world.clone(), Arc::new(world.register(2, Role::Full)));
        let mut times = 0;
        let store = Fault::new(&world.store, move |call| {
            if call.op == op && call.key.starts_with(prefix) {
                times += 1;
                assert!(times < 200, "the prune never gives up");
                let (world, writer) = (other.clone(), writer.clone());
                std::thread::spawn(move || world.back_up(&writer, &Tree::new())).join().unwrap();
            }
            Fate::Proceed
        });
        let options = Options { grace: Duration::ZERO, repack_most: 0, ..Options::new([4096, 3072]) };
        let ended = block_on(prune::prune(&world.job_of(&store), &options));
        assert!(matches!(ended, Err(JobError::Contended { .. })), "{prefix}: {ended:?}");
        assert_eq!(world.restore(kept), Ok(tree));
    }
}

#[test]
fn copies_that_the_next_decision_does_not_want_are_deleted_by_the_same_run() {
    let world = Arc::new(World::new());
    let client = world.register(1, Role::Full);
    let (kept, tree) = mostly_forgotten(&world, &client);
    // Before the root that names the copies, another prune moves the same blocks.
    let other = world.clone();
    let mut is_due = true;
    let store = Fault::new(&world.store, move |call| {
        if call.op == Op::Create && call.key.starts_with("roots/") && std::mem::take(&mut is_due) {
            let world = other.clone();
            std::thread::spawn(move || world.prune(Duration::ZERO)).join().unwrap();
        }
        Fate::Proceed
    });
    let options = Options { grace: Duration::ZERO, ..Options::new([4096, 3072]) };
    let report = block_on(prune::prune(&world.job_of(&store), &options)).unwrap();
    assert_eq!(report.packs_rewritten, 0);
    assert_eq!(left_behind(&world), Vec::<String>::new());
    assert_eq!(world.restore(kept), Ok(tree));
    assert!(world.check().is_ok());
}

/// Does something once, between the copies of a prune and the root that names them.
fn lose_copies(lose: fn(&World)) {
    let world = Arc::new(World::new());
    let client = world.register(1, Role::Full);
    let (kept, tree) = mostly_forgotten(&world, &client);
    let (other, is_lost) = (world.clone(), Arc::new(AtomicBool::new(false)));
    let set = is_lost.clone();
    let store = Fault::new(&world.store, move |call| {
        if call.op == Op::Create && call.key.starts_with("roots/") {
            let (world, set) = (other.clone(), set.clone());
            let lose_once = move || {
                if !world.names("moved/").is_empty() && !set.swap(true, Ordering::Relaxed) {
                    lose(&world);
                }
            };
            std::thread::spawn(lose_once).join().unwrap();
        }
        Fate::Proceed
    });
    let options = Options { grace: Duration::ZERO, ..Options::new([4096, 3072]) };
    block_on(prune::prune(&world.job_of(&store), &options)).unwrap();
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
