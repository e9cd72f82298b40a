//! Metrics: the results of a run in numbers. Each has one name and one meaning, whichever host prints it: a Lambda
//! function for CloudWatch, `copal serve` for Prometheus. `docs/aws.md` has the table and the alarms.

use core::time::Duration;

use copal_format::receipt::{Outcome, Receipt};

use crate::check::{self, Kind};
use crate::{compact, expire, prune};

/// A named number that runs report.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Metric {
    /// Its name in CloudWatch's style: `BytesDeleted`.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// How the numbers of several runs combine.
    pub sum: Sum,
    /// Its description.
    pub about: &'static str,
}

/// The unit of a metric.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Things.
    Count,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
}

/// How the numbers of several runs combine.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sum {
    /// They add up.
    Total,
    /// The last number counts.
    Level,
}

/// The numbers of one run, one per metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics {
    values: Vec<(Metric, f64)>,
}

impl Metrics {
    /// Notes a number. A total is added to what was noted; a level replaces it.
    pub fn note(&mut self, metric: Metric, value: f64) -> &mut Self {
        match self.values.iter_mut().find(|(of, _)| *of == metric) {
            Some((Metric { sum: Sum::Total, .. }, noted)) => *noted += value,
            Some((_, noted)) => *noted = value,
            None => self.values.push((metric, value)),
        }
        self
    }

    /// Notes a number of things or of bytes.
    pub fn count(&mut self, metric: Metric, value: u64) -> &mut Self {
        self.note(metric, value as f64)
    }

    /// The noted numbers, in the order in which their metrics were first noted.
    pub fn values(&self) -> &[(Metric, f64)] {
        &self.values
    }

    /// The noted number of this name.
    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(of, _)| of.name == name).map(|(_, value)| *value)
    }

    /// Notes the end of a run or request.
    pub fn ended(&mut self, is_failure: bool, took: Duration) {
        self.count(RUNS, 1).count(FAILURES, is_failure.into()).note(DURATION, took.as_secs_f64());
    }

    /// Notes what ingest decided.
    pub fn decided(&mut self, receipts: &[Receipt], refused: usize) {
        let accepted = receipts.iter().filter(|receipt| receipt.outcome == Outcome::Accepted).count();
        self.count(MANIFESTS_ACCEPTED, accepted as u64);
        self.count(MANIFESTS_REJECTED, (receipts.len() - accepted) as u64);
        self.count(DECISIONS_REFUSED, refused as u64);
        if let Some(root) = receipts.iter().map(|receipt| receipt.root).max() {
            self.count(ROOT, root);
        }
    }

    /// Notes what expired.
    pub fn expired(&mut self, report: &expire::Report) {
        self.count(SNAPSHOTS_EXPIRED, report.expired.len() as u64);
        // An unfinished run has not seen all held snapshots.
        if !report.is_unfinished {
            self.count(SNAPSHOTS_HELD, report.held.len() as u64);
        }
        self.count(DECISIONS_REFUSED, report.refused.len() as u64);
    }

    /// Notes what was merged.
    pub fn compacted(&mut self, report: &compact::Report) {
        self.count(SEGMENTS, report.segments_after);
        self.count(SEGMENTS_MERGED, report.segments_before.saturating_sub(report.segments_after));
        self.count(UNFINISHED, report.is_unfinished.into()).count(ROOT, report.root);
    }

    /// Notes what was freed, and what is still pending.
    pub fn pruned(&mut self, report: &prune::Report) {
        self.count(OBJECTS_DELETED, report.objects_deleted).count(BYTES_DELETED, report.bytes_deleted);
        self.count(BYTES_COPIED, report.bytes_copied).count(BYTES_PENDING, report.bytes_pending);
        self.count(BYTES_DEAD, report.dead_bytes + report.trapped_bytes);
        self.count(ENTRIES_WANTED, report.entries_wanted).count(ORPHANS, report.orphans);
        self.count(LOST_CHUNKS, report.lost).count(UNREAD_PAGES, report.unread);
        self.count(UNPROVEN_COPIES, report.unproven_copies);
        self.count(UNFINISHED, report.is_unfinished.into());
    }

    /// Notes what was found wrong, and how much was read.
    pub fn checked(&mut self, report: &check::Report) {
        let stale = report.findings.iter().filter(|finding| finding.kind == Kind::Stale).count();
        self.count(DAMAGE, report.wrong() - stale as u64).count(STALE, stale as u64);
        self.count(PACKS_READ, report.packs_read).count(BYTES_READ, report.bytes_read);
        self.count(PACKS_LEFT, report.packs_left).count(UNFINISHED, report.is_unfinished().into());
        self.count(ROOT, report.root);
    }
}

const fn total(name: &'static str, unit: Unit, about: &'static str) -> Metric {
    Metric { name, unit, sum: Sum::Total, about }
}

const fn level(name: &'static str, unit: Unit, about: &'static str) -> Metric {
    Metric { name, unit, sum: Sum::Level, about }
}

macro_rules! metrics {
    ($($constant:ident = $sum:ident($name:literal, $unit:ident): $about:literal;)*) => {
        $(#[doc = $about] pub const $constant: Metric = $sum($name, Unit::$unit, $about);)*

        /// All metrics.
        pub const ALL: &[Metric] = &[$($constant),*];
    };
}

metrics! {
    RUNS = total("Runs", Count): "Runs that ended, of the gateway requests";
    FAILURES = total("Failures", Count): "Runs that failed";
    STOPS = total("Stops", Count): "Runs that panicked, or took the process of `copal serve` with them";
    DURATION = level("Duration", Seconds): "How long a run took";
    ROOT = level("Root", Count): "Number of the newest root that a run has seen";
    UNFINISHED = level("Unfinished", Count): "1 if the time was over before everything was done";
    REFUSED = total("Refused", Count): "Requests that the gateway refused";
    MESSAGES = total("Messages", Count): "Messages of the queue";
    MESSAGES_FAILED = total("MessagesFailed", Count): "Messages that have to come again";
    MANIFESTS_ACCEPTED = total("ManifestsAccepted", Count): "Manifests that were accepted";
    MANIFESTS_REJECTED = total("ManifestsRejected", Count): "Manifests that were rejected";
    DECISIONS_REFUSED = total("DecisionsRefused", Count): "Changes and expiries that are not believed, and manifests that wait for a root that is missing";
    CLIENTS_UNDECIDED = level("ClientsUndecided", Count): "Clients of whom something was undecided";
    UNDECIDED_AGE = level("UndecidedAge", Seconds): "Age of the oldest manifest that was undecided";
    SNAPSHOTS_EXPIRED = total("SnapshotsExpired", Count): "Snapshots that expired";
    SNAPSHOTS_HELD = level("SnapshotsHeld", Count): "Suspicious snapshots that nobody has released: nothing of their series expires";
    SEGMENTS = level("Segments", Count): "Segments of the index";
    SEGMENTS_MERGED = total("SegmentsMerged", Count): "Segments that compact merged away";
    OBJECTS_DELETED = total("ObjectsDeleted", Count): "Objects that prune deleted";
    BYTES_DELETED = total("BytesDeleted", Bytes): "Bytes that prune deleted";
    BYTES_COPIED = total("BytesCopied", Bytes): "Bytes that prune copied into new packs";
    BYTES_PENDING = level("BytesPending", Bytes): "Bytes that wait for their grace period";
    BYTES_DEAD = level("BytesDead", Bytes): "Bytes that nothing needs in packs that stay";
    ENTRIES_WANTED = total("EntriesWanted", Count): "Index entries that backups are asked to upload again";
    ORPHANS = total("Orphans", Count): "Objects that nothing refers to and that prune found";
    UNPROVEN_COPIES = level("UnprovenCopies", Count): "Chunks that packs repeat which nobody has proven";
    LOST_CHUNKS = level("LostChunks", Count): "Ids that kept snapshots refer to and that have no copy";
    UNREAD_PAGES = level("UnreadPages", Count): "Pages whose references cannot be read";
    DAMAGE = level("Damage", Count): "What the last check found wrong and is needed";
    STALE = level("Stale", Count): "What the last check found damaged and nothing needs";
    PACKS_READ = total("PacksRead", Count): "Packs whose bytes check has read";
    BYTES_READ = total("BytesRead", Bytes): "Bytes of packs that check has read";
    PACKS_LEFT = level("PacksLeft", Count): "Packs that were due and were not read in time";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_told_once_and_bytes_are_called_so() {
        let names: BTreeSet<&str> = ALL.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), ALL.len());
        for Metric { name, unit, .. } in ALL {
            assert_eq!(name.starts_with("Bytes"), *unit == Unit::Bytes, "{name}");
        }
    }

    #[test]
    fn totals_add_up_within_a_run_and_of_levels_the_last_counts() {
        let mut metrics = Metrics::default();
        metrics.count(BYTES_DELETED, 2).count(BYTES_DELETED, 3).count(SEGMENTS, 2).count(SEGMENTS, 3);
        assert_eq!(metrics.values(), [(BYTES_DELETED, 5.0), (SEGMENTS, 3.0)]);
    }

    #[test]
    fn every_metric_and_no_other_stands_in_the_operators_table() {
        let page = include_str!("../../docs/aws.md");
        let table = page.split("## Metrics and alarms").nth(1).and_then(|rest| rest.split("\n## ").next());
        let table = table.expect("the page has a section on metrics");
        let rows = table.lines().filter(|line| line.starts_with("| `"));
        let named = rows.filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split('`').skip(1).step_by(2));
        let named: BTreeSet<&str> = named.collect();
        assert_eq!(named, ALL.iter().map(|metric| metric.name).collect());
    }
}
