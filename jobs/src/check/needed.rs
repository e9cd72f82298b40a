//! Needed: the snapshots that prune keeps whole: those kept, and those that a policy's floor or holds guard.

use std::collections::BTreeSet;

use copal_format::id::SnapshotId;
use copal_format::state::{SnapshotRecord, SnapshotState};

use crate::context::JobContext;
use crate::error::JobError;
use crate::policy::Guarded;
use crate::view::View;

/// The snapshots that prune keeps whole.
#[derive(Debug)]
pub struct Needed {
    /// Guarded forgotten snapshots. None if the policy cannot be read: then prune removes nothing.
    guarded: Option<BTreeSet<SnapshotId>>,
}

impl Needed {
    /// The needed snapshots of a state.
    pub async fn of(job: &JobContext<'_>, view: &View) -> Result<Self, JobError> {
        let guarded = match Guarded::of(job, view, job.now_to_note().await?).await {
            Ok(guarded) => Some(guarded.protected),
            // The damaged change is reported with all others.
            Err(error) => error.blame().map(|_| None)?,
        };
        Ok(Self { guarded })
    }

    /// Whether a snapshot is needed.
    pub fn has(&self, snapshot: &SnapshotRecord) -> bool {
        match snapshot.state {
            SnapshotState::Kept => true,
            SnapshotState::Forgotten => self.guarded.as_ref().is_none_or(|guarded| guarded.contains(&snapshot.id)),
            SnapshotState::Gone => false,
        }
    }
}
