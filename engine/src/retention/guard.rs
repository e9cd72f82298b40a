//! Guard: protects snapshots whatever the rules say, even from clients that forget them. The floor keeps the last
//! accepted ones. A hold keeps a whole series while one of its snapshots is suspiciously unlike the one before, until
//! the owner releases it.
//!
//! Order and age are by acceptance, on the store's clock, which no client can change.

use core::fmt;
use std::collections::BTreeMap;

use super::{Series, Signed};
use copal_format::extent::Extent;
use copal_format::id::SnapshotId;
use copal_format::order;
use copal_format::policy::{Hold, SignedPolicy};
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;

/// Why a snapshot is suspicious.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Suspicion {
    /// Many entries of the previous snapshot are gone.
    Entries {
        /// Entries of the previous snapshot, approximately.
        before: u64,
        /// Entries of this snapshot, approximately.
        now: u64,
    },
    /// Many bytes of the previous snapshot are gone.
    Bytes {
        /// Bytes of the previous snapshot, approximately.
        before: u64,
        /// Bytes of this snapshot, approximately.
        now: u64,
    },
    /// Far more bytes were stored than the snapshot has grown by.
    Rewritten {
        /// Bytes of the previous snapshot, approximately.
        before: u64,
        /// Bytes stored for this snapshot, approximately.
        stored: u64,
    },
}

impl fmt::Display for Suspicion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entries { before, now } => write!(f, "about {now} entries where the one before had {before}"),
            Self::Bytes { before, now } => write!(f, "about {now} bytes where the one before had {before}"),
            Self::Rewritten { before, stored } => {
                write!(f, "about {stored} bytes stored anew where the one before had {before}")
            }
        }
    }
}

/// A suspicious snapshot that is not released: it holds its series.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The series.
    pub series: Series,
    /// The snapshot.
    pub snapshot: SnapshotId,
    /// When it was accepted.
    pub accepted: Time,
    /// Why it is suspicious.
    pub why: Suspicion,
}

/// The suspicious, unreleased snapshots among those accepted before `before`. Includes forgotten ones: otherwise a
/// client could end a hold by forgetting the snapshot that caused it.
pub fn held<'a>(policy: &SignedPolicy, snapshots: impl IntoIterator<Item = Signed<'a>>, before: Time) -> Vec<Held> {
    let Some(hold) = policy.hold() else { return Vec::new() };
    let mut found = Vec::new();
    for (series, members) in by_series(snapshots.into_iter().filter(|(_, record)| record.accepted < before)) {
        let mut last: Option<Extent> = None;
        let mut stored = 0u64;
        for record in members {
            stored = stored.saturating_add(record.extent.map_or(0, |extent| extent.stored));
            if record.partial {
                continue;
            }
            let why = last.zip(record.extent).and_then(|(last, now)| suspicion(hold, last, Extent { stored, ..now }));
            if let Some(why) = why.filter(|_| !record.released) {
                found.push(Held { series, snapshot: record.id, accepted: record.accepted, why });
            }
            (last, stored) = (record.extent, 0);
        }
    }
    found
}

/// The kept snapshots that the guard does not let expire at `time`, and why.
pub(super) fn kept_whatever(
    policy: &SignedPolicy,
    snapshots: &[Signed<'_>],
    time: Time,
) -> BTreeMap<SnapshotId, Protection> {
    let kept = guarded(policy, snapshots, time, time, |record| record.state == SnapshotState::Kept);
    by_id(kept.into_iter().map(|(record, protection)| (record.id, protection)))
}

/// Why the guard protects a snapshot.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Protection {
    /// A hold keeps its series.
    Held,
    /// The floor keeps it as one of the last of its series.
    Last,
    /// It is younger than the floor's age.
    Young {
        /// The store's time from which on the floor no longer keeps it.
        until: Time,
    },
}

/// The forgotten snapshots that prune must still keep: those of held series, and those within the floor, which also
/// counts forgotten ones.
pub fn protected<'a>(
    policy: &SignedPolicy,
    snapshots: impl IntoIterator<Item = Signed<'a>>,
    now: Time,
) -> BTreeMap<SnapshotId, Protection> {
    by_id(protected_if(policy, snapshots, now, |record| record.state == SnapshotState::Forgotten))
}

/// Like [`protected`], but `is_forgotten` decides which snapshots count as forgotten. Gone ones never do.
pub fn protected_if<'a>(
    policy: &SignedPolicy,
    snapshots: impl IntoIterator<Item = Signed<'a>>,
    now: Time,
    is_forgotten: impl Fn(&SnapshotRecord) -> bool,
) -> Vec<(SnapshotId, Protection)> {
    let snapshots: Vec<Signed<'_>> = snapshots.into_iter().collect();
    // The guard treats forgotten snapshots like kept ones.
    let all = guarded(policy, &snapshots, now, Time(i64::MAX), |record| record.state != SnapshotState::Gone);
    let forgotten = all.into_iter().filter(|(record, _)| is_forgotten(record));
    forgotten.map(|(record, protection)| (record.id, protection)).collect()
}

fn by_id(found: impl IntoIterator<Item = (SnapshotId, Protection)>) -> BTreeMap<SnapshotId, Protection> {
    // `collect` would sort, and its code would make the browser's module larger.
    let mut map = BTreeMap::new();
    map.extend(found);
    map
}

/// The snapshots that the guard keeps, among those that pass `counts` and were accepted before `before`.
fn guarded<'a>(
    policy: &SignedPolicy,
    snapshots: &[Signed<'a>],
    now: Time,
    before: Time,
    counts: impl Fn(&SnapshotRecord) -> bool,
) -> Vec<(&'a SnapshotRecord, Protection)> {
    // In the order of `by_series`.
    let held = held(policy, snapshots.iter().copied(), before);
    let floor = policy.floor();
    let counts = |(_, of): &Signed<'_>| !of.partial && of.accepted < before && counts(of);
    let mut kept = Vec::new();
    for (series, members) in by_series(snapshots.iter().copied().filter(counts)) {
        let newest_first = members.into_iter().rev().enumerate();
        kept.extend(newest_first.filter_map(|(nth, record)| {
            let is_young = now.since(record.accepted) < floor.age;
            let protection = if held.binary_search_by_key(&series, |held| held.series).is_ok() {
                Protection::Held
            } else if nth < floor.last as usize {
                Protection::Last
            } else if is_young {
                Protection::Young { until: record.accepted + floor.age }
            } else {
                return None;
            };
            Some((record, protection))
        }));
    }
    kept
}

/// The snapshots of each series in order of acceptance. Snapshots accepted by the same root are ordered by client time;
/// a run's checkpoints come before its snapshot.
fn by_series<'a>(
    snapshots: impl Iterator<Item = Signed<'a>>,
) -> impl Iterator<Item = (Series, Vec<&'a SnapshotRecord>)> {
    let mut series: BTreeMap<Series, Vec<&SnapshotRecord>> = BTreeMap::new();
    for (key, record) in snapshots {
        series.entry(Series::of((key, record))).or_default().push(record);
    }
    series.into_iter().map(|(series, mut members)| {
        let age = |record: &SnapshotRecord| (record.accepted, record.client_time, !record.partial, record.id);
        order::sort_by(&mut members, |a, b| age(a).cmp(&age(b)));
        (series, members)
    })
}

/// Why a snapshot is suspicious after the one before it; none if it is not.
fn suspicion(hold: Hold, before: Extent, now: Extent) -> Option<Suspicion> {
    if before.bytes < hold.least {
        return None;
    }
    let part = |whole: u64| u64::try_from(u128::from(whole) * u128::from(hold.share) / 100).unwrap_or(u64::MAX);
    let is_gone = |before: u64, now: u64| before.saturating_sub(now) >= part(before).max(1);
    let grown = now.bytes.saturating_sub(before.bytes);
    if is_gone(before.entries, now.entries) {
        Some(Suspicion::Entries { before: before.entries, now: now.entries })
    } else if is_gone(before.bytes, now.bytes) {
        Some(Suspicion::Bytes { before: before.bytes, now: now.bytes })
    } else if now.stored.saturating_sub(grown) >= part(before.bytes).max(1) {
        Some(Suspicion::Rewritten { before: before.bytes, stored: now.stored })
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;
    use crate::retention::tests::{of_one_client, snapshot_of};
    use copal_format::id::ClientId;
    use copal_format::policy::Floor;
    use copal_format::policy::Policy;

    const MIB: u64 = 1 << 20;
    const DAY: i64 = 24 * 3600 * 1_000_000_000;

    fn policy(floor: Floor, hold: Option<Hold>) -> SignedPolicy {
        let plain = SignedPolicy::new(Policy::default(), "", Duration::ZERO, 1).unwrap();
        plain.with_guard(floor, hold).unwrap()
    }

    fn half() -> SignedPolicy {
        policy(Floor::default(), Some(Hold { share: 50, least: 64 * MIB }))
    }

    /// A snapshot of the series 1, accepted on a day.
    fn snapshot(id: u8, day: i64, extent: Option<Extent>) -> SnapshotRecord {
        SnapshotRecord { extent, ..snapshot_of(id, 1, day * DAY) }
    }

    /// Snapshots a day apart: entries, MiB, MiB stored.
    fn days(extents: &[(u64, u64, u64)]) -> Vec<SnapshotRecord> {
        let extent = |&(entries, bytes, stored): &_| Extent::about(entries, bytes * MIB, stored * MIB);
        (1..).zip(extents).map(|(day, of)| snapshot(day as u8, day, Some(extent(of)))).collect()
    }

    fn suspicions(snapshots: &[SnapshotRecord]) -> Vec<u8> {
        held(&half(), of_one_client(snapshots), Time(i64::MAX)).into_iter().map(|held| held.snapshot.0[0]).collect()
    }

    #[test]
    fn a_first_backup_and_one_that_grows_normally_are_not_suspicious() {
        let grows = days(&[(100, 1000, 1000), (110, 1100, 120), (400, 5000, 3900), (400, 4900, 40), (400, 4900, 0)]);
        assert_eq!(suspicions(&grows), [0u8; 0]);
    }

    #[test]
    fn files_that_were_all_written_anew_are_suspicious() {
        let encrypted = days(&[(100, 1000, 300), (100, 1000, 5), (100, 1010, 1000), (100, 1010, 0)]);
        assert_eq!(suspicions(&encrypted), [3]);
    }

    #[test]
    fn files_and_bytes_that_are_gone_are_suspicious() {
        assert_eq!(suspicions(&days(&[(100, 1000, 300), (30, 990, 5)])), [2]);
        assert_eq!(suspicions(&days(&[(100, 1000, 300), (99, 200, 5)])), [2]);
        assert_eq!(suspicions(&days(&[(100, 1000, 300), (80, 800, 5)])), [0u8; 0]);
        assert_eq!(suspicions(&days(&[(100, 1000, 300), (0, 0, 0)])), [2]);
    }

    #[test]
    fn exactly_the_share_of_a_snapshot_of_exactly_the_least_size_is_suspicious() {
        assert_eq!(suspicions(&days(&[(128, 64, 64), (64, 64, 0)])), [2]);
        assert_eq!(suspicions(&days(&[(128, 64, 64), (128, 32, 0)])), [2]);
        assert_eq!(suspicions(&days(&[(128, 64, 64), (128, 64, 32)])), [2]);
        assert_eq!(suspicions(&days(&[(128, 64, 64), (96, 48, 24)])), [0u8; 0]);
    }

    #[test]
    fn a_suspicion_tells_what_was_before_and_what_is_now() {
        let said = |why: Suspicion| why.to_string();
        assert_eq!(said(Suspicion::Entries { before: 7, now: 3 }), "about 3 entries where the one before had 7");
        assert_eq!(said(Suspicion::Bytes { before: 7, now: 3 }), "about 3 bytes where the one before had 7");
        let rewritten = Suspicion::Rewritten { before: 7, stored: 6 };
        assert_eq!(said(rewritten), "about 6 bytes stored anew where the one before had 7");
    }

    #[test]
    fn what_another_client_signs_of_the_same_source_holds_no_series_of_others() {
        let snapshots = days(&[(100, 1000, 300), (1, 1, 1), (100, 1000, 5)]);
        let keys = [1u8, 2, 1].map(|client| (ClientId([client; 16]), 1));
        assert!(held(&half(), keys.iter().zip(&snapshots), Time(i64::MAX)).is_empty());
    }

    #[test]
    fn a_small_series_is_never_suspicious() {
        assert_eq!(suspicions(&days(&[(100, 60, 60), (1, 1, 1), (100, 60, 60)])), [0u8; 0]);
    }

    #[test]
    fn what_checkpoints_stored_counts_with_the_snapshot_that_follows() {
        let mut snapshots = days(&[(100, 1000, 300), (60, 600, 600), (100, 1000, 400)]);
        snapshots[1].partial = true;
        assert_eq!(suspicions(&snapshots), [3]);
        // All of one run was accepted by one root.
        (snapshots[1].accepted, snapshots[1].client_time) = (snapshots[2].accepted, snapshots[2].client_time);
        assert_eq!(suspicions(&snapshots), [3]);
    }

    #[test]
    fn a_snapshot_that_says_nothing_of_its_extent_is_not_compared() {
        let mut snapshots = days(&[(100, 1000, 300), (1, 1, 1), (100, 1000, 1000)]);
        snapshots[1].extent = None;
        assert_eq!(suspicions(&snapshots), [0u8; 0]);
    }

    #[test]
    fn a_hold_ends_when_its_snapshot_is_released_and_not_when_it_is_forgotten() {
        let mut snapshots = days(&[(100, 1000, 300), (1, 1, 1), (1, 1, 0)]);
        snapshots[1].state = SnapshotState::Gone;
        assert_eq!(suspicions(&snapshots), [2]);
        snapshots[1].released = true;
        assert_eq!(suspicions(&snapshots), [0u8; 0]);
    }

    #[test]
    fn what_was_accepted_later_raises_no_hold_yet() {
        let snapshots = days(&[(100, 1000, 300), (1, 1, 1)]);
        assert!(held(&half(), of_one_client(&snapshots), Time(2 * DAY)).is_empty());
    }

    fn protected_ids(policy: &SignedPolicy, snapshots: &[SnapshotRecord], day: i64) -> Vec<u8> {
        protected(policy, of_one_client(snapshots), Time(day * DAY)).into_keys().map(|id| id.0[0]).collect()
    }

    #[test]
    fn what_was_forgotten_stays_within_the_floor_and_in_a_held_series() {
        let forgotten = |mut snapshots: Vec<SnapshotRecord>| {
            snapshots.iter_mut().for_each(|record| record.state = SnapshotState::Forgotten);
            snapshots
        };
        let grows = forgotten(days(&[(100, 1000, 1000), (100, 1000, 1), (100, 1000, 1), (100, 1000, 1)]));
        let floor = |last, days: u64| Floor { last, age: Duration::from_secs(days * 24 * 3600) };
        assert_eq!(protected_ids(&policy(floor(2, 0), None), &grows, 100), [3, 4]);
        assert_eq!(protected_ids(&policy(floor(0, 3), None), &grows, 5), [3, 4]);
        assert_eq!(protected_ids(&half(), &grows, 5), [0u8; 0]);
        let shrinks = forgotten(days(&[(100, 1000, 1000), (1, 1, 1)]));
        assert_eq!(protected_ids(&half(), &shrinks, 100), [1, 2]);
    }

    #[test]
    fn it_is_told_what_protects_a_snapshot_and_until_when_it_is_too_young() {
        let mut snapshots = days(&[(100, 1000, 1000), (100, 1000, 1), (100, 1000, 1), (100, 1000, 1)]);
        snapshots.iter_mut().for_each(|record| record.state = SnapshotState::Forgotten);
        let floor = Floor { last: 1, age: Duration::from_secs(3 * 24 * 3600) };
        let why = |policy: &SignedPolicy, snapshots: &[SnapshotRecord]| -> Vec<Protection> {
            protected(policy, of_one_client(snapshots), Time(5 * DAY)).into_values().collect()
        };
        let young = Protection::Young { until: Time(6 * DAY) };
        assert_eq!(why(&policy(floor, None), &snapshots), [young, Protection::Last]);
        snapshots[3].extent = Some(Extent::about(1, 1, 1));
        assert_eq!(why(&half(), &snapshots), [Protection::Held; 4]);
    }
}
