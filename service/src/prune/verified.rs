//! Verified: the newest state that a run has compared with the baseline, and what follows for it.

use bytes::Bytes;
use copal_engine::id::{DomainId, ObjectHash};
use copal_engine::index::Overlay;
use copal_engine::state::{SnapshotRecord, SnapshotState, State, StateDelta};
use copal_engine::time::Time;

use crate::baseline::{self, Agreed, Dated};
use crate::commit::Proposal;
use crate::error::JobError;
use crate::host::Host;
use crate::view::{self, View};

/// What a run has verified.
#[derive(Default)]
pub(super) struct Verified {
    /// The root.
    root: Option<(u64, ObjectHash)>,
    /// Whether the next prune begins there already.
    is_noted: bool,
    /// What follows for it.
    pub(super) agreed: Agreed,
    /// The overlays of which the flags count, if these are not its own.
    flags: Option<State>,
}

impl Verified {
    /// Refuses a state that does not follow from the baseline. False if it is not the newest any more.
    pub(super) async fn take(&mut self, host: &Host<'_>, view: &View) -> Result<bool, JobError> {
        if self.root.is_some() && self.root == view.base() {
            return Ok(true);
        }
        let Some((before, agreed)) = baseline::verify(host, self.root, view).await? else { return Ok(false) };
        let is_own = before.base() == self.root;
        self.is_noted = before.base() == view.base();
        // Only prunes flag. What this one has verified, and not written, it has not flagged either.
        if self.is_noted {
            self.flags = None;
        } else if self.flags.is_none() || !is_own {
            self.flags = Some(State { overlays: before.state.overlays, ..State::default() });
        }
        self.agreed.spared.extend(agreed.spared);
        let Agreed { claimed, mut dated, .. } = agreed;
        if is_own {
            dated.join(std::mem::take(&mut self.agreed.dated));
        }
        (self.agreed.claimed, self.agreed.dated) = (claimed, dated);
        self.root = view.base();
        Ok(true)
    }

    /// Has the next prune begin where this one ends.
    pub(super) async fn note(&mut self, host: &Host<'_>, view: &View) -> Result<(), JobError> {
        if let Some(root) = view.base().filter(|_| !self.is_noted) {
            baseline::note(host, root.0, root).await?;
            self.is_noted = true;
        }
        Ok(())
    }

    /// What the next root changes because of it; the view has it from now on.
    pub(super) fn date(&self, view: &mut View) -> StateDelta {
        self.agreed.dated.date(&mut view.state)
    }

    /// A root has that.
    pub(super) fn forget_dates(&mut self) {
        self.agreed.dated = Dated::default();
    }

    /// The overlay of a domain whose flags count, if that is not the view's.
    pub(super) async fn flags(
        &self,
        host: &Host<'_>,
        view: &View,
        domain: DomainId,
    ) -> Result<Option<Overlay<Bytes>>, JobError> {
        match &self.flags {
            Some(of) if of.overlays_of(domain) != view.state.overlays_of(domain) => {
                view::overlay_of(host.store, of, domain).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Snapshots that were brought back count, if their root pages are there, whatever the state says.
    pub(super) fn revive(&self, view: &View, domain: DomainId, now: Time, proposal: &mut Proposal) {
        let is_spared = |of: &SnapshotRecord| of.domain == domain && self.agreed.spared.contains(&of.id);
        let forgotten = view.state.snapshots.iter().filter(|(_, of)| of.state == SnapshotState::Forgotten);
        for (key, record) in forgotten.filter(|(_, of)| is_spared(of)) {
            if view.resolve(domain, &record.root).is_some() {
                let kept = SnapshotRecord { state: SnapshotState::Kept, state_time: now, ..record.clone() };
                proposal.delta.snapshots.insert(*key, Some(kept));
            }
        }
    }
}
