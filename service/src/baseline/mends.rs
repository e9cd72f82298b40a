//! Mends: what in a state is not as it was signed, and has an explanation other than a lie: the next root puts it right.

use std::collections::{BTreeMap, BTreeSet};

use copal_engine::id::{ClientId, PackId};
use copal_engine::state::{SnapshotState, StateDelta};
use copal_engine::time::Time;

use crate::error::JobError;
use crate::host::Host;
use crate::view::View;

/// What the next root has to put right.
#[derive(Debug, Default)]
pub(crate) struct Mends {
    /// Snapshots that the state calls older than their manifests, and when the store got these.
    pub(super) snapshots: BTreeMap<(ClientId, u64), Time>,
    /// The same of packs.
    pub(super) packs: BTreeMap<PackId, Time>,
    /// Snapshots that a change has brought back, and that the state calls forgotten. Ingest leaves it at that where the root
    /// page is not there.
    pub(super) revived: BTreeSet<(ClientId, u64)>,
}

impl Mends {
    /// Puts a state right, and gives what the next root has to change for it.
    pub(crate) async fn apply(&self, host: &Host<'_>, view: &mut View) -> Result<StateDelta, JobError> {
        let mut delta = StateDelta::default();
        let now = host.now().await?;
        for (id, stored) in &self.packs {
            if let Some(record) = view.state.packs.get_mut(id) {
                record.accepted = *stored;
                delta.packs.insert(*id, Some(record.clone()));
            }
        }
        for (key, stored) in &self.snapshots {
            if let Some(record) = view.state.snapshots.get_mut(key) {
                record.accepted = *stored;
                delta.snapshots.insert(*key, Some(record.clone()));
            }
        }
        for key in &self.revived {
            let Some((domain, root)) = view.state.snapshots.get(key).map(|of| (of.domain, of.root)) else { continue };
            view.turn_to(host.store, domain).await?;
            if view.resolve(domain, &root).is_some()
                && let Some(record) = view.state.snapshots.get_mut(key)
            {
                (record.state, record.state_time) = (SnapshotState::Kept, now);
                delta.snapshots.insert(*key, Some(record.clone()));
            }
        }
        Ok(delta)
    }
}
