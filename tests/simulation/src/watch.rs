//! Watch: sees every change of the store at once, and says when a promise is broken.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

use copal_format::id::{ChunkId, DomainId, ObjectHash, SnapshotId};
use copal_format::layout;
use copal_format::receipt::{Outcome, Receipt};
use copal_format::state::SnapshotState;
use copal_store::Store;
use copal_store::memory::MemoryStore;
use copal_tests::kit::picture::{Picture, Present, Tables};
use copal_tests::kit::repository::key;
use copal_tests::kit::truth::Truth;
use futures::executor::block_on;

use super::law::{Law, Owner, check_guarded};
use super::oracle;
use super::store::Nap;
use super::theft::Thefts;

/// What is known of the store beyond its objects.
pub(super) struct Watch {
    pub(super) tables: Tables,
    /// What packs hold; none in worlds without a thief, where all packs hold what they say.
    pub(super) truth: Option<Truth>,
    owner: Owner,
    seen: Mutex<Seen>,
}

#[derive(Default)]
pub(super) struct Seen {
    /// The state that the newest root names.
    pub(super) live: Option<Picture>,
    pub(super) newest: u64,
    /// The hashes of all roots that were the newest.
    pub(super) lived: BTreeSet<ObjectHash>,
    needed: BTreeSet<String>,
    /// Names that were deleted at some time.
    deleted: BTreeSet<String>,
    /// Packs that the simulation has damaged.
    pub(super) damaged: BTreeSet<String>,
    /// Those of them whose length has not changed.
    hidden: BTreeSet<String>,
    /// Ids that had a healthy copy under the newest root.
    pub(super) healthy: BTreeSet<(DomainId, ChunkId)>,
    violation: Option<String>,
    pub(super) roots: u64,
    /// Roots that nobody took for the newest.
    pub(super) stray: u64,
    strays: BTreeSet<String>,
    pub(super) deletions: u64,
    /// Roots that lack ids which the root before had.
    pub(super) removals: u64,
    pub(super) accepted: u64,
    pub(super) rejected: u64,
    /// What the changes say that the newest root has folded in.
    pub(super) law: Law,
    /// Snapshots that expired, as the policy permits.
    pub(super) expired: BTreeSet<SnapshotId>,
    pub(super) thefts: Thefts,
    trace: Option<Vec<String>>,
}

impl Watch {
    pub(super) fn new(owner: Owner, has_thief: bool) -> Self {
        let truth = has_thief.then(Truth::default);
        Self { tables: Tables::default(), truth, owner, seen: Mutex::default() }
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().expect("nothing panics while it holds what was seen")
    }

    /// Keeps what happens, for people.
    pub(super) fn keep_trace(&self) {
        self.seen().trace = Some(Vec::new());
    }

    pub(super) fn note(&self, text: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.seen().trace {
            trace.push(text());
        }
    }

    pub(super) fn take_trace(&self) -> Vec<String> {
        self.seen().trace.take().unwrap_or_default()
    }

    /// The first broken promise.
    pub(super) fn violation(&self) -> Option<String> {
        self.seen().violation.clone()
    }

    pub(super) fn broken(&self, what: String) {
        self.note(|| format!("BROKEN: {what}"));
        self.seen().violation.get_or_insert(what);
    }

    pub(super) fn created(&self, memory: &MemoryStore, name: &str, bytes: &[u8], is_new: bool) {
        self.note(|| format!("  create {name}: {}", if is_new { "new" } else { "exists" }));
        if !is_new {
            return;
        }
        if layout::pack_of(name).is_some() {
            self.tables.learn(name, bytes);
            self.truth.iter().for_each(|truth| truth.learn(name, bytes));
        }
        if let Some(number) = layout::root_number(name) {
            self.root(memory, number);
        }
        if name.starts_with("receipts/") {
            self.receipt(name, bytes);
        }
    }

    pub(super) fn deleted(&self, name: &str) {
        self.note(|| format!("  delete {name}"));
        let mut seen = self.seen();
        seen.deleted.insert(name.to_owned());
        seen.deletions += 1;
        if seen.needed.contains(name) {
            drop(seen);
            self.broken(format!("{name} was deleted, and the newest root needs it"));
        }
    }

    /// The simulation itself destroys an object.
    pub(super) fn damage(&self, name: &str, is_hidden: bool) {
        self.note(|| format!("DAMAGE to {name}"));
        let mut seen = self.seen();
        seen.damaged.insert(name.to_owned());
        if is_hidden {
            seen.hidden.insert(name.to_owned());
        }
        let healthy = seen.live.as_ref().map(|live| self.healthy(live, &seen.damaged));
        seen.healthy = healthy.unwrap_or_default();
    }

    /// A rebuild is about to make a root that nothing before it binds, but for what it must keep.
    pub(super) fn begin_rebuild(&self) -> Option<Picture> {
        let mut seen = self.seen();
        seen.needed.clear();
        let live = seen.live.take();
        // A rebuild may lose what is damaged, and nothing else of what is owed.
        let owed = live.as_ref().filter(|_| self.truth.is_some() && seen.damaged.is_empty());
        let owed = owed.map(|live| {
            let kept = Self::staying(&seen.law, None, live).filter(|of| !seen.thefts.may_harm(of));
            self.below(live, kept.map(|of| (of.domain, of.root)))
        });
        let owed = owed.unwrap_or_default();
        seen.healthy.retain(|at| owed.contains(at));
        live
    }

    fn root(&self, memory: &MemoryStore, number: u64) {
        let mut seen = self.seen();
        if number <= seen.newest {
            seen.stray += 1;
            seen.strays.insert(layout::root(number));
            return;
        }
        seen.newest = number;
        seen.roots += 1;
        let mut expired = Vec::new();
        let mut law = seen.law.clone();
        let checked = Picture::read(memory, number, &self.tables).and_then(|picture| {
            picture.check(|entry| self.holds(entry))?;
            let last = picture.root.change_head.map_or(0, |(number, _)| number);
            let policy = picture.root.policy.map_or(0, |(number, _)| number);
            law.read_to(memory, (last, policy), self.owner, |client| seen.thefts.is_revoked(client))?;
            if picture.root.rebuilt {
                law.rebuild(|client| seen.thefts.is_revoked(client));
            }
            oracle::check_law(&law, &picture)?;
            if let Some(live) = &seen.live {
                picture.check_after(live)?;
                expired = oracle::expired(&law, live, &picture)?;
                oracle::check_checkpoints(&law, live, &picture)?;
                check_guarded(&seen.law, live, &picture)?;
            }
            self.check_bytes(memory, &picture, &seen)?;
            Ok(picture)
        });
        match checked {
            Ok(picture) => {
                let healthy = self.healthy(&picture, &seen.damaged);
                // A prune may remove a copy that a forged one has displaced with its first root after the grace period.
                seen.thefts.pass(&law, picture.root.time);
                let staying: Vec<_> = Self::staying(&seen.law, seen.live.as_ref(), &picture).collect();
                let owed = staying.iter().filter(|of| !seen.thefts.may_harm(of));
                let owed = self.below(&picture, owed.map(|of| (of.domain, of.root)));
                let staying: Vec<_> = staying.iter().map(|of| of.id).collect();
                let is_excused = |at: &&(DomainId, ChunkId)| {
                    // Flipped bits that no check has found yet look like any others.
                    let copies = picture.entries.iter().filter(|entry| (entry.domain, entry.id) == **at);
                    let mut packs = copies.map(|entry| (layout::pack(entry.place, entry.pack), entry.pack));
                    packs.any(|(name, pack)| {
                        let known = seen.live.as_ref().and_then(|live| live.state.packs.get(&pack));
                        seen.hidden.contains(&name) && known.is_none_or(|record| !record.is_damaged)
                    })
                };
                let lost = owed.iter().find(|at| seen.healthy.contains(at) && !healthy.contains(at));
                let lost = lost.filter(|at| !is_excused(at));
                let lost = lost.map(|(_, id)| format!("{id} had a healthy copy and has none after root {number}"));
                let now = picture.copies();
                let is_gone = |entry: &Present| !now.contains_key(&(entry.domain, entry.id));
                let has_removed = seen.live.iter().flat_map(|live| &live.entries).any(is_gone);
                seen.removals += u64::from(has_removed);
                seen.healthy = healthy;
                seen.thefts.settle(staying.into_iter());
                seen.needed = picture.needed();
                seen.lived.insert(picture.hash);
                seen.expired.extend(expired);
                seen.law = law;
                seen.live = Some(picture);
                drop(seen);
                if let Some(lost) = lost {
                    self.broken(lost);
                }
            }
            Err(what) => {
                drop(seen);
                self.broken(format!("root {number}: {what}"));
            }
        }
    }

    /// Ids with a copy that is what its id says, in a pack that nobody has damaged.
    pub(super) fn healthy(&self, picture: &Picture, damaged: &BTreeSet<String>) -> BTreeSet<(DomainId, ChunkId)> {
        let is_damaged =
            |entry: &Present| !damaged.is_empty() && damaged.contains(&layout::pack(entry.place, entry.pack));
        let healthy = picture.entries.iter().filter(|entry| !is_damaged(entry) && self.holds(entry));
        healthy.map(|entry| (entry.domain, entry.id)).collect()
    }

    /// Whether a copy is what its id says.
    pub(super) fn holds(&self, entry: &Present) -> bool {
        self.truth.as_ref().is_none_or(|truth| truth.holds(entry))
    }

    fn check_bytes(&self, memory: &MemoryStore, picture: &Picture, seen: &Seen) -> Result<(), String> {
        let missing = seen.live.iter().flat_map(|live| &live.state.packs).filter(|(_, record)| record.is_missing);
        for (id, record) in missing {
            let name = layout::pack(record.place, *id);
            if picture.state.packs.get(id).is_some_and(|now| !now.is_missing) && !exists(memory, &name) {
                return Err(format!("{name} was missing, counts as there, and is not"));
            }
        }
        for name in picture.packs() {
            if !seen.damaged.contains(&name) && !exists(memory, &name) {
                return Err(format!("{name} holds entries and is gone"));
            }
        }
        let old: BTreeSet<String> = seen.live.iter().flat_map(Picture::spent).collect();
        for name in picture.spent().filter(|name| !old.contains(name)) {
            if exists(memory, &name) && !seen.deleted.contains(&name) && seen.live.is_some() {
                return Err(format!("{name} is called deleted, and nobody has deleted it"));
            }
        }
        Ok(())
    }

    fn receipt(&self, name: &str, bytes: &[u8]) {
        let (client, number) = (layout::client_of(name), layout::trailing_number(name));
        let (Some(client), Some(number)) = (client, number) else { return };
        let Ok(receipt) = Receipt::decode(client, number, bytes) else {
            return self.broken(format!("{name} cannot be read"));
        };
        let mut seen = self.seen();
        let is_accepted = receipt.outcome == Outcome::Accepted;
        *(if is_accepted { &mut seen.accepted } else { &mut seen.rejected }) += 1;
        let Some(live) = &seen.live else { return };
        let head = live.state.heads.get(&client).map_or(0, |head| head.number);
        let decision = live.state.heads.get(&client).and_then(|head| {
            head.decisions.iter().find(|decision| decision.number == number).map(|decision| decision.outcome)
        });
        let has_snapshot = live.state.snapshots.contains_key(&(client, number));
        let what = if head < number {
            Some("answers what no root has decided")
        } else if decision.is_some_and(|decision| decision != receipt.outcome) {
            Some("contradicts the root")
        } else if !is_accepted && has_snapshot {
            Some("rejects what a root has accepted")
        } else {
            None
        };
        let text = what.map(|what| format!("{name} {what}"));
        drop(seen);
        if let Some(text) = text {
            self.broken(text);
        }
    }
}

impl Seen {
    /// Whether what a sleeper waits for has happened.
    pub(super) fn has_ended(&self, nap: &Nap) -> bool {
        match nap {
            Nap::Steps(_) | Nap::Hours(_) => false,
            Nap::UntilRemoved(times) => self.removals >= *times,
            Nap::UntilDeleted(name) => self.deleted.contains(name),
            Nap::UntilStray(name) => self.strays.contains(name),
        }
    }

    /// Whether a pack that a prune has moved was damaged.
    pub(super) fn has_lost_moved(&self) -> bool {
        self.damaged.iter().any(|name| name.starts_with("moved/"))
    }

    /// Whether bits of a pack were flipped.
    pub(super) fn has_flipped(&self) -> bool {
        !self.hidden.is_empty()
    }

    /// Snapshots of the newest root that are kept.
    pub(super) fn kept(&self) -> BTreeSet<SnapshotId> {
        let snapshots = self.live.iter().flat_map(|live| live.state.snapshots.values());
        snapshots.filter(|snapshot| snapshot.state == SnapshotState::Kept).map(|snapshot| snapshot.id).collect()
    }
}

fn exists(memory: &MemoryStore, name: &str) -> bool {
    matches!(block_on(memory.stat(&key(name))), Ok(Some(_)))
}
