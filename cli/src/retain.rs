//! Retain: which snapshots the rules of `forget` keep, and why. Translates the command line into a policy and snapshots
//! into candidates; the engine's retention decides.

use std::collections::{BTreeMap, BTreeSet};

use copal_client::history::Snapshot;
use copal_engine::retention::{Candidate, KeepReason, Verdict, choose_time, decide};
use copal_format::id::{ClientId, DomainId, SnapshotId};
use copal_format::keys::domain::DomainKeys;
use copal_format::policy::Policy;
use copal_format::time::Time;
use jiff::tz::TimeZone;

use crate::args::forget::Keep;
use crate::args::values::GroupBy;

/// What the snapshots of one group share: the client that signed them, and the fields that `--group-by` names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group {
    /// Always set: one client's snapshots never push out those of another.
    client: ClientId,
    host: Option<String>,
    paths: Option<Vec<Vec<u8>>>,
    tags: Option<Vec<String>>,
    label: Option<String>,
}

impl Group {
    /// The group of a snapshot.
    pub fn of(snapshot: &Snapshot, by: GroupBy) -> Self {
        Self {
            client: snapshot.signer.id,
            host: by.host.then(|| snapshot.machine().to_owned()),
            paths: by.paths.then(|| snapshot.info.paths.clone()),
            tags: by.tags.then(|| snapshot.tags.clone()),
            label: by.label.then(|| snapshot.info.label.clone()),
        }
    }
}

/// Decides about every snapshot. The rules apply to each group separately; days and longer periods begin in `zone`.
pub fn retain(
    snapshots: &[&Snapshot],
    keep: &Keep,
    by: GroupBy,
    zone: &TimeZone,
    now: Time,
    keys: impl Fn(DomainId) -> DomainKeys,
) -> BTreeMap<SnapshotId, Verdict> {
    let mut domains: BTreeMap<DomainId, Vec<Candidate<Group>>> = BTreeMap::new();
    for snapshot in snapshots {
        let record = &snapshot.record;
        domains.entry(snapshot.domain).or_default().push(Candidate {
            id: snapshot.id,
            series: Group::of(snapshot, by),
            time: choose_time(snapshot.time, record.accepted, record.by_full_client),
            claimed: snapshot.time,
            accepted: record.accepted,
            tags: record.tags.clone(),
            pinned: record.pinned,
        });
    }
    let decided = domains
        .into_iter()
        .flat_map(|(domain, candidates)| decide(&policy(keep, zone, &keys(domain)), &candidates, now));
    decided.map(|verdict| (verdict.id, verdict)).collect()
}

/// The snapshots of the groups in which no rule keeps anything: a tag may be mistyped. A pin is no rule.
pub fn unmatched(
    snapshots: &[&Snapshot],
    verdicts: &BTreeMap<SnapshotId, Verdict>,
    by: GroupBy,
) -> BTreeMap<SnapshotId, Group> {
    let is_by_rule = |id| verdicts[&id].reasons.iter().any(|reason| *reason != KeepReason::Pinned);
    let grouped = || snapshots.iter().map(|snapshot| (snapshot.id, Group::of(snapshot, by)));
    let matched: BTreeSet<Group> = grouped().filter(|(id, _)| is_by_rule(*id)).map(|(_, group)| group).collect();
    grouped().filter(|(_, group)| !matched.contains(group)).collect()
}

fn policy(keep: &Keep, zone: &TimeZone, keys: &DomainKeys) -> Policy {
    let tags = keep.tags.iter().map(|tag| vec![keys.tag_id(tag)]).collect();
    Policy { tags, zone: zone.clone(), ..keep.rules() }
}
