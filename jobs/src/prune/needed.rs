//! Needed: an object that the state names is not deleted, even if the state lists it as doomed.

use std::collections::BTreeSet;

use copal_format::id::{ObjectHash, PackId};
use copal_format::index::ranged::SegmentHead;
use copal_format::layout::{self, Prunable};
use copal_format::state::SegmentRecord;
use copal_store::StoreError;

use super::roots;
use crate::budget::Budget;
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;
use crate::view::View;

/// Whether a doomed object is needed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// No.
    None,
    /// Yes, the state needs it.
    Named,
    /// Unknown, because an object that could tell cannot be read.
    Unknown,
}

/// Whether each of these objects is needed. A segment is needed if the state names it, a run if any root names it, and
/// a pack if the state has a record of it or a segment has an entry in it.
pub(super) async fn needs(
    job: &JobContext<'_>,
    view: &View,
    names: Vec<Prunable>,
) -> Result<Vec<(Prunable, Need)>, JobError> {
    let state = &view.state;
    let segments: BTreeSet<ObjectHash> = state.segments.keys().map(|(_, hash)| *hash).collect();
    let has_runs = names.iter().any(|name| matches!(name, Prunable::Run(_)));
    let runs = if has_runs { roots::runs_named(job, &Budget::unlimited()).await? } else { None };
    let without_record = |name: &Prunable| match name {
        Prunable::Pack(_, id) => Some(*id).filter(|id| !state.packs.contains_key(id)),
        _ => None,
    };
    let with_entries = with_entries(job, view, names.iter().filter_map(without_record).collect()).await?;
    let is_named = |name: &Prunable| match name {
        Prunable::Segment(hash) => Some(segments.contains(hash)),
        Prunable::Run(hash) => runs.as_ref().map(|runs| runs.contains(hash)),
        Prunable::Pack(_, id) if state.packs.contains_key(id) => Some(true),
        Prunable::Pack(_, id) => with_entries.as_ref().map(|packs| packs.contains(id)),
    };
    let need = |name: &Prunable| match is_named(name) {
        Some(true) => Need::Named,
        Some(false) => Need::None,
        None => Need::Unknown,
    };
    Ok(names.into_iter().map(|name| (name, need(&name))).collect())
}

/// Which of the packs hold index entries. None if a segment is gone, or differs from its record in the state.
async fn with_entries(
    job: &JobContext<'_>,
    view: &View,
    packs: BTreeSet<PackId>,
) -> Result<Option<BTreeSet<PackId>>, JobError> {
    let mut found = BTreeSet::new();
    if packs.is_empty() {
        return Ok(Some(found));
    }
    for ((_, hash), record) in &view.state.segments {
        match packs_of(job, *hash, record, |pack| {
            if packs.contains(&pack) {
                found.insert(pack);
            }
        })
        .await
        {
            Ok(()) => {}
            Err(JobError::Store(StoreError::NotFound { .. } | StoreError::OutOfRange { .. })) => return Ok(None),
            Err(error) => return error.blame().map(|_| None),
        }
    }
    Ok(Some(found))
}

/// Calls `each` with every pack that holds entries of a segment.
async fn packs_of(
    job: &JobContext<'_>,
    hash: ObjectHash,
    record: &SegmentRecord,
    mut each: impl FnMut(PackId),
) -> Result<(), JobError> {
    let name = objects::key(layout::segment(hash));
    let head = job.store.read_range(&name, SegmentHead::BYTES).await?;
    let head = SegmentHead::parse(&head, record).map_err(|error| JobError::damaged(name.as_str(), error))?;
    let mut at = 0;
    while let Some(first) = head.pack_range(at) {
        let last = head.pack_count().min(at.saturating_add(ROWS)) - 1;
        let rows = first.start..head.pack_range(last).unwrap_or(first).end;
        SegmentHead::packs(&job.store.read_range(&name, rows).await?).for_each(|pack| each(pack.id));
        at = last + 1;
    }
    Ok(())
}

/// Rows of packs read at once: about 3 MiB.
const ROWS: u32 = 1 << 16;
