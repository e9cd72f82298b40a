//! A store in memory whose clock is set by hand: for tests, for simulation, and as a model of the other stores.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{Created, Key, ListPage, Listed, Op, Stat, Store, StoreError, StoreTime};

/// Objects in an ordered map. The clock advances by one nanosecond per creation, so that ages are ordered, and
/// otherwise stands still.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<State>,
    largest: Option<u64>,
}

#[derive(Debug, Default)]
struct State {
    objects: BTreeMap<Key, Object>,
    now: i64,
}

#[derive(Debug)]
struct Object {
    bytes: Bytes,
    created: StoreTime,
}

impl MemoryStore {
    /// An empty store; the clock is at the epoch.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    /// An empty store that refuses larger objects.
    pub fn bounded(largest: u64) -> MemoryStore {
        MemoryStore { largest: Some(largest), ..MemoryStore::default() }
    }

    /// Sets the clock, which may go back.
    pub fn set_now(&self, now: StoreTime) {
        self.state().now = now.0;
    }

    /// Advances the clock.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state();
        state.now = state.now.saturating_add(i64::try_from(by.as_nanos()).unwrap_or(i64::MAX));
    }

    /// Changes the bytes of an object, as a failing disk would.
    pub fn corrupt(&self, key: &Key, damage: impl FnOnce(&mut Vec<u8>)) -> Result<(), StoreError> {
        let mut bytes = self.bytes(key)?.to_vec();
        damage(&mut bytes);
        let mut state = self.state();
        let object = state.objects.get_mut(key).ok_or_else(|| StoreError::NotFound { key: key.clone() })?;
        object.bytes = bytes.into();
        Ok(())
    }

    fn bytes(&self, key: &Key) -> Result<Bytes, StoreError> {
        let state = self.state();
        let object = state.objects.get(key).ok_or_else(|| StoreError::NotFound { key: key.clone() })?;
        Ok(object.bytes.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the map")
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        if self.largest.is_some_and(|largest| bytes.len() as u64 > largest) {
            return Err(StoreError::Io { op: Op::Create, key: key.to_string(), source: "it is too large".into() });
        }
        let mut state = self.state();
        if state.objects.contains_key(key) {
            return Ok(Created::Exists);
        }
        state.now = state.now.saturating_add(1);
        let created = StoreTime(state.now);
        state.objects.insert(key.clone(), Object { bytes, created });
        Ok(Created::New)
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.bytes(key)
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let bytes = self.bytes(key)?;
        let length = bytes.len() as u64;
        if range.start > range.end || range.end > length {
            return Err(StoreError::OutOfRange { key: key.clone(), range, length });
        }
        Ok(bytes.slice(range.start as usize..range.end as usize))
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        Ok(self.state().objects.get(key).map(Object::stat))
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        let start = match after {
            Some(after) if after.as_str() >= prefix => Bound::Excluded(after.as_str()),
            _ => Bound::Included(prefix),
        };
        let state = self.state();
        let mut following = state
            .objects
            .range::<str, _>((start, Bound::Unbounded))
            .take_while(|(key, _)| key.as_str().starts_with(prefix));
        let objects = following
            .by_ref()
            .take(limit.max(1))
            .map(|(key, object)| Listed { key: key.clone(), stat: object.stat() })
            .collect();
        Ok(ListPage { objects, more: following.next().is_some() })
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.state().objects.remove(key);
        Ok(())
    }

    fn largest(&self) -> Option<u64> {
        self.largest
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        Ok(StoreTime(self.state().now))
    }
}

impl Object {
    fn stat(&self) -> Stat {
        Stat { length: self.bytes.len() as u64, created: self.created, sha256: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;

    #[test]
    fn later_objects_are_younger_though_the_clock_stands_still() -> Result<(), StoreError> {
        let (store, first, second) = (MemoryStore::new(), key("a"), key("b"));
        store.set_now(StoreTime(1_000));
        block_on(store.create(&first, Bytes::new()))?;
        block_on(store.create(&second, Bytes::new()))?;
        let created = |key| block_on(store.stat(key)).map(|stat| stat.map(|stat| stat.created));
        assert_eq!(created(&first)?, Some(StoreTime(1_001)));
        assert_eq!(created(&second)?, Some(StoreTime(1_002)));
        Ok(())
    }

    #[test]
    fn corruption_shows_and_keeps_the_age() -> Result<(), StoreError> {
        let (store, key) = (MemoryStore::new(), key("a"));
        block_on(store.create(&key, Bytes::from_static(b"good")))?;
        let before = block_on(store.stat(&key))?;
        store.corrupt(&key, |bytes| bytes[0] ^= 1)?;
        assert_eq!(block_on(store.read(&key))?, Bytes::from_static(b"food"));
        assert_eq!(block_on(store.stat(&key))?, before);
        Ok(())
    }

    #[test]
    fn what_is_not_there_cannot_be_corrupted() {
        let result = MemoryStore::new().corrupt(&key("a"), |_| ());
        assert!(matches!(result, Err(StoreError::NotFound { .. })));
    }

    fn key(name: &str) -> Key {
        Key::new(name).expect("a key")
    }
}
