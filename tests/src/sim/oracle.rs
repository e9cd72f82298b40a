//! Oracle: who may have forgotten a snapshot, told from the objects and not by the service.

use std::collections::BTreeSet;

use copal_engine::change::{Change, Operation};
use copal_engine::id::{ObjectHash, SnapshotId};
use copal_engine::layout;
use copal_engine::retention::{Count, SignedPolicy, choose_time};
use copal_engine::state::{SnapshotRecord, SnapshotState};
use copal_store::Store;
use copal_store::memory::MemoryStore;
use futures::executor::block_on;

use super::actors::GRACE;
use crate::kit::DAY;
use crate::kit::picture::Picture;
use crate::kit::repository::key;

/// The snapshots that a root keeps no longer although nobody has forgotten them: they must have expired, and the policy
/// must permit it.
pub(super) fn expired(memory: &MemoryStore, before: &Picture, after: &Picture) -> Result<Vec<SnapshotId>, String> {
    let last = |picture: &Picture| picture.root.change_head.map_or(0, |(number, _)| number);
    let mut forgotten = BTreeSet::new();
    for number in last(before) + 1..=last(after) {
        for operation in change(memory, number)?.operations {
            if let Operation::Forget(snapshots) = operation {
                forgotten.extend(snapshots);
            }
        }
    }
    let mut expired = Vec::new();
    for (key, snapshot) in before.state.snapshots.iter().filter(|(_, snapshot)| !snapshot.partial) {
        let now = &after.state.snapshots[key];
        let has_left = snapshot.state == SnapshotState::Kept && now.state != SnapshotState::Kept;
        if has_left && !forgotten.contains(&snapshot.id) {
            permit(memory, snapshot, after)?;
            expired.push(snapshot.id);
        }
    }
    Ok(expired)
}

/// A checkpoint goes only after a later snapshot of the same client and source is old enough, or its client was silent
/// for a month.
pub(super) fn check_checkpoints(before: &Picture, after: &Picture) -> Result<(), String> {
    let now = after.root.time;
    let kept = |snapshot: &SnapshotRecord| snapshot.partial && snapshot.state == SnapshotState::Kept;
    for (key, snapshot) in before.state.snapshots.iter().filter(|(_, snapshot)| kept(snapshot)) {
        if kept(&after.state.snapshots[key]) {
            continue;
        }
        let later = before.state.snapshots.range((key.0, key.1 + 1)..=(key.0, u64::MAX));
        let is_followed = later
            .filter(|(_, later)| !later.partial && later.source == snapshot.source)
            .any(|(_, later)| now.since(later.accepted) >= GRACE);
        let is_silent = before.state.heads.get(&key.0).is_none_or(|head| now.since(head.time) >= 30 * DAY);
        if !is_followed && !is_silent {
            return Err(format!("checkpoint {} is open and was removed", snapshot.id));
        }
    }
    Ok(())
}

/// Whether the policy in force lets a snapshot expire: the simulation's policies keep the newest so many of a series.
pub(super) fn permit(memory: &MemoryStore, snapshot: &SnapshotRecord, now: &Picture) -> Result<(), String> {
    let id = snapshot.id;
    let Some((number, _)) = now.root.policy else { return Err(format!("{id} expired without a policy")) };
    if snapshot.pinned {
        return Err(format!("{id} expired and is pinned"));
    }
    let mut policies = change(memory, number)?.operations.into_iter().filter_map(|operation| match operation {
        Operation::Policy(bytes) => SignedPolicy::decode(&bytes).ok(),
        _ => None,
    });
    let Some(Count::N(last)) = policies.next_back().and_then(|policy| policy.rules().last) else {
        return Err(format!("change {number} holds no policy of the simulation"));
    };
    let age =
        |of: &SnapshotRecord| (choose_time(of.client_time, of.accepted, of.by_full_client), of.client_time, of.id);
    let newer = now.state.snapshots.values().filter(|other| {
        let is_in_series = (other.domain, other.source) == (snapshot.domain, snapshot.source);
        is_in_series && !other.partial && other.state == SnapshotState::Kept && age(other) > age(snapshot)
    });
    match newer.count() {
        count if count >= last as usize => Ok(()),
        count => Err(format!("{id} expired, and only {count} newer ones are kept where the last {last} stay")),
    }
}

fn change(memory: &MemoryStore, number: u64) -> Result<Change, String> {
    let bytes = block_on(memory.read(&key(&layout::change(number)))).map_err(|error| error.to_string())?;
    Change::vouched(number, ObjectHash::of(&bytes), &bytes).map_err(|error| error.to_string())
}
