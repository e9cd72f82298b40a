//! Oracle: who may have forgotten a snapshot, told from the objects and not by the service.

use copal_engine::retention::{Series, Signed, choose_time};
use copal_format::id::SnapshotId;
use copal_format::policy::{Count, Period};
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_tests::kit::DAY;
use copal_tests::kit::picture::Picture;

use super::law::Law;

/// The snapshots that a root keeps no longer although nobody has forgotten them: they must have expired, and the policy
/// must permit it.
pub(super) fn expired(law: &Law, before: &Picture, after: &Picture) -> Result<Vec<SnapshotId>, String> {
    let last = before.root.change_head.map_or(0, |(number, _)| number);
    let mut expired = Vec::new();
    for (key, snapshot) in before.state.snapshots.iter().filter(|(_, snapshot)| !snapshot.partial) {
        let now = &after.state.snapshots[key];
        let has_left = snapshot.state == SnapshotState::Kept && now.state != SnapshotState::Kept;
        if has_left && !law.has_forgotten_since(&snapshot.id, last) {
            permit(law, (key, snapshot), after)?;
            expired.push(snapshot.id);
        }
    }
    Ok(expired)
}

/// What a root says of the policy and of releases follows from the changes.
pub(super) fn check_law(law: &Law, picture: &Picture) -> Result<(), String> {
    let named = picture.root.policy.map(|(number, _)| number);
    let in_force = law.policy.as_ref().map(|(number, _)| *number);
    if named != in_force {
        return Err(format!("the policy of change {named:?} is in force, where that of {in_force:?} is"));
    }
    match picture.state.snapshots.values().find(|of| of.released && !law.released.contains(&of.id)) {
        Some(of) => Err(format!("{} counts as released, and the owner has not released it", of.id)),
        None => Ok(()),
    }
}

/// A checkpoint goes only after a later snapshot of the same client and source is a grace period old, or its client was
/// silent for a month.
pub(super) fn check_checkpoints(law: &Law, before: &Picture, after: &Picture) -> Result<(), String> {
    let (now, grace) = (after.root.time, law.least_grace());
    let kept = |snapshot: &SnapshotRecord| snapshot.partial && snapshot.state == SnapshotState::Kept;
    for (key, snapshot) in before.state.snapshots.iter().filter(|(_, snapshot)| kept(snapshot)) {
        if kept(&after.state.snapshots[key]) {
            continue;
        }
        let later = before.state.snapshots.range((key.0, key.1 + 1)..=(key.0, u64::MAX));
        let is_followed = later
            .filter(|(_, later)| !later.partial && later.source == snapshot.source)
            .any(|(_, later)| now.since(later.accepted) >= grace);
        let is_silent = before.state.heads.get(&key.0).is_none_or(|head| now.since(head.time) >= 30 * DAY);
        if !is_followed && !is_silent {
            return Err(format!("checkpoint {} is open and was removed", snapshot.id));
        }
    }
    Ok(())
}

/// Whether the policy in force lets a snapshot expire: the simulation's policies keep the newest so many of a series.
pub(super) fn permit(law: &Law, expired: Signed<'_>, now: &Picture) -> Result<(), String> {
    let (series, snapshot) = (Series::of(expired), expired.1);
    let id = snapshot.id;
    let Some((number, policy)) = &law.policy else { return Err(format!("{id} expired without a policy")) };
    if snapshot.pinned {
        return Err(format!("{id} expired and is pinned"));
    }
    let Some(Count::N(last)) = policy.rules().counts[Period::Last as usize] else {
        return Err(format!("change {number} holds no policy of the simulation"));
    };
    let age = |of: &SnapshotRecord| {
        (choose_time(of.client_time, of.accepted, of.by_full_client), of.client_time, of.accepted, of.id)
    };
    let kept = || now.state.snapshots.iter().filter(|(_, of)| !of.partial && of.state == SnapshotState::Kept);
    let newer = kept().filter(|other| Series::of(*other) == series && age(other.1) > age(snapshot));
    match newer.count() {
        count if count < last as usize => {
            return Err(format!("{id} expired, and only {count} newer ones are kept where the last {last} stay"));
        }
        _ if law.is_in_floor(expired, kept(), now.root.time) => return Err(format!("{id} expired within the floor")),
        _ => {}
    }
    match law.held(&now.state.snapshots, now.root.time).contains(&series) {
        true => Err(format!("{id} expired, and its series is held")),
        false => Ok(()),
    }
}
