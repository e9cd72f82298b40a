//! Replica mark: the object that tells a replica from a repository. Programs write nothing else into a store that has
//! it, and sync writes only into one that has it: so a mistaken or reversed sync spoils no repository.

use bytes::Bytes;
use copal_store::{Store, StoreError};

use crate::error::JobError;
use crate::objects;

/// Whether a store holds a replica.
pub async fn is_replica(store: &dyn Store) -> Result<bool, StoreError> {
    Ok(store.stat(&objects::key(NAME)).await?.is_some())
}

/// Makes a store a replica.
pub(crate) async fn mark(store: &dyn Store) -> Result<(), StoreError> {
    store.create(&objects::key(NAME), Bytes::from_static(TEXT)).await.map(|_| ())
}

/// Makes a replica a repository of its own.
pub async fn end(store: &dyn Store) -> Result<(), JobError> {
    objects::delete(store, &[objects::key(NAME)]).await
}

const NAME: &str = "work/replica";
const TEXT: &[u8] = b"Only \"copal sync\" writes here. \"copal sync --end\" makes this a repository of its own.\n";
