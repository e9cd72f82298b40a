//! Mends: innocent differences between a state and what was signed. The next root puts them right.

use std::collections::{BTreeMap, BTreeSet};

use copal_format::id::{ClientId, PackId};
use copal_format::state::{PackRecord, SnapshotRecord, SnapshotState, State, StateDelta};
use copal_format::time::Time;

use crate::context::JobContext;
use crate::error::JobError;
use crate::view::View;

/// What the next root has to put right.
#[derive(Debug, Default)]
pub(crate) struct Mends {
    /// Snapshots whose accept time is before the store's time of their manifest, with that time.
    pub(super) snapshots: BTreeMap<(ClientId, u64), Time>,
    /// Packs whose accept time is before the store's time of their manifest, with that time.
    pub(super) packs: BTreeMap<PackId, Time>,
    /// Packs of manifests that cannot be read, which the state calls proven.
    pub(super) unproven: BTreeSet<PackId>,
    /// Snapshots that a change has undeleted and the state calls forgotten. Without a root page ingest leaves them so.
    pub(super) revived: BTreeSet<(ClientId, u64)>,
}

impl Mends {
    /// Whether only times have to be put right.
    pub(crate) fn are_times(&self) -> bool {
        self.revived.is_empty() && self.unproven.is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.snapshots.is_empty() && self.packs.is_empty() && self.are_times()
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.snapshots.extend(others.snapshots);
        self.packs.extend(others.packs);
        self.unproven.extend(others.unproven);
        self.revived.extend(others.revived);
    }

    /// Adds a change for each accept time that is still wrong in a state.
    pub(crate) fn add_times(&self, state: &State, delta: &mut StateDelta) {
        let packs = self.packs.iter().filter_map(|(id, time)| Some((id, state.packs.get(id)?, *time)));
        for (id, record, stored) in packs.filter(|(_, record, stored)| record.accepted < *stored) {
            delta.packs.entry(*id).or_insert_with(|| Some(PackRecord { accepted: stored, ..record.clone() }));
        }
        let snapshots = self.snapshots.iter().filter_map(|(key, time)| Some((key, state.snapshots.get(key)?, *time)));
        for (key, record, stored) in snapshots.filter(|(_, record, stored)| record.accepted < *stored) {
            let mended = SnapshotRecord { accepted: stored, ..record.clone() };
            delta.snapshots.entry(*key).or_insert(Some(mended));
        }
    }

    /// Applies the mends to a view, and returns the changes that the next root must write.
    pub(crate) async fn apply(&self, job: &JobContext<'_>, view: &mut View) -> Result<StateDelta, JobError> {
        let mut delta = StateDelta::default();
        let now = if self.revived.is_empty() { Time(0) } else { job.now().await? };
        for (id, stored) in &self.packs {
            if let Some(record) = view.state.packs.get_mut(id) {
                record.accepted = *stored;
                delta.packs.insert(*id, Some(record.clone()));
            }
        }
        for id in &self.unproven {
            if let Some(record) = view.state.packs.get_mut(id) {
                record.is_proven = false;
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
            view.turn_to(job.store, domain).await?;
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
