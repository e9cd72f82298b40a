//! Roots: those older than the kept window go, with the runs that only they name.

use core::slice;
use std::collections::{BTreeMap, BTreeSet};

use copal_format::id::ObjectHash;
use copal_format::layout::{self, Prunable};
use copal_format::root::Root;
use copal_format::time::Time;
use copal_store::{Key, Listed};

use super::Report;
use crate::baseline;
use crate::budget::Budget;
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::windows;
use crate::objects;
use crate::view::{self, View};

/// Deletes roots outside the kept window, strictly in ascending order, each with the runs that only it names. Once the
/// budget is over, deletes a few more; the next prune deletes the others.
pub(super) async fn delete_old_roots(
    job: &JobContext<'_>,
    budget: &Budget,
    report: &mut Report,
) -> Result<(), JobError> {
    let mut listed = objects::list(job.store, "roots/").await?;
    listed.retain(|root| layout::root_number(root.key.as_str()).is_some());
    let now = job.now().await?;
    // Passed-over roots do not count among the roots to keep.
    let numbers = listed.iter().filter_map(|root| layout::root_number(root.key.as_str()));
    let newest = view::newest_number(job.store).await?;
    let passed = listed.len() - numbers.filter(|number| *number <= newest).count();
    // The listing has the newest root first.
    let ascending = listed.iter().skip(windows().roots_kept.saturating_add(passed)).rev();
    let baseline = baseline::newest(job).await?.map_or(u64::MAX, |(number, _)| number);
    // Ends at the first root that stays, even if the time of a newer one is earlier: a writer that finds its base there
    // takes it that no newer root was deleted.
    let old = ascending.take_while(|root| {
        let is_old = now.since(Time(root.stat.created.0)) >= windows().roots_age;
        is_old && layout::root_number(root.key.as_str()).is_some_and(|number| number < baseline)
    });
    let old: Vec<_> = old.collect();
    if old.is_empty() {
        return Ok(());
    }
    // If not all roots were read, the old ones go and their runs stay: they are orphans once all roots can be read.
    let mut users = users_of_runs(job, &listed, budget).await?;
    let runs = if users.is_some() { objects::list(job.store, "state/").await? } else { Vec::new() };
    let lengths: BTreeMap<Key, u64> = runs.into_iter().map(|run| (run.key, run.stat.length)).collect();
    for (at, root) in old.into_iter().enumerate() {
        if at >= LEAST && budget.is_over() {
            report.is_unfinished = true;
            break;
        }
        let runs = match users {
            Some(_) => runs_of(job, root.key.as_str()).await?.unwrap_or_default(),
            None => Vec::new(),
        };
        objects::delete(job.store, slice::from_ref(&root.key)).await?;
        report.objects_deleted += 1;
        report.bytes_deleted += root.stat.length;
        let Some(users) = &mut users else { continue };
        let mut unnamed = Vec::new();
        for run in runs {
            let count = users.entry(run).or_default();
            *count = count.saturating_sub(1);
            if *count == 0 {
                unnamed.push(objects::key(layout::state(run)));
            }
        }
        objects::delete(job.store, &unnamed).await?;
        let deleted = unnamed.iter().filter_map(|run| lengths.get(run));
        report.objects_deleted += deleted.clone().count() as u64;
        report.bytes_deleted += deleted.sum::<u64>();
    }
    Ok(())
}

/// The runs that all roots name; none if a root cannot be read, or if the budget is over before all were read.
pub(super) async fn runs_named(
    job: &JobContext<'_>,
    budget: &Budget,
) -> Result<Option<BTreeSet<ObjectHash>>, JobError> {
    let listed = objects::list(job.store, "roots/").await?;
    Ok(users_of_runs(job, &listed, budget).await?.map(|users| users.into_keys().collect()))
}

/// How many of these roots name each run; none if a root cannot be read, or if the budget is over before all were read.
async fn users_of_runs(
    job: &JobContext<'_>,
    roots: &[Listed],
    budget: &Budget,
) -> Result<Option<BTreeMap<ObjectHash, u32>>, JobError> {
    let mut users: BTreeMap<ObjectHash, u32> = BTreeMap::new();
    for some in roots.chunks(READ) {
        if budget.is_over() {
            return Ok(None);
        }
        let calls = some.iter().map(|root| runs_of(job, root.key.as_str()));
        for runs in objects::join(calls).await? {
            let Some(runs) = runs else { return Ok(None) };
            runs.into_iter().for_each(|run| *users.entry(run).or_default() += 1);
        }
    }
    Ok(Some(users))
}

/// The runs and segments that the view's root names.
pub(super) fn named_by(view: &View) -> BTreeSet<Prunable> {
    let runs = view.root.iter().flat_map(|(root, _)| &root.runs).map(|run| run.hash);
    let runs = runs.chain(view.state.overlays.keys().map(|(_, hash)| *hash)).map(Prunable::Run);
    runs.chain(view.state.segments.keys().map(|(_, hash)| Prunable::Segment(*hash))).collect()
}

/// The runs that a root names; empty if the root is gone meanwhile, none if it cannot be read.
pub(super) async fn runs_of(job: &JobContext<'_>, name: &str) -> Result<Option<Vec<ObjectHash>>, JobError> {
    let Some(number) = layout::root_number(name) else { return Ok(Some(Vec::new())) };
    let Some(bytes) = objects::read(job.store, name).await? else { return Ok(Some(Vec::new())) };
    let Ok(root) = Root::decode(number, &bytes) else { return Ok(None) };
    let runs = view::runs_named_by(job.store, &root).await?;
    // Runs are deleted after their root, so unreadable runs of a deleted root do not matter.
    if runs.is_none() && !view::is_there(job.store, number, ObjectHash::of(&bytes)).await? {
        return Ok(Some(Vec::new()));
    }
    Ok(runs)
}

/// Roots that are read between two looks at the budget.
const READ: usize = 256;
/// Old roots that go although the budget is over, so that their number shrinks even if no run has time for more.
const LEAST: usize = 64;
