//! Aside: runs the calls of a store on blocking threads, because a directory store works inside the call.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use copal_store::{Created, Key, ListPage, Op, Stat, Store, StoreError, StoreTime};

use futures::executor::block_on as wait;

/// A store whose calls run on tokio's blocking threads.
pub(super) struct Aside {
    inner: Arc<dyn Store>,
}

impl Aside {
    pub(super) fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner }
    }

    async fn run<T: Send + 'static>(
        &self,
        op: Op,
        name: &str,
        call: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let inner = self.inner.clone();
        match tokio::task::spawn_blocking(move || call(inner.as_ref())).await {
            Ok(done) => done,
            // The process is ending, or the call panicked.
            Err(error) => Err(StoreError::Transient { op, key: name.to_owned(), source: error.into() }),
        }
    }
}

#[async_trait]
impl Store for Aside {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        let own = key.clone();
        self.run(Op::Create, key.as_str(), move |store| wait(store.create(&own, bytes))).await
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        let own = key.clone();
        self.run(Op::Read, key.as_str(), move |store| wait(store.read(&own))).await
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let own = key.clone();
        self.run(Op::Read, key.as_str(), move |store| wait(store.read_range(&own, range))).await
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        let own = key.clone();
        self.run(Op::Stat, key.as_str(), move |store| wait(store.stat(&own))).await
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        let (own, after) = (prefix.to_owned(), after.cloned());
        self.run(Op::List, prefix, move |store| wait(store.list(&own, after.as_ref(), limit))).await
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        let own = key.clone();
        self.run(Op::Delete, key.as_str(), move |store| wait(store.delete(&own))).await
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        self.run(Op::Now, "", |store| wait(store.now())).await
    }

    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        let own = key.clone();
        self.run(Op::Read, key.as_str(), move |store| wait(store.map(&own))).await
    }

    async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
        let own = keys.to_vec();
        self.run(Op::Delete, "", move |store| wait(store.delete_all(&own))).await
    }

    fn is_remote(&self) -> bool {
        self.inner.is_remote()
    }

    fn largest(&self) -> Option<u64> {
        self.inner.largest()
    }
}
