//! Unmade: a store for a repository that does not exist yet. The first object creates the directory: a wrong path
//! creates nothing, and a directory with other files is never written to.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use copal_client::backend::{Backend, BackendError, BackendOptions};
use copal_client::clock;
use copal_client::location::Location;
use copal_client::wait::wait;
use copal_store::{Created, Key, ListPage, Op, Stat, Store, StoreError, StoreTime};

pub(super) struct Unmade {
    location: Location,
    backend_options: BackendOptions,
    /// The existing store: empty, or with what an interrupted `init` left.
    found: Option<Arc<dyn Store>>,
    made: OnceLock<Arc<dyn Store>>,
}

impl Unmade {
    pub(super) fn new(location: Location, backend_options: BackendOptions, found: Option<Arc<dyn Store>>) -> Self {
        Self { location, backend_options, found, made: OnceLock::new() }
    }

    fn store(&self) -> Option<&Arc<dyn Store>> {
        self.made.get().or(self.found.as_ref())
    }

    /// The store for reading an object. Before the store exists, every object is [`StoreError::NotFound`].
    fn holding(&self, key: &Key) -> Result<&Arc<dyn Store>, StoreError> {
        self.store().ok_or_else(|| StoreError::NotFound { key: key.clone() })
    }

    /// Opens the store on another thread, because opening blocks and the caller is a future.
    fn make(&self, key: &Key) -> Result<Arc<dyn Store>, StoreError> {
        if let Some(made) = self.made.get() {
            return Ok(made.clone());
        }
        let made = std::thread::scope(|scope| scope.spawn(|| self.make_here(key)).join());
        made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn make_here(&self, key: &Key) -> Result<Arc<dyn Store>, StoreError> {
        let failed = |source| StoreError::Io { op: Op::Create, key: key.to_string(), source };
        if let Ok(backend) = Backend::open(&self.location, &self.backend_options) {
            // Another process may have made the repository meanwhile.
            let is_made = !wait(backend.store().list("copal/", None, 1))?.objects.is_empty();
            if !is_made && backend.holds_other_files().map_err(|error| failed(error.into()))? {
                return Err(StoreError::Obstructed { key: key.to_string() });
            }
        }
        let backend = Backend::create_by(&self.location, &self.backend_options).map_err(|error| match error {
            BackendError::Store(error) => error,
            other => failed(other.into()),
        })?;
        backend.probe()?;
        Ok(self.made.get_or_init(|| backend.store()).clone())
    }
}

#[async_trait]
impl Store for Unmade {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        self.make(key)?.create(key, bytes).await
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.holding(key)?.read(key).await
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.holding(key)?.read_range(key, range).await
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        match self.store() {
            Some(made) => made.stat(key).await,
            None => Ok(None),
        }
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        match self.store() {
            Some(made) => made.list(prefix, after, limit).await,
            None => Ok(ListPage { objects: Vec::new(), more: false }),
        }
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        match self.store() {
            Some(made) => made.delete(key).await,
            None => Ok(()),
        }
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        // A directory store would write a file to tell the time.
        match self.made.get() {
            Some(made) => made.now().await,
            None => Ok(StoreTime(clock::now().0)),
        }
    }

    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.holding(key)?.map(key).await
    }

    fn is_remote(&self) -> bool {
        self.store().is_some_and(|made| made.is_remote())
    }

    fn largest(&self) -> Option<u64> {
        self.store().and_then(|made| made.largest())
    }
}
