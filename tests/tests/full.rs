//! Full: a store that becomes full at any call of an ingest, an expiry, a prune or a compaction. Nothing that was saved is
//! lost, the error names what there was no room for, and the same with room is done.

use std::time::Duration;

use copal_format::change::Operation;
use copal_format::id::SnapshotId;
use copal_format::receipt::IngestBy;
use copal_jobs::compact::compact;
use copal_jobs::error::JobError;
use copal_jobs::expire::expire;
use copal_jobs::faults::{self, Windows};
use copal_jobs::ingest::{Scope, ingest};
use copal_jobs::prune::{self, Options};
use copal_store::fault::{Call, Fate, Fault};
use copal_store::memory::MemoryStore;
use copal_store::record::Record;
use copal_store::{Op, Store, StoreError};
use copal_tests::kit::{Tree, World, keep_last, noise as files};
use futures::executor::block_on;

/// What is done while the store becomes full.
#[derive(Copy, Clone, Debug)]
enum Act {
    Ingest,
    Expire,
    Prune,
    Compact,
}

const ACTS: [Act; 4] = [Act::Ingest, Act::Expire, Act::Prune, Act::Compact];

/// A repository in which each act has work.
struct Scene {
    world: World,
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
            Act::Compact => vec![(dead, files(7, 6, 900)), (sparse, files(1, 12, 900)), (kept, tree)],
        };
        Self { world, kept }
    }

    /// A check finds nothing, and the snapshot restores as it was saved.
    fn is_whole(&self, world: &World, label: &str) {
        for (id, tree) in &self.kept {
            assert_eq!(world.restore(*id).as_ref(), Ok(tree), "{label}");
        }
        assert!(world.check().is_ok(), "{label}");
    }
}

impl Act {
    fn run(self, world: &World, store: &dyn Store) -> Result<(), StoreError> {
        let job = world.job_of(store);
        let of_store = |error| match error {
            JobError::Store(error) => error,
            error => panic!("{self:?}: {error}"),
        };
        match self {
            Act::Ingest => {
                block_on(ingest(&job, IngestBy::Service, Scope::All, &|_| false)).map(drop).map_err(of_store)
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
}

fn options() -> Options {
    Options { grace: Duration::ZERO, repack_step: 4000, ..Options::new([4096, 3072]) }
}

/// A store that has no room from one of its creations on, or for that one alone.
fn full_from(world: &World, first: u64, lasts: bool) -> Fault<&MemoryStore> {
    let is_refused = move |at: u64| at == first || (lasts && at > first);
    Fault::at(&world.store, move |call: &Call<'_>| call.op == Op::Create && is_refused(call.count), Fate::full)
}

#[test]
fn a_store_that_becomes_full_anywhere_loses_nothing_and_the_same_with_room_is_done() {
    for act in ACTS {
        let scene = Scene::of(act);
        let world = scene.world.copy();
        let calls = Record::new(&world.store);
        act.run(&world, &calls).unwrap();
        let creations = calls.take().iter().filter(|event| event.op == Op::Create).count() as u64;
        assert!(creations > 0, "{act:?} creates nothing");
        let mut refused = 0;
        for (first, lasts) in (0..creations).flat_map(|first| [(first, true), (first, false)]) {
            let label = format!("{act:?}, full {} creation {first} of {creations}", if lasts { "from" } else { "at" });
            let world = scene.world.copy();
            match act.run(&world, &full_from(&world, first, lasts)) {
                // What only tidies up, or tells, needs no room.
                Ok(()) => {}
                Err(StoreError::Full { key, .. }) => {
                    assert!(!key.is_empty(), "{label}");
                    refused += 1;
                }
                Err(error) => panic!("{label}: {error}"),
            }
            scene.is_whole(&world, &label);
            act.run(&world, &world.store).unwrap_or_else(|error| panic!("{label}, then with room: {error}"));
            scene.is_whole(&world, &label);
        }
        assert!(refused > 0, "{act:?} was never refused");
    }
}
