//! Known: the snapshots that this machine last saw in a repository, as a file in its cache. With it, a shell can offer
//! them without a key and without a network.

use std::path::Path;

use copal_client::history::{History, Snapshot};
use copal_client::places::{Places, read_private, write_private};
use copal_client::repository::{LocalClient, Repository};
use copal_format::shown;
use serde::{Deserialize, Serialize};

/// A snapshot. The fields that are sealed in the repository (host, paths, tags) are kept for this machine's own
/// snapshots only, so that the file reveals nothing about others.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub(super) struct Known {
    pub(super) id: String,
    /// Nanoseconds of the Unix clock.
    pub(super) time: i64,
    pub(super) host: String,
    pub(super) paths: Vec<String>,
    pub(super) tags: Vec<String>,
}

/// Keeps what a command has read. A failure does not matter to the command.
pub(super) fn keep(places: &Places, repository: &Repository, history: &History) {
    let Ok(directory) = places.cache_of(repository.id()) else { return };
    let own = LocalClient::id_in(repository.state_dir());
    let known = |snapshot: &Snapshot| {
        let bare = Known { id: snapshot.id.to_string(), time: snapshot.time.0, ..Known::default() };
        if own != Some(snapshot.signer.id) {
            return bare;
        }
        let paths = snapshot.info.paths.iter().map(|path| format!("/{}", shown::path(path))).collect();
        Known { host: snapshot.info.host.clone(), paths, tags: snapshot.tags.clone(), ..bare }
    };
    let mut kept: Vec<Known> = history.kept().map(known).collect();
    let newest = kept.split_off(kept.len().saturating_sub(MOST));
    let path = directory.join(FILE);
    if read(&path) != newest
        && let Ok(text) = serde_json::to_string(&newest)
    {
        let _ = write_private(&path, text.as_bytes());
    }
}

/// Reads the file of a cache directory; nothing if it is not there or unreadable. The oldest first.
pub(super) fn of_cache(directory: &Path) -> Vec<Known> {
    read(&directory.join(FILE))
}

fn read(path: &Path) -> Vec<Known> {
    read_private(path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

const FILE: &str = "snapshots.json";
const MOST: usize = 1_000;
