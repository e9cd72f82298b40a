//! Headers: those that every answer has for browsers, from the gateway, the page beside it, or a layer in front of
//! both.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::Response;

/// Adds them to every answer of a router. `is_tls` says whether clients reach it by https only.
pub(crate) fn on(router: Router, is_tls: bool) -> Router {
    router.layer(middleware::from_fn_with_state(is_tls, add))
}

async fn add(State(is_tls): State<bool>, request: Request, next: Next) -> Response {
    let is_strict = is_tls && !is_this_machine(&request);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if is_strict {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(A_YEAR));
    }
    response
}

/// Whether the request names this machine `localhost`. A browser would ask for https from every other program there too.
fn is_this_machine(request: &Request) -> bool {
    let named = |headers: &HeaderMap| headers.get(header::HOST)?.to_str().ok().map(str::to_owned);
    let host = request.uri().authority().map(|authority| authority.to_string()).or_else(|| named(request.headers()));
    let host = host.unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name).trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost")
}

const A_YEAR: &str = "max-age=31536000";
