//! Door: serves the tree of snapshots over HTTP to this machine, and decides which requests are answered.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    CONTENT_LENGTH, CONTENT_SECURITY_POLICY, HOST, HeaderName, RANGE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use copal_client::browse::Browser;
use copal_client::entropy::random;
use copal_format::shown::digits;
use copal_gateway::serve::{bind, serve_here};
use dav_server::davpath::DavPath;
use dav_server::{DavHandler, DavMethodSet};
use tokio::runtime::Builder;

use super::MountPlace;
use super::webdav::{READ_BYTES, Snapshots};
use crate::commands::context::Context;
use crate::report::Failure;

/// Any free port, for this machine alone.
pub(super) const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

pub(super) fn serve(
    context: &Context<'_>,
    browser: Arc<Browser>,
    address: SocketAddr,
    ending: &Receiver<()>,
) -> Result<(), Failure> {
    if !address.ip().is_loopback() {
        let why = "everything would go in the clear: let ssh forward a port of this machine";
        return Err(Failure::Usage(format!("--webdav serves this machine only, and {address} is for others ({why})")));
    }
    let failed = |error| Failure::io("listen at", address.to_string(), error);
    let runtime = Builder::new_multi_thread().enable_all().build().map_err(failed)?;
    let (listener, at) = bind(address).map_err(failed)?;
    let door = Arc::new(Door::new(browser));
    let url = format!("http://{at}{}/", door.prefix);
    let app = Router::new().fallback(move |request: Request| {
        let door = door.clone();
        async move { door.answer(request).await }
    });
    runtime.spawn(serve_here(listener, app));
    context.report.answer(&MountPlace { at: url, how: "serving at", end: "or SIGTERM" })?;
    // An error means that no more signals can arrive.
    let _ = ending.recv();
    runtime.shutdown_timeout(Duration::from_secs(2));
    Ok(())
}

/// Decides which requests are answered. Any user and any web page of this machine can send some.
struct Door {
    /// The secret path in the address.
    prefix: String,
    snapshots: Snapshots,
    dav: DavHandler,
}

impl Door {
    fn new(browser: Arc<Browser>) -> Self {
        let prefix = format!("/{}", digits(&random::<16>()));
        let snapshots = Snapshots { browser };
        let config = DavHandler::builder().filesystem(Box::new(snapshots.clone()));
        let config = config.methods(DavMethodSet::WEBDAV_RO).strip_prefix(prefix.clone()).autoindex(false);
        Self { prefix, snapshots, dav: config.read_buf_size(READ_BYTES).build_handler() }
    }

    async fn answer(&self, mut request: Request) -> Response {
        // DNS rebinding: a web page whose host name resolves to this machine sends that name here.
        if !request.headers().get(HOST).is_some_and(is_this_machine) {
            return StatusCode::MISDIRECTED_REQUEST.into_response();
        }
        if !self.admits(request.uri().path()) {
            return StatusCode::NOT_FOUND.into_response();
        }
        // The library parses XML recursively, as deep as the body is nested. Without a body it answers with all
        // properties.
        *request.body_mut() = Body::empty();
        request.headers_mut().remove(CONTENT_LENGTH);
        // With this header, the library lists whole snapshots at once.
        request.headers_mut().remove("x-litmus");
        // The library sends as many parts as the header names, each up to the whole file, and may overflow when it adds
        // to their ends. Without the header it sends the file once.
        if request.headers().get(RANGE).is_some_and(|range| !is_one_part(range)) {
            request.headers_mut().remove(RANGE);
        }
        let is_read = [Method::GET, Method::HEAD].contains(request.method());
        let uri = request.uri().clone();
        let mut response = self.dav.handle(request).await.map(Body::new);
        // With this status the library refuses to read a directory, after it has found the directory.
        if is_read && response.status() == StatusCode::METHOD_NOT_ALLOWED {
            response = self.page(&uri).await;
        }
        // A page that was saved must not read other files when a browser shows it.
        for (name, value) in [
            (CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'; style-src 'unsafe-inline'"),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
            (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        ] {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }

    /// The page of a directory that is there.
    async fn page(&self, uri: &Uri) -> Response {
        let path = DavPath::new(uri.path()).and_then(|mut path| path.set_prefix(&self.prefix).map(|()| path));
        let page = match path {
            Ok(path) => self.snapshots.page(&path).await.ok(),
            Err(_) => None,
        };
        page.map_or_else(|| StatusCode::INTERNAL_SERVER_ERROR.into_response(), |page| Html(page).into_response())
    }

    /// Whether a path begins with the prefix. Takes the same time wherever it differs.
    fn admits(&self, path: &str) -> bool {
        let (prefix, path) = (self.prefix.as_bytes(), path.as_bytes());
        let Some((begin, rest)) = path.split_at_checked(prefix.len()) else { return false };
        let differing = begin.iter().zip(prefix).fold(0, |bits, (a, b)| bits | (a ^ b));
        differing == 0 && (rest.is_empty() || rest[0] == b'/')
    }
}

fn is_this_machine(host: &HeaderValue) -> bool {
    let Ok(host) = host.to_str() else { return false };
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    let name = host.rsplit_once(':').filter(|(_, port)| is_port(port)).map_or(host, |(name, _)| name);
    let number = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || number.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Whether a range names one part of a file, with numbers that a file's offsets can have.
fn is_one_part(range: &HeaderValue) -> bool {
    let part = range.to_str().ok().and_then(|range| range.strip_prefix("bytes=")?.split_once('-'));
    let is_number = |number: &str| number.is_empty() || number.parse::<u64>().is_ok_and(|number| number < 1 << 63);
    part.is_some_and(|(start, end)| is_number(start) && is_number(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_part_of_a_file_is_sent_at_once() {
        for (range, is_one) in [
            ("bytes=0-9", true),
            ("bytes=5-", true),
            ("bytes=-5", true),
            ("bytes=0-9223372036854775807", true),
            ("bytes=0-18446744073709551615", false),
            ("bytes=0-,0-", false),
            ("bytes=0-9, 20-", false),
            ("bytes=0", false),
            ("lines=0-9", false),
        ] {
            assert_eq!(is_one_part(&HeaderValue::from_static(range)), is_one, "{range}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_answered() {
        for (host, is_ours) in [
            ("127.0.0.1:4918", true),
            ("localhost", true),
            ("LOCALHOST:80", true),
            ("[::1]:80", true),
            ("127.9.9.9", true),
            ("evil.example", false),
            ("evil.example:4918", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil.example:4918", false),
            ("192.168.0.1", false),
            ("", false),
        ] {
            assert_eq!(is_this_machine(&HeaderValue::from_static(host)), is_ours, "{host}");
        }
    }
}
