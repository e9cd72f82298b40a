//! Snapshots: that a state has all that were accepted, as changes and expiries have left them, and no other.

use std::collections::BTreeSet;

use copal_engine::change::Operation;
use copal_engine::id::SnapshotId;
use copal_engine::state::{SnapshotRecord, SnapshotState};

use super::Dated;
use super::changes::{Changes, Step};
use super::claims::Claims;
use crate::ingest::apply_change;
use crate::view::View;

/// Compares the snapshots of a state with those of the baseline and what came since. Gives those that the state calls
/// forgotten although they may have been brought back: whether their pages were there only an index of that time tells.
pub(super) fn compare(
    before: &View,
    view: &View,
    claims: &Claims,
    changes: &Changes,
    dated: &mut Dated,
) -> Result<BTreeSet<SnapshotId>, String> {
    let (old, new) = (&before.state.snapshots, &view.state.snapshots);
    let told = claims.decided.iter().filter(|(_, claim)| claim.is_told && claim.snapshot.is_some());
    if let Some((client, number)) = old.keys().chain(told.map(|(key, _)| key)).find(|key| !new.contains_key(key)) {
        return Err(format!("the snapshot of manifest {number} of client {client} is missing"));
    }
    let steps = changes.steps();
    let mut spared = BTreeSet::new();
    for (key, record) in new {
        let claim = claims.decided.get(key).and_then(|claim| claim.snapshot.as_ref());
        let (origin, is_new) = match (old.get(key), claim) {
            (Some(known), _) => (known.clone(), false),
            (None, Some(claimed)) => {
                if record.accepted < claimed.accepted {
                    dated.snapshots.insert(*key, claimed.accepted);
                }
                (SnapshotRecord { accepted: record.accepted, ..claimed.clone() }, true)
            }
            // Nobody can tell what else that manifest said.
            _ if claims.lost.get(key) == Some(&record.id) => (record.clone(), true),
            _ => return Err(format!("no client has signed snapshot {}", record.id)),
        };
        let steps = steps.get(&origin.id).map_or(&[][..], Vec::as_slice);
        let possible = possible(origin, steps, is_new);
        let is_same = |of: &Possible| SnapshotRecord { state_time: record.state_time, ..of.record.clone() } == *record;
        if !possible.iter().any(is_same) {
            return Err(format!("snapshot {} is not what signed changes have made of it", record.id));
        }
        let is_kept = |of: &Possible| of.is_revived && of.record.state == SnapshotState::Kept;
        if record.state == SnapshotState::Forgotten && possible.iter().any(is_kept) {
            spared.insert(record.id);
        }
    }
    Ok(spared)
}

/// What a snapshot may be.
#[derive(Clone, PartialEq)]
struct Possible {
    record: SnapshotRecord,
    /// Whether it was forgotten and brought back.
    is_revived: bool,
}

/// What steps may have made of a snapshot. One that was accepted since the baseline may have been accepted behind any.
fn possible(record: SnapshotRecord, steps: &[Step<'_>], is_new: bool) -> Vec<Possible> {
    let mut all = vec![Possible { record, is_revived: false }];
    for step in steps {
        let changed = |of: &Possible| {
            let mut now = of.clone();
            match step {
                Step::Expiry if now.record.state == SnapshotState::Kept => now.record.state = SnapshotState::Forgotten,
                Step::Expiry => {}
                Step::Change(operation, _) => {
                    let is_changed = apply_change(operation, &mut now.record, true, of.record.state_time);
                    now.is_revived = match operation {
                        Operation::Undelete(_) => now.is_revived || is_changed,
                        _ => now.is_revived && now.record.state == SnapshotState::Kept,
                    };
                }
            }
            now
        };
        let next: Vec<Possible> = all.iter().map(changed).collect();
        if is_new || !matches!(step, Step::Change(operation, true) if !matches!(operation, Operation::Undelete(_))) {
            all.extend(next);
        } else {
            all = next;
        }
        all.dedup();
        // Whoever signs that many has found out nothing: what stays stays.
        all.truncate(POSSIBLE);
    }
    all
}

/// Different things that may have become of one snapshot.
const POSSIBLE: usize = 64;
