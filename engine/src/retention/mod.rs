//! Retention: which snapshots a policy keeps, and why. A pure function of policy, snapshots and time.
//!
//! Each series is walked from the newest snapshot to the oldest. A counted rule (`daily 7`) keeps the newest snapshot
//! of each of the first 7 days (buckets) that have one; if there are fewer, also the oldest snapshot. A `within` rule
//! looks back from the newest snapshot, not from now: a source no longer backed up keeps its last snapshots.

mod domains;
mod expire;
mod guard;

pub use domains::tag_domains;
pub use expire::{Weighed, expirable, permits, weigh};
pub use guard::{Held, Protection, Suspicion, held, protected, protected_if};

use core::fmt;
use std::collections::BTreeMap;

use jiff::{Timestamp, civil};

use copal_format::id::{ClientId, SnapshotId, SourceId, TagId};
use copal_format::order;
use copal_format::policy::{Count, Period, Policy, Span, effective};
use copal_format::state::SnapshotRecord;
use copal_format::time::Time;

/// The key of a series: the snapshots of one source that one client has signed. No other client can add to it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Series {
    /// Who signed them.
    pub client: ClientId,
    /// The source, as the client names it.
    pub source: SourceId,
}

/// A snapshot in the state, with its key: the signing client and the number of its manifest.
pub type Signed<'a> = (&'a (ClientId, u64), &'a SnapshotRecord);

impl Series {
    /// The series of a snapshot.
    pub fn of(((client, _), record): Signed<'_>) -> Self {
        Self { client: *client, source: record.source }
    }
}

/// A snapshot to decide about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate<K> {
    /// The snapshot.
    pub id: SnapshotId,
    /// Its series; series do not influence each other.
    pub series: K,
    /// Its time, as [`choose_time`] says.
    pub time: Time,
    /// The client's time. Breaks ties of `time`, which are frequent where a store's clock tells whole seconds.
    pub claimed: Time,
    /// The time of acceptance. Breaks ties of both: copies of one snapshot have the client's time of the original.
    pub accepted: Time,
    /// Its tags.
    pub tags: Vec<TagId>,
    /// Whether it is pinned: kept whatever the policy says.
    pub pinned: bool,
}

/// The decision about one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The snapshot.
    pub id: SnapshotId,
    /// Whether it is kept, which means that `reasons` is not empty.
    pub keep: bool,
    /// Why it is kept.
    pub reasons: Vec<KeepReason>,
}

/// Why a snapshot is kept.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum KeepReason {
    /// The policy has no rule.
    NoRule,
    /// It is pinned.
    Pinned,
    /// It has all tags of a set.
    Tagged,
    /// It is not older than the span.
    Within(Span),
    /// It is the newest of the nth bucket that the rule counted.
    Counted(Period, u32),
    /// It is the oldest of all, and the rule still had buckets left.
    Oldest(Period),
    /// It is the newest of its bucket, or the oldest of all, and not older than the span.
    CountedWithin(Period, Span),
    /// It is the newest of its day within the policy's floor span.
    FloorNewest,
    /// It is the oldest of its day within the policy's floor span.
    FloorOldest,
}

impl fmt::Display for KeepReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRule => f.write_str("no rule"),
            Self::Pinned => f.write_str("pinned"),
            Self::Tagged => f.write_str("tag"),
            Self::Within(span) => write!(f, "within {span}"),
            Self::Counted(period, nth) => write!(f, "{period} {nth}"),
            Self::Oldest(period) => write!(f, "oldest for {period}"),
            Self::CountedWithin(period, span) => write!(f, "{period} within {span}"),
            Self::FloorNewest => f.write_str("newest of its day in the floor"),
            Self::FloorOldest => f.write_str("oldest of its day in the floor"),
        }
    }
}

/// A snapshot's time for retention. For a snapshot signed by a full client: the client's time, but not after the
/// store's. Otherwise: the store's time of acceptance.
pub fn choose_time(client_time: Time, store_time: Time, signed_by_full: bool) -> Time {
    if signed_by_full { client_time.min(store_time) } else { store_time }
}

/// A snapshot's time, its client's time, the time of acceptance, and its id.
pub type Age = (Time, Time, Time, SnapshotId);

/// The key that orders snapshots from oldest to newest. It limits client time to the time of acceptance, so that a fast
/// clock does not make a snapshot the newest.
pub fn age(record: &SnapshotRecord) -> Age {
    let time = choose_time(record.client_time, record.accepted, record.by_full_client);
    (time, record.client_time, record.accepted, record.id)
}

/// Decides about every snapshot, each series on its own. Verdicts are in the order of `candidates`.
pub fn decide<K: Ord>(policy: &Policy, candidates: &[Candidate<K>], now: Time) -> Vec<Verdict> {
    let mut series: BTreeMap<&K, Vec<usize>> = BTreeMap::new();
    for (at, candidate) in candidates.iter().enumerate() {
        series.entry(&candidate.series).or_default().push(at);
    }
    let mut reasons: Vec<Vec<KeepReason>> = vec![Vec::new(); candidates.len()];
    for mut members in series.into_values() {
        let age = |at: usize| {
            let Candidate { time, claimed, accepted, id, .. } = candidates[at];
            (time, claimed, accepted, id)
        };
        order::sort_by(&mut members, |&a, &b| age(b).cmp(&age(a)));
        let walk = members.iter().map(|&at| &candidates[at]).collect();
        for (at, found) in members.iter().zip(Walk::new(policy, walk, now).decide()) {
            reasons[*at] = found;
        }
    }
    let verdict = |(candidate, reasons): (&Candidate<K>, Vec<KeepReason>)| Verdict {
        id: candidate.id,
        keep: !reasons.is_empty(),
        reasons,
    };
    candidates.iter().zip(reasons).map(verdict).collect()
}

/// One series, newest first, during the decision.
struct Walk<'a, K> {
    policy: &'a Policy,
    snapshots: Vec<&'a Candidate<K>>,
    local: Vec<civil::DateTime>,
    /// The newest time that is not in the future; spans look back from here.
    latest: Time,
    reasons: Vec<Vec<KeepReason>>,
}

impl<'a, K> Walk<'a, K> {
    fn new(policy: &'a Policy, snapshots: Vec<&'a Candidate<K>>, now: Time) -> Self {
        let local = snapshots.iter().map(|snapshot| local(policy, snapshot.time)).collect();
        let latest = snapshots.iter().map(|snapshot| snapshot.time).find(|time| *time <= now).unwrap_or(now);
        let reasons = vec![Vec::new(); snapshots.len()];
        Self { policy, snapshots, local, latest, reasons }
    }

    fn decide(mut self) -> Vec<Vec<KeepReason>> {
        let policy = self.policy;
        if policy.is_empty() {
            self.keep_all(KeepReason::NoRule, |_| true);
        }
        self.keep_all(KeepReason::Pinned, |snapshot| snapshot.pinned);
        self.keep_all(KeepReason::Tagged, |snapshot| {
            policy.tags.iter().any(|set| set.iter().all(|tag| snapshot.tags.contains(tag)))
        });
        let (all, newest): (Vec<_>, Vec<_>) = policy.spans().partition(|(period, _)| *period == Period::Last);
        for (period, span) in all {
            self.keep_within(period, span, KeepReason::Within(span));
        }
        for (period, count) in policy.counts() {
            self.keep_counted(period, count);
        }
        for (period, span) in newest {
            self.keep_within(period, span, KeepReason::CountedWithin(period, span));
        }
        if let Some(span) = effective(policy.floor) {
            self.keep_floor(span);
        }
        self.reasons
    }

    fn keep_all(&mut self, reason: KeepReason, applies: impl Fn(&Candidate<K>) -> bool) {
        for (reasons, snapshot) in self.reasons.iter_mut().zip(&self.snapshots) {
            if applies(snapshot) {
                reasons.push(reason);
            }
        }
    }

    fn keep_counted(&mut self, period: Period, count: Count) {
        let mut used = 0;
        for at in 0..self.snapshots.len() {
            if !count.exceeds(used) {
                break;
            }
            if self.opens_bucket(at, period) {
                used += 1;
                self.reasons[at].push(KeepReason::Counted(period, used));
            } else if self.is_oldest(at) {
                self.reasons[at].push(KeepReason::Oldest(period));
            }
        }
    }

    fn keep_within(&mut self, period: Period, span: Span, reason: KeepReason) {
        for at in 0..self.inside(span) {
            if self.opens_bucket(at, period) || self.is_oldest(at) {
                self.reasons[at].push(reason);
            }
        }
    }

    fn keep_floor(&mut self, span: Span) {
        let inside = self.inside(span);
        for at in 0..inside {
            if self.opens_bucket(at, Period::Daily) {
                self.reasons[at].push(KeepReason::FloorNewest);
            }
            if at + 1 == inside || self.opens_bucket(at + 1, Period::Daily) {
                self.reasons[at].push(KeepReason::FloorOldest);
            }
        }
    }

    /// The number of snapshots, from the newest, that are not older than the span.
    fn inside(&self, span: Span) -> usize {
        let start = span.before(self.latest, &self.policy.zone);
        self.snapshots.partition_point(|snapshot| snapshot.time > start)
    }

    /// Whether a snapshot is the newest of its bucket.
    fn opens_bucket(&self, at: usize, period: Period) -> bool {
        at == 0 || period == Period::Last || period.bucket(self.local[at]) != period.bucket(self.local[at - 1])
    }

    fn is_oldest(&self, at: usize) -> bool {
        at + 1 == self.snapshots.len()
    }
}

fn local(policy: &Policy, time: Time) -> civil::DateTime {
    let instant = Timestamp::from_nanosecond(time.0.into());
    policy.zone.to_datetime(instant.expect("the years 1678 to 2262 are within jiff's range"))
}

#[cfg(test)]
mod tests;
