//! Verified: the newest state that a run has compared with the baseline.

use std::collections::BTreeSet;

use copal_format::id::{ObjectHash, PackId};
use copal_format::state::StateDelta;

use crate::baseline;
use crate::context::JobContext;
use crate::error::JobError;
use crate::view::View;

#[derive(Default)]
pub(super) struct Verified {
    /// The verified root; none if its state still needs mending.
    root: Option<(u64, ObjectHash)>,
    /// Whether this root is noted as the baseline of the next prune.
    is_noted: bool,
    /// Packs named by manifests that wait for an ingest.
    pub(super) claimed: BTreeSet<PackId>,
}

impl Verified {
    /// Fails if the state does not follow from the baseline. Otherwise mends the view, and returns the changes that a
    /// root must write before anything is decided. None if the state is not the newest any more.
    pub(super) async fn take(&mut self, job: &JobContext<'_>, view: &mut View) -> Result<Option<StateDelta>, JobError> {
        if self.root.is_some() && self.root == view.base() {
            return Ok(Some(StateDelta::default()));
        }
        let Some(agreed) = baseline::verify(job, self.root, view).await? else { return Ok(None) };
        let mended = agreed.mends.apply(job, view).await?;
        (self.claimed, self.is_noted) = (agreed.claimed, agreed.is_baseline);
        self.root = view.base().filter(|_| mended.is_empty());
        Ok(Some(mended))
    }

    /// Notes this state as the baseline of the next prune.
    pub(super) async fn note(&self, job: &JobContext<'_>, view: &View) -> Result<(), JobError> {
        if let Some(root) = view.base().filter(|_| !self.is_noted) {
            baseline::note(job, root.0, root).await?;
        }
        Ok(())
    }
}
