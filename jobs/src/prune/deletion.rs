//! Deletion: records doomed names, deletes their objects, and clears the names. The prune that deletes an object also
//! clears its name. An object that the state still needs stays, whoever doomed it.

use std::collections::BTreeSet;

use bytes::Bytes;
use copal_format::id::{ObjectHash, PackId};
use copal_format::layout::{self, Prunable};
use copal_format::root::{Deletion, Root};
use copal_format::state::{DoomedRecord, DoomedState};
use copal_format::time::Time;
use copal_store::{Key, Stat};

use super::Report;
use super::needed::{Need, needs};
use crate::commit::Proposal;
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::{Mistake, is_planted, windows};
use crate::objects;
use crate::view::{self, View};

/// Names that stop being doomed.
#[derive(Default)]
pub(super) struct Cleared {
    /// Names whose objects this prune has deleted.
    gone: Vec<Prunable>,
    /// Names whose objects are needed: dooming them was wrong.
    spared: Vec<Prunable>,
}

impl Cleared {
    pub(super) fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.spared.is_empty()
    }
}

/// The names that the next root dooms.
pub(super) fn doomed_by(proposal: &Proposal) -> impl Iterator<Item = Prunable> + '_ {
    let doomed = proposal.delta.doomed.iter().filter_map(|(name, record)| Some((name, record.as_ref()?)));
    doomed.filter(|(_, record)| record.state == DoomedState::Doomed).map(|(name, _)| *name)
}

/// Deletes the doomed objects of a root, except those that are needed. Records the names first, so that a rebuild does
/// not rely on an object that is about to go. The root must still exist, and no rebuild may have come after it.
///
/// Anybody who may write states may doom. So a pack doomed neither by this run (`own`) nor by a recorded prune stays
/// until it is as old as an orphan: a client may be about to name it. Packs in `claimed` stay too, and stay doomed.
pub(super) async fn delete_doomed(
    job: &JobContext<'_>,
    (view, (root, hash)): (&View, (&Root, ObjectHash)),
    (own, claimed): (&BTreeSet<Prunable>, &BTreeSet<PackId>),
    report: &mut Report,
) -> Result<Cleared, JobError> {
    let doomed = view.state.doomed.iter().filter(|(_, record)| record.state == DoomedState::Doomed);
    let doomed: Vec<Prunable> = doomed.map(|(name, _)| *name).collect();
    if is_planted(Mistake::ClearedBlindly) {
        return Ok(Cleared { gone: doomed, spared: Vec::new() });
    }
    let mut cleared = Cleared::default();
    let mut names = Vec::new();
    for (name, need) in needs(job, view, doomed).await? {
        match need {
            // It stays doomed, because a prune that sleeps may be about to delete it. So ingest rejects the manifest.
            _ if matches!(name, Prunable::Pack(_, id) if claimed.contains(&id)) => {}
            Need::None => names.push(name),
            _ if is_planted(Mistake::DoomedUnchecked) => names.push(name),
            Need::Unknown => {}
            Need::Named => cleared.spared.push(name),
        }
    }
    if let Some(first) = cleared.spared.first() {
        report.spared += cleared.spared.len() as u64;
        tracing::warn!(%first, names = cleared.spared.len(), "listed as doomed and still needed: they stay");
    }
    let now = job.now().await?;
    let is_own = |name: &Prunable| !matches!(name, Prunable::Pack(..)) || own.contains(name);
    let others = names.iter().filter(|name| !is_own(name)).map(|name| view.state.doomed[name].root);
    let recorded = match others.min() {
        Some(oldest) => recorded_since(job, oldest).await?,
        None => BTreeSet::new(),
    };
    for part in names.chunks(Deletion::NAMES) {
        let calls = part.iter().map(|name| {
            let key = objects::key(name.to_string());
            async move { Ok(job.store.stat(&key).await?) }
        });
        let stats = objects::join(calls).await?;
        let is_due = |name: &Prunable, stat: Option<Stat>| {
            let is_old = stat.is_none_or(|stat| now.since(Time(stat.created.0)) >= windows().orphan_age);
            is_old || is_own(name) || recorded.contains(name)
        };
        let due = part.iter().zip(stats).filter(|(name, stat)| is_due(name, *stat));
        let (part, stats): (Vec<Prunable>, Vec<Option<Stat>>) = due.map(|(name, stat)| (*name, stat)).unzip();
        if part.is_empty() {
            continue;
        }
        record(job, (root.number, hash), &part).await?;
        // A rebuild deletes no root, and counts the packs that it has found before they were recorded.
        let is_rebuilt = view::is_rebuilt_since(job.store, view).await?;
        if is_rebuilt || !view::is_there(job.store, root.number, hash).await? {
            return Ok(Cleared::default());
        }
        let keys: Vec<Key> = part.iter().map(|name| objects::key(name.to_string())).collect();
        objects::delete(job.store, &keys).await?;
        report.objects_deleted += stats.iter().flatten().count() as u64;
        report.bytes_deleted += stats.iter().flatten().map(|stat| stat.length).sum::<u64>();
        cleared.gone.extend(part);
    }
    Ok(cleared)
}

/// Records names that a verified root dooms, so that every later prune may delete them.
pub(super) async fn record(job: &JobContext<'_>, root: (u64, ObjectHash), names: &[Prunable]) -> Result<(), JobError> {
    let root_number = root.0;
    for names in names.chunks(Deletion::NAMES) {
        let (random, time) = (job.random(), job.now().await?);
        let deletion = Deletion { root_number, random, time, names: names.to_vec(), baseline: Some(root) };
        let name = objects::key(layout::deletion(root_number, &random));
        job.store.create(&name, Bytes::from(deletion.encode())).await?;
    }
    Ok(())
}

/// The names in the deletion records of this root and later ones.
async fn recorded_since(job: &JobContext<'_>, root: u64) -> Result<BTreeSet<Prunable>, JobError> {
    let first = format!("deletions/{root:020}");
    let mut recorded = BTreeSet::new();
    for listed in objects::list(job.store, "deletions/").await? {
        if listed.key.as_str() < first.as_str() {
            continue;
        }
        let bytes = objects::read(job.store, listed.key.as_str()).await?;
        let deletion = bytes.and_then(|bytes| Deletion::decode(&bytes).ok());
        recorded.extend(deletion.into_iter().flat_map(|deletion| deletion.names));
    }
    Ok(recorded)
}

/// Marks the names deleted by this prune as spent, and removes spared names from the doomed list.
pub(super) fn clear(view: &View, cleared: &Cleared, now: Time, proposal: &mut Proposal) {
    for name in &cleared.gone {
        let spent = DoomedRecord { state: DoomedState::Spent, time: now, root: view.next_number() };
        proposal.delta.doomed.insert(*name, Some(spent));
    }
    for name in &cleared.spared {
        proposal.delta.doomed.insert(*name, None);
    }
}
