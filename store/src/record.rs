//! A wrapper that records every call, for tests about the order of calls.

use std::ops::Range;
use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{Created, Key, ListPage, Op, Stat, Store, StoreError, StoreTime};

/// Records calls in the order in which they end. A call whose future is dropped is not recorded.
#[derive(Debug)]
pub struct Record<S> {
    inner: S,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    events: Vec<Event>,
    tick: u64,
}

/// A recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The method.
    pub op: Op,
    /// The object's key, the prefix of a listing, or empty for the clock.
    pub key: String,
    /// Bytes created or read; the object's length; or the number of objects listed.
    pub length: u64,
    /// The result.
    pub outcome: Outcome,
    /// The ticks at which it began and ended; calls whose spans overlap ran at the same time.
    pub span: Range<u64>,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Success.
    Done,
    /// The object was created.
    New,
    /// The object existed already.
    Exists,
    /// The object does not exist.
    Missing,
    /// Another error, as text.
    Failed(String),
}

impl Event {
    /// Whether this call ended before the other one began.
    pub fn precedes(&self, other: &Event) -> bool {
        self.span.end <= other.span.start
    }
}

impl<S: Store> Record<S> {
    /// Wraps a store.
    pub fn new(inner: S) -> Record<S> {
        Record { inner, log: Mutex::default() }
    }

    /// The inner store; its calls are not recorded.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    /// All events so far.
    pub fn events(&self) -> Vec<Event> {
        self.log.lock().expect(LOG_HELD).events.clone()
    }

    /// Takes the events so far out of the record.
    pub fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.log.lock().expect(LOG_HELD).events)
    }

    async fn recorded<T>(
        &self,
        op: Op,
        key: &str,
        call: impl Future<Output = Result<T, StoreError>>,
        told: impl FnOnce(&T) -> (u64, Outcome),
    ) -> Result<T, StoreError> {
        let start = self.tick();
        let result = call.await;
        let (length, outcome) = match &result {
            Ok(answer) => told(answer),
            Err(StoreError::NotFound { .. }) => (0, Outcome::Missing),
            Err(error) => (0, Outcome::Failed(error.to_string())),
        };
        let mut log = self.log.lock().expect(LOG_HELD);
        let span = start..log.tick;
        log.tick += 1;
        log.events.push(Event { op, key: key.to_owned(), length, outcome, span });
        result
    }

    fn tick(&self) -> u64 {
        let mut log = self.log.lock().expect(LOG_HELD);
        log.tick += 1;
        log.tick - 1
    }
}

fn bytes_read(bytes: &Bytes) -> (u64, Outcome) {
    (bytes.len() as u64, Outcome::Done)
}

#[async_trait]
impl<S: Store> Store for Record<S> {
    crate::pass_on!(inner: is_remote, largest);

    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        let length = bytes.len() as u64;
        let told = |created: &Created| match created {
            Created::New => (length, Outcome::New),
            Created::Exists => (length, Outcome::Exists),
        };
        self.recorded(Op::Create, key.as_str(), self.inner.create(key, bytes), told).await
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.recorded(Op::Read, key.as_str(), self.inner.read(key), bytes_read).await
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.recorded(Op::ReadRange, key.as_str(), self.inner.read_range(key, range), bytes_read).await
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        let told = |stat: &Option<Stat>| stat.map_or((0, Outcome::Missing), |stat| (stat.length, Outcome::Done));
        self.recorded(Op::Stat, key.as_str(), self.inner.stat(key), told).await
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        let told = |page: &ListPage| (page.objects.len() as u64, Outcome::Done);
        self.recorded(Op::List, prefix, self.inner.list(prefix, after, limit), told).await
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.recorded(Op::Delete, key.as_str(), self.inner.delete(key), |()| (0, Outcome::Done)).await
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        self.recorded(Op::Now, "", self.inner.now(), |_| (0, Outcome::Done)).await
    }

    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.recorded(Op::Map, key.as_str(), self.inner.map(key), bytes_read).await
    }
}

const LOG_HELD: &str = "nothing panics while it holds the log";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;
    use futures::executor::block_on;

    #[test]
    fn every_call_is_recorded_with_its_outcome() -> Result<(), StoreError> {
        let (store, key) = (Record::new(MemoryStore::new()), key("a"));
        block_on(store.create(&key, Bytes::from_static(b"four")))?;
        block_on(store.create(&key, Bytes::from_static(b"other")))?;
        block_on(store.read(&key))?;
        assert!(block_on(store.read_range(&key, 0..9)).is_err());
        block_on(store.list("", None, 9))?;
        block_on(store.delete(&key))?;
        assert!(block_on(store.map(&key)).is_err());
        assert!(block_on(store.stat(&key))?.is_none());
        block_on(store.now())?;
        let told: Vec<_> = store.take().into_iter().map(|event| (event.op, event.length, event.outcome)).collect();
        assert_eq!(
            told,
            [
                (Op::Create, 4, Outcome::New),
                (Op::Create, 5, Outcome::Exists),
                (Op::Read, 4, Outcome::Done),
                (Op::ReadRange, 0, Outcome::Failed("bytes 0..9 asked of object a, which has 4".to_owned())),
                (Op::List, 1, Outcome::Done),
                (Op::Delete, 0, Outcome::Done),
                (Op::Map, 0, Outcome::Missing),
                (Op::Stat, 0, Outcome::Missing),
                (Op::Now, 0, Outcome::Done),
            ]
        );
        assert_eq!(store.events(), []);
        Ok(())
    }

    #[test]
    fn one_call_after_another_precedes_it() -> Result<(), StoreError> {
        let store = Record::new(MemoryStore::new());
        block_on(store.create(&key("a"), Bytes::new()))?;
        block_on(store.create(&key("b"), Bytes::new()))?;
        let events = store.events();
        assert!(events[0].precedes(&events[1]));
        assert!(!events[1].precedes(&events[0]));
        Ok(())
    }

    #[test]
    fn calls_that_overlap_precede_neither() -> Result<(), StoreError> {
        let (store, key) = (Record::new(MemoryStore::new()), key("a"));
        let around = store.recorded(Op::Now, "", store.stat(&key), |_| (0, Outcome::Done));
        block_on(around)?;
        let events = store.events();
        assert!(!events[0].precedes(&events[1]));
        assert!(!events[1].precedes(&events[0]));
        Ok(())
    }

    fn key(name: &str) -> Key {
        Key::new(name).expect("a key")
    }
}
