//! Aside: runs the calls of a store on blocking threads, because a directory store works inside the call.

use std::sync::Arc;

use async_trait::async_trait;
use copal_store::{Op, Store, StoreError};
use futures::executor::block_on;

/// A store whose calls run on tokio's blocking threads.
pub(super) struct Aside {
    inner: Arc<dyn Store>,
}

impl Aside {
    pub(super) fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner }
    }

    async fn run<T, F>(
        &self,
        (op, name): (Op, &str),
        call: impl FnOnce(Arc<dyn Store>) -> F + Send + 'static,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>>,
    {
        let inner = self.inner.clone();
        match tokio::task::spawn_blocking(move || block_on(call(inner))).await {
            Ok(done) => done,
            // The process is ending, or the call panicked.
            Err(error) => Err(StoreError::Transient { op, key: name.to_owned(), source: error.into() }),
        }
    }
}

#[async_trait]
impl Store for Aside {
    copal_store::pass_on!(run(): create, read, read_range, stat, list, delete, delete_all, now, map);
    copal_store::pass_on!(inner: is_remote, largest);
}
