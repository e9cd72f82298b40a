//! Needed: what a state names is not deleted, whatever its list of doomed names says.

use std::collections::BTreeSet;

use copal_engine::id::{ObjectHash, PackId};
use copal_engine::index::ranged::SegmentHead;
use copal_engine::layout::{self, Prunable};
use copal_engine::state::SegmentRecord;
use copal_store::StoreError;

use super::garbage;
use crate::error::JobError;
use crate::host::Host;
use crate::objects;
use crate::view::View;

/// Who needs a doomed object.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Nobody.
    None,
    /// The state.
    Named,
    /// Perhaps somebody: something that could tell cannot be read.
    Unknown,
}

/// Who needs these objects. A segment is needed that the state names, a run that any root names, and a pack of which the
/// state has a record or in which an entry of a segment lies that it names.
pub(super) async fn needs(
    host: &Host<'_>,
    view: &View,
    names: Vec<Prunable>,
) -> Result<Vec<(Prunable, Need)>, JobError> {
    let state = &view.state;
    let segments: BTreeSet<ObjectHash> = state.segments.keys().map(|(_, hash)| *hash).collect();
    let has_runs = names.iter().any(|name| matches!(name, Prunable::Run(_)));
    let runs = if has_runs { garbage::runs_named(host).await? } else { None };
    let without_record = |name: &Prunable| match name {
        Prunable::Pack(_, id) => Some(*id).filter(|id| !state.packs.contains_key(id)),
        _ => None,
    };
    let with_entries = with_entries(host, view, names.iter().filter_map(without_record).collect()).await?;
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

/// Those of the packs in which entries of the index lie; none if a segment is gone, or is not what the state says of it.
async fn with_entries(
    host: &Host<'_>,
    view: &View,
    packs: BTreeSet<PackId>,
) -> Result<Option<BTreeSet<PackId>>, JobError> {
    let mut found = BTreeSet::new();
    if packs.is_empty() {
        return Ok(Some(found));
    }
    for ((_, hash), record) in &view.state.segments {
        match packs_of(host, *hash, record, |pack| {
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

/// The packs in which the entries of a segment lie.
async fn packs_of(
    host: &Host<'_>,
    hash: ObjectHash,
    record: &SegmentRecord,
    mut each: impl FnMut(PackId),
) -> Result<(), JobError> {
    let name = objects::key(layout::segment(hash));
    let head = host.store.read_range(&name, SegmentHead::BYTES).await?;
    let head = SegmentHead::parse(&head, record).map_err(|error| JobError::damaged(name.as_str(), error))?;
    let mut at = 0;
    while let Some(first) = head.pack_range(at) {
        let last = head.pack_count().min(at.saturating_add(ROWS)) - 1;
        let rows = first.start..head.pack_range(last).unwrap_or(first).end;
        SegmentHead::packs(&host.store.read_range(&name, rows).await?).for_each(|pack| each(pack.id));
        at = last + 1;
    }
    Ok(())
}

/// Rows of packs that are read at once: about 3 MiB.
const ROWS: u32 = 1 << 16;
