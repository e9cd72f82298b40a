//! Newest: the index that copies are looked up in, renewed when a prune has moved blocks while they are read.

use std::sync::{Arc, RwLock};

use bytes::Bytes;
use copal_format::id::DomainId;
use copal_format::index::Index;
use copal_jobs::view::{self, Parts, View};
use copal_store::{Store, StoreError};

use super::blocks::CopyError;
use crate::wait::wait;

/// The index of a domain, as of the newest root that was needed so far. Threads share it.
pub(super) struct NewestIndex {
    domain: DomainId,
    current: RwLock<Current>,
}

struct Current {
    /// The number of the root that the index is from.
    root: u64,
    index: Arc<Index<Bytes>>,
}

impl NewestIndex {
    pub(super) fn of(view: &View, domain: DomainId) -> Self {
        Self { domain, current: RwLock::new(Current::of(view, domain)) }
    }

    pub(super) fn get(&self) -> Arc<Index<Bytes>> {
        self.current.read().expect("no reader panics").index.clone()
    }

    /// An index newer than `than`, if there is one. Called when every copy that `than` knows has failed. If the store
    /// does not answer this request either, the store is at fault, so the error says nothing about damage.
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
                // The newer index is damaged, so treat it as if there were none.
                Err(CopyError::Damaged(_)) => return Ok(None),
            };
            // A newer root without its base does not count, as while a replica gets both.
            if view.number() <= current.root {
                return Ok(None);
            }
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

/// A state's index of a domain; empty if it has none.
pub(crate) fn index_of(view: &View, domain: DomainId) -> Arc<Index<Bytes>> {
    let empty = || Index::new(domain, Vec::new(), Default::default()).expect("nothing is of another domain");
    Arc::new(view.index(domain).cloned().unwrap_or_else(empty))
}
