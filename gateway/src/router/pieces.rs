//! Pieces: streams packs, index and state objects piece by piece, and everything from a remote store.
//!
//! These objects are not mapped. In a mapping, an unreadable sector would end the process, not just the answer. And a
//! remote store, which maps nothing, would fetch a whole object for any part.

use std::ops::Range;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use copal_store::{Key, StoreError};
use futures::stream::{self, StreamExt};
use serde_json::{Value, json};
use tokio::time::timeout;

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
    let Pieces { bytes: most, held } = if store.is_remote() { FAR } else { NEAR };
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
    let room = room(gateway, sender, length.min(held * most)).await?;
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

/// An answer in JSON that may be long. Takes room for all of it.
pub(super) async fn json(gateway: &Gateway, sender: Sender, answer: &Value) -> Result<Response, Problem> {
    let mut text = answer.to_string();
    // A string grows by doubling, and the room counts its length.
    text.shrink_to_fit();
    let bytes = room(gateway, sender, text.len() as u64).await?.hold(text.into());
    Ok(([(header::CONTENT_TYPE, "application/json")], bytes).into_response())
}

/// Takes room for so many bytes of an answer. Strangers wait a while for it: many of them may share one network. While
/// they wait, hardly anything is in memory.
pub(super) async fn room(gateway: &Gateway, sender: Sender, bytes: u64) -> Result<Room, Problem> {
    let room = match sender.is_stranger() {
        true => timeout(PATIENCE, gateway.answers.wait(sender, bytes)).await.ok().flatten(),
        false => gateway.answers.take(sender, bytes),
    };
    room.ok_or_else(|| busy("too many answers wait until they are taken"))
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

/// How an answer is split.
struct Pieces {
    bytes: u64,
    /// How many of them are in memory at most: the connection sends one and buffers others until they are more than
    /// 400 KiB, and one more is read.
    held: u64,
}

/// Pieces of a local store.
const NEAR: Pieces = Pieces { bytes: 256 << 10, held: 4 };
/// Pieces of a remote store, where each takes a round trip.
const FAR: Pieces = Pieces { bytes: 1 << 20, held: 3 };
/// How long a stranger's request waits for room.
const PATIENCE: Duration = Duration::from_secs(5);
/// Memory for answers to clients. A share is enough for 256 long answers of a local store at once, or for 85 of a
/// remote one.
const CLIENTS: Bounds = Bounds { all: 768 << 10, each: 256 << 10 };
/// Memory for answers to requests that nobody has signed: for each network 16 long parts of shares at once, or 5.
const STRANGERS: Bounds = Bounds { all: 128 << 10, each: 16 << 10 };
