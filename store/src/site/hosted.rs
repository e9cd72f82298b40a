//! A site's calls on threads of their own, so that the caller's executor does not matter.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::Site;
use crate::worker::{RuntimePause, Worker};
use crate::{Created, Key, ListPage, Op, Stat, Store, StoreError, StoreTime};

/// What a site does in each call. It runs on a tokio runtime.
#[async_trait]
pub(super) trait Place: Store + 'static {
    /// See [`Site::make`].
    async fn make(&self) -> Result<(), StoreError>;

    /// See [`Site::probe`].
    async fn probe(&self) -> Result<(), StoreError>;
}

/// A place with the runtime of its calls.
pub(super) struct Hosted<P> {
    place: Arc<P>,
    worker: Worker,
}

impl<P> Hosted<P> {
    pub(super) fn new(place: P) -> io::Result<Hosted<P>> {
        Ok(Hosted { place: Arc::new(place), worker: Worker::new()? })
    }
}

#[async_trait]
impl<P: Place> Site for Hosted<P> {
    async fn make(&self) -> Result<(), StoreError> {
        self.worker.call(&self.place, (Op::Create, ""), |place| async move { place.make().await }).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.worker.call(&self.place, (Op::Create, ""), |place| async move { place.probe().await }).await
    }

    fn pause(&self) -> RuntimePause {
        RuntimePause(self.worker.handle().clone())
    }
}

#[async_trait]
impl<P: Place> Store for Hosted<P> {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        let (own, of) = (key.clone(), (Op::Create, key.as_str()));
        self.worker.call(&self.place, of, |place| async move { place.create(&own, bytes).await }).await
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        let (own, of) = (key.clone(), (Op::Read, key.as_str()));
        self.worker.call(&self.place, of, |place| async move { place.read(&own).await }).await
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let (own, of) = (key.clone(), (Op::ReadRange, key.as_str()));
        self.worker.call(&self.place, of, |place| async move { place.read_range(&own, range).await }).await
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        let (own, of) = (key.clone(), (Op::Stat, key.as_str()));
        self.worker.call(&self.place, of, |place| async move { place.stat(&own).await }).await
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        let (own, after, of) = (prefix.to_owned(), after.cloned(), (Op::List, prefix));
        self.worker.call(&self.place, of, |place| async move { place.list(&own, after.as_ref(), limit).await }).await
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        let (own, of) = (key.clone(), (Op::Delete, key.as_str()));
        self.worker.call(&self.place, of, |place| async move { place.delete(&own).await }).await
    }

    async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
        let (own, of) = (keys.to_vec(), (Op::Delete, keys.first().map_or("", Key::as_str)));
        self.worker.call(&self.place, of, |place| async move { place.delete_all(&own).await }).await
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        self.worker.call(&self.place, (Op::Now, ""), |place| async move { place.now().await }).await
    }

    fn is_remote(&self) -> bool {
        true
    }
}
