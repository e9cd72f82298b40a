//! Told: what the readable roots say of changes and policies, and which runs they name. Mostly only a run is damaged;
//! then the roots still know how far the changes went.

use std::collections::BTreeSet;

use copal_format::id::ObjectHash;
use copal_format::layout;
use copal_format::root::Root;

use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

#[derive(Default)]
pub(super) struct Told {
    /// The number of the last change.
    pub(super) change: u64,
    /// The change with the policy in force, if it is missing or differs from what the root names.
    pub(super) policy_lost: Option<u64>,
    /// The runs that the roots name.
    pub(super) runs: BTreeSet<ObjectHash>,
}

impl Told {
    /// Reads every readable root up to `newest`.
    pub(super) async fn read(job: &JobContext<'_>, newest: u64) -> Result<Self, JobError> {
        let listed = objects::list(job.store, "roots/").await?;
        let numbers = listed.iter().filter_map(|root| layout::root_number(root.key.as_str()));
        let calls = numbers.filter(|number| *number <= newest).map(|number| read_root(job, number));
        let roots = objects::join(calls).await?;
        let mut told = Self::default();
        let mut policy: Option<(u64, ObjectHash)> = None;
        // The newest root comes first.
        for root in roots.into_iter().flatten() {
            told.runs.extend(root.runs.iter().map(|run| run.hash));
            told.change = told.change.max(root.change_head.map_or(0, |(number, _)| number));
            policy = root.policy.filter(|(number, _)| policy.is_none_or(|(known, _)| *number > known)).or(policy);
        }
        if let Some((number, hash)) = policy {
            let there = objects::read(job.store, &layout::change(number)).await?;
            told.policy_lost = there.is_none_or(|bytes| ObjectHash::of(&bytes) != hash).then_some(number);
        }
        Ok(told)
    }

    /// The number of the last change that the roots know of.
    pub(super) fn last(&self) -> u64 {
        self.change.max(self.policy_lost.unwrap_or(0))
    }
}

async fn read_root(job: &JobContext<'_>, number: u64) -> Result<Option<Root>, JobError> {
    match objects::read(job.store, &layout::root(number)).await.map_err(JobError::from) {
        Ok(bytes) => Ok(bytes.and_then(|bytes| Root::decode(number, &bytes).ok())),
        Err(error) => error.blame().map(|_| None),
    }
}
