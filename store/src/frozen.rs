//! Frozen: a store that takes no writes. Reads go through.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{Cause, Created, Key, Op, Store, StoreError};

/// A store that creates nothing, and deletes only below one prefix. Each refusal names the reason.
#[derive(Debug)]
pub struct Frozen<S, E> {
    inner: S,
    /// What may be deleted.
    deletable: &'static str,
    reason: E,
}

impl<S: Store, E: Clone + Into<Cause>> Frozen<S, E> {
    /// Wraps a store.
    pub fn new(inner: S, deletable: &'static str, reason: E) -> Self {
        Self { inner, deletable, reason }
    }

    fn refusal(&self, op: Op, key: &str) -> StoreError {
        StoreError::ReadOnly { op, key: key.to_owned(), source: self.reason.clone().into() }
    }
}

#[async_trait]
impl<S: Store, E: Clone + Into<Cause> + fmt::Debug + Send + Sync> Store for Frozen<S, E> {
    crate::pass_on!(inner: read, read_range, stat, list, now, map, is_remote, largest);

    async fn create(&self, key: &Key, _: Bytes) -> Result<Created, StoreError> {
        Err(self.refusal(Op::Create, key.as_str()))
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        match key.as_str().starts_with(self.deletable) {
            true => self.inner.delete(key).await,
            false => Err(self.refusal(Op::Delete, key.as_str())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;
    use futures::executor::block_on;

    #[test]
    fn a_frozen_store_is_read_and_not_written_and_says_why() {
        let inner = MemoryStore::new();
        let [there, slot, new] = ["packs/one", "keys/a", "packs/two"].map(|name| Key::new(name).unwrap());
        for key in [&there, &slot] {
            block_on(inner.create(key, "its bytes".into())).unwrap();
        }
        let store = Frozen::new(&inner, "keys/", "a copy");
        assert_eq!(block_on(store.read(&there)).unwrap(), "its bytes");
        for refused in [block_on(store.create(&new, "x".into())).map(|_| ()), block_on(store.delete(&there))] {
            assert!(matches!(refused, Err(StoreError::ReadOnly { source, .. }) if source.to_string() == "a copy"));
        }
        block_on(store.delete(&slot)).unwrap();
        assert_eq!(block_on(inner.list("", None, 9)).unwrap().objects.len(), 1);
    }
}
