//! Pick: the snapshot a person means.

use std::collections::BTreeMap;

use copal_engine::id::ClientId;
use copal_engine::retention::Series;

use crate::args::look::Narrow;
use crate::args::spec::Which;
use crate::history::Snapshot;
use crate::report::Failure;
use crate::report::rows::SnapshotRow;

/// This machine: what `latest` means where nothing else is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    /// Its name.
    pub host: String,
    /// The client that it is, if it is one already.
    pub client: Option<ClientId>,
}

impl Here {
    /// Whether a snapshot is this machine's own.
    pub fn has_signed(&self, snapshot: &Snapshot) -> bool {
        self.client == Some(snapshot.signer.id) && snapshot.info.host == self.host
    }
}

/// What becomes of the snapshot that is looked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// It is read: `latest` may be another client's where there is no doubt which.
    Read,
    /// Something is said of it that stays: `latest` is this client's.
    Change,
}

/// Of the snapshots that the options have left, the oldest first, the one a person means. `latest` never mixes clients: the
/// newest of several is nobody's answer.
pub fn pick<'a>(
    narrowed: Vec<&'a Snapshot>,
    which: &Which,
    narrow: &Narrow,
    here: &Here,
    intent: Intent,
) -> Result<&'a Snapshot, Failure> {
    match which {
        Which::Latest => latest(&narrowed, narrow, here, intent),
        Which::Prefix(digits) => one(narrowed.into_iter().filter(|snapshot| which.fits(snapshot.id)).collect(), digits),
    }
}

fn latest<'a>(
    narrowed: &[&'a Snapshot],
    narrow: &Narrow,
    here: &Here,
    intent: Intent,
) -> Result<&'a Snapshot, Failure> {
    let of = |fits: &dyn Fn(&Snapshot) -> bool| newest(narrowed.iter().copied().filter(|snapshot| fits(snapshot)));
    if !narrow.hosts.is_empty() || !narrow.clients.is_empty() {
        return only(of(&|_| true));
    }
    let own = of(&|snapshot| here.has_signed(snapshot));
    if !own.is_empty() {
        return only(own);
    }
    // A machine that was set up anew is another client, and still the same host.
    let of_host = of(&|snapshot| snapshot.machine() == here.host);
    if !of_host.is_empty() && intent == Intent::Read {
        return only(of_host);
    }
    match of(&|_| true).as_slice() {
        [] => Err(Failure::NoSnapshot { wanted: LATEST.into() }),
        [only] if intent == Intent::Read => Ok(only),
        others => Err(Failure::NoneOfThisHost { host: here.host.clone(), candidates: rows(others) }),
    }
}

/// The newest of each series.
fn newest<'a>(snapshots: impl Iterator<Item = &'a Snapshot>) -> Vec<&'a Snapshot> {
    let newest: BTreeMap<Series, &Snapshot> = snapshots.map(|snapshot| (snapshot.series(), snapshot)).collect();
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

fn rows(snapshots: &[&Snapshot]) -> Vec<SnapshotRow> {
    snapshots.iter().map(|snapshot| snapshot.row()).collect()
}

const LATEST: &str = "latest";
