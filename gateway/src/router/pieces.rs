//! Pieces: streams packs, index and state objects piece by piece.
//!
//! These objects are not mapped. In a mapping, an unreadable sector would end the process, not just the answer. And a
//! remote store, which maps nothing, would fetch a whole pack for any part.

use std::ops::Range;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use copal_store::{Key, Store, StoreError};
use futures::stream::{self, StreamExt};
use serde_json::json;

use super::problem::Problem;

/// Reads a range of an object, or all. Gives length headers and the body; a late failure ends the answer early.
pub(super) async fn read(
    store: &Arc<dyn Store>,
    key: &Key,
    range: Option<&Range<u64>>,
) -> Result<(HeaderMap, Body), Problem> {
    let most = if store.is_remote() { FAR } else { NEAR };
    let asked = match range {
        // Reading a short range already tells whether the object exists.
        Some(range) if range.end - range.start <= most => range.clone(),
        _ => {
            let length = store.stat(key).await?.ok_or_else(|| Problem::not_found(key.as_str()))?.length;
            let asked = range.cloned().unwrap_or(0..length);
            if asked.end > length {
                return Err(beyond(StoreError::OutOfRange { key: key.clone(), range: asked, length }));
            }
            asked
        }
    };
    let headers = HeaderMap::from_iter([(header::CONTENT_LENGTH, (asked.end - asked.start).into())]);
    let piece = |at: u64| at..asked.end.min(at.saturating_add(most));
    let first = store.read_range(key, piece(asked.start)).await.map_err(beyond)?;
    let at = asked.start + first.len() as u64;
    if at == asked.end {
        return Ok((headers, first.into()));
    }
    let (store, key, end) = (store.clone(), key.clone(), asked.end);
    let rest = stream::try_unfold(at, move |at| {
        let (store, key) = (store.clone(), key.clone());
        async move {
            if at == end {
                return Ok(None);
            }
            let bytes = store.read_range(&key, at..end.min(at + most)).await?;
            let next = at + bytes.len() as u64;
            Ok::<_, StoreError>(Some((bytes, next)))
        }
    });
    let first = stream::once(async { Ok::<Bytes, StoreError>(first) });
    Ok((headers, Body::from_stream(first.chain(rest))))
}

/// Adds the object's length to the answer if the range was beyond its end.
pub(super) fn beyond(error: StoreError) -> Problem {
    match error {
        StoreError::OutOfRange { length, .. } => Problem::from(error).with("length", json!(length)),
        error => error.into(),
    }
}

/// Bytes per piece: of a local store, and of a remote one, where each piece takes a round trip.
const NEAR: u64 = 256 << 10;
const FAR: u64 = 1 << 20;
