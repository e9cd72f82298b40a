//! Races: other writers create roots while a prune decides, copies and writes its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
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
    let report = block_on(prune::prune(&world.host_of(&store), &options)).unwrap();
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
        let ended = block_on(prune::prune(&world.host_of(&store), &options));
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
    let report = block_on(prune::prune(&world.host_of(&store), &options)).unwrap();
    assert_eq!(report.packs_rewritten, 0);
    assert_eq!(left_behind(&world), Vec::<String>::new());
    assert_eq!(world.restore(kept), Ok(tree));
    assert!(world.check().is_ok());
}

#[test]
fn copies_that_are_gone_once_another_writer_was_faster_are_named_by_no_root() {
    for is_pruned in [false, true] {
        let world = Arc::new(World::new());
        let client = world.register(1, Role::Full);
        let (kept, tree) = mostly_forgotten(&world, &client);
        let (other, gone) = (world.clone(), Arc::new(OnceLock::new()));
        let set = gone.clone();
        let lose_copies = move || {
            let copies = other.names("moved/");
            if copies.is_empty() || set.set(copies).is_err() {
                return;
            }
            if is_pruned {
                // The prune has slept until its copies are as old as orphans.
                other.wait(8 * DAY);
                let options = Options { grace: Duration::MAX, repack_most: 0, ..Options::new([4096, 3072]) };
                other.try_prune(&options).unwrap();
            } else {
                other.destroy_all("moved/");
                other.back_up(&other.register(2, Role::Full), &Tree::new());
            }
        };
        let store = Fault::new(&world.store, move |call| {
            if call.op == Op::Create && call.key.starts_with("roots/") {
                let lose_copies = lose_copies.clone();
                std::thread::spawn(lose_copies).join().unwrap();
            }
            Fate::Proceed
        });
        let options = Options { grace: Duration::ZERO, ..Options::new([4096, 3072]) };
        block_on(prune::prune(&world.host_of(&store), &options)).unwrap();
        assert!(gone.get().is_some(), "{is_pruned}");
        assert_eq!(world.restore(kept).as_ref(), Ok(&tree), "{is_pruned}");
        assert!(world.check().is_ok(), "{is_pruned}");
        assert!(world.prune(Duration::ZERO).packs_rewritten > 0, "the next prune copies them");
    }
}
