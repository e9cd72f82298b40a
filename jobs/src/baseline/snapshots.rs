//! Snapshots: verifies that a state has all accepted snapshots, as changes and expiries have left them, and no others.

use copal_format::change::Operation;
use copal_format::state::{SnapshotRecord, SnapshotState};

use super::changes::{Changes, Step};
use super::claims::Claims;
use super::mends::Mends;
use crate::changes::apply_change;
use crate::view::View;

/// Compares the snapshots of a state with those of the baseline and of the claims since.
pub(super) fn compare(
    before: &View,
    view: &View,
    claims: &Claims,
    changes: &Changes,
    mends: &mut Mends,
) -> Result<(), String> {
    let (old, new) = (&before.state.snapshots, &view.state.snapshots);
    let told = claims.decided.iter().filter(|(_, claim)| claim.is_told && claim.snapshot.is_some());
    if let Some((client, number)) = old.keys().chain(told.map(|(key, _)| key)).find(|key| !new.contains_key(key)) {
        return Err(format!("the snapshot of manifest {number} of client {client} is missing"));
    }
    let steps = changes.steps();
    for (key, record) in new {
        let claim = claims.decided.get(key).and_then(|claim| claim.snapshot.as_ref());
        let (origin, is_new) = match (old.get(key), claim) {
            (Some(known), _) => (known.clone(), false),
            (None, Some(claimed)) => {
                if record.accepted < claimed.accepted {
                    mends.snapshots.insert(*key, claimed.accepted);
                }
                (SnapshotRecord { accepted: record.accepted, ..claimed.clone() }, true)
            }
            // Nobody can tell what else the lost manifest said.
            _ if claims.lost.get(key).is_some_and(|lost| lost.snapshot == record.id) => (record.clone(), true),
            _ => return Err(format!("no client has signed snapshot {}", record.id)),
        };
        let steps = steps.get(&origin.id).map_or(&[][..], Vec::as_slice);
        let (follows, is_revived) = match possible(&origin, steps, is_new) {
            Some(possible) => {
                let is_same =
                    |of: &Possible| SnapshotRecord { state_time: record.state_time, ..of.record.clone() } == *record;
                let is_kept = |of: &Possible| of.is_revived && of.record.state == SnapshotState::Kept;
                (possible.iter().any(is_same), possible.iter().any(is_kept))
            }
            None => (is_changed_of(&origin, record), true),
        };
        if !follows {
            return Err(format!("snapshot {} is not what signed changes have made of it", record.id));
        }
        if is_revived && record.state == SnapshotState::Forgotten {
            mends.revived.insert(*key);
        }
    }
    Ok(())
}

/// Whether any changes at all could have turned `origin` into `record`.
fn is_changed_of(origin: &SnapshotRecord, record: &SnapshotRecord) -> bool {
    let SnapshotRecord { tags, state, pinned, state_time, released, .. } = record.clone();
    let changed = SnapshotRecord { tags, state, pinned, state_time, released, ..origin.clone() };
    changed == *record && (state != SnapshotState::Gone || origin.state == SnapshotState::Gone)
}

/// A possible outcome for a snapshot.
#[derive(Clone, PartialEq)]
struct Possible {
    record: SnapshotRecord,
    /// Whether a change has undeleted it since it was last forgotten or expired.
    is_revived: bool,
}

impl Possible {
    fn after(&self, step: &Step<'_>) -> Self {
        let mut now = self.clone();
        match step {
            Step::Expiry => {
                if now.record.state == SnapshotState::Kept {
                    now.record.state = SnapshotState::Forgotten;
                }
                now.is_revived = false;
            }
            Step::Change(operation, _) => {
                let is_changed = apply_change(operation, &mut now.record, true, self.record.state_time);
                now.is_revived = match operation {
                    Operation::Undelete(_) => now.is_revived || is_changed,
                    _ => now.is_revived && now.record.state == SnapshotState::Kept,
                };
            }
        }
        now
    }
}

/// The possible outcomes of these steps. None if there are too many, because a client that was revoked since has signed
/// many changes. A new snapshot may have been accepted after any of the steps.
fn possible(origin: &SnapshotRecord, steps: &[Step<'_>], is_new: bool) -> Option<Vec<Possible>> {
    let origin = Possible { record: origin.clone(), is_revived: false };
    let mut all = vec![origin.clone()];
    for step in steps {
        let mut next: Vec<Possible> = Vec::new();
        let stayed = all.iter().map(|of| match step {
            Step::Expiry => Some(Possible { is_revived: false, ..of.clone() }),
            // Ingest leaves a snapshot forgotten if its root page is missing.
            Step::Change(Operation::Undelete(_), _) | Step::Change(_, false) => Some(of.clone()),
            Step::Change(_, true) => None,
        });
        let changed = all.iter().map(|of| Some(of.after(step)));
        for of in stayed.chain(changed).chain([is_new.then(|| origin.clone())]).flatten() {
            if !next.contains(&of) {
                next.push(of);
            }
        }
        if next.len() > POSSIBLE {
            return None;
        }
        all = next;
    }
    Some(all)
}

/// How many different outcomes are considered for one snapshot.
const POSSIBLE: usize = 256;
