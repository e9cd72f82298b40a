//! Prune where there is no room: what can be freed is, and the next run goes on.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::{ChunkId, SnapshotId};
use copal_jobs::error::JobError;
use copal_jobs::prune::{self, Options, Report};
use copal_store::memory::MemoryStore;
use copal_store::{Created, Key, Op, Store, StoreError, list_all};
use copal_tests::kit::{Client, Tree, World};
use futures::executor::block_on;

use super::{files, left_behind, picture};

/// A disk of a certain size.
struct Disk<'a> {
    store: &'a MemoryStore,
    size: u64,
}

#[async_trait]
impl Store for Disk<'_> {
    copal_store::pass_on!(store: read, read_range, stat, list, delete, now);

    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        let used: u64 = list_all(self.store, "").await?.iter().map(|listed| listed.stat.length).sum();
        if used + bytes.len() as u64 > self.size {
            return Err(StoreError::Full { op: Op::Create, key: key.to_string(), source: "the disk is full".into() });
        }
        self.store.create(key, bytes).await
    }
}

/// A world in which some packs are dead as a whole, and of others most is.
pub(super) fn mostly_forgotten(world: &World) -> (SnapshotId, Tree) {
    let client: Client = world.register(1, Role::Full);
    let dead = world.back_up(&client, &files(7, 12, 900));
    let tree = files(1, 24, 900);
    let sparse = world.back_up(&client, &tree);
    let tree: Tree = tree.into_iter().skip(3).step_by(4).collect();
    let kept = world.back_up(&client, &tree);
    world.change(&client, vec![Operation::Forget(vec![dead, sparse])]);
    (kept, tree)
}

pub(super) fn options() -> Options {
    Options { grace: Duration::ZERO, repack_step: 4000, ..Options::new([4096, 3072]) }
}

fn bytes(world: &World, prefix: &str) -> u64 {
    block_on(list_all(&world.store, prefix)).unwrap().iter().map(|listed| listed.stat.length).sum()
}

pub(super) fn prune_on(world: &World, room: u64) -> Result<Report, JobError> {
    let disk = Disk { store: &world.store, size: bytes(world, "") + room };
    block_on(prune::prune(&world.job_of(&disk), &options()))
}

/// What is present; each id once, and nothing that no kept snapshot needs.
fn tidy(world: &World) -> BTreeSet<ChunkId> {
    let picture = picture(world);
    let reached = picture.reached();
    assert!(picture.entries.iter().all(|entry| reached.contains(&(entry.domain, entry.id))));
    assert!(picture.copies().values().all(|copies| copies.len() == 1));
    picture.entries.iter().map(|entry| entry.id).collect()
}

#[test]
fn what_dies_whole_is_deleted_before_anything_is_copied() {
    let world = World::new();
    mostly_forgotten(&world);
    let calls = copal_store::record::Record::new(&world.store);
    let report = block_on(prune::prune(&world.job_of(&calls), &options())).unwrap();
    assert!(report.packs_dead > 0 && report.packs_rewritten > 0, "{report:?}");
    let events = calls.take();
    let first = |op: Op, prefix: &str| {
        events.iter().position(|event| event.op == op && event.key.starts_with(prefix)).expect("there is one")
    };
    assert!(first(Op::Delete, "packs/") < first(Op::Create, "moved/"));
}

#[test]
fn with_room_for_hardly_more_than_a_root_all_is_freed_in_the_end() {
    let world = World::new();
    let (kept, tree) = mostly_forgotten(&world);
    let before = bytes(&world, "packs/");
    let report = prune_on(&world, 12_000).unwrap();
    assert!(report.packs_dead > 0 && report.packs_rewritten > 0, "{report:?}");
    assert!(bytes(&world, "packs/") + bytes(&world, "moved/") < before / 2);
    assert_eq!(left_behind(&world), Vec::<String>::new());
    assert_eq!(world.restore(kept), Ok(tree));
    tidy(&world);
}

#[test]
fn however_little_room_there_is_a_prune_says_so_harms_nothing_and_the_next_one_goes_on() {
    let whole = {
        let world = World::new();
        mostly_forgotten(&world);
        block_on(prune::prune(&world.job(), &options())).unwrap();
        tidy(&world)
    };
    let mut refused = 0;
    for room in (0..16).map(|step| step * 700) {
        let world = World::new();
        let (kept, tree) = mostly_forgotten(&world);
        match prune_on(&world, room) {
            Ok(_) => {}
            Err(JobError::Store(StoreError::Full { .. })) => refused += 1,
            Err(error) => panic!("with room for {room} bytes: {error}"),
        }
        assert_eq!(world.restore(kept).as_ref(), Ok(&tree), "with room for {room} bytes");
        assert!(world.check().is_ok());
        block_on(prune::prune(&world.job(), &options())).unwrap();
        assert_eq!((tidy(&world), world.restore(kept)), (whole.clone(), Ok(tree)), "with room for {room} bytes");
    }
    assert!(refused > 2 && refused < 16, "{refused} of 16 had too little room");
}

#[test]
fn a_disk_that_fills_up_while_blocks_are_copied_keeps_no_copies_that_no_root_names() {
    let world = World::new();
    mostly_forgotten(&world);
    // All that dies whole is gone, and then the disk is full.
    let few = Options { repack_most: 0, ..options() };
    block_on(prune::prune(&world.job(), &few)).unwrap();
    let disk = Disk { store: &world.store, size: bytes(&world, "") + 2_000 };
    match block_on(prune::prune(&world.job_of(&disk), &options())) {
        Ok(report) => assert!(report.is_full && report.bytes_postponed > 0, "{report:?}"),
        Err(error) => assert!(matches!(error, JobError::Store(StoreError::Full { .. })), "{error}"),
    }
    let copies: Vec<String> = left_behind(&world).into_iter().filter(|name| name.starts_with("moved/")).collect();
    assert_eq!(copies, Vec::<String>::new());
}

#[test]
fn many_small_packs_become_few_and_then_stay_as_they_are() {
    let world = World::new();
    let client = world.register(1, Role::Full);
    let mut tree = Tree::new();
    for number in 0..20 {
        tree.extend(files(number, 1, 300));
        world.back_up(&client, &tree);
    }
    let kept = world.back_up(&client, &tree);
    let count = |world: &World| world.names("packs/").len() + world.names("moved/").len();
    let before = count(&world);
    let options = Options { grace: Duration::ZERO, ..Options::new([1 << 16, 1 << 16]) };
    world.try_prune(&options).unwrap();
    assert!(before >= 40 && count(&world) <= 4, "{before} packs have become {}", count(&world));
    assert_eq!(world.restore(kept), Ok(tree));
    assert!(world.check().is_ok());
    // The check has noted what it read: so much more is the baseline now.
    world.try_prune(&options).unwrap();
    let objects = world.names("");
    world.try_prune(&options).unwrap();
    assert_eq!(world.names(""), objects);
}
