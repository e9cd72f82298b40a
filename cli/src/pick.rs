//! Pick: resolves the snapshot that the user names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use copal_client::history::{History, Snapshot};
use copal_client::scan::Root;
use copal_engine::retention::Series;
use copal_format::client::Role;
use copal_format::id::ClientId;

use crate::args::look::Narrow;
use crate::args::spec::Which;
use crate::report::Failure;
use crate::report::clients::SignerField;
use crate::report::rows::SnapshotRow;
use copal_client::words::tree_bytes;

/// This machine, whose snapshots `latest` prefers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Here {
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
    /// The command reads it: `latest` may be another client's snapshot if this machine has none.
    Read,
    /// The command changes its record: `latest` is this client's own.
    Change,
}

/// Kept snapshots that match the options.
pub fn narrowed<'a>(history: &'a History, narrow: &Narrow) -> Vec<&'a Snapshot> {
    let paths = spellings(narrow);
    history.kept().filter(|snapshot| fits_with(snapshot, narrow, &paths)).collect()
}

/// Forgotten snapshots that can still be undeleted and that match the options.
pub fn forgotten<'a>(history: &'a History, narrow: &Narrow) -> Vec<&'a Snapshot> {
    let paths = spellings(narrow);
    history.forgotten().filter(|snapshot| fits_with(snapshot, narrow, &paths)).collect()
}

/// Write-only clients whose snapshots claim one of the hosts asked for, and do not count for these hosts.
pub fn claimants(history: &History, narrow: &Narrow) -> BTreeMap<ClientId, SignerField> {
    let fields = history.snapshots.iter().map(|snapshot| (snapshot.signer.id, SignerField::of(snapshot)));
    fields.filter(|(_, field)| field.claimed_host.as_ref().is_some_and(|host| is_of(host, narrow))).collect()
}

/// Tells whether a snapshot matches the options. Resolves their paths now and not at each call: a mount may hide the
/// links on the way to them.
pub fn fitting(narrow: Narrow) -> impl Fn(&Snapshot) -> bool + Send + Sync {
    let paths = spellings(&narrow);
    move |snapshot: &Snapshot| fits_with(snapshot, &narrow, &paths)
}

/// Whether a snapshot matches the options: any of the clients, any of the hosts, all paths, all tags, the label, and
/// the times.
fn fits_with(snapshot: &Snapshot, narrow: &Narrow, paths: &[Vec<Vec<u8>>]) -> bool {
    let has_path = |spellings: &Vec<Vec<u8>>| snapshot.info.paths.iter().any(|path| spellings.contains(path));
    (narrow.clients.is_empty() || narrow.clients.iter().any(|client| names(client, snapshot)))
        && (narrow.hosts.is_empty() || is_of(snapshot.machine(), narrow))
        && paths.iter().all(has_path)
        && narrow.tags.iter().all(|tag| snapshot.tags.contains(tag))
        && narrow.label.as_ref().is_none_or(|label| *label == snapshot.info.label)
        && narrow.before.is_none_or(|time| snapshot.time < time)
        && narrow.after.is_none_or(|time| snapshot.time >= time)
}

/// For each path of the options, the paths that a snapshot may have for it: as it is written, which may be a path of
/// another machine, and with the links resolved that `backup` follows on this one.
fn spellings(narrow: &Narrow) -> Vec<Vec<Vec<u8>>> {
    let both = |path: &PathBuf| -> Vec<Vec<u8>> {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let written = tree_bytes(&absolute).map(|bytes| bytes.strip_suffix(b"/").unwrap_or(&bytes).to_vec());
        // A path that is no longer there is resolved as far as it exists.
        let resolved = Root::new(path).ok().or_else(|| Root::named(&absolute).ok());
        written.into_iter().chain(resolved.map(|root| root.path().as_bytes().to_vec())).collect()
    };
    narrow.paths.iter().map(both).collect()
}

/// Whether `client` names the client of a snapshot: its name, or at least the first four digits of its id.
fn names(client: &str, snapshot: &Snapshot) -> bool {
    let signer = &snapshot.signer;
    signer.name == client || client.len() >= 4 && signer.id.to_string().starts_with(client)
}

fn is_of(host: &str, narrow: &Narrow) -> bool {
    narrow.hosts.iter().any(|pattern| pattern.fits(host))
}

/// The snapshots that the user may mean, the likeliest first; fails if there is none. `latest` means the newest of this
/// machine. An id means one.
pub fn find<'a>(
    history: &'a History,
    which: &Which,
    narrow: &Narrow,
    here: &Here,
    intent: Intent,
) -> Result<Vec<&'a Snapshot>, Failure> {
    let intent = while_all_is_listed(intent, history);
    pick(narrowed(history, narrow), which, narrow, here, intent).map_err(|failure| or_damage(history, failure))
}

/// Like [`find`], for a list: the one snapshot, from those that match the options, the oldest first.
pub fn listed<'a>(
    history: &History,
    narrowed: Vec<&'a Snapshot>,
    which: &Which,
    narrow: &Narrow,
    here: &Here,
) -> Result<&'a Snapshot, Failure> {
    let found = pick(narrowed, which, narrow, here, while_all_is_listed(Intent::Read, history));
    found.map(|found| found[0]).map_err(|failure| match failure {
        // The full list shows what else there is.
        Failure::NoneOfThisHost { .. } => damage_or(history, failure),
        failure => or_damage(history, failure),
    })
}

/// The intent, unless a snapshot cannot be listed: it may be this machine's, so another host's must not stand in for
/// it.
fn while_all_is_listed(intent: Intent, history: &History) -> Intent {
    if history.problems.is_empty() { intent } else { Intent::Change }
}

/// A snapshot that is not found may be one that cannot be listed: if there are any, report the damage.
pub fn or_damage(history: &History, failure: Failure) -> Failure {
    match failure {
        Failure::NoSnapshot { .. } => damage_or(history, failure),
        failure => failure,
    }
}

/// The first problem of the list, as the reason for a failure; the failure itself if there is no problem.
fn damage_or(history: &History, failure: Failure) -> Failure {
    match history.problems.first() {
        Some((object, why)) => {
            let cause = format!("{why}; {failure} of those that can be listed");
            Failure::Damaged { object: object.clone(), cause: cause.into() }
        }
        None => failure,
    }
}

/// Like [`find`], from the snapshots that match the options, the oldest first.
pub fn pick<'a>(
    narrowed: Vec<&'a Snapshot>,
    which: &Which,
    narrow: &Narrow,
    here: &Here,
    intent: Intent,
) -> Result<Vec<&'a Snapshot>, Failure> {
    let wanted = match which {
        Which::Latest => LATEST,
        Which::Prefix(digits) => digits,
    };
    let found = match which {
        Which::Latest => latest(narrowed, narrow, here, intent)?,
        Which::Prefix(_) => narrowed.into_iter().filter(|snapshot| which.fits(snapshot.id)).collect(),
    };
    match found.len() {
        0 => Err(Failure::NoSnapshot { wanted: wanted.to_owned() }),
        2.. if *which != Which::Latest => {
            Err(Failure::AmbiguousSnapshot { wanted: wanted.to_owned(), candidates: rows(&found) })
        }
        _ => Ok(found),
    }
}

/// The snapshots that `latest` may mean, the newest first.
fn latest<'a>(
    mut narrowed: Vec<&'a Snapshot>,
    narrow: &Narrow,
    here: &Here,
    intent: Intent,
) -> Result<Vec<&'a Snapshot>, Failure> {
    narrowed.reverse();
    let of = |fits: &dyn Fn(&Snapshot) -> bool| -> Vec<&'a Snapshot> {
        narrowed.iter().copied().filter(|snapshot| fits(snapshot)).collect()
    };
    let own = of(&|snapshot| here.has_signed(snapshot));
    // A machine that was set up again is another client with the same host name.
    let of_host = of(&|snapshot| snapshot.machine() == here.host);
    // A write-only machine may have been taken over: it decides nothing for machines of other names.
    let of_full = of(&|snapshot| snapshot.signer.role == Role::Full);
    Ok(match intent {
        _ if narrow.names_machines() => narrowed,
        _ if !own.is_empty() => own,
        Intent::Change if !narrowed.is_empty() => {
            return Err(Failure::NoneOfThisHost { host: here.host.clone(), candidates: rows(&newest(&narrowed)) });
        }
        _ if !of_host.is_empty() => of_host,
        _ if !of_full.is_empty() => of_full,
        _ => narrowed,
    })
}

/// The newest snapshot of each series, of snapshots that begin with the newest.
pub fn newest<'a>(snapshots: &[&'a Snapshot]) -> Vec<&'a Snapshot> {
    let mut series: BTreeSet<Series> = BTreeSet::new();
    snapshots.iter().copied().filter(|snapshot| series.insert(snapshot.series())).collect()
}

fn rows(snapshots: &[&Snapshot]) -> Vec<SnapshotRow> {
    snapshots.iter().copied().map(SnapshotRow::from).collect()
}

const LATEST: &str = "latest";
