//! Replicas beside a source that goes on: what a sync does if a prune deletes while it copies.

use core::time::Duration;
use std::sync::atomic::{AtomicU32, Ordering};

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_jobs::check;
use copal_jobs::replica::{SyncError, found, sync};
use copal_jobs::view;
use copal_store::Op;
use copal_store::fault::{Fate, Fault};
use copal_store::memory::MemoryStore;
use copal_store::record::Record;
use copal_tests::kit::{Client, World, noise};
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
