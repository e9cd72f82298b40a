//! The simulated store: every call is a step of the schedule, answers get lost, and every change is watched.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use copal_store::memory::MemoryStore;
use copal_store::{Created, Key, ListPage, Op, Stat, Store, StoreError, StoreTime};
use copal_tests::kit::Random;

use super::law::Owner;
use super::mail::Mail;
use super::mood::Mood;
use super::tasks::pause;
use super::watch::Watch;

/// A store in memory whose calls wait for the scheduler.
pub(crate) struct SimStore {
    /// The objects.
    pub memory: MemoryStore,
    pub(super) watch: Watch,
    /// Events of what is created.
    pub(super) mail: Mail,
    chance: Mutex<Chance>,
    is_remote: bool,
}

struct Chance {
    random: Random,
    /// Answers lost, in a thousand.
    lost: u32,
    /// Calls about roots before which the caller falls asleep, in a thousand.
    naps: u32,
    /// Manifests before which their client falls asleep, in a thousand.
    stale: u32,
    nap: Option<Nap>,
    /// Roots that somebody sleeps on before creating them.
    slept_on: BTreeSet<String>,
}

/// A sleep that begins beside a root, and what ends it.
#[derive(Clone, Debug)]
pub(super) enum Nap {
    /// So many hours.
    Hours(u64),
    /// Until a prune has removed entries, so many times since the beginning.
    UntilRemoved(u64),
    /// So many steps.
    Steps(u64),
    /// Until a root of this name was deleted: then the number is free again.
    UntilDeleted(String),
    /// Until somebody who slept too long has made another root of this name.
    UntilStray(String),
}

impl SimStore {
    pub(super) fn new(seed: u64, owner: Owner, lost: u32, mood: &Mood) -> Self {
        Self {
            memory: MemoryStore::new(),
            watch: Watch::new(owner, mood.has_thief()),
            mail: Mail::default(),
            // Half of all worlds look ids up piece by piece.
            is_remote: seed % 2 == 1,
            chance: Mutex::new(Chance {
                random: Random::new(seed),
                lost,
                naps: mood.naps,
                stale: mood.stale,
                nap: None,
                slept_on: BTreeSet::new(),
            }),
        }
    }

    /// From now on every call is answered.
    pub(super) fn calm(&self) {
        let mut chance = self.chance.lock().expect("nothing panics while it holds the chance");
        (chance.lost, chance.naps, chance.stale) = (0, 0, 0);
    }

    /// How many answers are lost in a thousand.
    pub(super) fn lost(&self) -> u32 {
        self.chance.lock().expect("nothing panics while it holds the chance").lost
    }

    /// From now on so many answers are lost in a thousand.
    pub(super) fn lose(&self, lost: u32) {
        self.chance.lock().expect("nothing panics while it holds the chance").lost = lost;
    }

    /// Whether the caller of the last step has fallen asleep.
    pub(super) fn take_nap(&self) -> Option<Nap> {
        self.chance.lock().expect("nothing panics while it holds the chance").nap.take()
    }

    /// Sleep is most dangerous beside a root: between listing and reading it, and before creating the next.
    async fn nap(&self, name: &str, worst: impl FnOnce(String) -> Nap) {
        let removals = self.watch.seen().removals;
        let is_tired = {
            let mut chance = self.chance.lock().expect("nothing panics while it holds the chance");
            let worst = worst(name.to_owned());
            // A client sleeps best just before it writes what it has made of what it saw long ago, and a reader on a root
            // where somebody else may make another one of that name.
            let is_manifest = name.starts_with("manifests/") && matches!(worst, Nap::UntilDeleted(_));
            let tired = match worst {
                _ if is_manifest => chance.stale,
                _ if !name.starts_with("roots/") => 0,
                Nap::UntilDeleted(_) => chance.naps * 4,
                _ if chance.slept_on.contains(name) => chance.naps * 4,
                _ => chance.naps,
            };
            let is_tired = chance.random.chance(tired);
            if is_tired {
                let most = [80, 320, 1200][chance.random.below(3)];
                let steps = Nap::Steps(20 + chance.random.below(most) as u64);
                let nap = match chance.random.below(10) {
                    0..4 if is_manifest => Nap::UntilRemoved(removals + 1),
                    4..8 if is_manifest => Nap::Steps(100 + chance.random.below(1400) as u64),
                    _ if is_manifest => Nap::Hours(6 + chance.random.below(60) as u64),
                    0..6 => worst,
                    _ => steps,
                };
                if let Nap::UntilDeleted(name) = &nap {
                    chance.slept_on.insert(name.clone());
                }
                chance.nap = Some(nap);
            }
            is_tired
        };
        if is_tired {
            pause().await;
        }
    }

    fn answer<T>(&self, op: Op, key: &str, answer: Result<T, StoreError>) -> Result<T, StoreError> {
        let mut chance = self.chance.lock().expect("nothing panics while it holds the chance");
        let lost = chance.lost;
        if chance.random.chance(lost) {
            self.watch.note(|| format!("    the answer to {op} {key} is lost"));
            return Err(StoreError::Transient { op, key: key.into(), source: "the answer was lost".into() });
        }
        answer
    }
}

#[async_trait]
impl Store for SimStore {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        pause().await;
        self.nap(key.as_str(), Nap::UntilDeleted).await;
        let created = self.memory.create(key, bytes.clone()).await;
        self.watch.created(&self.memory, key.as_str(), &bytes, matches!(created, Ok(Created::New)));
        if matches!(created, Ok(Created::New)) {
            let now = self.memory.now().await?.0;
            let mut chance = self.chance.lock().expect("nothing panics while it holds the chance");
            self.mail.post(key.as_str(), now, &mut chance.random);
        }
        self.answer(Op::Create, key.as_str(), created)
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        pause().await;
        self.nap(key.as_str(), Nap::UntilStray).await;
        self.watch.note(|| format!("    read {key}"));
        self.answer(Op::Read, key.as_str(), self.memory.read(key).await)
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        pause().await;
        self.answer(Op::ReadRange, key.as_str(), self.memory.read_range(key, range).await)
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        pause().await;
        self.watch.note(|| format!("    stat {key}"));
        self.answer(Op::Stat, key.as_str(), self.memory.stat(key).await)
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        pause().await;
        self.watch.note(|| format!("    list {prefix}"));
        self.answer(Op::List, prefix, self.memory.list(prefix, after, limit).await)
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        pause().await;
        let deleted = self.memory.delete(key).await;
        self.watch.deleted(key.as_str());
        self.answer(Op::Delete, key.as_str(), deleted)
    }

    fn is_remote(&self) -> bool {
        self.is_remote
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        pause().await;
        self.memory.now().await
    }
}
