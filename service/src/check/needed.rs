//! Needed: the snapshots that a prune leaves whole. Not only those that are kept: a policy's floor and holds guard others.

use std::collections::BTreeSet;

use copal_engine::id::SnapshotId;
use copal_engine::state::{SnapshotRecord, SnapshotState};

use crate::error::JobError;
use crate::host::Host;
use crate::policy::Guarded;
use crate::view::View;

/// The snapshots that a prune leaves whole.
#[derive(Debug)]
pub struct Needed {
    /// Forgotten ones among them; none where the policy cannot be read, for then nothing is removed.
    guarded: Option<BTreeSet<SnapshotId>>,
}

impl Needed {
    /// Those of a state.
    pub async fn of(host: &Host<'_>, view: &View) -> Result<Self, JobError> {
        let guarded = match Guarded::of(host, view, host.now_to_note().await?).await {
            Ok(guarded) => Some(guarded.protected),
            // The change that holds it is reported with all others.
            Err(error) => error.blame().map(|_| None)?,
        };
        Ok(Self { guarded })
    }

    /// Whether this is one.
    pub fn has(&self, snapshot: &SnapshotRecord) -> bool {
        match snapshot.state {
            SnapshotState::Kept => true,
            SnapshotState::Forgotten => self.guarded.as_ref().is_none_or(|guarded| guarded.contains(&snapshot.id)),
            SnapshotState::Gone => false,
        }
    }
}
