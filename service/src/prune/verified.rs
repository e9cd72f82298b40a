//! Verified: the newest state that a run has compared with the baseline.

use std::collections::BTreeSet;

use copal_engine::id::{ObjectHash, PackId};
use copal_engine::state::StateDelta;

use crate::baseline;
use crate::error::JobError;
use crate::host::Host;
use crate::view::View;

/// What a run has verified.
#[derive(Default)]
pub(super) struct Verified {
    /// The root, if nothing in its state has to be put right.
    root: Option<(u64, ObjectHash)>,
    /// Whether the next prune begins there already.
    is_noted: bool,
    /// Packs that wait for an ingest.
    pub(super) claimed: BTreeSet<PackId>,
}

impl Verified {
    /// Refuses a state that does not follow from the baseline. Else puts it right, and gives what a root has to change for
    /// it before anything is decided; none if the state is not the newest any more.
    pub(super) async fn take(&mut self, host: &Host<'_>, view: &mut View) -> Result<Option<StateDelta>, JobError> {
        if self.root.is_some() && self.root == view.base() {
            return Ok(Some(StateDelta::default()));
        }
        let Some(agreed) = baseline::verify(host, self.root, view).await? else { return Ok(None) };
        let mended = agreed.mends.apply(host, view).await?;
        (self.claimed, self.is_noted) = (agreed.claimed, agreed.is_baseline);
        self.root = view.base().filter(|_| mended.is_empty());
        Ok(Some(mended))
    }

    /// Has the next prune begin where this one ends.
    pub(super) async fn note(&mut self, host: &Host<'_>, view: &View) -> Result<(), JobError> {
        if let Some(root) = view.base().filter(|_| !self.is_noted) {
            baseline::note(host, root.0, root).await?;
            self.is_noted = true;
        }
        Ok(())
    }
}
