//! Met: records which repositories this machine has seen at a location. A disk that is not mounted leaves an empty
//! directory: no other repository is created or used there unless the user says so.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use copal_format::id::{ObjectHash, RepositoryId, SnapshotId};
use copal_format::time::Time;

use crate::location::Location;
use crate::places::{create_private_dir, note_proof, read_private, write_private};
use crate::system::{bytes_of, os_string};

/// The repositories that this machine has seen at a location.
pub fn met_at(state: &Path, location: &Location) -> Vec<RepositoryId> {
    let mark = mark("met-at-", location);
    let entries = fs::read_dir(state).into_iter().flatten().flatten();
    let marked = entries.filter(|entry| entry.path().join(&mark).exists());
    marked.filter_map(|entry| RepositoryId::from_hex(entry.file_name().to_str()?).ok()).collect()
}

/// Records that a repository was seen at a location, in its state directory. Ignores failures: the command is correct
/// without the record.
pub fn remember(state_of_repository: &Path, location: &Location) {
    note_proof(&state_of_repository.join(mark("met-at-", location)));
}

/// Records that this machine brings a replica of a repository up to date at a location. `status` tells how far it is
/// behind, and what this machine has met there is remembered apart. Ignores failures, as [`remember`] does.
pub fn remember_replica(state_of_repository: &Path, replica: &Location) {
    let path = state_of_repository.join(mark("replica-at-", replica));
    if !path.exists() {
        let text = replica.absolute();
        let _ = create_private_dir(state_of_repository).and_then(|()| write_private(&path, &bytes_of(&text)));
    }
}

/// Forgets a replica, which has become a repository of its own.
pub fn forget_replica(state_of_repository: &Path, replica: &Location) {
    let _ = fs::remove_file(state_of_repository.join(mark("replica-at-", replica)));
    let _ = fs::remove_dir_all(state_of_repository.join(mark("replica-met-", replica)));
}

/// The replicas of a repository that this machine brings up to date.
pub fn replicas(state_of_repository: &Path) -> Vec<Location> {
    noted(state_of_repository, "replica-at-").filter_map(|text| Location::parse(Some(&os_string(text))).ok()).collect()
}

/// What this machine knows of a repository with other keys that it has copied snapshots to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The other repository.
    pub to: Location,
    /// When the last copy ended, by this machine's clock.
    pub time: Time,
    /// Whether all snapshots were to be copied. If not, only those of series that have a copy count as missing.
    pub is_whole: bool,
    /// The kept snapshots that had a copy then.
    pub there: BTreeSet<SnapshotId>,
}

impl Copied {
    /// Records it in the state directory of the repository that the snapshots are in. Ignores failures, as [`remember`] does.
    pub fn remember(&self, state_of_repository: &Path) {
        let path = state_of_repository.join(mark("copy-at-", &self.to));
        let mut bytes = bytes_of(&self.to.absolute()).to_vec();
        let scope = if self.is_whole { WHOLE } else { "some" };
        bytes.extend(format!("\0{} {scope}\n", self.time.0).into_bytes());
        self.there.iter().for_each(|id| bytes.extend(format!("{id}\n").into_bytes()));
        let _ = create_private_dir(state_of_repository).and_then(|()| write_private(&path, &bytes));
    }

    /// All that this machine has recorded of a repository.
    pub fn all(state_of_repository: &Path) -> Vec<Self> {
        noted(state_of_repository, "copy-at-").filter_map(Self::parse).collect()
    }

    fn parse(mut bytes: Vec<u8>) -> Option<Self> {
        let rest = bytes.split_off(bytes.iter().position(|byte| *byte == 0)?);
        let to = Location::parse(Some(&os_string(bytes))).ok()?;
        let mut lines = std::str::from_utf8(&rest[1..]).ok()?.lines();
        let (time, scope) = lines.next()?.split_once(' ')?;
        let there = lines.map(SnapshotId::from_hex).collect::<Result<_, _>>().ok()?;
        Some(Self { to, time: Time(time.parse().ok()?), is_whole: scope == WHOLE, there })
    }
}

/// The contents of the marks of a kind, sorted.
fn noted(state_of_repository: &Path, kind: &str) -> impl Iterator<Item = Vec<u8>> {
    let entries = fs::read_dir(state_of_repository).into_iter().flatten().flatten();
    let noted = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(kind));
    let mut contents: Vec<Vec<u8>> = noted.filter_map(|entry| read_private(&entry.path()).ok()).collect();
    contents.sort();
    contents.into_iter()
}

/// Where this machine remembers the newest state that it has met of a repository at a location. A replica has a memory
/// of its own, because it may be behind its source. This machine's own note says that the location is a replica; the
/// store does not decide that.
pub fn memory_of(state_of_repository: &Path, location: &Location) -> PathBuf {
    match state_of_repository.join(mark("replica-at-", location)).exists() {
        true => state_of_repository.join(mark("replica-met-", location)),
        false => state_of_repository.to_owned(),
    }
}

/// The name is a hash, because a location may have any bytes.
fn mark(kind: &str, location: &Location) -> String {
    format!("{kind}{}", ObjectHash::of(&bytes_of(&location.absolute())))
}

const WHOLE: &str = "all";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_has_the_repositories_that_were_met_there() {
        let state = tempfile::tempdir().unwrap();
        let (here, there) = (Location::Directory("here".into()), Location::Https("https://here".into()));
        let [one, two] = [1, 2].map(|byte| RepositoryId([byte; 16]));
        assert_eq!(met_at(&state.path().join("missing"), &here), []);
        for id in [one, two, one] {
            remember(&state.path().join(id.to_string()), &here);
        }
        let met = |location: &Location| {
            let mut met = met_at(state.path(), location);
            met.sort();
            met
        };
        assert_eq!((met(&here), met(&there)), (vec![one, two], vec![]));
        let absolute = Location::Directory(std::env::current_dir().unwrap().join("here"));
        assert_eq!(met(&absolute), [one, two]);
    }

    #[test]
    fn what_was_copied_to_a_place_is_read_back_and_the_last_time_counts() {
        let state = tempfile::tempdir().unwrap();
        let of_repository = state.path().join("not there yet");
        let to = Location::Directory(std::env::current_dir().unwrap().join("a place"));
        let ids = [1, 2].map(|byte| SnapshotId([byte; 16]));
        for (is_whole, there) in [(true, &ids[..1]), (false, &ids)] {
            let copied = Copied { to: to.clone(), time: Time(-5), is_whole, there: there.iter().copied().collect() };
            copied.remember(&of_repository);
            assert_eq!(Copied::all(&of_repository), [copied]);
        }
        fs::write(of_repository.join("copy-at-damaged"), b"/place\0no time").unwrap();
        assert_eq!(Copied::all(&of_repository).len(), 1);
    }
}
