//! Problem: turns a gateway's error answer, or a failure on the way to it, into a [`StoreError`].

use std::error::Error;
use std::time::Duration;

use copal_store::s3::of_answer;
use copal_store::{Op, StoreError};
use http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::reply::{Answerer, Reply, WireError};

/// What a request asked for, to name it in an error.
#[derive(Copy, Clone, Debug)]
pub(super) struct Asked<'a> {
    pub(super) op: Op,
    pub(super) key: &'a str,
}

impl Asked<'_> {
    pub(super) fn json<T: DeserializeOwned>(&self, reply: &Reply) -> Result<T, StoreError> {
        if !reply.status.is_success() {
            return Err(of_reply(self, reply));
        }
        serde_json::from_slice(&reply.bytes).map_err(|error| self.io(error))
    }

    pub(super) fn io(&self, source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError::Io { op: self.op, key: self.key.to_owned(), source: source.into() }
    }

    fn transient(&self, source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
        StoreError::Transient { op: self.op, key: self.key.to_owned(), source: source.into() }
    }
}

/// The error for a request that got no answer.
pub(super) fn of_wire(asked: &Asked<'_>, error: WireError) -> StoreError {
    if error.may_pass { asked.transient(error.source) } else { asked.io(error.source) }
}

/// The error for an answer that is not the expected one.
pub(super) fn of_reply(asked: &Asked<'_>, reply: &Reply) -> StoreError {
    if reply.from == Answerer::Store {
        return of_answer(asked.op, asked.key, reply.status.as_u16(), &reply.bytes);
    }
    let (op, key) = (asked.op, asked.key.to_owned());
    let body: Value = serde_json::from_slice(&reply.bytes).unwrap_or_default();
    let detail = body["detail"].as_str().unwrap_or_default();
    let name = reply.problem().unwrap_or_default();
    let source = match name.as_str() {
        "clock" => clock(body["ahead"].as_i64().unwrap_or_default()),
        "signature-missing" => UNSIGNED.to_owned(),
        _ if detail.is_empty() => format!("the answer is {}", reply.status),
        _ => detail.to_owned(),
    };
    match name.as_str() {
        "full" | "quota" => StoreError::Full { op, key, source: source.into() },
        "clock" => asked.io(source),
        "busy" | "slow" | "replayed" | "store-gone" => asked.transient(source),
        _ if is_refusal(reply.status) => {
            StoreError::Denied { op, key, source: Refusal { problem: name, why: source }.into() }
        }
        _ if may_pass(reply.status) || (name.is_empty() && is_anybodys(reply.status)) => asked.transient(source),
        _ => asked.io(source),
    }
}

/// Why a gateway refuses a request.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub(crate) struct Refusal {
    /// The problem's name; empty if something before the gateway has answered.
    pub(crate) problem: String,
    why: String,
}

fn is_refusal(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn may_pass(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::CONFLICT
            | StatusCode::REQUEST_TIMEOUT
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// Whether a status without a problem name may come from a proxy: a gateway always gives these with a name.
fn is_anybodys(status: StatusCode) -> bool {
    let lasts = [StatusCode::NOT_IMPLEMENTED, StatusCode::INSUFFICIENT_STORAGE];
    status == StatusCode::NOT_FOUND || (status.is_server_error() && !lasts.contains(&status))
}

fn clock(ahead: i64) -> String {
    let by = Duration::from_secs(ahead.unsigned_abs()).as_secs();
    let side = if ahead > 0 { "ahead of" } else { "behind" };
    format!("this machine's clock is {by} s {side} the gateway's, which takes at most 60: set it right")
}

const UNSIGNED: &str = "the gateway does not know this machine: join it with \"copal client join\", or let the gateway's \
    operator open key slots with \"copal serve --open-slots\", so that the passphrase makes it known";

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use serde_json::json;

    use super::*;

    fn error(status: u16, body: Value) -> StoreError {
        let status = StatusCode::from_u16(status).unwrap();
        let (from, headers) = (Answerer::Gateway, HeaderMap::new());
        let reply = Reply { from, status, headers, bytes: body.to_string().into() };
        of_reply(&Asked { op: Op::Create, key: "packs/1" }, &reply)
    }

    #[test]
    fn a_wrong_clock_is_explained_with_the_difference() {
        let body = json!({ "type": "urn:copal:problem:clock", "ahead": -7200, "detail": "x" });
        let cause = error(401, body).source().unwrap().to_string();
        assert!(cause.starts_with("this machine's clock is 7200 s behind the gateway's"), "{cause}");
    }

    #[test]
    fn refusals_are_final_and_what_may_pass_is_tried_again() {
        let named = |name: &str| json!({ "type": format!("urn:copal:problem:{name}"), "detail": "why" });
        assert!(matches!(error(403, named("not-permitted")), StoreError::Denied { .. }));
        assert!(matches!(error(403, named("quota")), StoreError::Full { .. }));
        assert!(error(401, named("replayed")).is_transient() && error(503, json!(null)).is_transient());
        assert!(matches!(error(500, named("damaged")), StoreError::Io { .. }));
        assert!(matches!(error(500, named("store-failed")), StoreError::Io { .. }));
    }

    #[test]
    fn a_failure_that_the_gateway_does_not_name_is_of_what_stands_before_it() {
        for status in [404, 500, 502, 503, 504, 520] {
            assert!(error(status, json!("no problem of ours")).is_transient(), "{status}");
        }
        for status in [400, 405, 501, 507] {
            assert!(matches!(error(status, json!(null)), StoreError::Io { .. }), "{status}");
        }
    }
}
