//! Full: a store that becomes full at any call of a backup, an ingest, a decision, an expiry, a prune
//! or a compaction. Nothing that was
//! saved is lost, the error names what there was no room for, and the same with room is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use copal_format::change::Operation;
use copal_format::id::SnapshotId;
use copal_format::receipt::IngestBy;
use copal_jobs::compact::compact;
use copal_jobs::context::JobContext;
use copal_jobs::error::JobError;
use copal_jobs::expire::expire;
use copal_jobs::faults::{self, Windows};
use copal_jobs::ingest::{Scope, ingest};
use copal_jobs::prune::{self, Options};
use copal_store::fault::{Fate, Fault};
use copal_store::reserve::{self, Reserve};
use copal_store::{Op, Store, StoreError};
use copal_tests::kit::client::{Failure, How};
use copal_tests::kit::{Client, Tree, World, keep_last, key, noise as files};
use futures::executor::block_on;

/// What is done while the store becomes full.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Act {
    Backup,
    Ingest,
    Forget,
    Expire,
    Prune,
    Compact,
}

const ACTS: [Act; 6] = [Act::Backup, Act::Ingest, Act::Forget, Act::Expire, Act::Prune, Act::Compact];

/// A repository in which each act has work.
struct Scene {
    world: World,
    client: Client,
    kept: Vec<(SnapshotId, Tree)>,
}

impl Scene {
    fn of(act: Act) -> Self {
        let (world, client) = World::with_client();
        let dead = world.back_up(&client, &files(7, 6, 900));
        let tree = files(1, 12, 900);
        let sparse = world.back_up(&client, &tree);
        let tree: Tree = tree.into_iter().step_by(4).collect();
        let kept = world.back_up(&client, &tree);
        let kept = match act {
            Act::Prune => {
                world.change(&client, vec![Operation::Forget(vec![dead, sparse])]);
                vec![(kept, tree)]
            }
            Act::Expire => {
                world.change(&client, vec![keep_last(1)]);
                vec![(kept, tree)]
            }
            // Decided about nothing: what waits is for ingest.
            Act::Ingest => {
                world.upload(&client, &files(9, 6, 900));
                world.write_change(&client, vec![Operation::Forget(vec![dead])]);
                vec![(sparse, files(1, 12, 900)), (kept, tree)]
            }
            Act::Forget | Act::Backup | Act::Compact => {
                vec![(dead, files(7, 6, 900)), (sparse, files(1, 12, 900)), (kept, tree)]
            }
        };
        Self { world, client, kept }
    }

    /// The same objects, of which others know nothing.
    fn copy(&self) -> World {
        self.client.forget_memory();
        self.world.copy()
    }

    fn act(&self, act: Act, world: &World, store: &dyn Store) -> Result<(), StoreError> {
        let job: JobContext<'_> = world.job_of(store);
        let of_store = |error| match error {
            JobError::Store(error) => error,
            error => panic!("{act:?}: {error}"),
        };
        match act {
            Act::Backup => match block_on(self.client.back_up(&job, &files(3, 6, 900), &How::default())) {
                Ok(_) => Ok(()),
                Err(Failure::Job(error)) => Err(of_store(error)),
                Err(error) => panic!("{error}"),
            },
            Act::Ingest => {
                block_on(ingest(&job, IngestBy::Service, Scope::All, &|_| false)).map(drop).map_err(of_store)
            }
            Act::Forget => {
                let (name, bytes) = world.signed_change(&self.client, vec![Operation::Forget(vec![self.kept[0].0])]);
                block_on(async {
                    store.create(&key(&name), bytes.into()).await?;
                    ingest(&job, IngestBy::Service, Scope::Decisions, &|_| false).await.map(drop).map_err(of_store)
                })
            }
            Act::Expire => block_on(expire(&job, IngestBy::Service)).map(drop).map_err(of_store),
            Act::Prune => block_on(prune::prune(&job, &options())).map(drop).map_err(of_store),
            Act::Compact => {
                // Merges segments that are too few otherwise.
                faults::plant(None, Windows { cover: 1, ..Windows::DESIGN });
                let done = block_on(compact(&job)).map(drop).map_err(of_store);
                faults::plant(None, Windows::DESIGN);
                done
            }
        }
    }

    /// What was saved is whole, and nothing is damaged. What the act forgets is left out.
    fn is_whole(&self, act: Act, world: &World, label: &str) {
        for (id, tree) in self.kept.iter().skip(usize::from(act == Act::Forget)) {
            assert_eq!(world.restore(*id).as_ref(), Ok(tree), "{label}");
        }
        assert!(world.check().is_ok(), "{label}");
    }
}

fn options() -> Options {
    Options { grace: Duration::ZERO, repack_step: 4000, ..Options::new([4096, 3072]) }
}

/// A store that has no room from one of its creations on, or for that one alone.
fn full_from<'a>(world: &'a World, first: u64, lasts: bool, calls: &Arc<AtomicU64>) -> Fault<&'a dyn Store> {
    let calls = calls.clone();
    let store: &dyn Store = &world.store;
    Fault::new(store, move |call| {
        if call.op != Op::Create {
            return Fate::Proceed;
        }
        let at = calls.fetch_add(1, Ordering::Relaxed);
        if at == first || (lasts && at > first) {
            return Fate::FailBefore(full(call.key));
        }
        Fate::Proceed
    })
}

fn full(key: &str) -> StoreError {
    StoreError::Full { op: Op::Create, key: key.to_owned(), source: "the quota is used up".into() }
}

#[test]
fn a_store_that_becomes_full_anywhere_loses_nothing_and_the_same_with_room_is_done() {
    for act in ACTS {
        let scene = Scene::of(act);
        let calls = Arc::new(AtomicU64::new(0));
        let world = scene.copy();
        scene.act(act, &world, &full_from(&world, u64::MAX, false, &calls)).unwrap();
        let creations = calls.load(Ordering::Relaxed);
        assert!(creations > 0, "{act:?} creates nothing");
        let mut refused = 0;
        for (first, lasts) in (0..creations).flat_map(|first| [(first, true), (first, false)]) {
            let label = format!("{act:?}, full {} creation {first} of {creations}", if lasts { "from" } else { "at" });
            let world = scene.copy();
            match scene.act(act, &world, &full_from(&world, first, lasts, &Arc::default())) {
                // What only tidies up, or tells, needs no room.
                Ok(()) => {}
                Err(StoreError::Full { key, .. }) => {
                    assert!(!key.is_empty(), "{label}");
                    refused += 1;
                }
                Err(error) => panic!("{label}: {error}"),
            }
            scene.is_whole(act, &world, &label);
            scene.client.forget_memory();
            scene.act(act, &world, &world.store).unwrap_or_else(|error| panic!("{label}, then with room: {error}"));
            scene.is_whole(act, &world, &label);
        }
        assert!(refused > 0, "{act:?} was never refused");
    }
}

#[test]
fn with_a_reserve_forget_and_prune_find_room_wherever_the_store_becomes_full() {
    for act in [Act::Forget, Act::Prune] {
        let scene = Scene::of(act);
        let calls = Arc::new(AtomicU64::new(0));
        let world = scene.copy();
        scene.act(act, &world, &full_from(&world, u64::MAX, false, &calls)).unwrap();
        for first in 0..calls.load(Ordering::Relaxed) {
            let label = format!("{act:?}, full from creation {first}");
            let world = scene.copy();
            block_on(reserve::keep(&world.store, |bytes| bytes.fill(7))).unwrap();
            // Full until the reserve is gone.
            let (mut is_kept, mut begun) = (true, 0);
            let store = Fault::new(&world.store, move |call| {
                is_kept &= (call.op, call.key) != (Op::Delete, reserve::NAME);
                begun += u64::from(call.op == Op::Create);
                let is_full = call.op == Op::Create && is_kept && begun > first;
                if is_full { Fate::FailBefore(full(call.key)) } else { Fate::Proceed }
            });
            let store = Reserve::new(&store as &dyn Store);
            scene.act(act, &world, &store).unwrap_or_else(|error| panic!("{label}: {error}"));
            scene.is_whole(act, &world, &label);
        }
    }
}
