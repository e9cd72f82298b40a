//! Deletion: what a root lists as doomed is recorded, deleted, and then cleared by whoever has deleted it. A list makes no
//! name one to delete: what the state still needs stays, whoever doomed it.

use std::collections::BTreeSet;

use bytes::Bytes;
use copal_engine::id::{ObjectHash, PackId};
use copal_engine::layout::{self, Prunable};
use copal_engine::root::{Deletion, Root};
use copal_engine::state::{DoomedRecord, DoomedState};
use copal_engine::time::Time;
use copal_store::{Key, Stat};

use super::Report;
use super::needed::{Need, needs};
use crate::commit::Proposal;
use crate::error::JobError;
use crate::faults::{Fault, is_planted, windows};
use crate::host::Host;
use crate::objects::{self, Call};
use crate::view::{self, Parts, View};

/// Names that are doomed no more.
#[derive(Default)]
pub(super) struct Cleared {
    /// Their objects are gone, deleted by who says so.
    gone: Vec<Prunable>,
    /// Their objects are needed, and who doomed them was wrong.
    spared: Vec<Prunable>,
}

impl Cleared {
    pub(super) fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.spared.is_empty()
    }
}

/// Lists an object as doomed.
pub(super) fn doom(view: &View, name: Prunable, now: Time, proposal: &mut Proposal) {
    let doomed = DoomedRecord { state: DoomedState::Doomed, time: now, root: view.next_number() };
    proposal.delta.doomed.insert(name, Some(doomed));
}

/// What the next root dooms.
pub(super) fn doomed_by(proposal: &Proposal) -> impl Iterator<Item = Prunable> + '_ {
    let doomed = proposal.delta.doomed.iter().filter_map(|(name, record)| Some((name, record.as_ref()?)));
    doomed.filter(|(_, record)| record.state == DoomedState::Doomed).map(|(name, _)| *name)
}

/// Deletes the objects that a root lists as doomed, as far as nothing needs them. The names are recorded first, so that a
/// rebuild of the state does not take one that is half deleted, and the root must still be there. Whoever writes states
/// can doom: a pack that no prune has, neither this run (`own`) nor one that has left a record, stays until it is as old
/// as an orphan, so that none goes that a client is about to name; those that are `claimed` stay.
pub(super) async fn delete_doomed(
    host: &Host<'_>,
    (view, (root, hash)): (&View, (&Root, ObjectHash)),
    (own, claimed): (&BTreeSet<Prunable>, &BTreeSet<PackId>),
    report: &mut Report,
) -> Result<Cleared, JobError> {
    let doomed = view.state.doomed.iter().filter(|(_, record)| record.state == DoomedState::Doomed);
    let doomed: Vec<Prunable> = doomed.map(|(name, _)| *name).collect();
    if is_planted(Fault::ClearedBlindly) {
        return Ok(Cleared { gone: doomed, spared: Vec::new() });
    }
    let mut cleared = Cleared::default();
    let mut names = Vec::new();
    for (name, need) in needs(host, view, doomed).await? {
        match need {
            _ if matches!(name, Prunable::Pack(_, id) if claimed.contains(&id)) => cleared.spared.push(name),
            Need::None => names.push(name),
            Need::Unknown => {}
            Need::Named => cleared.spared.push(name),
        }
    }
    if let Some(first) = cleared.spared.first() {
        report.spared += cleared.spared.len() as u64;
        tracing::warn!(%first, names = cleared.spared.len(), "listed as doomed and still needed: they stay");
    }
    let now = host.now().await?;
    let is_own = |name: &Prunable| !matches!(name, Prunable::Pack(..)) || own.contains(name);
    let others = names.iter().filter(|name| !is_own(name)).map(|name| view.state.doomed[name].root);
    let recorded = match others.min() {
        Some(oldest) => recorded_since(host, oldest).await?,
        None => BTreeSet::new(),
    };
    for part in names.chunks(Deletion::NAMES) {
        let calls = part.iter().map(|name| -> Call<'_, Option<Stat>> {
            let key = objects::key(name.to_string());
            Box::pin(async move { Ok(host.store.stat(&key).await?) })
        });
        let stats = objects::together(calls).await?;
        let is_due = |name: &Prunable, stat: Option<Stat>| {
            let is_old = stat.is_none_or(|stat| now.since(Time(stat.created.0)) >= windows().orphan_age);
            is_old || is_own(name) || recorded.contains(name)
        };
        let due = part.iter().zip(stats).filter(|(name, stat)| is_due(name, *stat));
        let (part, stats): (Vec<Prunable>, Vec<Option<Stat>>) = due.map(|(name, stat)| (*name, stat)).unzip();
        if part.is_empty() {
            continue;
        }
        record(host, (root.number, hash), &part).await?;
        if !view::is_there(host.store, root.number, hash).await? {
            return Ok(Cleared::default());
        }
        let keys: Vec<Key> = part.iter().map(|name| objects::key(name.to_string())).collect();
        objects::delete(host.store, &keys).await?;
        report.objects_deleted += stats.iter().flatten().count() as u64;
        report.bytes_deleted += stats.iter().flatten().map(|stat| stat.length).sum::<u64>();
        cleared.gone.extend(part);
    }
    Ok(cleared)
}

/// Records names that a root dooms, so that every prune may delete them. The root was verified.
pub(super) async fn record(host: &Host<'_>, root: (u64, ObjectHash), names: &[Prunable]) -> Result<(), JobError> {
    let root_number = root.0;
    for names in names.chunks(Deletion::NAMES) {
        let (random, time) = (host.random(), host.now().await?);
        let deletion = Deletion { root_number, random, time, names: names.to_vec(), baseline: Some(root) };
        let name = objects::key(layout::deletion(root_number, &random));
        host.store.create(&name, Bytes::from(deletion.encode())).await?;
    }
    Ok(())
}

/// What prunes have recorded, under this root or later ones, before they began to delete.
async fn recorded_since(host: &Host<'_>, root: u64) -> Result<BTreeSet<Prunable>, JobError> {
    let first = format!("deletions/{root:020}");
    let mut recorded = BTreeSet::new();
    for listed in objects::list(host.store, "deletions/").await? {
        if listed.key.as_str() < first.as_str() {
            continue;
        }
        let bytes = objects::read(host.store, listed.key.as_str()).await?;
        let deletion = bytes.and_then(|bytes| Deletion::decode(&bytes).ok());
        recorded.extend(deletion.into_iter().flat_map(|deletion| deletion.names));
    }
    Ok(recorded)
}

/// Decisions belong to the newest root: another prune may have deleted and cleared meanwhile.
pub(super) async fn is_superseded(host: &Host<'_>, view: &View) -> Result<bool, JobError> {
    Ok(view::read_parts(host.store, &Parts::NOTHING).await?.base() != view.base())
}

/// Turns the names that this writer has itself deleted into spent ones, and forgets that what stays was doomed.
pub(super) fn clear(view: &View, cleared: &Cleared, now: Time, proposal: &mut Proposal) {
    for name in &cleared.gone {
        let spent = DoomedRecord { state: DoomedState::Spent, time: now, root: view.next_number() };
        proposal.delta.doomed.insert(*name, Some(spent));
    }
    for name in &cleared.spared {
        proposal.delta.doomed.insert(*name, None);
    }
}
