//! Pick: the snapshot a person means.

use std::collections::BTreeMap;

use copal_engine::id::SourceId;

use crate::args::look::Narrow;
use crate::args::spec::Which;
use crate::history::Snapshot;
use crate::report::Failure;

/// What becomes of the snapshot that is looked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// It is read: `latest` may be another host's where there is no doubt which.
    Read,
    /// Something is said of it that stays: `latest` is this host's.
    Change,
}

/// Of the snapshots that the options have left, the oldest first, the one a person means.
pub fn pick<'a>(
    narrowed: Vec<&'a Snapshot>,
    which: &Which,
    narrow: &Narrow,
    host: &str,
    intent: Intent,
) -> Result<&'a Snapshot, Failure> {
    match which {
        Which::Latest => latest(&narrowed, narrow, host, intent),
        Which::Prefix(digits) => one(narrowed.into_iter().filter(|snapshot| which.fits(snapshot.id)).collect(), digits),
    }
}

fn latest<'a>(narrowed: &[&'a Snapshot], narrow: &Narrow, host: &str, intent: Intent) -> Result<&'a Snapshot, Failure> {
    if !narrow.hosts.is_empty() {
        return only(newest(narrowed.iter().copied()));
    }
    let of_host = newest(narrowed.iter().copied().filter(|snapshot| snapshot.info.host == host));
    if !of_host.is_empty() {
        return only(of_host);
    }
    match newest(narrowed.iter().copied()).as_slice() {
        [] => Err(Failure::NoSnapshot { wanted: LATEST.into() }),
        [only] if intent == Intent::Read => Ok(only),
        others => Err(Failure::NoneOfThisHost { host: host.to_owned(), candidates: rows(others) }),
    }
}

/// The newest of each series.
fn newest<'a>(snapshots: impl Iterator<Item = &'a Snapshot>) -> Vec<&'a Snapshot> {
    let newest: BTreeMap<SourceId, &Snapshot> = snapshots.map(|snapshot| (snapshot.record.source, snapshot)).collect();
    newest.into_values().collect()
}

fn only(series: Vec<&Snapshot>) -> Result<&Snapshot, Failure> {
    one(series, LATEST)
}

fn one<'a>(fitting: Vec<&'a Snapshot>, wanted: &str) -> Result<&'a Snapshot, Failure> {
    match fitting.as_slice() {
        [] => Err(Failure::NoSnapshot { wanted: wanted.to_owned() }),
        [only] => Ok(only),
        _ => Err(Failure::AmbiguousSnapshot { wanted: wanted.to_owned(), candidates: rows(&fitting) }),
    }
}

fn rows(snapshots: &[&Snapshot]) -> Vec<crate::report::rows::SnapshotRow> {
    snapshots.iter().map(|snapshot| snapshot.row()).collect()
}

const LATEST: &str = "latest";
