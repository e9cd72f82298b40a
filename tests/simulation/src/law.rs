//! Law: what the changes of the chain say, read from the objects and not by the service: the policy in force, what was
//! released, who has forgotten what; and what the policy's guard keeps.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use copal_engine::retention::{Series, Signed, held};
use copal_format::change::{Change, Operation};
use copal_format::id::{ClientId, ObjectHash, RepositoryId, SnapshotId};
use copal_format::layout;
use copal_format::policy::SignedPolicy;
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_store::Store;
use copal_store::memory::MemoryStore;
use copal_tests::kit::picture::Picture;
use copal_tests::kit::repository::key;
use futures::executor::block_on;

/// What was decided up to some change.
#[derive(Clone, Default)]
pub(super) struct Law {
    /// The last change that was read.
    pub(super) number: u64,
    /// The policy in force and the change that holds it.
    pub(super) policy: Option<(u64, SignedPolicy)>,
    /// All policies that were in force, and who signed each.
    policies: Vec<(u64, ClientId, SignedPolicy)>,
    /// Snapshots that the owner has released.
    pub(super) released: BTreeSet<SnapshotId>,
    /// Snapshots that somebody has forgotten, and the changes that say so.
    forgotten: BTreeMap<SnapshotId, BTreeSet<u64>>,
}

/// Who the owner is.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    pub(super) repository: RepositoryId,
    pub(super) key: [u8; 32],
}

impl Law {
    /// Reads on to a change. One that a thief with the passphrase has written may come too late: where that client was
    /// revoked, the root tells.
    pub(super) fn read_to(
        &mut self,
        memory: &MemoryStore,
        (last, policy): (u64, u64),
        owner: Owner,
        is_revoked: impl Fn(ClientId) -> bool,
    ) -> Result<(), String> {
        while self.number < last {
            self.number += 1;
            let bytes = block_on(memory.read(&key(&layout::change(self.number)))).map_err(|error| error.to_string())?;
            let change = Change::vouched(self.number, ObjectHash::of(&bytes), &bytes);
            let change = change.map_err(|error| error.to_string())?;
            // The simulation's changes are chained, and signed by a full client. A thief has only that client's key.
            let is_owners = change.is_signed_by_owner(owner.repository, &owner.key);
            let is_late = change.operations.iter().any(|of| of.policy().is_some()) && policy < self.number;
            if is_late && is_revoked(change.client) {
                continue;
            }
            let may_take = |operation: &&Operation| is_owners || matches!(operation, Operation::Forget(_));
            change.operations.iter().filter(may_take).for_each(|operation| self.take(operation, change.client));
        }
        Ok(())
    }

    /// After a rebuild nothing counts that a client has signed whom the owner has revoked since.
    pub(super) fn rebuild(&mut self, is_revoked: impl Fn(ClientId) -> bool) {
        self.policies.retain(|(_, client, _)| !is_revoked(*client));
        self.policy = self.policies.last().map(|(number, _, policy)| (*number, policy.clone()));
    }

    fn take(&mut self, operation: &Operation, by: ClientId) {
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
            self.policies.push((self.number, by, policy.clone()));
            self.policy = Some((self.number, policy));
        }
    }

    /// Whether somebody has forgotten a snapshot after a change.
    pub(super) fn has_forgotten_since(&self, snapshot: &SnapshotId, change: u64) -> bool {
        self.forgotten.get(snapshot).is_some_and(|changes| changes.range(change + 1..).next().is_some())
    }

    /// The series of which nothing may go.
    pub(super) fn held<'a>(&self, snapshots: impl IntoIterator<Item = Signed<'a>>) -> BTreeSet<Series> {
        let Some((_, policy)) = &self.policy else { return BTreeSet::new() };
        held(policy, snapshots, Time(i64::MAX)).into_iter().map(|held| held.series).collect()
    }

    /// Whether the floor keeps a snapshot of those that count.
    pub(super) fn is_in_floor<'a>(
        &self,
        snapshot: Signed<'_>,
        counted: impl Iterator<Item = Signed<'a>>,
        now: Time,
    ) -> bool {
        let Some((_, policy)) = &self.policy else { return false };
        let floor = policy.floor();
        let age = |of: &SnapshotRecord| (of.accepted, of.client_time, of.id);
        let in_series = |of: &Signed<'_>| Series::of(*of) == Series::of(snapshot) && !of.1.partial;
        let newer = counted.filter(in_series).filter(|(_, of)| age(of) > age(snapshot.1)).count();
        newer < floor.last as usize || now.since(snapshot.1.accepted) < floor.age
    }

    /// What was forgotten and must stay all the same.
    pub(super) fn guarded<'a>(&self, picture: &'a Picture, now: Time) -> Vec<&'a SnapshotRecord> {
        if self.policy.as_ref().is_none_or(|(_, policy)| policy.hold().is_none() && policy.floor().is_nothing()) {
            return Vec::new();
        }
        let all = || picture.state.snapshots.iter();
        let held = self.held(all());
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
