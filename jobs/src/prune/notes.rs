//! Notes: remembers what a run creates, because the run must doom it if another writer wins and no root names it.

use std::sync::Mutex;

use async_trait::async_trait;
use bytes::Bytes;
use copal_format::layout::Prunable;
use copal_store::{Created, Key, Store, StoreError};

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
    copal_store::pass_on!(store: read, read_range, stat, list, delete, delete_all, now, map, is_remote, largest);

    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        if let Some(name @ (Prunable::Segment(_) | Prunable::Run(_))) = Prunable::parse(key.as_str()) {
            let mut created = self.created.lock().expect("nothing panics while it holds the names");
            created.push(name);
        }
        self.store.create(key, bytes).await
    }
}
