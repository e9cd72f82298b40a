//! What is backed up comes back: generated trees, edits between backups, upkeep in between. A failure names its seed;
//! `COPAL_SEED=n` runs that one alone, `COPAL_FUZZ_SECONDS=s` goes on with further ones for so long.

mod acts;
mod edit;
mod long;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use copal_client::backend::Backend;
use copal_client::backup::Outcome;
use copal_client::changes;
use copal_client::history::{History, pages};
use copal_client::location::Location;
use copal_client::repository::{self, Init, LocalClient, Repository};
use copal_client::restore::{Event, Request, restore};
use copal_client::wait::wait;
use copal_format::change::Operation;
use copal_format::id::SnapshotId;
use copal_format::keys::secret::Secret;
use copal_format::keys::slot::{Argon2Params, SlotInput};
use copal_format::layout::Place as Folder;
use copal_format::receipt::IngestBy;
use copal_jobs::check::{Depth, check};
use copal_jobs::compact::compact;
use copal_jobs::view;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde_json::Value;
use tempfile::TempDir;

use edit::{Edit, edit};

#[test]
fn every_snapshot_that_is_kept_restores_to_its_tree() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    if let Some(seed) = number("COPAL_SEED") {
        return run(seed);
    }
    let longer = Duration::from_secs(number("COPAL_FUZZ_SECONDS").unwrap_or(0));
    let started = Instant::now();
    let mut next = 0;
    while next == 0 || started.elapsed() < longer {
        // Side by side, since they sleep now and then.
        thread::scope(|scope| (next..next + SEEDS).for_each(|seed| drop(scope.spawn(move || run(seed)))));
        next += SEEDS;
    }
}

#[test]
fn files_of_every_length_come_back_whole_and_after_pruning_most_of_them() {
    let mut place = Place::new();
    let edits = edit::boundaries();
    edits.iter().for_each(|edit| edit.apply(&place.source()));
    place.back_up();
    place.restore_all();
    // Of every three files two go: packs are copied for what stays in them.
    let gone = edits.iter().enumerate().filter(|(at, _)| at % 3 > 0);
    gone.for_each(|(_, edit)| edit.undo(&place.source()));
    place.back_up();
    place.keep_last(1);
    let state = || wait(view::read(place.repository.store().as_ref())).unwrap().state;
    assert!(state().packs.len() > 2, "one pack of each kind tells little");
    acts::prune(&place.repository, Duration::ZERO);
    place.check();
    place.restore_all();
    assert!(state().packs.values().any(|pack| pack.place == Folder::Moved), "nothing was copied");
}

/// A stretch of time that ends with a backup.
#[derive(Clone, Debug)]
struct Step {
    edits: Vec<Edit>,
    /// Whether so much time passes before the backup that the next one believes the times of files.
    settles: bool,
    upkeep: Upkeep,
}

/// What happens after the backup.
#[derive(Clone, Debug)]
enum Upkeep {
    Nothing,
    /// One of the snapshots is forgotten; it is freed by some later prune.
    Forget(Index),
    /// So many are kept, and what the others held is freed.
    Prune(usize),
    /// What nothing needs is flagged, and may be referred to again.
    Flag(usize),
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    let upkeep = prop_oneof![
        3 => Just(Upkeep::Nothing),
        1 => any::<Index>().prop_map(Upkeep::Forget),
        2 => (1..3usize).prop_map(Upkeep::Prune),
        1 => (1..3usize).prop_map(Upkeep::Flag),
        1 => Just(Upkeep::Compact),
    ];
    (prop::collection::vec(edit(), 0..12), any::<bool>(), upkeep).prop_map(|(edits, settles, upkeep)| Step {
        edits,
        settles,
        upkeep,
    })
}

fn run(seed: u64) {
    let config = Config { cases: 1, failure_persistence: None, max_shrink_time: 60_000, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let lived = runner.run(&prop::collection::vec(step(), 4..8), |steps| {
        live(&steps);
        Ok::<(), TestCaseError>(())
    });
    lived.unwrap_or_else(|error| panic!("COPAL_SEED={seed}: {error}"));
}

fn live(steps: &[Step]) {
    let mut place = Place::new();
    for step in steps {
        step.edits.iter().for_each(|edit| edit.apply(&place.source()));
        if step.settles {
            thread::sleep(SETTLED);
        }
        place.back_up();
        let newest = *place.order.last().expect("just made");
        place.restore(newest);
        match &step.upkeep {
            Upkeep::Nothing => {}
            Upkeep::Forget(at) => {
                let one = *at.get(&place.order);
                place.forget(&[one]);
            }
            Upkeep::Prune(kept) => {
                place.keep_last(*kept);
                acts::prune(&place.repository, Duration::ZERO);
            }
            Upkeep::Flag(kept) => {
                place.keep_last(*kept);
                acts::prune(&place.repository, Duration::from_secs(86_400));
            }
            Upkeep::Compact => drop(wait(compact(&place.repository.job())).unwrap()),
        }
        place.check();
    }
    place.restore_all();
}

/// A source, a repository of it, and what its snapshots must hold.
struct Place {
    directory: TempDir,
    repository: Repository,
    client: LocalClient,
    trees: BTreeMap<SnapshotId, Vec<Value>>,
    /// The snapshots that are kept, the oldest first.
    order: Vec<SnapshotId>,
}

impl Place {
    /// Below the target directory: what is there for temporary files may lack extended attributes.
    fn new() -> Self {
        let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let (path, key) = (directory.path().join("repository"), || SlotInput::KeyFile(Secret::new([7; 32])));
        let backend = Backend::create(&Location::Directory(path)).unwrap();
        let init = Init {
            backend: &backend,
            inputs: &[key()],
            parameters: acts::small(),
            ingest: IngestBy::Client,
            argon2: Argon2Params::default(),
            reader: None,
        };
        repository::init(&init).unwrap();
        let repository = Repository::open(&backend, &key(), |_| directory.path().join("state")).unwrap();
        let client = LocalClient::load_or_register(&repository, "tester").unwrap();
        fs::create_dir(directory.path().join("source")).unwrap();
        Self { directory, repository, client, trees: BTreeMap::new(), order: Vec::new() }
    }

    fn source(&self) -> PathBuf {
        self.directory.path().join("source").canonicalize().unwrap()
    }

    fn back_up(&mut self) {
        let source = self.source();
        let outcome = acts::back_up(&self.repository, &self.client, &source, &acts::usual(&source));
        self.keep(&outcome);
    }

    /// Remembers what was backed up just now.
    fn keep(&mut self, outcome: &Outcome) {
        let snapshot = outcome.snapshot.unwrap();
        self.trees.insert(snapshot, self.listed(Path::new("/")));
        self.order.push(snapshot);
    }

    /// The source as it is, or as it was restored below another top.
    fn listed(&self, top: &Path) -> Vec<Value> {
        let source = self.source();
        let below = source.strip_prefix("/").unwrap().to_str().unwrap();
        let ways = below.split('/').count();
        // What lies above the source is none of its business.
        crate::kit::listing::listing(top, below).split_off(ways)
    }

    fn restore_all(&self) {
        self.order.iter().for_each(|snapshot| self.restore(*snapshot));
    }

    fn restore(&self, id: SnapshotId) {
        let target = TempDir::new_in(self.directory.path()).unwrap();
        let view = wait(view::read(self.repository.store().as_ref())).unwrap();
        let history = History::read(&self.repository, &view).unwrap_or_else(|_| panic!("the snapshots can be listed"));
        let snapshot = history.snapshots.iter().find(|snapshot| snapshot.id == id).expect("it is kept");
        let pages = pages(&self.repository, &view, snapshot.domain);
        let whole = Request::whole(&pages, snapshot, target.path().to_owned(), 2);
        let request = Request { numeric_owner: true, verifies: true, ..whole };
        let troubles = Mutex::new(Vec::new());
        let tell = |event: Event<'_>| match event {
            Event::Restored(_) | Event::Deleted(_) => {}
            other => troubles.lock().unwrap().push(format!("{other:?}")),
        };
        let outcome = restore(&request, &Default::default(), &tell, &AtomicBool::new(false)).unwrap();
        assert!(!outcome.is_damaged && outcome.tally.errors == 0, "{:?}", troubles.lock().unwrap());
        let (found, expected) = (self.listed(target.path()), &self.trees[&id]);
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found, expected);
        }
        assert_eq!(found.len(), expected.len());
    }

    /// Forgets all but the newest.
    fn keep_last(&mut self, count: usize) {
        let gone = self.order[..self.order.len().saturating_sub(count)].to_vec();
        self.forget(&gone);
    }

    fn forget(&mut self, snapshots: &[SnapshotId]) {
        self.order.retain(|snapshot| !snapshots.contains(snapshot));
        if !snapshots.is_empty() {
            changes::write(&self.repository, &self.client, vec![Operation::Forget(snapshots.to_vec())]).unwrap();
        }
    }

    fn check(&self) {
        let report = wait(check(&self.repository.job(), Depth::Data { part: 1, parts: 1 })).unwrap();
        assert!(report.is_ok(), "{:?}", report.findings);
    }
}

/// So many lives are tried.
const SEEDS: u64 = 24;
/// A little more than the longest tick of a file system's clock.
const SETTLED: Duration = Duration::from_millis(2_050);
