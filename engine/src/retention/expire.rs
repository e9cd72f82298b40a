//! Expire: the policy applied to the snapshots of a state, by the service, which knows no names: a series are the
//! snapshots of one domain and source.

use std::collections::BTreeSet;

use super::{Candidate, Policy, choose_time, decide};
use crate::expiry::Expiry;
use crate::id::SnapshotId;
use crate::state::{SnapshotRecord, SnapshotState};
use crate::time::Time;

/// Which kept snapshots the rules do not keep at a time of the store. Those that were accepted at that time or later
/// take no part: more of them may still be accepted with it, and then nobody could tell again what was decided about.
pub fn expirable<'a>(
    rules: &Policy,
    snapshots: impl IntoIterator<Item = &'a SnapshotRecord>,
    time: Time,
) -> BTreeSet<SnapshotId> {
    let takes_part =
        |record: &&SnapshotRecord| record.state == SnapshotState::Kept && !record.partial && record.accepted < time;
    let candidates: Vec<_> = snapshots
        .into_iter()
        .filter(takes_part)
        .map(|record| Candidate {
            id: record.id,
            series: (record.domain, record.source),
            time: choose_time(record.client_time, record.accepted, record.by_full_client),
            claimed: record.client_time,
            tags: record.tags.clone(),
            pinned: record.pinned,
        })
        .collect();
    decide(rules, &candidates, time).into_iter().filter(|verdict| !verdict.keep).map(|verdict| verdict.id).collect()
}

/// Whether the rules permit what an expiry says: they keep none of the snapshots it names.
pub fn permits<'a>(rules: &Policy, snapshots: impl IntoIterator<Item = &'a SnapshotRecord>, expiry: &Expiry) -> bool {
    let expirable = expirable(rules, snapshots, expiry.time);
    expiry.snapshots.iter().all(|id| expirable.contains(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{ChunkId, DomainId, ObjectHash, SourceId};
    use crate::retention::Count;

    fn snapshot(id: u8, source: u8, accepted: i64) -> SnapshotRecord {
        SnapshotRecord {
            id: SnapshotId([id; 16]),
            domain: DomainId([1; 16]),
            root: ChunkId([id; 24]),
            partial: false,
            client_time: Time(accepted),
            accepted: Time(accepted),
            source: SourceId([source; 16]),
            tags: Vec::new(),
            state: SnapshotState::Kept,
            pinned: false,
            state_time: Time(0),
            by_full_client: true,
        }
    }

    fn expired(snapshots: &[SnapshotRecord], time: i64) -> Vec<u8> {
        let rules = Policy { last: Some(Count::N(1)), ..Policy::default() };
        expirable(&rules, snapshots, Time(time)).into_iter().map(|id| id.0[0]).collect()
    }

    #[test]
    fn each_source_is_a_series_of_its_own() {
        let snapshots = [snapshot(1, 1, 10), snapshot(2, 1, 20), snapshot(3, 2, 5)];
        assert_eq!(expired(&snapshots, 30), [1]);
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
        let rules = Policy { last: Some(Count::N(1)), ..Policy::default() };
        let snapshots = [snapshot(1, 1, 10), snapshot(2, 1, 20)];
        let expiry = |ids: &[u8]| {
            let snapshots = ids.iter().map(|id| SnapshotId([*id; 16])).collect();
            Expiry { number: 1, previous: ObjectHash::NONE, policy: 1, change: 1, time: Time(30), snapshots }
        };
        assert!(permits(&rules, &snapshots, &expiry(&[1])));
        assert!(!permits(&rules, &snapshots, &expiry(&[1, 2])));
        assert!(!permits(&rules, &snapshots, &expiry(&[9])));
    }
}
