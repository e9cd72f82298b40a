//! Met: which repositories this machine has found at a place. A disk that is not mounted leaves an empty directory there:
//! no other repository is made or used in its stead unless somebody says so.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use copal_engine::id::{ObjectHash, RepositoryId};

use crate::location::Location;
use crate::places::note_proof;

/// The repositories met at a place.
pub fn met_at(state: &Path, location: &Location) -> Vec<RepositoryId> {
    let mark = mark_of(location);
    let entries = fs::read_dir(state).into_iter().flatten().flatten();
    let marked = entries.filter(|entry| entry.path().join(&mark).exists());
    marked.filter_map(|entry| RepositoryId::from_hex(entry.file_name().to_str()?).ok()).collect()
}

/// Remembers a repository met at a place, in the directory of what this machine keeps for it. A machine that cannot keep it
/// goes on: what it does is no less right for that.
pub fn remember(state_of_repository: &Path, location: &Location) {
    note_proof(&state_of_repository.join(mark_of(location)));
}

/// Named by a hash: a place may have any bytes. A directory is the same place whether its disk is mounted or not, so links
/// on the way are not followed.
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
