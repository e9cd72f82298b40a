//! Kept: the root pages from which a prune marks, and the snapshots that cannot come back.

use core::time::Duration;
use std::cmp::Reverse;

use copal_format::id::{ChunkId, ClientId, DomainId};
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;

use crate::commit::Proposal;
use crate::faults::{Mistake, is_planted};
use crate::policy::Guarded;
use crate::view::View;

/// The root pages of a domain's kept snapshots and of guarded forgotten ones, the newest first.
pub(super) fn roots_of(view: &View, domain: DomainId, now: Time, grace: Duration, guarded: &Guarded) -> Vec<ChunkId> {
    let is_missed = |of: &SnapshotRecord| is_planted(Mistake::UndeleteMissed) && of.state_time > of.accepted;
    let stays = |key, of: &SnapshotRecord| is_marked(view, key, now, grace) || guarded.protected.contains(&of.id);
    let kept = view.snapshots_of(domain).filter(|(key, of)| stays(**key, of) && !is_missed(of));
    let mut roots: Vec<(Time, ChunkId)> = kept.map(|(_, snapshot)| (snapshot.accepted, snapshot.root)).collect();
    roots.sort_unstable_by_key(|(accepted, root)| (Reverse(*accepted), *root));
    roots.into_iter().map(|(_, root)| root).collect()
}

/// Whether prune marks from a snapshot: it is kept, and if it is a checkpoint, a later run may continue it.
fn is_marked(view: &View, key: (ClientId, u64), now: Time, grace: Duration) -> bool {
    let snapshot = &view.state.snapshots[&key];
    if snapshot.state != SnapshotState::Kept {
        return false;
    }
    if !snapshot.partial {
        return true;
    }
    let later = view.state.snapshots.range((key.0, key.1 + 1)..=(key.0, u64::MAX));
    let is_followed = later
        .filter(|(_, later)| !later.partial && later.source == snapshot.source)
        .any(|(_, later)| now.since(later.accepted) >= grace);
    let is_silent = view.state.heads.get(&key.0).is_none_or(|head| now.since(head.time) >= CHECKPOINT_SILENCE);
    !is_followed && !is_silent
}

/// Marks snapshots and checkpoints as gone if their root page leaves the index. A gone snapshot cannot be undeleted,
/// and a gone checkpoint stays closed when its client returns.
pub(super) fn bury(view: &View, now: Time, proposal: &mut Proposal) {
    for (key, snapshot) in &view.state.snapshots {
        let is_removed = proposal.removed_ids.contains(&(snapshot.domain, snapshot.root));
        let is_unmarked = snapshot.state == SnapshotState::Forgotten || snapshot.partial;
        if snapshot.state != SnapshotState::Gone && is_unmarked && is_removed {
            let gone = SnapshotRecord { state: SnapshotState::Gone, state_time: now, ..snapshot.clone() };
            proposal.delta.snapshots.insert(*key, Some(gone));
        }
    }
}

/// A checkpoint is closed after its client was silent for this long.
const CHECKPOINT_SILENCE: Duration = Duration::from_secs(30 * 24 * 3600);
