//! Mark: the object that tells a replica from a repository. Programs write nothing else into a store that has it, and
//! sync writes only into one that has it: so a mistaken or reversed sync spoils no repository.

use bytes::Bytes;
use copal_store::{Store, StoreError};

use crate::error::JobError;
use crate::objects;

/// Whether a store holds a replica.
pub async fn is_replica(store: &dyn Store) -> Result<bool, StoreError> {
    Ok(store.stat(&objects::key(NAME)).await?.is_some())
}

/// Makes a store a replica.
pub(super) async fn mark(store: &dyn Store) -> Result<(), StoreError> {
    store.create(&objects::key(NAME), Bytes::from_static(TEXT)).await.map(|_| ())
}

/// Makes a replica a repository of its own.
pub async fn end(store: &dyn Store) -> Result<(), JobError> {
    objects::delete(store, &[objects::key(NAME)]).await
}

/// Notes that records are being copied: until [`finish`], the replica has some of a newer root, and not all.
pub(super) async fn begin(store: &dyn Store) -> Result<(), StoreError> {
    store.create(&objects::key(UNFINISHED), Bytes::from_static(UNFINISHED_TEXT)).await.map(|_| ())
}

/// Notes that the replica has all of the newest root it shows.
pub(super) async fn finish(store: &dyn Store) -> Result<(), JobError> {
    match is_unfinished(store).await? {
        true => objects::delete(store, &[objects::key(UNFINISHED)]).await,
        false => Ok(()),
    }
}

/// Whether the last sync was interrupted while it copied records. A rebuild takes all that was copied; an ingest might
/// reject it, because it does not know what prunes have moved.
pub async fn is_unfinished(store: &dyn Store) -> Result<bool, StoreError> {
    Ok(store.stat(&objects::key(UNFINISHED)).await?.is_some())
}

const NAME: &str = "work/replica";
const UNFINISHED: &str = "work/sync";
const UNFINISHED_TEXT: &[u8] = b"A sync is copying records, or was interrupted while it did.\n";
const TEXT: &[u8] = b"Only \"copal sync\" writes here. \"copal sync --end\" makes this a repository of its own.\n";
