//! CORS: lets pages of one web origin use the gateway.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Gateway;

/// Answers preflight requests, and adds the headers that let the origin read an answer.
pub(super) async fn answer(State(gateway): State<Arc<Gateway>>, request: Request, next: Next) -> Response {
    let is_ours = gateway.settings.cors.as_deref().filter(|origin| {
        request.headers().get(header::ORIGIN).is_some_and(|asking| asking.as_bytes() == origin.as_bytes())
    });
    let Some(origin) = is_ours.and_then(|origin| HeaderValue::from_str(origin).ok()) else {
        return next.run(request).await;
    };
    let mut response = if request.method() == Method::OPTIONS {
        StatusCode::NO_CONTENT.into_response()
    } else {
        next.run(request).await
    };
    permit(response.headers_mut(), origin);
    response
}

fn permit(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    let fixed: [(HeaderName, &'static str); 4] = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, PUT, DELETE"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "content-digest, content-type, if-none-match, range, signature, signature-input",
        ),
        (
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            "content-range, copal-created, copal-problem, copal-sha256, retry-after",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
