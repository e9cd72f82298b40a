//! Reserve: an object that only takes space, deleted when the store is full. Its space lets `forget` write its change,
//! and prune the lists that it needs before it can delete anything.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;

use crate::{Created, Key, Store, StoreError, StoreTime};

/// A store that deletes its reserve when it is full.
#[derive(Debug)]
pub struct Reserve<S> {
    inner: S,
    was_given_up: AtomicBool,
}

/// Creates the reserve, if it is missing and there is space. Its bytes are random, because a file system that
/// compresses would otherwise reserve nothing.
pub async fn keep(store: &(impl Store + ?Sized), fill: impl FnOnce(&mut [u8]) + Send) -> Result<(), StoreError> {
    let key = key();
    if store.stat(&key).await?.is_some() {
        return Ok(());
    }
    let mut bytes = vec![0; BYTES];
    fill(&mut bytes);
    match store.create(&key, bytes.into()).await {
        Ok(_) | Err(StoreError::Full { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

impl<S: Store> Reserve<S> {
    /// Wraps a store for a job that frees space.
    pub fn new(inner: S) -> Self {
        Self { inner, was_given_up: AtomicBool::new(false) }
    }

    /// Makes a call; if the store is full, deletes the reserve and makes the call once more.
    async fn or_give_up<T, F>(&self, call: impl Fn() -> F + Send + Sync) -> Result<T, StoreError>
    where
        T: Send,
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let full = match call().await {
            Err(full @ StoreError::Full { .. }) => full,
            done => return done,
        };
        let is_kept = self.inner.stat(&key()).await?.is_some();
        if is_kept {
            self.inner.delete(&key()).await?;
            self.was_given_up.store(true, Ordering::SeqCst);
        } else if !self.was_given_up.load(Ordering::SeqCst) {
            return Err(full);
        }
        call().await
    }
}

#[async_trait]
impl<S: Store> Store for Reserve<S> {
    crate::pass_on!(inner: read, read_range, stat, list, delete, delete_all, map, is_remote, largest);

    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        self.or_give_up(|| self.inner.create(key, bytes.clone())).await
    }

    /// A directory store writes a file to tell the time.
    async fn now(&self) -> Result<StoreTime, StoreError> {
        self.or_give_up(|| self.inner.now()).await
    }
}

fn key() -> Key {
    Key::new(NAME).expect("the layout's name")
}

/// The name of the reserve object.
pub const NAME: &str = "work/reserve";
/// Enough for a change, a deletion record and the state after it: 48 bytes per chunk that prune flags.
pub const BYTES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::Op;
    use crate::fault::{Fate, Fault};
    use crate::memory::MemoryStore;

    /// A store that accepts nothing except its reserve, while that exists.
    fn full(store: &MemoryStore) -> Fault<&MemoryStore> {
        Fault::at(store, |call| matches!(call.op, Op::Create | Op::Now) && call.count == 0, Fate::full)
    }

    #[test]
    fn a_reserve_is_given_up_for_what_makes_room_and_kept_anew() {
        let store = MemoryStore::new();
        block_on(keep(&store, |bytes| bytes.fill(7))).unwrap();
        let change = Key::new("changes/1").unwrap();
        assert_eq!(block_on(Reserve::new(full(&store)).create(&change, Bytes::new())).unwrap(), Created::New);
        assert!(block_on(store.stat(&key())).unwrap().is_none(), "it is given up");
        let again = block_on(Reserve::new(full(&store)).create(&Key::new("changes/2").unwrap(), Bytes::new()));
        assert!(matches!(again, Err(StoreError::Full { .. })), "there is no other");
        block_on(keep(&store, |bytes| bytes.fill(7))).unwrap();
        block_on(Reserve::new(full(&store)).now()).unwrap();
        assert!(block_on(store.stat(&key())).unwrap().is_none());
    }

    #[test]
    fn where_there_is_no_room_none_is_kept() {
        let store = MemoryStore::new();
        block_on(keep(&full(&store), |_| {})).unwrap();
        assert!(block_on(store.stat(&key())).unwrap().is_none());
    }
}
