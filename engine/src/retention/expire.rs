//! Expire: the service applies the policy to a state. It reads no names: a series is one client's backups of one
//! source.

use std::collections::BTreeSet;

use super::guard::{Protection, kept_whatever};
use super::{Candidate, Series, Signed, Verdict, choose_time, decide};
use copal_format::expiry::Expiry;
use copal_format::id::SnapshotId;
use copal_format::policy::SignedPolicy;
use copal_format::state::SnapshotState;
use copal_format::time::Time;

/// What a policy says about a kept snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighed {
    /// Its series.
    pub series: Series,
    /// The time that the rules use.
    pub time: Time,
    /// What the rules say.
    pub verdict: Verdict,
    /// What keeps it whatever the rules say.
    pub protection: Option<Protection>,
}

impl Weighed {
    /// Whether the snapshot may expire: neither rules nor floor nor hold keep it.
    pub fn expires(&self) -> bool {
        !self.verdict.keep && self.protection.is_none()
    }
}

/// What the policy says at `time` about each kept snapshot. Ignores snapshots accepted at `time` or later: more could
/// still be accepted with that time, and then the decision could not be repeated.
pub fn weigh<'a>(policy: &SignedPolicy, snapshots: impl IntoIterator<Item = Signed<'a>>, time: Time) -> Vec<Weighed> {
    let snapshots: Vec<Signed<'_>> = snapshots.into_iter().collect();
    let takes_part = |(_, of): &&Signed<'_>| of.state == SnapshotState::Kept && !of.partial && of.accepted < time;
    let candidates: Vec<_> = snapshots
        .iter()
        .filter(takes_part)
        .map(|&(key, record)| Candidate {
            id: record.id,
            series: Series::of((key, record)),
            time: choose_time(record.client_time, record.accepted, record.by_full_client),
            claimed: record.client_time,
            accepted: record.accepted,
            tags: record.tags.clone(),
            pinned: record.pinned,
        })
        .collect();
    let protected = kept_whatever(policy, &snapshots, time);
    let verdicts = decide(policy.rules(), &candidates, time);
    let weighed = candidates.iter().zip(verdicts).map(|(candidate, verdict)| Weighed {
        series: candidate.series,
        time: candidate.time,
        protection: protected.get(&verdict.id).copied(),
        verdict,
    });
    weighed.collect()
}

/// The kept snapshots that may expire at `time`, among those that [`weigh`] examines.
pub fn expirable<'a>(
    policy: &SignedPolicy,
    snapshots: impl IntoIterator<Item = Signed<'a>>,
    time: Time,
) -> BTreeSet<SnapshotId> {
    // `collect` would sort, and its code would make the browser's module larger.
    let mut ids = BTreeSet::new();
    ids.extend(weigh(policy, snapshots, time).iter().filter(|of| of.expires()).map(|of| of.verdict.id));
    ids
}

/// Whether the policy lets every snapshot expire that the expiry names.
pub fn permits<'a>(policy: &SignedPolicy, snapshots: impl IntoIterator<Item = Signed<'a>>, expiry: &Expiry) -> bool {
    let expirable = expirable(policy, snapshots, expiry.time);
    expiry.snapshots.iter().all(|id| expirable.contains(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use copal_format::id::{ClientId, ObjectHash};
    use core::time::Duration;

    use crate::retention::KeepReason;
    use crate::retention::tests::{of_one_client, snapshot_of as snapshot};
    use copal_format::extent::Extent;
    use copal_format::policy::{Count, Floor, Hold, Period, Policy};
    use copal_format::state::SnapshotRecord;

    /// Keeps the last snapshot of each series.
    fn last() -> SignedPolicy {
        let rules = Policy::default().keeping(Period::Last, Count::N(1));
        SignedPolicy::new(rules, "", Duration::ZERO, 1).unwrap()
    }

    fn expired_under(policy: &SignedPolicy, snapshots: &[SnapshotRecord], time: i64) -> Vec<u8> {
        expirable(policy, of_one_client(snapshots), Time(time)).into_iter().map(|id| id.0[0]).collect()
    }

    fn expired(snapshots: &[SnapshotRecord], time: i64) -> Vec<u8> {
        expired_under(&last(), snapshots, time)
    }

    #[test]
    fn no_rule_undercuts_the_floor() {
        let snapshots = [1, 2, 3, 4].map(|nth| snapshot(nth, 1, i64::from(nth) * 10_000_000_000));
        let under = |last_kept, seconds, time| {
            let floor = Floor { last: last_kept, age: Duration::from_secs(seconds) };
            expired_under(&last().with_guard(floor, None).unwrap(), &snapshots, time)
        };
        assert_eq!(under(0, 0, 50_000_000_000), [1, 2, 3]);
        assert_eq!(under(3, 0, 50_000_000_000), [1]);
        assert_eq!(under(0, 21, 50_000_000_000), [1, 2]);
        assert_eq!(under(9, 0, 50_000_000_000), [0u8; 0]);
        // Snapshots that the rules did not see have no effect.
        assert_eq!(under(1, 0, 40_000_000_000), [1, 2]);
        assert_eq!(under(2, 0, 40_000_000_000), [1]);
    }

    #[test]
    fn nothing_of_a_held_series_expires_and_everything_of_others_does() {
        let mut snapshots = [snapshot(1, 1, 1), snapshot(2, 1, 2), snapshot(3, 2, 3), snapshot(4, 2, 4)];
        for (record, bytes) in snapshots.iter_mut().zip([1000, 10, 1000, 1000]) {
            record.extent = Some(Extent::about(3, bytes, 0));
        }
        let policy = last().with_guard(Floor::default(), Some(Hold { share: 50, least: 100 })).unwrap();
        assert_eq!(expired_under(&policy, &snapshots, 9), [3]);
        snapshots[1].released = true;
        assert_eq!(expired_under(&policy, &snapshots, 9), [1, 3]);
    }

    #[test]
    fn it_is_told_of_each_snapshot_what_keeps_it() {
        let snapshots = [snapshot(1, 1, 10), SnapshotRecord { pinned: true, ..snapshot(2, 1, 20) }, snapshot(3, 1, 30)];
        let floor = Floor { last: 0, age: Duration::from_secs(1) };
        let policy = last().with_guard(floor, None).unwrap();
        let told = |time| -> Vec<_> {
            let weighed = weigh(&policy, of_one_client(&snapshots), Time(time)).into_iter();
            weighed.map(|of| (of.verdict.id.0[0], of.verdict.reasons.clone(), of.protection, of.expires())).collect()
        };
        let young = |id: i64| Some(Protection::Young { until: Time(id * 10) + Duration::from_secs(1) });
        let [pinned, newest] = [vec![KeepReason::Pinned], vec![KeepReason::Counted(Period::Last, 1)]];
        let soon =
            [(1, vec![], young(1), false), (2, pinned.clone(), young(2), false), (3, newest.clone(), young(3), false)];
        assert_eq!(told(40), soon);
        let late = [(1, vec![], None, true), (2, pinned, None, false), (3, newest, None, false)];
        assert_eq!(told(2_000_000_000), late);
    }

    #[test]
    fn each_source_is_a_series_of_its_own() {
        let snapshots = [snapshot(1, 1, 10), snapshot(2, 1, 20), snapshot(3, 2, 5)];
        assert_eq!(expired(&snapshots, 30), [1]);
    }

    #[test]
    fn what_another_client_signs_of_the_same_source_pushes_nothing_out() {
        let snapshots = [snapshot(1, 1, 10), snapshot(2, 1, 20), snapshot(3, 1, 30)];
        let keys = [1u8, 2, 1].map(|client| (ClientId([client; 16]), 1));
        let expired = expirable(&last(), keys.iter().zip(&snapshots), Time(40));
        assert_eq!(expired.into_iter().map(|id| id.0[0]).collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn checkpoints_and_what_is_pinned_forgotten_or_too_new_are_left_alone() {
        let partial = SnapshotRecord { partial: true, ..snapshot(1, 1, 1) };
        let pinned = SnapshotRecord { pinned: true, ..snapshot(2, 1, 2) };
        let forgotten = SnapshotRecord { state: SnapshotState::Forgotten, ..snapshot(3, 1, 3) };
        let newest = snapshot(5, 1, 30);
        let snapshots = [partial, pinned, forgotten, snapshot(4, 1, 4), newest];
        assert_eq!(expired(&snapshots, 30), [0u8; 0]);
        assert_eq!(expired(&snapshots, 31), [4]);
    }

    #[test]
    fn an_expiry_that_names_anything_the_rules_keep_is_not_permitted() {
        let policy = last();
        let snapshots = [snapshot(1, 1, 10), snapshot(2, 1, 20)];
        let expiry = |ids: &[u8]| {
            let snapshots = ids.iter().map(|id| SnapshotId([*id; 16])).collect();
            Expiry { number: 1, previous: ObjectHash::NONE, policy: 1, change: 1, time: Time(30), snapshots }
        };
        assert!(permits(&policy, of_one_client(&snapshots), &expiry(&[1])));
        assert!(!permits(&policy, of_one_client(&snapshots), &expiry(&[1, 2])));
        assert!(!permits(&policy, of_one_client(&snapshots), &expiry(&[9])));
    }
}
