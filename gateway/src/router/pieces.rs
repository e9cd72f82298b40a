//! Pieces: streams packs, index and state objects piece by piece, and everything from a remote store.
//!
//! These objects are not mapped. In a mapping, an unreadable sector would end the process, not just the answer. And a
//! remote store, which maps nothing, would fetch a whole object for any part.

use std::ops::Range;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use copal_store::{Key, StoreError};
use futures::stream::{self, StreamExt};
use serde_json::json;

use super::Gateway;
use super::problem::{Problem, busy};
use super::room::{Bounds, Room, Sender, Space};

/// Reads a range of an object, or all. Gives length headers and the body; a late failure ends the answer early.
pub(super) async fn read(
    gateway: &Gateway,
    sender: Sender,
    key: &Key,
    range: Option<&Range<u64>>,
) -> Result<(HeaderMap, Body), Problem> {
    let store = gateway.settings.store.clone();
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
    let length = asked.end - asked.start;
    let headers = HeaderMap::from_iter([(header::CONTENT_LENGTH, length.into())]);
    let room = room(gateway, sender, length.min(HELD * most))?;
    let piece = |at: u64| at..asked.end.min(at.saturating_add(most));
    let first = store.read_range(key, piece(asked.start)).await.map_err(beyond)?;
    let at = asked.start + first.len() as u64;
    let first = room.hold(first);
    if at == asked.end {
        return Ok((headers, first.into()));
    }
    let (key, end) = (key.clone(), asked.end);
    let rest = stream::try_unfold((at, room), move |(at, room)| {
        let (store, key) = (store.clone(), key.clone());
        async move {
            if at == end {
                return Ok(None);
            }
            let bytes = store.read_range(&key, at..end.min(at + most)).await?;
            let next = at + bytes.len() as u64;
            Ok::<_, StoreError>(Some((room.hold(bytes), (next, room))))
        }
    });
    let first = stream::once(async { Ok::<_, StoreError>(first) });
    Ok((headers, Body::from_stream(first.chain(rest))))
}

/// Takes room for so many bytes of an answer.
pub(super) fn room(gateway: &Gateway, sender: Sender, bytes: u64) -> Result<Room, Problem> {
    gateway.answers.take(sender, bytes).ok_or_else(|| busy("too many answers wait until they are taken"))
}

/// Memory for answers that their clients have not taken yet.
pub(super) fn space() -> Space {
    Space::new(CLIENTS, STRANGERS)
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
/// Pieces of one answer in memory at most: the connection buffers two, and the next one is read.
const HELD: u64 = 3;
/// Memory for answers to clients. A share is enough for 341 long answers of a local store at once, or for 85 of a
/// remote one.
const CLIENTS: Bounds = Bounds { all: 768 << 10, each: 256 << 10 };
/// Memory for answers to requests that nobody has signed: for each network 21 long parts of shares at once, or 5.
const STRANGERS: Bounds = Bounds { all: 128 << 10, each: 16 << 10 };
