//! Guard: the snapshots that the policy's floor and holds protect, whatever rules or clients forget.

use std::collections::{BTreeMap, BTreeSet};

use copal_client::history::History;
use copal_client::repository::Repository;
use copal_client::wait::wait;
use copal_engine::retention::{Held, Protection, Signed, held, protected_if};
use copal_format::id::SnapshotId;
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_jobs::policy;
use copal_jobs::view::View;

use crate::report::Failure;
use crate::report::field::{PathsField, Stamp};
use crate::report::guard::{Guarded, HeldField, StaysBy, StaysField};

/// The holds and protected snapshots of a state.
pub(super) fn guarded(repository: &Repository, view: &View, now: Time) -> Result<Guarded, Failure> {
    of(repository, view, |record| record.state == SnapshotState::Forgotten, now)
}

/// Like [`guarded`], but only for these snapshots, as if all of them were forgotten.
pub(super) fn guarded_of(
    repository: &Repository,
    view: &View,
    forgotten: &BTreeSet<SnapshotId>,
    now: Time,
) -> Result<Guarded, Failure> {
    let mut found = of(repository, view, |record| forgotten.contains(&record.id), now)?;
    let is_held = |held: &HeldField| found.stays.iter().any(|of| of.by == StaysBy::Hold && of.is_of(held));
    found.held.retain(is_held);
    Ok(found)
}

fn of(
    repository: &Repository,
    view: &View,
    is_forgotten: impl Fn(&SnapshotRecord) -> bool,
    now: Time,
) -> Result<Guarded, Failure> {
    let records = &view.state.snapshots;
    let current = wait(policy::guarding(&repository.job(), view, now))?;
    let Some((_, policy)) = current else { return Ok(Guarded::default()) };
    let raised = held(&policy, records, Time(i64::MAX));
    let kept: BTreeMap<SnapshotId, Protection> =
        protected_if(&policy, records, now, is_forgotten).into_iter().collect();
    let field = |held: Held| held_field(repository, view, held);
    let stays = |(key, record): Signed<'_>| Some(stays_field(view, (key, record), *kept.get(&record.id)?));
    Ok(Guarded {
        held: raised.into_iter().map(field).collect::<Result<_, _>>()?,
        stays: records.iter().filter_map(stays).collect(),
    })
}

fn held_field(repository: &Repository, view: &View, held: Held) -> Result<HeldField, Failure> {
    let record = view.state.snapshots.iter().find(|(_, record)| record.id == held.snapshot);
    // Snapshots that cannot be read are reported by `check`.
    let read = match record {
        Some((key, record)) => History::read_one(repository, *key, record)?.ok(),
        None => None,
    };
    Ok(HeldField {
        client: held.series.client,
        source: held.series.source,
        host: read.as_ref().map(|read| read.machine().to_owned()),
        paths: read.as_ref().map(|read| PathsField::of(&read.sources())).unwrap_or_default(),
        snapshot: held.snapshot,
        accepted: Stamp(held.accepted),
        why: held.why.to_string(),
    })
}

fn stays_field(view: &View, (key, record): Signed<'_>, protection: Protection) -> StaysField {
    let (by, until) = match protection {
        Protection::Held => (StaysBy::Hold, None),
        Protection::Last => (StaysBy::FloorLast, None),
        Protection::Young { until } => (StaysBy::FloorAge, Some(Stamp(until))),
    };
    let forgotten =
        view.state.snapshots.get(key).filter(|of| of.state == SnapshotState::Forgotten).map(|of| Stamp(of.state_time));
    StaysField { snapshot: record.id, client: key.0, source: record.source, forgotten, by, until }
}
