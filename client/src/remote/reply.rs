//! Reply: a request to a gateway, or the store behind it, and the answer, limited to the size the request allows.

use std::error::Error;
use std::fmt;
use std::pin::pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use copal_format::limits::PACK_BYTES;
use copal_gateway::protocol::{PROBLEM, TYPES};
use copal_store::Key;
use copal_store::s3::is_absence;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Body;
use serde_json::Value;

/// Answers the request. The meaning of a status depends on it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Answerer {
    Gateway,
    /// The store behind the gateway, at a presigned address.
    Store,
}

#[derive(Clone)]
pub(super) struct Question {
    pub(super) to: Answerer,
    pub(super) method: Method,
    /// The whole address; for a gateway only the path, until the request is signed.
    pub(super) url: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Most bytes that the answer may have.
    pub(super) most: u64,
}

pub(super) struct Reply {
    pub(super) from: Answerer,
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) bytes: Bytes,
}

/// A request got no answer. `may_pass` says whether a retry may help.
#[derive(Debug)]
pub(super) struct WireError {
    pub(super) may_pass: bool,
    pub(super) source: Box<dyn Error + Send + Sync>,
}

impl Question {
    /// A request to a gateway. Expects JSON unless `taking` sets another size limit.
    pub(super) fn new(method: Method, path: impl Into<String>) -> Self {
        let (headers, body) = (HeaderMap::new(), Bytes::new());
        Self { to: Answerer::Gateway, method, url: path.into(), headers, body, most: JSON_MOST }
    }

    /// A request to a store, at a presigned address.
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
    /// Leaves out the headers: one may hold a signed address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply").field("from", &self.from).field("status", &self.status).finish_non_exhaustive()
    }
}

impl Reply {
    /// Whether another program answered with success: gateways and stores never send HTML.
    pub(super) fn is_web_page(&self) -> bool {
        let kind = self.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        self.status.is_success() && kind.starts_with("text/html")
    }

    /// Reads an answer to its end. Fails if a piece takes longer than `patience`, or if the answer has more bytes than
    /// `most`.
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
        // The beginning of an error answer is enough.
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

    /// The problem name in a gateway's answer.
    pub(super) fn problem(&self) -> Option<String> {
        if self.status.is_success() || self.from == Answerer::Store {
            return None;
        }
        // An answer to HEAD has no body, so the name is also in a header.
        if let Some(name) = self.headers.get(PROBLEM).and_then(|name| name.to_str().ok()) {
            return Some(name.to_owned());
        }
        let body: Value = serde_json::from_slice(&self.bytes).ok()?;
        body["type"].as_str()?.strip_prefix(TYPES).map(str::to_owned)
    }

    /// Whether the answer says that the object does not exist. A plain 404 says nothing: a proxy or another program may
    /// have sent it.
    pub(super) fn is_absence(&self) -> bool {
        self.status == StatusCode::NOT_FOUND
            && match self.from {
                Answerer::Gateway => matches!(self.problem().as_deref(), Some("not-found" | "undecided")),
                Answerer::Store => is_absence(&self.bytes),
            }
    }
}

impl WireError {
    /// Nothing arrived for `patience`.
    pub(super) fn silence(patience: Duration) -> Self {
        Self { may_pass: true, source: format!("no answer for {} s", patience.as_secs()).into() }
    }
}

/// An error with its causes, each once. Leaves out addresses, which may hold signatures of a store.
pub(super) fn words(error: &dyn Error) -> String {
    let mut words = Vec::new();
    for cause in std::iter::successors(Some(error), |error| (*error).source()) {
        let text = cause.to_string();
        let text = text.split(" for url (").next().unwrap_or_default().to_owned();
        if !words.iter().any(|said: &String| said.contains(&text)) {
            words.push(text);
        }
    }
    words.join(": ")
}

/// Most bytes that the object of this name may have.
pub(super) fn object_most(key: &Key) -> u64 {
    let folder = key.as_str().split('/').next().unwrap_or_default();
    if matches!(folder, "index" | "state") { SEGMENT_MOST } else { PACK_BYTES }
}

/// Above the size of a listing with 10,000 of the longest names.
const JSON_MOST: u64 = 16 << 20;
const REFUSAL_MOST: u64 = 64 << 10;
/// Above the size of an index segment with the most entries.
const SEGMENT_MOST: u64 = 4 << 30;
/// Most bytes of memory reserved because an answer announces its length.
const ROOM: u64 = 32 << 20;
