//! A wrapper that makes calls fail as a script says, for tests about failures.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;

use crate::{Created, Key, ListPage, Op, Stat, Store, StoreError, StoreTime};

/// Asks a script about every call. Deterministic if the script and the order of calls are.
pub struct Fault<S> {
    inner: S,
    state: Mutex<State>,
}

struct State {
    script: Box<dyn FnMut(&Call<'_>) -> Fate + Send>,
    counts: HashMap<Op, u64>,
    crashed: bool,
}

/// A call that is about to be made.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// The method.
    pub op: Op,
    /// The object's key, the prefix of a listing, or empty for the clock.
    pub key: &'a str,
    /// The number of earlier calls of this method.
    pub count: u64,
}

/// What the script does to a call.
pub enum Fate {
    /// The call is made normally.
    Proceed,
    /// The call fails and has no effect.
    FailBefore(StoreError),
    /// The call takes effect, but its result is lost.
    FailAfter(StoreError),
    /// The process dies before the call: this call and all later ones fail with [`StoreError::Crashed`].
    Crash,
    /// The process dies after the call took effect, before it gets the result.
    CrashAfter,
    /// The bytes read, or the bytes created, are changed on the way.
    Corrupt(Damage),
}

/// A change of the bytes of one call.
pub type Damage = Box<dyn FnOnce(&mut Vec<u8>) + Send>;

impl Fate {
    /// [`Fate::Corrupt`] with a closure.
    pub fn corrupt(damage: impl FnOnce(&mut Vec<u8>) + Send + 'static) -> Fate {
        Fate::Corrupt(Box::new(damage))
    }

    /// The medium fails.
    pub fn broken(call: &Call<'_>) -> Fate {
        Fate::FailBefore(StoreError::Io { op: call.op, key: call.key.into(), source: "broken".into() })
    }

    /// There is no room.
    pub fn full(call: &Call<'_>) -> Fate {
        Fate::FailBefore(StoreError::Full { op: call.op, key: call.key.into(), source: "the disk is full".into() })
    }
}

impl<S: Store> Fault<S> {
    /// Wraps a store.
    pub fn new(inner: S, script: impl FnMut(&Call<'_>) -> Fate + Send + 'static) -> Fault<S> {
        let state = State { script: Box::new(script), counts: HashMap::new(), crashed: false };
        Fault { inner, state: Mutex::new(state) }
    }

    /// Wraps a store: the calls that `is_meant` selects have this fate, all others are made normally.
    pub fn at(
        inner: S,
        mut is_meant: impl FnMut(&Call<'_>) -> bool + Send + 'static,
        mut fate: impl FnMut(&Call<'_>) -> Fate + Send + 'static,
    ) -> Fault<S> {
        Self::new(inner, move |call| if is_meant(call) { fate(call) } else { Fate::Proceed })
    }

    /// The inner store, without faults.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn fate(&self, op: Op, key: &str) -> Fate {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.crashed {
            return Fate::Crash;
        }
        let counter = state.counts.entry(op).or_default();
        let count = *counter;
        *counter += 1;
        let fate = (state.script)(&Call { op, key, count });
        state.crashed = matches!(fate, Fate::Crash | Fate::CrashAfter);
        fate
    }

    /// A call without bytes.
    async fn call<T>(
        &self,
        op: Op,
        key: &str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match self.fate(op, key) {
            Fate::Proceed => call.await,
            Fate::FailBefore(error) => Err(error),
            Fate::FailAfter(error) => call.await.and(Err(error)),
            Fate::Crash => Err(StoreError::Crashed),
            Fate::CrashAfter => call.await.and(Err(StoreError::Crashed)),
            Fate::Corrupt(_) => {
                panic!("the fault script corrupts a call that carries no bytes: {op} {key}")
            }
        }
    }

    /// A call that returns bytes.
    async fn read_call(
        &self,
        op: Op,
        key: &str,
        call: impl Future<Output = Result<Bytes, StoreError>>,
    ) -> Result<Bytes, StoreError> {
        match self.fate(op, key) {
            Fate::Proceed => call.await,
            Fate::FailBefore(error) | Fate::FailAfter(error) => Err(error),
            Fate::Crash | Fate::CrashAfter => Err(StoreError::Crashed),
            Fate::Corrupt(damage) => Ok(damaged(call.await?, damage)),
        }
    }
}

fn damaged(bytes: Bytes, damage: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut bytes = bytes.to_vec();
    damage(&mut bytes);
    bytes.into()
}

#[async_trait]
impl<S: Store> Store for Fault<S> {
    crate::pass_on!(inner: is_remote, largest);

    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        match self.fate(Op::Create, key.as_str()) {
            Fate::Proceed => self.inner.create(key, bytes).await,
            Fate::FailBefore(error) => Err(error),
            Fate::FailAfter(error) => self.inner.create(key, bytes).await.and(Err(error)),
            Fate::Crash => Err(StoreError::Crashed),
            Fate::CrashAfter => self.inner.create(key, bytes).await.and(Err(StoreError::Crashed)),
            Fate::Corrupt(damage) => self.inner.create(key, damaged(bytes, damage)).await,
        }
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.read_call(Op::Read, key.as_str(), self.inner.read(key)).await
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.read_call(Op::ReadRange, key.as_str(), self.inner.read_range(key, range)).await
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        self.call(Op::Stat, key.as_str(), self.inner.stat(key)).await
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        self.call(Op::List, prefix, self.inner.list(prefix, after, limit)).await
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.call(Op::Delete, key.as_str(), self.inner.delete(key)).await
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        self.call(Op::Now, "", self.inner.now()).await
    }

    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.read_call(Op::Map, key.as_str(), self.inner.map(key)).await
    }
}

impl<S: fmt::Debug> fmt::Debug for Fault<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fault").field("inner", &self.inner).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;
    use futures::executor::block_on;

    #[test]
    fn failure_before_leaves_no_trace() -> Result<(), StoreError> {
        let store = Fault::new(MemoryStore::new(), |_| Fate::FailBefore(broken()));
        let result = block_on(store.create(&key("a"), Bytes::new()));
        assert!(matches!(result, Err(StoreError::Io { .. })));
        assert_eq!(block_on(store.inner().stat(&key("a")))?, None);
        Ok(())
    }

    #[test]
    fn failure_after_has_taken_effect() -> Result<(), StoreError> {
        let store = Fault::new(MemoryStore::new(), |_| Fate::FailAfter(broken()));
        let result = block_on(store.create(&key("a"), Bytes::new()));
        assert!(matches!(result, Err(StoreError::Io { .. })));
        assert!(block_on(store.inner().stat(&key("a")))?.is_some());
        Ok(())
    }

    #[test]
    fn nothing_happens_after_a_crash() -> Result<(), StoreError> {
        let store = Fault::at(MemoryStore::new(), |call| call.count == 1, |_| Fate::Crash);
        block_on(store.create(&key("a"), Bytes::new()))?;
        for name in ["b", "c"] {
            let result = block_on(store.create(&key(name), Bytes::new()));
            assert!(matches!(result, Err(StoreError::Crashed)), "{name}");
        }
        assert!(matches!(block_on(store.now()), Err(StoreError::Crashed)));
        assert_eq!(block_on(crate::list_all(store.inner(), ""))?.len(), 1);
        Ok(())
    }

    #[test]
    fn crash_after_a_deletion_finds_it_done() -> Result<(), StoreError> {
        let store = Fault::at(MemoryStore::new(), |call| call.op == Op::Delete, |_| Fate::CrashAfter);
        block_on(store.create(&key("a"), Bytes::new()))?;
        assert!(matches!(block_on(store.delete(&key("a"))), Err(StoreError::Crashed)));
        assert_eq!(block_on(store.inner().stat(&key("a")))?, None);
        Ok(())
    }

    #[test]
    fn corrupt_reads_leave_the_object_whole() -> Result<(), StoreError> {
        let damage = |_: &Call<'_>| Fate::corrupt(|bytes| bytes[0] ^= 1);
        let store = Fault::at(MemoryStore::new(), |call| call.op == Op::Read, damage);
        block_on(store.create(&key("a"), Bytes::from_static(b"good")))?;
        assert_eq!(block_on(store.read(&key("a")))?, Bytes::from_static(b"food"));
        assert_eq!(block_on(store.map(&key("a")))?, Bytes::from_static(b"good"));
        Ok(())
    }

    #[test]
    fn calls_are_counted_by_method() -> Result<(), StoreError> {
        let (send, calls) = std::sync::mpsc::channel();
        let store = Fault::new(MemoryStore::new(), move |call| {
            let _ = send.send((call.op, call.key.to_owned(), call.count));
            Fate::Proceed
        });
        block_on(store.stat(&key("a")))?;
        block_on(store.list("p", None, 1))?;
        block_on(store.stat(&key("b")))?;
        let expected = [(Op::Stat, "a", 0), (Op::List, "p", 0), (Op::Stat, "b", 1)];
        assert_eq!(calls.try_iter().collect::<Vec<_>>(), expected.map(|(op, key, count)| (op, key.to_owned(), count)));
        Ok(())
    }

    fn broken() -> StoreError {
        StoreError::Io { op: Op::Create, key: "a".into(), source: "broken".into() }
    }

    fn key(name: &str) -> Key {
        Key::new(name).expect("a key")
    }
}
