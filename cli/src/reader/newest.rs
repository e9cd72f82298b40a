//! Newest: the index that copies are looked up in. A prune may move what is being read; where to, the newest root says.

use std::sync::{Arc, RwLock};

use bytes::Bytes;
use copal_engine::id::DomainId;
use copal_engine::index::Index;
use copal_service::view::{self, Parts, View};
use copal_store::{Store, StoreError};

use super::blocks::CopyError;
use crate::wait::wait;

/// The index of a domain, as of the newest root that anybody has needed. Shared by threads.
pub(super) struct NewestIndex {
    domain: DomainId,
    current: RwLock<Current>,
}

struct Current {
    /// The number of the root.
    root: u64,
    index: Arc<Index<Bytes>>,
}

impl NewestIndex {
    /// As a view has it.
    pub(super) fn of(view: &View, domain: DomainId) -> Self {
        Self { domain, current: RwLock::new(Current::of(view, domain)) }
    }

    /// The newest that is known.
    pub(super) fn get(&self) -> Arc<Index<Bytes>> {
        self.current.read().expect("no reader panics").index.clone()
    }

    /// One that is newer than this one, if there is one. Asked once everything that this one knows has failed: if the store
    /// does not answer this either, it is the store that failed, and nothing is known to be damaged.
    pub(super) fn newer(
        &self,
        than: &Arc<Index<Bytes>>,
        store: &dyn Store,
    ) -> Result<Option<Arc<Index<Bytes>>>, StoreError> {
        let mut current = self.current.write().expect("no reader panics");
        if Arc::ptr_eq(&current.index, than) {
            if wait(view::newest_number(store))? <= current.root {
                return Ok(None);
            }
            let view = match wait(view::read_parts(store, &Parts::index_of(self.domain))).map_err(CopyError::from) {
                Ok(view) => view,
                Err(CopyError::Store(error)) => return Err(error),
                // What a newer one says cannot be known.
                Err(CopyError::Damaged(_)) => return Ok(None),
            };
            *current = Current::of(&view, self.domain);
        }
        Ok(Some(current.index.clone()))
    }
}

impl Current {
    fn of(view: &View, domain: DomainId) -> Self {
        Self { root: view.number(), index: index_of(view, domain) }
    }
}

/// What a state has of a domain.
pub(crate) fn index_of(view: &View, domain: DomainId) -> Arc<Index<Bytes>> {
    let empty = || Index::new(domain, Vec::new(), Default::default()).expect("nothing is of another domain");
    Arc::new(view.index(domain).cloned().unwrap_or_else(empty))
}
