//! Baseline: the last state that a prune has verified or made. Whoever may create roots and states can write any; a prune
//! removes nothing on a state that does not follow from its baseline by what clients and the owner have signed since
//! (decision 0079). Only prunes and rebuilds write baselines, in a folder where nobody else creates anything.

mod changes;
mod claims;
mod entries;
mod packs;
mod snapshots;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_engine::id::{ClientId, ObjectHash, PackId, SnapshotId};
use copal_engine::layout;
use copal_engine::root::Deletion;
use copal_engine::state::{State, StateDelta};
use copal_engine::time::Time;

use crate::error::JobError;
use crate::faults::{Fault, is_planted};
use crate::host::Host;
use crate::objects;
use crate::view::{self, Parts, View};
use changes::Changes;
use claims::Claims;

/// What was found out while a state was compared with the baseline.
#[derive(Debug, Default)]
pub(crate) struct Agreed {
    /// Snapshots whose pages stay although the state calls them forgotten: they may have been brought back.
    pub(crate) spared: BTreeSet<SnapshotId>,
    /// Packs that manifests name about which nobody has decided.
    pub(crate) claimed: BTreeSet<PackId>,
    /// What the state calls older than its manifest, and how old it is at most.
    pub(crate) dated: Dated,
}

/// When what was accepted can have been accepted at the earliest.
#[derive(Debug, Default)]
pub(crate) struct Dated {
    snapshots: BTreeMap<(ClientId, u64), Time>,
    packs: BTreeMap<PackId, Time>,
}

impl Dated {
    /// Dates what a state holds, and gives what the next root has to change.
    pub(crate) fn date(&self, state: &mut State) -> StateDelta {
        let mut delta = StateDelta::default();
        for (key, earliest) in &self.snapshots {
            if let Some(record) = state.snapshots.get_mut(key).filter(|record| record.accepted < *earliest) {
                record.accepted = *earliest;
                delta.snapshots.insert(*key, Some(record.clone()));
            }
        }
        for (id, earliest) in &self.packs {
            if let Some(record) = state.packs.get_mut(id).filter(|record| record.accepted < *earliest) {
                record.accepted = *earliest;
                delta.packs.insert(*id, Some(record.clone()));
            }
        }
        delta
    }

    /// Adds what was found out before of the same state.
    pub(crate) fn join(&mut self, before: Self) {
        self.snapshots.extend(before.snapshots);
        self.packs.extend(before.packs);
    }
}

/// Notes that the writer stands by a root: it has verified its state, or is about to make it on the root of number `on`.
pub(crate) async fn note(host: &Host<'_>, on: u64, root: (u64, ObjectHash)) -> Result<(), JobError> {
    let (random, time) = (host.random(), host.now().await?);
    let record = Deletion { root_number: on, random, time, names: Vec::new(), baseline: Some(root) };
    host.store.create(&objects::key(record.name()), Bytes::from(record.encode())).await?;
    Ok(())
}

/// The newest root that somebody stands by and that is there; none if there never was one.
pub(crate) async fn newest(host: &Host<'_>) -> Result<Option<(u64, ObjectHash)>, JobError> {
    let (mut found, mut last) = (None, None);
    for listed in objects::list(host.store, "deletions/").await?.iter().rev() {
        let name = listed.key.as_str();
        let Some(on) = layout::deletion_root(name) else { continue };
        // One that was made on this root stands above it.
        if found.is_some() && last != Some(on) {
            break;
        }
        last = Some(on);
        let bytes = objects::read(host.store, name).await?;
        let baseline = bytes.and_then(|bytes| Deletion::decode(&bytes).ok()?.baseline);
        if let Some((number, hash)) = baseline.filter(|baseline| found < Some(*baseline))
            && view::is_there(host.store, number, hash).await?
        {
            found = Some((number, hash));
        }
    }
    Ok(found)
}

/// Compares the records of a state with the baseline: the newest in the store, or a root that this run has verified, if
/// that is newer. Gives the baseline, and what follows; none if another prune has made a newer state meanwhile, and taken
/// away what this one consists of.
pub(crate) async fn verify(
    host: &Host<'_>,
    verified: Option<(u64, ObjectHash)>,
    view: &View,
) -> Result<Option<(View, Agreed)>, JobError> {
    let mut verified = verified;
    loop {
        let noted = newest(host).await?;
        let baseline = noted.max(verified);
        match compare(host, baseline, view).await {
            Err(JobError::StateLost { .. } | JobError::Contradicted { .. })
                if view::is_superseded(host.store, view).await? =>
            {
                return Ok(None);
            }
            // Another prune has deleted what the baseline consists of, and noted a newer one unless there never was any.
            Err(JobError::StateLost { .. }) if baseline != noted || newest(host).await? != noted => verified = None,
            compared => return compared.map(Some),
        }
    }
}

async fn compare(
    host: &Host<'_>,
    baseline: Option<(u64, ObjectHash)>,
    view: &View,
) -> Result<(View, Agreed), JobError> {
    let before = match baseline {
        Some(root) => view::read_root(host.store, root, &Parts::RECORDS).await?,
        // Nothing was ever removed: everything that was accepted is in the state.
        None => View::default(),
    };
    let mut claims = Claims::since(host, &before, view).await?;
    let claimed = core::mem::take(&mut claims.waiting);
    if baseline == view.base() || is_planted(Fault::StateBelieved) {
        return Ok((before, Agreed { claimed, ..Agreed::default() }));
    }
    let contradicts = |why| JobError::Contradicted { root: view.number(), why };
    let changes = Changes::between(host, &before, view).await?.map_err(contradicts)?;
    claims.proven.extend(changes.proven());
    changes.compare_policy(host, &before, view).await?.map_err(contradicts)?;
    claims::compare_heads(&before, view).map_err(contradicts)?;
    let mut dated = Dated::default();
    let spared = snapshots::compare(&before, view, &claims, &changes, &mut dated).map_err(contradicts)?;
    packs::compare(&before, view, &claims, &mut dated).map_err(contradicts)?;
    entries::compare(host, &before, view).await?.map_err(contradicts)?;
    Ok((before, Agreed { spared, claimed, dated }))
}
