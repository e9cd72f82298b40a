//! Met: records which repositories this machine has seen at a location. A disk that is not mounted leaves an empty
//! directory: no other repository is created or used there unless the user says so.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use copal_format::id::{ObjectHash, RepositoryId};

use crate::location::Location;
use crate::places::{create_private_dir, note_proof, write_private};
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
    let entries = fs::read_dir(state_of_repository).into_iter().flatten().flatten();
    let noted = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("replica-at-"));
    let mut texts: Vec<OsString> = noted.filter_map(|entry| fs::read(entry.path()).ok()).map(os_string).collect();
    texts.sort();
    texts.iter().filter_map(|text| Location::parse(Some(text)).ok()).collect()
}

/// Where this machine remembers the newest state that it has met of a repository at a location. A replica may be behind
/// what was met of its source. Whether the location is one is this machine's own note: the store does not decide that.
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
}
