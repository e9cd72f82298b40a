//! Met: records which repositories this machine has seen at a location. A disk that is not mounted leaves an empty
//! directory: no other repository is created or used there unless the user says so.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use copal_format::id::{ObjectHash, RepositoryId};

use crate::location::Location;
use crate::places::note_proof;

/// The repositories that this machine has seen at a location.
pub fn met_at(state: &Path, location: &Location) -> Vec<RepositoryId> {
    let mark = mark_of(location);
    let entries = fs::read_dir(state).into_iter().flatten().flatten();
    let marked = entries.filter(|entry| entry.path().join(&mark).exists());
    marked.filter_map(|entry| RepositoryId::from_hex(entry.file_name().to_str()?).ok()).collect()
}

/// Records that a repository was seen at a location, in its state directory. Ignores failures: the command is correct
/// without the record.
pub fn remember(state_of_repository: &Path, location: &Location) {
    note_proof(&state_of_repository.join(mark_of(location)));
}

/// The name is a hash, because a location may have any bytes. Links are not followed, so that a directory has the same
/// name whether its disk is mounted or not.
fn mark_of(location: &Location) -> String {
    let place = match location {
        Location::Directory(path) => std::path::absolute(path).unwrap_or_else(|_| path.clone()).into_os_string(),
        elsewhere => elsewhere.to_string().into(),
    };
    format!("met-at-{}", ObjectHash::of(place.as_bytes()))
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
