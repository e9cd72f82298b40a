//! Garbage: objects that no root names (orphans), spent names, and roots older than the kept window.

use core::slice;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use copal_engine::id::{ObjectHash, PackId};
use copal_engine::layout::{self, Prunable};
use copal_engine::root::Root;
use copal_engine::state::DoomedState;
use copal_engine::time::Time;
use copal_store::Stat;

use super::Report;
use super::deletion::doom;
use crate::baseline;
use crate::commit::Proposal;
use crate::error::JobError;
use crate::faults::{Fault, is_planted, windows};
use crate::host::Host;
use crate::objects;
use crate::view::{self, View};

/// The packs, segments and runs in the store.
pub(super) struct Stored {
    objects: BTreeMap<Prunable, Stat>,
}

impl Stored {
    pub(super) async fn list(host: &Host<'_>) -> Result<Self, JobError> {
        let mut all = BTreeMap::new();
        for prefix in ["packs/", "moved/", "index/", "state/"] {
            for listed in objects::list(host.store, prefix).await? {
                // An object with another name was made by no writer of this format, and no job deletes it.
                if let Some(name) = Prunable::parse(listed.key.as_str()) {
                    all.insert(name, listed.stat);
                }
            }
        }
        Ok(Self { objects: all })
    }

    pub(super) fn length(&self, name: &str) -> Option<u64> {
        self.objects.get(&Prunable::parse(name)?).map(|stat| stat.length)
    }
}

/// Dooms orphans: objects that no root names, too old for a running job. Packs that a rebuild has left out stay that
/// long after it, and at least the grace period; so do runs, as evidence for another rebuild.
pub(super) async fn doom_orphans(
    host: &Host<'_>,
    (view, claimed): (&View, &BTreeSet<PackId>),
    stored: &Stored,
    (now, is_rebuilt): (Time, bool),
    proposal: &mut Proposal,
    report: &mut Report,
) -> Result<(), JobError> {
    let old: Vec<Prunable> = stored
        .objects
        .iter()
        .filter(|(_, stat)| now.since(Time(stat.created.0)) >= windows().orphan_age)
        .map(|(name, _)| *name)
        .collect();
    if old.is_empty() {
        return Ok(());
    }
    let named_runs = runs_named(host).await?;
    for name in old {
        let is_named = match name {
            Prunable::Pack(_, pack) => {
                let is_known = |pack| view.state.packs.contains_key(pack) || proposal.delta.packs.contains_key(pack);
                is_known(&pack) || claimed.contains(&pack)
            }
            Prunable::Segment(hash) => {
                view.state.segments.keys().chain(proposal.delta.segments.keys()).any(|(_, named)| *named == hash)
            }
            // A root that cannot be read may name the run.
            Prunable::Run(hash) => named_runs.as_ref().is_none_or(|named| named.contains(&hash)),
        };
        let doomed = view.state.doomed.get(&name).map(|record| record.state);
        if is_named || doomed == Some(DoomedState::Doomed) {
            continue;
        }
        let tells = !matches!(name, Prunable::Segment(_));
        if is_rebuilt && tells && doomed.is_none() {
            continue;
        }
        doom(view, name, now, proposal);
        report.orphans += 1;
        if is_planted(Fault::OrphansNotDoomed) {
            objects::delete(host.store, &[objects::key(name.to_string())]).await?;
        }
    }
    Ok(())
}

/// Drops spent names once no client can bring them back.
pub(super) fn expire_spent(view: &View, now: Time, proposal: &mut Proposal) {
    for (name, record) in &view.state.doomed {
        if record.state == DoomedState::Spent && now.since(record.time) >= SPENT_AGE {
            proposal.delta.doomed.entry(*name).or_insert(None);
        }
    }
}

/// Deletes roots outside the kept window, strictly in ascending order, each with the runs that only it names.
pub(super) async fn delete_old_roots(host: &Host<'_>, report: &mut Report) -> Result<(), JobError> {
    let mut listed = objects::list(host.store, "roots/").await?;
    listed.retain(|root| layout::root_number(root.key.as_str()).is_some());
    let now = host.now().await?;
    // Passed-over roots do not count among the roots to keep.
    let numbers = listed.iter().filter_map(|root| layout::root_number(root.key.as_str()));
    let newest = view::newest_number(host.store).await?;
    let passed = listed.len() - numbers.filter(|number| *number <= newest).count();
    let old = listed.iter().skip(windows().roots_kept.saturating_add(passed));
    let baseline = baseline::newest(host).await?.map_or(u64::MAX, |(number, _)| number);
    let old = old.filter(|root| now.since(Time(root.stat.created.0)) >= windows().roots_age);
    let old = old.filter(|root| layout::root_number(root.key.as_str()).is_some_and(|number| number < baseline));
    let mut old: Vec<_> = old.collect();
    if old.is_empty() {
        return Ok(());
    }
    let mut named: BTreeMap<ObjectHash, u32> = BTreeMap::new();
    let mut is_all_read = true;
    for root in &listed {
        match runs_of(host, root.key.as_str()).await? {
            Some(runs) => runs.into_iter().for_each(|run| *named.entry(run).or_default() += 1),
            None => is_all_read = false,
        }
    }
    // The listing has the newest root first.
    old.reverse();
    for root in old {
        let runs = runs_of(host, root.key.as_str()).await?.unwrap_or_default();
        objects::delete(host.store, slice::from_ref(&root.key)).await?;
        report.objects_deleted += 1;
        report.bytes_deleted += root.stat.length;
        let mut unnamed = Vec::new();
        for run in runs {
            let users = named.entry(run).or_default();
            *users = users.saturating_sub(1);
            // With an unreadable root, unnamed runs stay: they become orphans once every root can be read.
            if *users == 0 && is_all_read {
                unnamed.push(objects::key(layout::state(run)));
            }
        }
        objects::delete(host.store, &unnamed).await?;
        report.objects_deleted += unnamed.len() as u64;
    }
    Ok(())
}

/// The runs that all roots name; none if a root cannot be read.
pub(super) async fn runs_named(host: &Host<'_>) -> Result<Option<BTreeSet<ObjectHash>>, JobError> {
    let mut named = BTreeSet::new();
    for root in objects::list(host.store, "roots/").await? {
        match runs_of(host, root.key.as_str()).await? {
            Some(runs) => named.extend(runs),
            None => return Ok(None),
        }
    }
    Ok(Some(named))
}

/// The runs and segments that the view's root names.
pub(super) fn named_by(view: &View) -> BTreeSet<Prunable> {
    let runs = view.root.iter().flat_map(|(root, _)| &root.runs).map(|run| run.hash);
    let runs = runs.chain(view.state.overlays.keys().map(|(_, hash)| *hash)).map(Prunable::Run);
    runs.chain(view.state.segments.keys().map(|(_, hash)| Prunable::Segment(*hash))).collect()
}

/// The runs that a root names; empty if the root is gone meanwhile, none if it cannot be read.
pub(super) async fn runs_of(host: &Host<'_>, name: &str) -> Result<Option<Vec<ObjectHash>>, JobError> {
    let Some(number) = layout::root_number(name) else { return Ok(Some(Vec::new())) };
    let Some(bytes) = objects::read(host.store, name).await? else { return Ok(Some(Vec::new())) };
    let Ok(root) = Root::decode(number, &bytes) else { return Ok(None) };
    let runs = view::runs_named_by(host.store, &root).await?;
    // Runs are deleted after their root, so unreadable runs of a deleted root do not matter.
    if runs.is_none() && !view::is_there(host.store, number, ObjectHash::of(&bytes)).await? {
        return Ok(Some(Vec::new()));
    }
    Ok(runs)
}

/// How long the name of a deleted object is refused.
const SPENT_AGE: Duration = Duration::from_secs(90 * 24 * 3600);
