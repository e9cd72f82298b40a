//! Retain: which snapshots the rules of `forget` keep, and why. Translates the command line into a policy and snapshots
//! into candidates; the engine's retention decides.

use std::collections::BTreeMap;
use std::time::Duration;

use copal_client::history::Snapshot;
use copal_engine::retention::{Candidate, Verdict, choose_time, decide};
use copal_format::id::{ClientId, DomainId, SnapshotId};
use copal_format::keys::domain::DomainKeys;
use copal_format::policy::{Count, Policy, Span};
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
            tags: record.tags.clone(),
            pinned: record.pinned,
        });
    }
    let decided = domains
        .into_iter()
        .flat_map(|(domain, candidates)| decide(&policy(keep, zone, &keys(domain)), &candidates, now));
    decided.map(|verdict| (verdict.id, verdict)).collect()
}

/// Whether the rules keep nothing, such as `--keep-last 0` alone.
pub fn is_empty(keep: &Keep) -> bool {
    let counts = [keep.last, keep.hourly, keep.daily, keep.weekly, keep.monthly, keep.yearly];
    counts.into_iter().flatten().all(|count| count == 0)
        && keep.within.is_none_or(|span| span.0.is_zero())
        && keep.tags.is_empty()
}

fn policy(keep: &Keep, zone: &TimeZone, keys: &DomainKeys) -> Policy {
    Policy {
        last: keep.last.map(Count::N),
        hourly: keep.hourly.map(Count::N),
        daily: keep.daily.map(Count::N),
        weekly: keep.weekly.map(Count::N),
        monthly: keep.monthly.map(Count::N),
        yearly: keep.yearly.map(Count::N),
        within: keep.within.map(|span| span_of(span.0)),
        tags: keep.tags.iter().map(|tag| vec![keys.tag_id(tag)]).collect(),
        zone: zone.clone(),
        ..Policy::default()
    }
}

/// Converts a duration, rounded up to whole hours, so that a snapshot at the limit is kept.
fn span_of(duration: Duration) -> Span {
    let hours = duration.as_secs().div_ceil(3_600);
    let days = u32::try_from(hours / 24).unwrap_or(u32::MAX);
    Span { days, hours: (hours % 24) as u32, ..Span::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_rounded_up_to_hours() {
        let hours = |hours: u64| Duration::from_secs(hours * 3_600);
        assert_eq!(span_of(hours(24 * 7)), Span { days: 7, ..Span::default() });
        assert_eq!(span_of(hours(25)), Span { days: 1, hours: 1, ..Span::default() });
        assert_eq!(span_of(Duration::from_secs(1)), Span { hours: 1, ..Span::default() });
        assert_eq!(span_of(Duration::MAX).days, u32::MAX);
    }

    #[test]
    fn rules_that_count_nothing_are_no_rules() {
        assert!(is_empty(&Keep::default()));
        assert!(is_empty(&Keep {
            last: Some(0),
            within: Some(crate::args::values::Span(Duration::ZERO)),
            ..Keep::default()
        }));
        assert!(!is_empty(&Keep { tags: vec!["a".into()], ..Keep::default() }));
        assert!(!is_empty(&Keep { daily: Some(1), ..Keep::default() }));
    }
}
