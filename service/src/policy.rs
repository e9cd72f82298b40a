//! Policy: what the service was told to follow, as the newest root names it, and what it keeps from being removed.

use std::collections::BTreeSet;

use copal_engine::change::Change;
use copal_engine::id::SnapshotId;
use copal_engine::layout;
use copal_engine::retention::{Floor, Held, SignedPolicy, held, protected};
use copal_engine::time::Time;

use crate::error::JobError;
use crate::faults::{Fault, is_planted};
use crate::host::Host;
use crate::objects;
use crate::view::View;

/// The policy in force and the number of the change that holds it; none if there never was one.
pub async fn current(host: &Host<'_>, view: &View) -> Result<Option<(u64, SignedPolicy)>, JobError> {
    let found = in_force(host, view).await?;
    Ok(found.map(|(number, brought)| (number, brought.policy)))
}

/// The same, and whether the owner has signed it.
async fn in_force(host: &Host<'_>, view: &View) -> Result<Option<(u64, Brought)>, JobError> {
    let Some((number, hash)) = view.root.as_ref().and_then(|(root, _)| root.policy) else { return Ok(None) };
    let name = layout::change(number);
    let bytes = objects::read(host.store, &name).await?.ok_or_else(|| JobError::damaged(&name, "it is gone"))?;
    let change = Change::vouched(number, hash, &bytes).map_err(|error| JobError::damaged(&name, error))?;
    let mut brought = of(&change, false).ok_or_else(|| JobError::damaged(&name, "it holds no policy"))?;
    if is_planted(Fault::GuardIgnored) {
        brought.policy = brought.policy.with_guard(Floor::default(), None).expect("it is shorter without");
    }
    Ok(Some((number, brought)))
}

/// Whether the owner has signed the policy in force, so that only such a one may follow. One that cannot be read may be
/// the owner's.
pub(crate) async fn is_owners(host: &Host<'_>, view: &View) -> Result<bool, JobError> {
    match in_force(host, view).await {
        Err(JobError::Damaged { .. }) => Ok(true),
        found => Ok(found?.is_some_and(|(_, brought)| brought.is_owners)),
    }
}

/// A policy as a change brings it into force.
pub(crate) struct Brought {
    pub(crate) policy: SignedPolicy,
    /// Whether the owner has signed it. Then only such a one follows it: who has a client's key, and no more, cannot take
    /// the floor away.
    pub(crate) is_owners: bool,
}

/// The policy that a change brings into force after one that the owner has signed or not: its last one that can be read
/// and may follow.
pub(crate) fn of(change: &Change, mut is_owners: bool) -> Option<Brought> {
    let mut found = None;
    for (bytes, by_owner) in change.operations.iter().filter_map(|operation| operation.policy()) {
        if let Ok(policy) = SignedPolicy::decode(bytes)
            && (by_owner || !is_owners)
        {
            is_owners = by_owner;
            found = Some(Brought { policy, is_owners });
        }
    }
    found
}

/// What the policy in force keeps from being removed, whoever has forgotten it.
#[derive(Debug, Default)]
pub(crate) struct Guarded {
    /// Forgotten snapshots whose pages stay.
    pub(crate) protected: BTreeSet<SnapshotId>,
    /// Why series are held.
    pub(crate) held: Vec<Held>,
}

impl Guarded {
    /// What is guarded of a state at a time of the store.
    pub(crate) async fn of(host: &Host<'_>, view: &View, now: Time) -> Result<Self, JobError> {
        let Some((_, policy)) = current(host, view).await? else { return Ok(Self::default()) };
        let snapshots = view.state.snapshots.values();
        let held = held(&policy, snapshots.clone(), Time(i64::MAX));
        if is_planted(Fault::ForgottenUnguarded) {
            return Ok(Self { protected: BTreeSet::new(), held });
        }
        Ok(Self { protected: protected(&policy, snapshots, now).into_keys().collect(), held })
    }
}
