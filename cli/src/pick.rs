//! Pick: resolves the snapshot that the user names.

use std::collections::BTreeMap;

use copal_engine::id::ClientId;
use copal_engine::retention::Series;

use crate::args::look::Narrow;
use crate::args::spec::Which;
use crate::history::{History, Snapshot};
use crate::report::Failure;
use crate::report::rows::SnapshotRow;

/// This machine, whose snapshots `latest` prefers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
    /// Its host name.
    pub host: String,
    /// Its client, if it is registered already.
    pub client: Option<ClientId>,
}

impl Here {
    /// Whether a snapshot is this machine's own: signed by its client, for its host name.
    pub fn has_signed(&self, snapshot: &Snapshot) -> bool {
        self.client == Some(snapshot.signer.id) && snapshot.info.host == self.host
    }
}

/// The purpose for which a command picks a snapshot.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// The command reads it: `latest` may be another client's snapshot if only one series fits.
    Read,
    /// The command changes its record: `latest` is this client's own.
    Change,
}

impl History {
    /// The one snapshot that the user names; fails if none or several match.
    pub fn find(&self, which: &Which, narrow: &Narrow, here: &Here, intent: Intent) -> Result<&Snapshot, Failure> {
        // A snapshot that cannot be listed may be this machine's, so another host's must not stand in for it.
        let intent = if self.problems.is_empty() { intent } else { Intent::Change };
        pick(self.narrowed(narrow), which, narrow, here, intent).map_err(|failure| self.or_damage(failure))
    }

    /// A snapshot that is not found may be one that cannot be listed: if there are any, report the damage.
    fn or_damage(&self, failure: Failure) -> Failure {
        match (&failure, self.problems.first()) {
            (Failure::NoSnapshot { .. }, Some((object, why))) => {
                let cause = format!("{why}; {failure} of those that can be listed");
                Failure::Damaged { object: object.clone(), cause: cause.into() }
            }
            _ => failure,
        }
    }
}

/// Picks the snapshot that the user names from those that match the options, the oldest first. `latest` never chooses
/// between series: it fails if several fit.
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
    // A machine that was set up again is another client with the same host name.
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

/// The newest snapshot of each series.
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
