//! Deletion: what a root lists as doomed is recorded, deleted, and then cleared by whoever has deleted it.

use bytes::Bytes;
use copal_engine::id::ObjectHash;
use copal_engine::layout;
use copal_engine::root::{Deletion, Root};
use copal_engine::state::{DoomedRecord, DoomedState};
use copal_engine::time::Time;
use copal_store::Key;

use super::Report;
use crate::commit::Proposal;
use crate::error::JobError;
use crate::faults::{Fault, is_planted};
use crate::host::Host;
use crate::objects::{self, Call};
use crate::view::{self, Parts, View};

/// Lists an object as doomed.
pub(super) fn doom(view: &View, name: String, now: Time, proposal: &mut Proposal) {
    let doomed = DoomedRecord { state: DoomedState::Doomed, time: now, root: view.next_number() };
    proposal.delta.doomed.insert(name, Some(doomed));
}

/// Deletes the objects that a root lists as doomed. The names are recorded first, so that a rebuild of the state does
/// not take one that is half deleted, and the root must still be there. Gives the names that are gone.
pub(super) async fn delete_doomed(
    host: &Host<'_>,
    view: &View,
    (root, hash): (&Root, ObjectHash),
    report: &mut Report,
) -> Result<Vec<String>, JobError> {
    let doomed = view.state.doomed.iter().filter(|(_, record)| record.state == DoomedState::Doomed);
    let names: Vec<String> = doomed.map(|(name, _)| name.clone()).collect();
    if is_planted(Fault::ClearedBlindly) {
        return Ok(names);
    }
    for part in names.chunks(Deletion::NAMES) {
        let random = host.random();
        let deletion = Deletion { root_number: root.number, random, time: host.now().await?, names: part.to_vec() };
        let name = objects::key(layout::deletion(root.number, &random));
        host.store.create(&name, Bytes::from(deletion.encode())).await?;
        if !view::is_there(host.store, root.number, hash).await? {
            return Ok(Vec::new());
        }
        let keys: Vec<Key> = part.iter().map(|name| objects::key(name.as_str())).collect();
        let lengths = keys.iter().map(|key| -> Call<'_, Option<u64>> {
            Box::pin(async move { Ok(host.store.stat(key).await?.map(|stat| stat.length)) })
        });
        let lengths = objects::together(lengths).await?;
        // Doomed names need no order among each other.
        host.store.delete_all(&keys).await?;
        report.objects_deleted += lengths.iter().flatten().count() as u64;
        report.bytes_deleted += lengths.iter().flatten().sum::<u64>();
    }
    Ok(names)
}

/// Decisions belong to the newest root: another prune may have deleted and cleared meanwhile.
pub(super) async fn is_superseded(host: &Host<'_>, view: &View) -> Result<bool, JobError> {
    Ok(view::read_parts(host.store, &Parts::NOTHING).await?.base() != view.base())
}

/// Turns the names that this writer has itself deleted into spent ones.
pub(super) fn clear(view: &View, cleared: &[String], now: Time, proposal: &mut Proposal) {
    for name in cleared {
        let spent = DoomedRecord { state: DoomedState::Spent, time: now, root: view.next_number() };
        proposal.delta.doomed.insert(name.clone(), Some(spent));
    }
}
