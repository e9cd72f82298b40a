//! Law: what the changes of the chain say, read from the objects and not by the service: the policy in force, what was
//! released, who has forgotten what; and what the guards of this policy and of replaced ones keep.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use copal_engine::retention::{Series, Signed, held};
use copal_format::change::{Change, Operation};
use copal_format::id::{ClientId, ObjectHash, RepositoryId, SnapshotId};
use copal_format::layout;
use copal_format::policy::{Floor, SignedPolicy};
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_store::Store;
use copal_store::memory::MemoryStore;
use copal_tests::kit::picture::Picture;
use copal_tests::kit::repository::key;
use futures::executor::block_on;

use super::actors::GRACE;

/// What was decided up to some change.
#[derive(Clone, Default)]
pub(super) struct Law {
    /// The last change that was read.
    pub(super) number: u64,
    /// The policy in force and the change that holds it.
    pub(super) policy: Option<(u64, SignedPolicy)>,
    /// All policies that were in force, in the order of their changes.
    policies: Vec<Enacted>,
    /// Snapshots that the owner has released.
    pub(super) released: BTreeSet<SnapshotId>,
    /// Snapshots that somebody has forgotten, and the changes that say so.
    forgotten: BTreeMap<SnapshotId, BTreeSet<u64>>,
}

/// A policy that came into force.
#[derive(Clone)]
struct Enacted {
    /// The change that holds it, and the client that signed it.
    number: u64,
    by: ClientId,
    /// When the store got that change.
    stored: Time,
    policy: SignedPolicy,
}

/// Who the owner is.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    pub(super) repository: RepositoryId,
    pub(super) key: [u8; 32],
}

impl Law {
    /// Reads on to a change. A policy that a thief with the passphrase has signed may come after the revocation of the
    /// thief's client. Then it counts only if the root names it.
    pub(super) fn read_to(
        &mut self,
        memory: &MemoryStore,
        (last, policy): (u64, u64),
        owner: Owner,
        is_revoked: impl Fn(ClientId) -> bool,
    ) -> Result<(), String> {
        while self.number < last {
            self.number += 1;
            let name = key(&layout::change(self.number));
            let bytes = block_on(memory.read(&name)).map_err(|error| error.to_string())?;
            let stat = block_on(memory.stat(&name)).map_err(|error| error.to_string())?;
            let stored = stat.map_or(Time(0), |stat| Time(stat.created.0));
            let change = Change::vouched(self.number, ObjectHash::of(&bytes), &bytes);
            let change = change.map_err(|error| error.to_string())?;
            // The simulation's changes are chained, and signed by a full client. A thief has only that client's key.
            let is_owners = change.is_signed_by_owner(owner.repository, &owner.key);
            let may_be_late = change.operations.iter().any(|of| of.policy().is_some()) && policy != self.number;
            if may_be_late && is_revoked(change.client) {
                continue;
            }
            let may_take = |operation: &&Operation| is_owners || matches!(operation, Operation::Forget(_));
            let by = (change.client, stored);
            change.operations.iter().filter(may_take).for_each(|operation| self.take(operation, by));
        }
        Ok(())
    }

    /// After a rebuild nothing counts that a client has signed whom the owner has revoked since.
    pub(super) fn rebuild(&mut self, is_revoked: impl Fn(ClientId) -> bool) {
        self.policies.retain(|of| !is_revoked(of.by));
        self.policy = self.policies.last().map(|of| (of.number, of.policy.clone()));
    }

    fn take(&mut self, operation: &Operation, (by, stored): (ClientId, Time)) {
        if let Operation::Forget(snapshots) = operation {
            for snapshot in snapshots {
                self.forgotten.entry(*snapshot).or_default().insert(self.number);
            }
        }
        if let Operation::Release { snapshots, .. } = operation {
            self.released.extend(snapshots);
        }
        if let Some((bytes, true)) = operation.policy()
            && let Ok(policy) = SignedPolicy::decode(bytes)
        {
            self.policies.push(Enacted { number: self.number, by, stored, policy: policy.clone() });
            self.policy = Some((self.number, policy));
        }
    }

    /// Whether somebody has forgotten a snapshot after a change.
    pub(super) fn has_forgotten_since(&self, snapshot: &SnapshotId, change: u64) -> bool {
        self.forgotten.get(snapshot).is_some_and(|changes| changes.range(change + 1..).next().is_some())
    }

    /// The shortest grace period of all policies so far: a prune goes on with the one that it began with.
    pub(super) fn least_grace(&self) -> Duration {
        self.policies.iter().map(|of| of.policy.grace()).fold(GRACE, Duration::min)
    }

    /// The policies whose floor and hold count: the one in force, and each replaced one, for its floor's age or its
    /// grace period, whichever is longer. In the simulation both are shorter than the year after which this ends.
    fn guards(&self, now: Time) -> impl Iterator<Item = &SignedPolicy> {
        let replaced = self.policies.iter().zip(self.policies.iter().skip(1));
        let lingering = replaced.filter(move |(old, next)| {
            let time = old.policy.floor().age.max(old.policy.grace());
            now < next.stored + time
        });
        lingering.map(|(old, _)| &old.policy).chain(self.policy.iter().map(|(_, policy)| policy))
    }

    /// The series of which nothing may go.
    pub(super) fn held<'a>(
        &self,
        snapshots: impl IntoIterator<Item = Signed<'a>> + Clone,
        now: Time,
    ) -> BTreeSet<Series> {
        let held = self.guards(now).flat_map(|policy| held(policy, snapshots.clone(), Time(i64::MAX)));
        held.map(|held| held.series).collect()
    }

    /// Whether a floor keeps a snapshot of those that count.
    pub(super) fn is_in_floor<'a>(
        &self,
        snapshot: Signed<'_>,
        counted: impl Iterator<Item = Signed<'a>>,
        now: Time,
    ) -> bool {
        let age = |of: &SnapshotRecord| (of.accepted, of.client_time, of.id);
        let in_series = |of: &Signed<'_>| Series::of(*of) == Series::of(snapshot) && !of.1.partial;
        let newer = counted.filter(in_series).filter(|(_, of)| age(of) > age(snapshot.1)).count();
        let keeps = |floor: Floor| newer < floor.last as usize || now.since(snapshot.1.accepted) < floor.age;
        self.guards(now).any(|policy| keeps(policy.floor()))
    }

    /// What was forgotten and must stay all the same.
    pub(super) fn guarded<'a>(&self, picture: &'a Picture, now: Time) -> Vec<&'a SnapshotRecord> {
        if self.guards(now).all(|policy| policy.hold().is_none() && policy.floor().is_nothing()) {
            return Vec::new();
        }
        let all = || picture.state.snapshots.iter();
        let held = self.held(all(), now);
        let counted = || all().filter(|(_, of)| of.state != SnapshotState::Gone);
        let forgotten = all().filter(|(_, of)| of.state == SnapshotState::Forgotten && !of.partial);
        let stays = |of: &Signed<'_>| held.contains(&Series::of(*of)) || self.is_in_floor(*of, counted(), now);
        forgotten.filter(stays).map(|(_, of)| of).collect()
    }
}

/// Nothing of what the guard keeps was removed: what was present is present, or listed as lost.
pub(super) fn check_guarded(law: &Law, before: &Picture, after: &Picture) -> Result<(), String> {
    let guarded = law.guarded(before, after.root.time);
    if guarded.is_empty() {
        return Ok(());
    }
    let had = before.ids();
    let has = after.ids();
    let mut roots = guarded.into_iter().map(|of| (of.domain, of.root));
    match roots.find(|at| had.contains(at) && !has.contains(at) && !after.is_lost(at)) {
        Some((_, root)) => Err(format!("root page {root} of a snapshot that the guard keeps was removed")),
        None => Ok(()),
    }
}

/// For how long floors of the simulation keep everything.
pub(super) const AGES: [Duration; 3] = [Duration::ZERO, Duration::from_secs(20 * 3600), Duration::from_secs(45 * 3600)];
/// A floor within which much happens.
pub(super) const LASTING: Duration = Duration::from_secs(20 * 24 * 3600);
