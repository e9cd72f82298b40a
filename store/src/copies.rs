//! Copies: one run's copies of index and state objects, in a temporary directory that is deleted with them. They are
//! mapped, so that a domain's index takes no memory of the process, and no run has to trust the copies of another.

use std::io;
use std::path::Path;

use crate::cache::Cache;
use crate::run_directory::{RunDirectory, remove_left_over};
use crate::system::free_bytes;
use crate::{Op, Store, StoreError};

/// Wraps a store: objects below these prefixes, which are named by their hashes, are read once per run. Copies take at
/// most three fifths of the free space in the temporary directory, because a job's output is about half as large as the
/// index that it reads. Also deletes what killed runs have left.
///
/// Fails if no files can be made there; the caller then uses the store directly, with the index in memory.
pub fn begin<S: Store>(store: S, temporary: &Path, prefixes: &'static [&'static str]) -> Result<Cache<S>, StoreError> {
    remove_left_over(temporary);
    let failed = |source: io::Error| {
        let key = temporary.display().to_string();
        StoreError::Io { op: Op::Create, key, source: source.into() }
    };
    let own = RunDirectory::make(temporary).map_err(failed)?;
    let free = free_bytes(own.path()).map_err(failed)?;
    let cache = Cache::open(store, own.path(), prefixes)?;
    Ok(cache.within(free / 5 * 3).lasting_as_long_as(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Key;
    use crate::memory::MemoryStore;
    use bytes::Bytes;
    use futures::executor::block_on;
    use sha2::{Digest, Sha256};
    use tempfile::TempDir;

    fn put(store: &MemoryStore, bytes: &'static [u8]) -> Key {
        let sum: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let key = Key::new(format!("index/{sum}")).expect("a key");
        block_on(store.create(&key, Bytes::from_static(bytes))).expect("it is new");
        key
    }

    fn names(place: &TempDir) -> Vec<String> {
        let entries = std::fs::read_dir(place.path()).expect("it is there");
        entries.map(|entry| entry.expect("it is").file_name().into_string().expect("text")).collect()
    }

    #[test]
    fn nothing_is_left_of_a_run_nor_of_one_that_was_killed() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let store = MemoryStore::new();
        let key = put(&store, b"segment");
        std::fs::create_dir_all(place.path().join("copal-copies-killed/index")).expect("a directory");
        std::fs::create_dir(place.path().join("other")).expect("a directory");
        {
            let copies = begin(&store, place.path(), &["index/"]).expect("there is room");
            assert_eq!(block_on(copies.map(&key)).expect("it is there"), b"segment".as_slice());
            let mut names = names(&place);
            names.retain(|name| name != "other");
            assert!(names.len() == 1 && names[0] != "copal-copies-killed", "{names:?}");
            assert!(place.path().join(&names[0]).join(key.as_str()).exists(), "it is mapped from there");
        }
        assert_eq!(names(&place), ["other"]);
    }

    #[test]
    fn runs_at_the_same_time_leave_each_others_copies_alone() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let store = MemoryStore::new();
        let key = put(&store, b"segment");
        let first = begin(&store, place.path(), &["index/"]).expect("there is room");
        let second = begin(&store, place.path(), &["index/"]).expect("there is room");
        block_on(first.map(&key)).expect("it is there");
        block_on(second.map(&key)).expect("it is there");
        let held = |name: &String| place.path().join(name).join(key.as_str()).exists();
        assert_eq!(names(&place).iter().filter(|name| held(name)).count(), 2);
    }

    #[test]
    fn a_run_does_not_believe_what_an_earlier_one_has_read() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let store = MemoryStore::new();
        let key = put(&store, b"segment");
        let read = || {
            let copies = begin(&store, place.path(), &["index/"]).expect("there is room");
            block_on(copies.map(&key)).expect("it is there")
        };
        assert_eq!(read(), b"segment".as_slice());
        store.corrupt(&key, |bytes| bytes[0] ^= 1).expect("it is there");
        assert_ne!(read(), b"segment".as_slice());
    }

    #[test]
    fn of_more_than_fits_the_oldest_copies_go_and_stay_readable_where_they_are_mapped() {
        let place = tempfile::tempdir().expect("a temporary directory");
        let store = MemoryStore::new();
        let contents = [b"segment1", b"segment2", b"segment3"];
        let keys = contents.map(|bytes| put(&store, bytes));
        let open = || Cache::open(&store, place.path(), &["index/"]).expect("a directory");
        let cache = open().within(20);
        let mapped: Vec<Bytes> = keys.iter().map(|key| block_on(cache.map(key)).expect("it is there")).collect();
        assert_eq!(mapped, contents.map(|bytes| bytes.as_slice()));
        assert_eq!(keys.each_ref().map(|key| place.path().join(key.as_str()).exists()), [false, true, true]);
        // A copy larger than the limit is returned and not kept.
        let cache = open().within(4);
        assert_eq!(block_on(cache.map(&keys[0])).expect("it is there"), contents[0].as_slice());
        assert!(!place.path().join(keys[0].as_str()).exists());
    }

    #[test]
    fn without_a_place_for_files_there_are_no_copies() {
        assert!(begin(MemoryStore::new(), Path::new("/proc/no/such/place"), &["index/"]).is_err());
    }
}
