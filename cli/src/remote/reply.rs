//! Reply: a question to a gateway or to a store behind it, and the answer, of which no more is taken than was asked for.

use std::error::Error;
use std::fmt;
use std::pin::pin;
use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use bytes::{Bytes, BytesMut};
use copal_engine::limits::PACK_BYTES;
use copal_service::gateway::{PROBLEM, TYPES};
use copal_store::s3::is_absence;
use copal_store::{Key, StoreError};
use http_body_util::BodyExt;
use hyper::body::Body;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::problem::{Asked, of_reply};
use super::wire::{WireError, words};

/// Who answers: it decides what a status means.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Answerer {
    Gateway,
    /// The store behind it, at an address that the gateway has handed out.
    Store,
}

/// A request.
#[derive(Clone)]
pub(super) struct Question {
    pub(super) to: Answerer,
    pub(super) method: Method,
    /// The whole address; of a gateway the path, until it is signed.
    pub(super) url: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Bytes that the answer may have.
    pub(super) most: u64,
}

/// An answer.
pub(super) struct Reply {
    pub(super) from: Answerer,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) bytes: Bytes,
}

impl Question {
    /// Asks a gateway, for an answer in JSON unless told otherwise.
    pub(super) fn new(method: Method, path: impl Into<String>) -> Self {
        let (headers, body) = (HeaderMap::new(), Bytes::new());
        Self { to: Answerer::Gateway, method, url: path.into(), headers, body, most: JSON_MOST }
    }

    /// Asks a store, at an address that a gateway has handed out.
    pub(super) fn elsewhere(method: Method, url: impl Into<String>) -> Self {
        Self { to: Answerer::Store, ..Self::new(method, url) }
    }

    pub(super) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    pub(super) fn sending(mut self, body: Bytes) -> Self {
        self.body = body;
        self
    }

    pub(super) fn taking(mut self, most: u64) -> Self {
        self.most = most;
        self
    }
}

impl fmt::Debug for Reply {
    /// A header may hold an address with its signature.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("from", &self.from).field("status", &self.status).finish_non_exhaustive()
    }
}

impl Reply {
    /// Whether it is a yes of somebody else: neither a gateway nor a store of ours answers with pages.
    pub(super) fn is_web_page(&self) -> bool {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        self.status.is_success() && kind.starts_with("text/html")
    }

    /// Reads an answer to its end. No piece may be longer in coming than `patience`; of one that has more bytes than
    /// `most` no more is read.
    pub(super) async fn read<B>(
        response: Response<B>,
        from: Answerer,
        most: u64,
        patience: Duration,
    ) -> Result<Self, WireError>
    where
        B: Body<Data = Bytes>,
        B::Error: Error + 'static,
    {
        let (parts, body) = response.into_parts();
        // Of a refusal the beginning says enough.
        let is_refusal = !parts.status.is_success();
        let most = if is_refusal { REFUSAL_MOST } else { most };
        let hint = body.size_hint().lower().min(most).min(ROOM);
        let mut bytes = BytesMut::with_capacity(usize::try_from(hint).unwrap_or(0));
        let mut body = pin!(body);
        loop {
            let silent = |_| WireError::silence(patience);
            let Some(frame) = tokio::time::timeout(patience, body.frame()).await.map_err(silent)? else { break };
            let frame = frame.map_err(|error| WireError { may_pass: true, source: words(&error).into() })?;
            let Ok(piece) = frame.into_data() else { continue };
            if (bytes.len() + piece.len()) as u64 > most {
                if is_refusal {
                    break;
                }
                let source = format!("the answer has more than the {most} bytes that it may have").into();
                return Err(WireError { may_pass: false, source });
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(Self { from, status: parts.status, headers: parts.headers, bytes: bytes.freeze() })
    }

    /// The name of the problem that a gateway's answer tells of.
    pub(super) fn problem(&self) -> Option<String> {
        if self.status.is_success() || self.from == Answerer::Store {
            return None;
        }
        // The answer to HEAD has no body.
        if let Some(name) = self.headers.get(PROBLEM).and_then(|name| name.to_str().ok()) {
            return Some(name.to_owned());
        }
        let body: Value = serde_json::from_slice(&self.bytes).ok()?;
        body["type"].as_str()?.strip_prefix(TYPES).map(str::to_owned)
    }

    /// Whether it says that the object is not there. The 404 of anybody else, a proxy or another program at that address,
    /// says nothing about it.
    pub(super) fn is_absence(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
            && match self.from {
                Answerer::Gateway => matches!(self.problem().as_deref(), Some("not-found" | "undecided")),
                Answerer::Store => is_absence(&self.bytes),
            }
    }

    /// The answer as JSON, if it is one.
    pub(super) fn json<T: DeserializeOwned>(&self, asked: &Asked<'_>) -> Result<T, StoreError> {
        if !self.status.is_success() {
            return Err(of_reply(asked, self));
        }
        serde_json::from_slice(&self.bytes).map_err(|error| asked.io(error))
    }
}

/// Bytes that an object of that name may have.
pub(super) fn object_most(key: &Key) -> u64 {
    let folder = key.as_str().split('/').next().unwrap_or_default();
    if matches!(folder, "index" | "state") { SEGMENT_MOST } else { PACK_BYTES }
}

/// A listing of 10,000 of the longest names is shorter.
const JSON_MOST: u64 = 16 << 20;
const REFUSAL_MOST: u64 = 64 << 10;
/// More than a segment of as many entries as there may be.
const SEGMENT_MOST: u64 = 4 << 30;
/// So much room is made because an answer announces it.
const ROOM: u64 = 32 << 20;
