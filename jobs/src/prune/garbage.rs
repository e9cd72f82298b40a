//! Garbage: objects that no root names (orphans), spent names, and roots older than the kept window.

use core::time::Duration;
use std::collections::BTreeSet;

use copal_format::id::{ObjectHash, PackId};
use copal_format::layout::Prunable;
use copal_format::state::DoomedState;
use copal_format::time::Time;

use super::Report;
use super::roots::runs_named;
use crate::budget::Budget;
use crate::commit::Proposal;
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::{Mistake, is_planted, windows};
use crate::objects;
use crate::stored::Stored;
use crate::view::View;

/// Dooms orphans: objects that no root names and that are too old to belong to a running job. Packs that a rebuild has
/// left out stay for the same time after it, and at least for the grace period, so that a person can act. A replica even
/// has all packs whose deletion the prunes of its source have recorded. Runs stay as long: another rebuild reads them.
/// If the budget is over before all roots were read, runs are left to the next prune.
pub(super) async fn doom_orphans(
    (job, budget): (&JobContext<'_>, &Budget),
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
    let named_runs = runs_named(job, budget).await?;
    let named_segments: BTreeSet<ObjectHash> = view.state.segments.keys().map(|(_, hash)| *hash).collect();
    for name in old {
        let is_named = match name {
            Prunable::Pack(_, pack) => {
                let is_known = |pack| view.state.packs.contains_key(pack) || proposal.delta.packs.contains_key(pack);
                is_known(&pack) || claimed.contains(&pack)
            }
            Prunable::Segment(hash) => named_segments.contains(&hash),
            // A root that was not read may name the run.
            Prunable::Run(hash) => named_runs.as_ref().is_none_or(|named| named.contains(&hash)),
        };
        let is_doomed = view.state.doomed.get(&name).is_some_and(|record| record.state == DoomedState::Doomed);
        if is_named || is_doomed {
            continue;
        }
        let tells = !matches!(name, Prunable::Segment(_));
        if is_rebuilt && tells {
            continue;
        }
        proposal.doom(view, name, now);
        report.orphans += 1;
        if is_planted(Mistake::OrphansNotDoomed) {
            objects::delete(job.store, &[objects::key(name.to_string())]).await?;
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

/// How long the name of a deleted object is refused.
const SPENT_AGE: Duration = Duration::from_secs(90 * 24 * 3600);
