//! A wrapper with local copies of objects that are named by the SHA-256 of their bytes and so never change.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::try_join_all;
use sha2::{Digest, Sha256};

use crate::fs::FsStore;
use crate::run_directory::RunDirectory;
use crate::{Created, Key, Listed, Store, StoreError, list_all};

/// Keeps copies of what is read below some prefixes in a directory, and maps them.
///
/// A copy is used only if the store still lists the object, or it was created through this cache, and if its bytes
/// match its name. A search for damage must not use a cache.
#[derive(Debug)]
pub struct Cache<S> {
    inner: S,
    local: FsStore,
    prefixes: &'static [&'static str],
    bytes_max: u64,
    known: Mutex<Known>,
    /// The directory of the copies, if it is deleted with the cache.
    _directory: Option<RunDirectory>,
}

#[derive(Debug, Default)]
struct Known {
    /// Prefixes that have been listed.
    listed: BTreeSet<&'static str>,
    /// Objects that the store has.
    present: BTreeSet<Key>,
    /// Copies whose bytes were compared with their name.
    sound: BTreeSet<Key>,
    /// Copies made by this process with their lengths, oldest first.
    made: VecDeque<(Key, u64)>,
}

impl<S: Store> Cache<S> {
    /// Keeps copies in a directory, created if missing. Below each prefix, names must end in the SHA-256 of the object
    /// in hexadecimal.
    pub fn open(inner: S, directory: &Path, prefixes: &'static [&'static str]) -> Result<Cache<S>, StoreError> {
        let (local, known) = (FsStore::create(directory)?, Mutex::default());
        Ok(Cache { inner, local, prefixes, bytes_max: u64::MAX, known, _directory: None })
    }

    /// Limits the bytes of copies that this process makes; the oldest are deleted first. A copy that is mapped stays
    /// readable and takes its space until it is unmapped.
    pub fn within(self, bytes_max: u64) -> Cache<S> {
        Cache { bytes_max, ..self }
    }

    /// Deletes the directory of the copies when the cache is dropped.
    pub(crate) fn lasting_as_long_as(self, directory: RunDirectory) -> Cache<S> {
        Cache { _directory: Some(directory), ..self }
    }

    /// The inner store.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// Deletes copies until at most this many bytes are left: first copies of objects that the store no longer has,
    /// then the oldest.
    pub async fn shrink(&self, bytes_max: u64) -> Result<(), StoreError> {
        let mut copies = list_all(&self.local, "").await?;
        if copies.is_empty() {
            return Ok(());
        }
        try_join_all(self.prefixes.iter().map(|prefix| self.list_once(prefix))).await?;
        let mut bytes: u64 = copies.iter().map(|copy| copy.stat.length).sum();
        let is_present = |copy: &Listed| self.known.lock().expect(KNOWN_HELD).present.contains(&copy.key);
        copies.sort_by_key(|copy| (is_present(copy), copy.stat.created));
        for copy in copies {
            if is_present(&copy) && bytes <= bytes_max {
                break;
            }
            self.local.delete(&copy.key).await?;
            bytes -= copy.stat.length;
        }
        Ok(())
    }

    fn prefix(&self, key: &Key) -> Option<&'static str> {
        self.prefixes.iter().copied().find(|prefix| key.as_str().starts_with(prefix))
    }

    /// The copy of an object that the store has.
    async fn copy(&self, key: &Key) -> Result<Option<Bytes>, StoreError> {
        let Some(prefix) = self.prefix(key) else { return Ok(None) };
        // Without a copy the listing is not needed.
        let Ok(bytes) = self.local.map(key).await else { return Ok(None) };
        self.list_once(prefix).await?;
        let (is_present, is_sound) = {
            let known = self.known.lock().expect(KNOWN_HELD);
            (known.present.contains(key), known.sound.contains(key))
        };
        // If the object was created after the listing, it is read from the store.
        if !is_present {
            return Ok(None);
        }
        if is_sound || is_named(key, &bytes) {
            self.known.lock().expect(KNOWN_HELD).sound.insert(key.clone());
            return Ok(Some(bytes));
        }
        drop(bytes);
        // A copy that cannot be deleted is just not used.
        let _ = self.local.delete(key).await;
        Ok(None)
    }

    /// Makes a copy of an object that the store has; returns it mapped if that works.
    async fn keep(&self, key: &Key, bytes: Bytes) -> Bytes {
        if self.prefix(key).is_none() || bytes.len() as u64 > self.bytes_max || !is_named(key, &bytes) {
            return bytes;
        }
        let length = bytes.len() as u64;
        self.make_room(length).await;
        let kept = self.local.create(key, bytes.clone()).await;
        let mapped = match kept {
            Ok(Created::New) => self.local.map(key).await.unwrap_or_else(|_| bytes.clone()),
            // A copy by another process is verified when it is used. A full disk means no copy.
            Ok(Created::Exists) | Err(_) => bytes,
        };
        let mut known = self.known.lock().expect(KNOWN_HELD);
        known.present.insert(key.clone());
        if matches!(kept, Ok(Created::New)) {
            known.sound.insert(key.clone());
            known.made.push_back((key.clone(), length));
        }
        mapped
    }

    /// Deletes the oldest copies until there is space for one more.
    async fn make_room(&self, length: u64) {
        loop {
            let oldest = {
                let mut known = self.known.lock().expect(KNOWN_HELD);
                let held: u64 = known.made.iter().map(|(_, length)| length).sum();
                if held.saturating_add(length) <= self.bytes_max {
                    return;
                }
                known.made.pop_front()
            };
            let Some((oldest, _)) = oldest else { return };
            self.known.lock().expect(KNOWN_HELD).sound.remove(&oldest);
            // A copy that cannot be deleted is just not used.
            let _ = self.local.delete(&oldest).await;
        }
    }

    async fn list_once(&self, prefix: &'static str) -> Result<(), StoreError> {
        if self.known.lock().expect(KNOWN_HELD).listed.contains(prefix) {
            return Ok(());
        }
        let listed = list_all(&self.inner, prefix).await?;
        let mut known = self.known.lock().expect(KNOWN_HELD);
        known.present.extend(listed.into_iter().map(|object| object.key));
        known.listed.insert(prefix);
        Ok(())
    }

    async fn forget(&self, key: &Key) {
        if self.prefix(key).is_some() {
            {
                let mut known = self.known.lock().expect(KNOWN_HELD);
                known.present.remove(key);
                known.made.retain(|(made, _)| made != key);
            }
            let _ = self.local.delete(key).await;
        }
    }
}

#[async_trait]
impl<S: Store> Store for Cache<S> {
    crate::pass_on!(inner: stat, list, now, is_remote, largest);

    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        let created = self.inner.create(key, bytes.clone()).await?;
        // An existing object may have other bytes: it is read when needed.
        if created == Created::New {
            self.keep(key, bytes).await;
        }
        Ok(created)
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.map(key).await
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let Some(bytes) = self.copy(key).await? else { return self.inner.read_range(key, range).await };
        let length = bytes.len() as u64;
        if range.start > range.end || range.end > length {
            return Err(StoreError::OutOfRange { key: key.clone(), range, length });
        }
        Ok(bytes.slice(range.start as usize..range.end as usize))
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.forget(key).await;
        self.inner.delete(key).await
    }

    async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
        for key in keys {
            self.forget(key).await;
        }
        self.inner.delete_all(keys).await
    }

    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        if let Some(bytes) = self.copy(key).await? {
            return Ok(bytes);
        }
        let bytes = self.inner.map(key).await?;
        Ok(self.keep(key, bytes).await)
    }
}

/// Whether the name ends in the SHA-256 of the bytes.
fn is_named(key: &Key, bytes: &[u8]) -> bool {
    let name = key.as_str().rsplit('/').next().unwrap_or_default();
    let sum: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    name == sum
}

const KNOWN_HELD: &str = "nothing panics while it holds what is known";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use crate::memory::MemoryStore;
    use crate::record::Record;
    use futures::executor::block_on;
    use tempfile::TempDir;

    type Cached = Cache<Record<MemoryStore>>;

    fn cache() -> (Cached, TempDir) {
        let place = tempfile::tempdir().expect("a temporary directory");
        (at(Record::new(MemoryStore::new()), &place), place)
    }

    fn at(inner: Record<MemoryStore>, place: &TempDir) -> Cached {
        Cache::open(inner, place.path(), &["index/", "state/"]).expect("a directory")
    }

    fn named(bytes: &[u8]) -> Key {
        let sum: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        Key::new(format!("index/{sum}")).expect("a key")
    }

    /// Keys of the reads that reached the inner store.
    fn reads(cache: &Cached) -> Vec<String> {
        let events = cache.inner().take();
        let reads = events.into_iter().filter(|event| matches!(event.op, Op::Read | Op::ReadRange | Op::Map));
        reads.map(|event| event.key).collect()
    }

    #[test]
    fn an_object_is_read_from_the_store_once() {
        let (cache, _place) = cache();
        let key = named(b"segment");
        block_on(cache.inner().create(&key, Bytes::from_static(b"segment"))).expect("created elsewhere");
        for _ in 0..3 {
            assert_eq!(block_on(cache.map(&key)).expect("map"), b"segment".as_slice());
        }
        assert_eq!(block_on(cache.read_range(&key, 1..3)).expect("range"), b"eg".as_slice());
        assert_eq!(reads(&cache), [key.to_string()]);
    }

    #[test]
    fn what_was_created_here_is_not_read_back() {
        let (cache, _place) = cache();
        let key = named(b"run");
        block_on(cache.create(&key, Bytes::from_static(b"run"))).expect("created");
        assert_eq!(block_on(cache.read(&key)).expect("read"), b"run".as_slice());
        assert_eq!(reads(&cache), [""; 0]);
    }

    #[test]
    fn copies_outlive_the_process_and_are_checked_before_they_are_used() {
        let (cache, place) = cache();
        let key = named(b"segment");
        block_on(cache.create(&key, Bytes::from_static(b"segment"))).expect("created");
        let Cache { inner, local, .. } = cache;
        let cache = at(inner, &place);
        assert_eq!(block_on(cache.map(&key)).expect("map"), b"segment".as_slice());
        assert_eq!(reads(&cache), [""; 0]);
        let inner = cache.inner;
        block_on(local.delete(&key)).expect("deleted");
        block_on(local.create(&key, Bytes::from_static(b"sEgment"))).expect("a copy with a flipped bit");
        let cache = at(inner, &place);
        assert_eq!(block_on(cache.map(&key)).expect("map"), b"segment".as_slice());
        assert_eq!(reads(&cache), [key.to_string()]);
    }

    #[test]
    fn a_copy_does_not_stand_in_for_an_object_that_is_gone() {
        let (cache, place) = cache();
        let key = named(b"segment");
        block_on(cache.create(&key, Bytes::from_static(b"segment"))).expect("created");
        let inner = cache.inner;
        block_on(inner.delete(&key)).expect("deleted by somebody else");
        let cache = at(inner, &place);
        assert!(matches!(block_on(cache.map(&key)), Err(StoreError::NotFound { .. })));
    }

    #[test]
    fn damaged_bytes_are_given_as_they_are_and_not_kept() {
        let (cache, _place) = cache();
        let key = named(b"segment");
        block_on(cache.inner().create(&key, Bytes::from_static(b"damaged"))).expect("created");
        for _ in 0..2 {
            assert_eq!(block_on(cache.map(&key)).expect("map"), b"damaged".as_slice());
        }
        assert_eq!(reads(&cache).len(), 2);
    }

    #[test]
    fn nothing_else_is_kept() {
        let (cache, _place) = cache();
        let key = Key::new("roots/1").expect("a key");
        block_on(cache.create(&key, Bytes::from_static(b"root"))).expect("created");
        block_on(cache.read(&key)).expect("read");
        assert_eq!(reads(&cache), ["roots/1"]);
    }

    #[test]
    fn copies_of_what_the_store_has_no_more_go_first() {
        let (cache, place) = cache();
        let keys = [b"first".as_slice(), b"other", b"third"].map(|bytes| {
            block_on(cache.create(&named(bytes), Bytes::copy_from_slice(bytes))).expect("created");
            named(bytes)
        });
        let inner = cache.inner;
        block_on(inner.delete(&keys[1])).expect("deleted by somebody else");
        let cache = at(inner, &place);
        block_on(cache.shrink(10)).expect("shrunk");
        let left = |cache: &Cached| block_on(list_all(&cache.local, "")).expect("list").len();
        assert_eq!(left(&cache), 2);
        assert!(block_on(cache.local.stat(&keys[1])).expect("stat").is_none());
        block_on(cache.shrink(5)).expect("shrunk");
        assert_eq!(left(&cache), 1);
    }
}
