//! A site's calls on threads of their own, so that the caller's executor does not matter.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;

use super::Site;
use crate::worker::{RuntimePause, Worker};
use crate::{Op, Store, StoreError};

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

impl<P: Place> Hosted<P> {
    async fn call<T, F>(&self, of: (Op, &str), call: impl FnOnce(Arc<P>) -> F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.worker.call(&self.place, of, call).await
    }
}

#[async_trait]
impl<P: Place> Site for Hosted<P> {
    async fn make(&self) -> Result<(), StoreError> {
        self.call((Op::Create, ""), |place| async move { place.make().await }).await
    }

    async fn probe(&self) -> Result<(), StoreError> {
        self.call((Op::Create, ""), |place| async move { place.probe().await }).await
    }

    fn pause(&self) -> RuntimePause {
        RuntimePause(self.worker.handle().clone())
    }
}

#[async_trait]
impl<P: Place> Store for Hosted<P> {
    crate::pass_on!(call(): create, read, read_range, stat, list, delete, delete_all, now);

    fn is_remote(&self) -> bool {
        true
    }
}
