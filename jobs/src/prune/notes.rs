//! Notes: remembers what a run creates, because the run must doom it if another writer wins and no root names it.

use core::ops::Range;
use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use copal_format::layout::Prunable;
use copal_store::{Created, Key, ListPage, Stat, Store, StoreError, StoreTime};

/// A store that remembers the segments and state runs it was asked to create.
pub(super) struct Notes<'a> {
    store: &'a dyn Store,
    created: Mutex<Vec<Prunable>>,
}

impl<'a> Notes<'a> {
    pub(super) fn new(store: &'a dyn Store) -> Self {
        Self { store, created: Mutex::default() }
    }

    /// The names noted since the last call. Some may not have been created.
    pub(super) fn take(&self) -> Vec<Prunable> {
        std::mem::take(&mut self.created.lock().expect("nothing panics while it holds the names"))
    }
}

#[async_trait]
impl Store for Notes<'_> {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        if let Some(name @ (Prunable::Segment(_) | Prunable::Run(_))) = Prunable::parse(key.as_str()) {
            let mut created = self.created.lock().expect("nothing panics while it holds the names");
            created.push(name);
        }
        self.store.create(key, bytes).await
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.store.read(key).await
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.store.read_range(key, range).await
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        self.store.stat(key).await
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        self.store.list(prefix, after, limit).await
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.store.delete(key).await
    }

    async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
        self.store.delete_all(keys).await
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        self.store.now().await
    }

    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.store.map(key).await
    }

    fn is_remote(&self) -> bool {
        self.store.is_remote()
    }
}
