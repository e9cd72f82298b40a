//! Unmade: a store where there is no repository yet. Its first object makes it, so that a wrong path makes nothing, and a
//! directory that is somebody's gets nothing.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use bytes::Bytes;
use copal_store::{Created, Key, ListPage, Op, Stat, Store, StoreError, StoreTime};

use crate::clock;
use crate::location::Location;
use crate::site::{Means, Site, SiteError};
use crate::wait::wait;

/// A store that is made by its first object.
pub(super) struct Unmade {
    location: Location,
    means: Means,
    /// What is there already: an empty directory, or what an interrupted `init` left.
    found: Option<Arc<dyn Store>>,
    made: OnceLock<Arc<dyn Store>>,
}

impl Unmade {
    pub(super) fn new(location: Location, means: Means, found: Option<Arc<dyn Store>>) -> Self {
        Self { location, means, found, made: OnceLock::new() }
    }

    fn store(&self) -> Option<&Arc<dyn Store>> {
        self.made.get().or(self.found.as_ref())
    }

    /// On a thread of its own: to open a store is to wait for it, and whoever calls is waiting already.
    fn make(&self, key: &Key) -> Result<Arc<dyn Store>, StoreError> {
        if let Some(made) = self.made.get() {
            return Ok(made.clone());
        }
        let made = std::thread::scope(|scope| scope.spawn(|| self.make_here(key)).join());
        made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn make_here(&self, key: &Key) -> Result<Arc<dyn Store>, StoreError> {
        let failed = |source| StoreError::Io { op: Op::Create, key: key.to_string(), source };
        if let Ok(site) = Site::open(&self.location, &self.means) {
            // Somebody else may have made the repository meanwhile.
            let is_made = !wait(site.store().list("copal/", None, 1))?.objects.is_empty();
            if !is_made && site.holds_other_files().map_err(|error| failed(error.into()))? {
                return Err(StoreError::Obstructed { key: key.to_string() });
            }
        }
        let site = Site::create_by(&self.location, &self.means).map_err(|error| match error {
            SiteError::Store(error) => error,
            other => failed(other.into()),
        })?;
        site.probe()?;
        Ok(self.made.get_or_init(|| site.store()).clone())
    }
}

#[async_trait]
impl Store for Unmade {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        self.make(key)?.create(key, bytes).await
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        match self.store() {
            Some(made) => made.read(key).await,
            None => Err(StoreError::NotFound { key: key.clone() }),
        }
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        match self.store() {
            Some(made) => made.read_range(key, range).await,
            None => Err(StoreError::NotFound { key: key.clone() }),
        }
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
        // A directory tells the time by writing something.
        match self.made.get() {
            Some(made) => made.now().await,
            None => Ok(StoreTime(clock::now().0)),
        }
    }

    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        match self.store() {
            Some(made) => made.map(key).await,
            None => Err(StoreError::NotFound { key: key.clone() }),
        }
    }

    fn is_far(&self) -> bool {
        self.store().is_some_and(|made| made.is_far())
    }

    fn largest(&self) -> Option<u64> {
        self.store().and_then(|made| made.largest())
    }
}
