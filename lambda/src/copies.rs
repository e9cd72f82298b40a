//! Copies: what a run reads of the index and the state, in files of the function's temporary directory. They are mapped,
//! so that the index of a domain is no part of the memory that a function is billed and ended for.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use copal_store::Store;
use copal_store::cache::Cache;

/// A store through which what is named by its hash is read once in a run, and its directory, which goes with it.
///
/// Each run begins without copies: a check reads from the bucket what it vouches for.
pub struct Copies<'a> {
    cache: Cache<&'a dyn Store>,
    directory: PathBuf,
}

impl<'a> Copies<'a> {
    /// Begins a run below a directory: removes what runs that were killed have left there. None, and a line in the log, if
    /// no files can be made there: then the index is held in memory.
    pub fn begin(store: &'a dyn Store, temporary: &Path) -> Option<Self> {
        remove_left_over(temporary);
        let directory = temporary.join(format!("{NAME}{}", std::process::id()));
        match Cache::open(store, &directory, &["index/", "state/"]) {
            Ok(cache) => {
                let room =
                    rustix::fs::statvfs(&directory).map_or(0, |room| room.f_bavail.saturating_mul(room.f_frsize));
                Some(Self { cache: cache.within(room.saturating_sub(SPARE)), directory })
            }
            Err(error) => {
                tracing::warn!(%error, directory = %directory.display(), "no copies of the index: it is held in memory");
                None
            }
        }
    }
}

impl<'a> Deref for Copies<'a> {
    type Target = Cache<&'a dyn Store>;

    fn deref(&self) -> &Self::Target {
        &self.cache
    }
}

impl Drop for Copies<'_> {
    /// What is still mapped stays readable. What stays behind, the next run removes.
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Removes the directories of processes that are no more, and of this one.
fn remove_left_over(temporary: &Path) {
    let found = std::fs::read_dir(temporary).into_iter().flatten().flatten();
    for entry in found {
        let name = entry.file_name();
        let Some(process) = name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse::<u32>().ok()) else {
            continue;
        };
        if process == std::process::id() || !Path::new(&format!("/proc/{process}")).exists() {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// What the directories are called, before the number of the process.
const NAME: &str = "copal-copies-";
/// Bytes of the directory that stay free.
const SPARE: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use copal_store::{Key, memory::MemoryStore};
    use futures::executor::block_on;
    use sha2::{Digest, Sha256};

    fn put(store: &MemoryStore, bytes: &'static [u8]) -> Key {
        let sum: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let key = Key::new(format!("index/{sum}")).unwrap();
        block_on(store.create(&key, Bytes::from_static(bytes))).unwrap();
        key
    }

    #[test]
    fn nothing_is_left_of_a_run_nor_of_one_that_was_killed() {
        let place = tempfile::tempdir().unwrap();
        let store = MemoryStore::new();
        let key = put(&store, b"segment");
        // No process has the greatest number.
        let killed = place.path().join(format!("{NAME}{}", u32::MAX));
        std::fs::create_dir_all(killed.join("index")).unwrap();
        let other = place.path().join("other");
        std::fs::create_dir(&other).unwrap();
        {
            let copies = Copies::begin(&store, place.path()).unwrap();
            assert!(!killed.exists());
            assert_eq!(block_on(copies.map(&key)).unwrap(), b"segment".as_slice());
            assert!(copies.directory.join(key.as_str()).exists(), "it is mapped from there");
        }
        let left: Vec<_> = std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [other]);
    }

    #[test]
    fn a_run_does_not_believe_what_an_earlier_one_has_read() {
        let place = tempfile::tempdir().unwrap();
        let store = MemoryStore::new();
        let key = put(&store, b"segment");
        let read = || {
            let copies = Copies::begin(&store, place.path()).unwrap();
            block_on(copies.map(&key)).unwrap()
        };
        assert_eq!(read(), b"segment".as_slice());
        store.corrupt(&key, |bytes| bytes[0] ^= 1).unwrap();
        assert_ne!(read(), b"segment".as_slice());
    }

    #[test]
    fn without_a_place_for_files_there_are_no_copies() {
        assert!(Copies::begin(&MemoryStore::new(), Path::new("/proc/no/such/place")).is_none());
    }
}
