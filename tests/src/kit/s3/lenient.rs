//! A server that speaks just enough S3 to look fit, and does not keep some promises.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::runtime;

/// Objects in memory, for whoever asks. It pays no heed to some headers.
#[derive(Debug)]
pub struct Lenient {
    address: SocketAddr,
    task: JoinHandle<()>,
}

type Objects = Arc<Mutex<BTreeMap<String, Bytes>>>;

impl Lenient {
    /// A server that does as if those headers were not sent.
    pub fn start(unheeded: &[&'static str]) -> Lenient {
        let listener = runtime().block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (objects, unheeded) = (Objects::default(), unheeded.to_vec());
        let task = runtime().spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (objects, unheeded) = (objects.clone(), unheeded.clone());
                tokio::spawn(async move {
                    let service = service_fn(move |request| answer(objects.clone(), unheeded.clone(), request));
                    let connection = hyper::server::conn::http1::Builder::new();
                    let _ = connection.serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        Lenient { address, task }
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Lenient {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    objects: Objects,
    unheeded: Vec<&'static str>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let mut headers = head.headers;
    for name in unheeded {
        headers.remove(name);
    }
    let sent = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    // The probe lists nothing, and what asks whether there is a repository finds none.
    if head.uri.query().is_some_and(|query| query.contains("list-type=2")) {
        let none = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";
        return Ok(Response::new(Full::new(Bytes::from(none))));
    }
    Ok(act(&mut objects.lock().expect("no panic"), &head.method, head.uri.path(), &headers, sent))
}

fn act(
    objects: &mut BTreeMap<String, Bytes>,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    sent: Bytes,
) -> Response<Full<Bytes>> {
    let plain = |status: u16, code: &str| {
        let text = if code.is_empty() { String::new() } else { format!("<Error><Code>{code}</Code></Error>") };
        Response::builder().status(status).body(Full::new(Bytes::from(text))).expect("a plain answer")
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
            .body(Full::new(if method == Method::HEAD { Bytes::new() } else { bytes }))
            .expect("an object"),
    }
}
