//! How OpenDAL's requests travel: by one HTTP client with ring's TLS, each with a time limit, each answer's date noted.

use std::error::Error as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures::stream;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use opendal::raw::{Operation, Timestamp};
use opendal::{Buffer, Error, ErrorKind, HttpBody, HttpTransport, Result};
use tokio::time::timeout;

use super::trouble::Barrier;
use crate::clock::Clock;
use crate::site::BadSite;

/// An HTTP client that notes the server's time.
pub(super) struct Transport {
    client: reqwest::Client,
    clock: Clock,
}

impl Transport {
    pub(super) fn new(clock: Clock) -> core::result::Result<Transport, BadSite> {
        // An error means that another part of the program has installed it already; all install ring.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // No time limit in the client: it would count an upload as silence.
        let client = reqwest::Client::builder()
            .user_agent(concat!("copal/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT)
            .pool_max_idle_per_host(CONNECTIONS)
            .build();
        Ok(Transport { client: client.map_err(|error| BadSite::Client(words(&error)))?, clock })
    }
}

impl HttpTransport for Transport {
    /// Reads the whole answer.
    async fn fetch(&self, request: Request<Buffer>) -> Result<Response<HttpBody>> {
        let (mut parts, body) = request.into_parts();
        // OpenDAL's MOVE would replace.
        let is_move = parts.method.as_str() == "MOVE";
        if is_move {
            parts.headers.insert("overwrite", HeaderValue::from_static("F"));
        }
        let patience = IDLE + Duration::from_secs(body.len() as u64 / SLOWEST);
        let (is_head, is_put) = (parts.method == Method::HEAD, parts.method == Method::PUT);
        let is_listing = parts.headers.get("depth").is_some_and(|depth| depth == "1");
        let most = if is_listing { LISTING_MOST } else { most(&parts) };
        let url = parts.uri.to_string();
        let request = self.client.request(parts.method, url).headers(parts.headers).body(body.to_bytes());
        let answer = timeout(patience, request.send()).await.map_err(|_| silent())?.map_err(|error| broken(&error))?;
        match answer.status() {
            StatusCode::PRECONDITION_FAILED if is_move => {
                return Err(Error::new(ErrorKind::ConditionNotMatch, "the name exists"));
            }
            // OpenDAL takes a missing folder for an empty one.
            StatusCode::NOT_FOUND if is_listing => {
                return Err(Error::new(ErrorKind::NotFound, "the folder does not exist"));
            }
            // OpenDAL takes these for permanent failures.
            status @ (StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS) => {
                return Err(Error::new(ErrorKind::RateLimited, format!("the server says {status}")).set_temporary());
            }
            // Only file servers answer with these.
            status @ StatusCode::INSUFFICIENT_STORAGE => return Err(barred(status, Barrier::Full)),
            status @ StatusCode::METHOD_NOT_ALLOWED if is_move || is_put => {
                return Err(barred(status, Barrier::ReadOnly));
            }
            _ => (),
        }
        if answer.status().is_success() {
            self.note_date(answer.headers());
        }
        let mut response = Response::builder().status(answer.status());
        response.headers_mut().into_iter().for_each(|headers| headers.clone_from(answer.headers()));
        // A refusal may be longer than the range of an object.
        let most = if answer.status().is_success() { most } else { ANSWER_MOST };
        let bytes = whole(answer, most).await?;
        // The length of an answer to HEAD is that of the object.
        let length = (!is_head).then_some(bytes.len() as u64);
        let body = HttpBody::new(stream::iter([Ok(Buffer::from(bytes))]), length);
        response.body(body).map_err(|_| Error::new(ErrorKind::Unexpected, "an answer that is no HTTP"))
    }
}

impl Transport {
    fn note_date(&self, headers: &header::HeaderMap) {
        let date = headers.get(header::DATE).and_then(|date| Timestamp::parse_rfc2822(date.to_str().ok()?).ok());
        if let Some(date) = date {
            self.clock.tell(date.into_inner().as_second(), Instant::now());
        }
    }
}

/// The same transport for OpenDAL.
pub(super) struct Shared(pub(super) Arc<Transport>);

impl HttpTransport for Shared {
    async fn fetch(&self, request: Request<Buffer>) -> Result<Response<HttpBody>> {
        self.0.fetch(request).await
    }
}

/// The most bytes of a successful answer.
fn most(request: &Parts) -> u64 {
    match request.extensions.get::<Operation>() {
        Some(Operation::Read) => request.headers.get(header::RANGE).and_then(length).unwrap_or(OBJECT_MOST),
        _ => ANSWER_MOST,
    }
}

/// The length of a range like `bytes=0-99`.
fn length(range: &HeaderValue) -> Option<u64> {
    let (first, last) = range.to_str().ok()?.strip_prefix("bytes=")?.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    last.checked_sub(first)?.checked_add(1)
}

/// The body of an answer, which fails once it is too long, or too slow to end in good time.
async fn whole(mut answer: reqwest::Response, most: u64) -> Result<Bytes> {
    let (mut bytes, begun) = (BytesMut::new(), Instant::now());
    loop {
        let may_last = ANSWERING + Duration::from_secs(bytes.len() as u64 / SLOWEST_ANSWER);
        let patience = may_last.saturating_sub(begun.elapsed()).min(IDLE);
        let more = timeout(patience, answer.chunk()).await.map_err(|_| silent())?.map_err(|error| broken(&error))?;
        let Some(more) = more else { return Ok(bytes.freeze()) };
        if (bytes.len() + more.len()) as u64 > most {
            return Err(Error::new(ErrorKind::Unexpected, format!("the answer has more than {most} bytes")));
        }
        bytes.extend_from_slice(&more);
    }
}

fn barred(status: StatusCode, barrier: Barrier) -> Error {
    Error::new(ErrorKind::Unexpected, format!("the server says {status}")).set_source(barrier)
}

fn silent() -> Error {
    Error::new(ErrorKind::Unexpected, "no answer in time").set_temporary()
}

/// A retry does not help where the request itself, or a certificate, is the cause.
fn broken(error: &reqwest::Error) -> Error {
    let lasts = error.is_builder() || causes(error).any(|cause| cause.to_string().contains("certificate"));
    Error::new(ErrorKind::Unexpected, words(error)).with_temporary(!lasts)
}

/// The causes, without the first: it has the address, and an address may have a signature.
fn words(error: &reqwest::Error) -> String {
    let texts: Vec<String> = causes(error).map(|cause| cause.to_string()).collect();
    if texts.is_empty() { "the request cannot be sent".to_owned() } else { texts.join(": ") }
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    std::iter::successors(error.source(), |cause| (*cause).source())
}

const CONNECT: Duration = Duration::from_secs(10);
/// The longest silence before a request fails.
const IDLE: Duration = Duration::from_secs(60);
/// Bytes per second below which an upload counts as stuck.
const SLOWEST: u64 = 16 << 10;
/// How long an answer may take in any case, after its head.
const ANSWERING: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 60 });
/// Bytes per second below which an answer counts as endless. Many may share a slow line.
const SLOWEST_ANSWER: u64 = 1 << 10;
/// The most bytes of an answer that is no object: far more than Azure and Google list at a time.
const ANSWER_MOST: u64 = if cfg!(test) { 1 << 20 } else { 128 << 20 };
/// The most bytes of a WebDAV folder's listing, which comes as one answer: about 500,000 objects. A client that saves
/// every five minutes has so many manifests in five years.
const LISTING_MOST: u64 = if cfg!(test) { 4 << 20 } else { 512 << 20 };
/// The most bytes of an object: above the size of an index segment with the most entries.
const OBJECT_MOST: u64 = if cfg!(test) { 4 << 20 } else { 4 << 30 };
const CONNECTIONS: usize = 16;
