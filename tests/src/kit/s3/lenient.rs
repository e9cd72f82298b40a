//! A server that speaks just enough S3 to look fit, and does not keep some promises.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::{HeaderMap, Method};
use sha2::{Digest, Sha256};

use super::runtime;
use crate::kit::serving::Serving;

/// Objects in memory, and the headers that count for nothing.
#[derive(Clone)]
struct Lenient {
    objects: Arc<Mutex<BTreeMap<String, Bytes>>>,
    unheeded: Vec<&'static str>,
}

/// A server that does as if those headers were not sent.
pub fn lenient(unheeded: &[&'static str]) -> Serving {
    let _entered = runtime().enter();
    let lenient = Lenient { objects: Arc::default(), unheeded: unheeded.to_vec() };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    Serving::start(listener, Router::new().fallback(answer).with_state(lenient)).expect("a listener becomes a server")
}

async fn answer(State(lenient): State<Lenient>, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    for name in lenient.unheeded {
        head.headers.remove(name);
    }
    let sent = to_bytes(body, usize::MAX).await.unwrap_or_default();
    // The probe lists nothing, and what asks whether there is a repository finds none.
    if head.uri.query().is_some_and(|query| query.contains("list-type=2")) {
        return Response::new(Body::from("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"));
    }
    act(&mut lenient.objects.lock().expect("no panic"), &head.method, head.uri.path(), &head.headers, sent)
}

fn act(
    objects: &mut BTreeMap<String, Bytes>,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    sent: Bytes,
) -> Response {
    let plain = |status: u16, code: &str| {
        let text = if code.is_empty() { String::new() } else { format!("<Error><Code>{code}</Code></Error>") };
        Response::builder().status(status).body(Body::from(text)).expect("a plain answer")
    };
    let found = objects.get(path).cloned();
    match (method.as_str(), found) {
        ("PUT", Some(_)) if headers.contains_key("if-none-match") => plain(412, "PreconditionFailed"),
        ("PUT", _) => {
            let claimed = headers.get("x-amz-checksum-sha256").and_then(|value| value.to_str().ok());
            if claimed.is_some_and(|claimed| claimed != BASE64.encode(Sha256::digest(&sent))) {
                return plain(400, "BadDigest");
            }
            objects.insert(path.to_owned(), sent);
            plain(200, "")
        }
        ("DELETE", _) => {
            objects.remove(path);
            plain(204, "")
        }
        (_, None) => plain(404, "NoSuchKey"),
        (_, Some(bytes)) => Response::builder()
            .header("last-modified", "Fri, 20 Nov 2026 12:00:00 GMT")
            .header("content-length", bytes.len())
            .body(if method == Method::HEAD { Body::empty() } else { Body::from(bytes) })
            .expect("an object"),
    }
}
