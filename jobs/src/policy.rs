//! Policy: the policy that the newest root names, and the snapshots it keeps from being removed.

use core::time::Duration;
use std::collections::BTreeSet;

use copal_engine::retention::{Held, held, protected};
use copal_format::change::Change;
use copal_format::id::SnapshotId;
use copal_format::layout;
use copal_format::policy::{Floor, Lingering, SignedPolicy};
use copal_format::time::Time;

use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::{Mistake, is_planted};
use crate::objects;
use crate::view::View;

/// The policy in force and the number of its change; none if there never was one.
pub async fn current(job: &JobContext<'_>, view: &View) -> Result<Option<(u64, SignedPolicy)>, JobError> {
    let Some((number, hash)) = view.root.as_ref().and_then(|(root, _)| root.policy) else { return Ok(None) };
    let name = layout::change(number);
    let bytes = objects::read(job.store, &name).await?.ok_or_else(|| JobError::damaged(&name, "it is gone"))?;
    let change = Change::vouched(number, hash, &bytes).map_err(|error| JobError::damaged(&name, error))?;
    // Once, policies did not need the owner's signature. A root from then, as in the golden repository, may name a
    // policy without it. That policy stays in force until the owner sets a new one.
    let found = change.owner_policy().or_else(|| last(&change));
    let mut policy = found.ok_or_else(|| JobError::damaged(&name, "it holds no policy"))?;
    if is_planted(Mistake::GuardIgnored) {
        policy = policy.with_guard(Floor::default(), None).expect("it is shorter without");
    }
    Ok(Some((number, policy)))
}

/// The policy in force and the number of its change, with the guard (floor and hold) that counts at time `now`.
pub async fn guarding(job: &JobContext<'_>, view: &View, now: Time) -> Result<Option<(u64, SignedPolicy)>, JobError> {
    let lingering = view.root.as_ref().and_then(|(root, _)| root.lingering);
    let lingering = lingering.filter(|_| !is_planted(Mistake::FloorLowered) && !is_planted(Mistake::GuardIgnored));
    let current = current(job, view).await?;
    Ok(current.map(|(number, policy)| (number, Lingering::join(lingering, policy, now))))
}

/// The last policy of a change that can be read, whoever signed it.
fn last(change: &Change) -> Option<SignedPolicy> {
    let brought = change.operations.iter().filter_map(|operation| operation.policy());
    brought.filter_map(|(bytes, _)| SignedPolicy::decode(bytes).ok()).next_back()
}
/// The snapshots that the policy in force protects from removal, whoever has forgotten them.
#[derive(Debug, Default)]
pub(crate) struct Guarded {
    /// Forgotten snapshots whose pages stay.
    pub(crate) protected: BTreeSet<SnapshotId>,
    /// Held series, with reasons.
    pub(crate) held: Vec<Held>,
    /// The least time that everything accepted stays.
    pub(crate) floor: Duration,
}

impl Guarded {
    /// Returns the snapshots that are guarded in a state at time `now`.
    pub(crate) async fn of(job: &JobContext<'_>, view: &View, now: Time) -> Result<Self, JobError> {
        let Some((_, policy)) = guarding(job, view, now).await? else { return Ok(Self::default()) };
        let snapshots = &view.state.snapshots;
        let floor = policy.floor().age;
        let held = held(&policy, snapshots, Time(i64::MAX));
        if is_planted(Mistake::ForgottenUnguarded) {
            return Ok(Self { protected: BTreeSet::new(), held, floor });
        }
        Ok(Self { protected: protected(&policy, snapshots, now).into_keys().collect(), held, floor })
    }
}
