//! URL: the address of a function: requests become its events and its answers become responses, in the payload format 2.0.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use super::environment::Outcome;
use super::function::Function;
use crate::kit::serving::Serving;

/// Invokes a function for whoever comes to a listener. To be called within a runtime.
pub fn serve(function: Arc<Function>, listener: TcpListener) -> std::io::Result<Serving> {
    Serving::start(listener, Router::new().fallback(invoke).with_state(function))
}

async fn invoke(State(function): State<Arc<Function>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, PAYLOAD_MOST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let path = parts.uri.path();
    let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let event = json!({
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": parts.uri.query().unwrap_or_default(),
        "headers": headers(&parts.headers),
        "requestContext": {
            "accountId": "anonymous",
            "apiId": "copal",
            "domainName": text("host"),
            "domainPrefix": "copal",
            "http": {
                "method": parts.method.as_str(),
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "192.0.2.7",
                "userAgent": text("user-agent"),
            },
            "requestId": format!("{millis:032x}"),
            "routeKey": "$default",
            "stage": "$default",
            "time": "20/Nov/2026:12:00:00 +0000",
            "timeEpoch": millis,
        },
        "body": BASE64.encode(&body),
        "isBase64Encoded": true,
    });
    match function.invoke(&event).await {
        Outcome::Response(answer) => response(&answer).unwrap_or_else(|| StatusCode::BAD_GATEWAY.into_response()),
        // What a function URL answers for a function that failed.
        _ => (StatusCode::BAD_GATEWAY, "Internal Server Error").into_response(),
    }
}

/// Headers by their names in small letters; several of one name are joined.
fn headers(headers: &HeaderMap) -> Value {
    let mut joined = Map::new();
    for name in headers.keys() {
        let values: Vec<&str> = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
        joined.insert(name.to_string(), values.join(",").into());
    }
    Value::Object(joined)
}

fn response(answer: &Value) -> Option<Response> {
    let status = StatusCode::from_u16(answer["statusCode"].as_u64()?.try_into().ok()?).ok()?;
    let body = answer["body"].as_str().unwrap_or_default();
    let body = match answer["isBase64Encoded"].as_bool() {
        Some(true) => BASE64.decode(body).ok()?,
        _ => body.as_bytes().to_vec(),
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let mut take = |name: &str, value: &str| {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    };
    for (name, value) in answer["headers"].as_object().into_iter().flatten() {
        take(name, value.as_str()?);
    }
    for (name, values) in answer["multiValueHeaders"].as_object().into_iter().flatten() {
        for value in values.as_array()? {
            if answer["headers"].get(name).is_none() {
                take(name, value.as_str()?);
            }
        }
    }
    Some(response)
}

/// What a synchronous invocation may bring and answer.
const PAYLOAD_MOST: usize = 6 << 20;
