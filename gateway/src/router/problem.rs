//! Problem: an error answer as RFC 9457 defines it.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use copal_format::request::RequestError;
use copal_store::StoreError;
use serde_json::{Map, Value, json};

use copal_jobs::error::JobError;

use crate::protocol::{PROBLEM, TYPES};

/// A refusal or a failure. The name is stable; the text is for people.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The last part of the type URN, such as `clock`.
    pub name: &'static str,
    /// The HTTP status.
    pub status: StatusCode,
    /// What is wrong, in words.
    pub detail: String,
    /// Further fields for programs.
    pub more: Map<String, Value>,
}

impl Problem {
    /// A problem of this name.
    pub fn new(name: &'static str, status: StatusCode, detail: impl Into<String>) -> Self {
        Self { name, status, detail: detail.into(), more: Map::new() }
    }

    pub(super) fn with(mut self, field: &str, value: Value) -> Self {
        self.more.insert(field.to_owned(), value);
        self
    }

    pub(super) fn not_permitted(detail: impl Into<String>) -> Self {
        Self::new("not-permitted", StatusCode::FORBIDDEN, detail)
    }

    pub(super) fn unsigned(detail: impl Into<String>) -> Self {
        Self::new("signature-missing", StatusCode::UNAUTHORIZED, detail)
    }

    pub(super) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new("bad-request", StatusCode::BAD_REQUEST, detail)
    }

    pub(super) fn not_found(key: &str) -> Self {
        Self::new("not-found", StatusCode::NOT_FOUND, format!("no object {key}"))
    }

    pub(super) fn too_large(detail: impl Into<String>) -> Self {
        Self::new("too-large", StatusCode::PAYLOAD_TOO_LARGE, detail)
    }

    /// The answer to a signature that is not valid. `now` is the gateway's clock.
    pub(super) fn of_request(error: RequestError, now: u64) -> Self {
        let detail = error.to_string();
        match error {
            RequestError::Malformed(_) => Self::new("signature-malformed", StatusCode::BAD_REQUEST, detail),
            RequestError::Long => Self::new("signature-long", StatusCode::UNAUTHORIZED, detail),
            RequestError::Body => Self::new("body-altered", StatusCode::BAD_REQUEST, detail),
            RequestError::Signature => Self::new("signature-wrong", StatusCode::UNAUTHORIZED, detail),
            RequestError::Time { ahead } => Self::new("clock", StatusCode::UNAUTHORIZED, detail)
                .with("time", json!(now))
                .with("ahead", json!(ahead)),
        }
    }
}

/// Tells the store's error without its cause, because callers must not see paths and addresses.
impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let (name, status) = match &error {
            StoreError::NotFound { .. } => ("not-found", StatusCode::NOT_FOUND),
            StoreError::OutOfRange { .. } => ("out-of-range", StatusCode::RANGE_NOT_SATISFIABLE),
            StoreError::Full { .. } => ("full", StatusCode::INSUFFICIENT_STORAGE),
            StoreError::Transient { .. } => ("busy", StatusCode::SERVICE_UNAVAILABLE),
            StoreError::Gone { .. } => {
                return Self::new("store-gone", StatusCode::SERVICE_UNAVAILABLE, "the store is not there");
            }
            _ => ("store-failed", StatusCode::INTERNAL_SERVER_ERROR),
        };
        tracing::debug!(%error, "store");
        Self::new(name, status, error.to_string())
    }
}

impl From<JobError> for Problem {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Store(error) => error.into(),
            error => Self::new("damaged", StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let title = self.status.canonical_reason().unwrap_or_default();
        // In a header too, for programs that do not know the field.
        let seconds = self.more.get("seconds").and_then(Value::as_u64);
        let mut body = self.more;
        body.insert("type".to_owned(), json!(format!("{TYPES}{}", self.name)));
        body.insert("title".to_owned(), json!(title));
        body.insert("status".to_owned(), json!(self.status.as_u16()));
        body.insert("detail".to_owned(), json!(self.detail));
        let mut response = (self.status, Value::Object(body).to_string()).into_response();
        // The name is in a header too, because an answer to HEAD has no body.
        response.headers_mut().insert(PROBLEM, HeaderValue::from_static(self.name));
        if let Some(seconds) = seconds {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}

/// The caller may ask again later.
pub(super) fn busy(detail: &str) -> Problem {
    Problem::new("busy", StatusCode::TOO_MANY_REQUESTS, detail)
}
