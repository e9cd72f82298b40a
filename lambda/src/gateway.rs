//! Gateway: the service's HTTP interface behind a function URL or an HTTP API. Object bytes go directly between clients
//! and S3, by requests that this function signs.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use copal_gateway::router::{Gateway, Orders, Presigner, Problem, Quota, Settings};
use copal_jobs::metrics::{Metrics, REFUSED};
use copal_store::s3::S3Store;
use copal_store::{Key, Presigned, Store, StoreError};
use lambda_http::tower::ServiceExt;
use lambda_http::{Request, RequestExt};

use crate::environment::Environment;
use crate::metrics;
use crate::services::SystemEntropy;

/// The gateway to the repository of this environment.
pub fn gateway(environment: &Environment, store: Arc<dyn Store>, presigner: Arc<dyn Presigner>) -> Gateway {
    let settings = Settings {
        store,
        entropy: Arc::new(SystemEntropy),
        clock: || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
        presigner: Some(presigner),
        owner: Some(environment.owner),
        origin: environment.origins.first().cloned(),
        other_origins: environment.origins.iter().skip(1).cloned().collect(),
        scheme: "https",
        open_slots: environment.open_slots,
        accept_init: false,
        quota: Quota { stored: environment.quota, daily: environment.daily_quota },
        cors: environment.cors.clone(),
        // The bucket's events tell ingest about new objects.
        arrived: None,
        // This function may not write what a check would note.
        suspected: None,
        // The jobs are functions of their own, with their own alarms.
        jobs: None,
        orders: Orders::None,
    };
    // The next request may reach another process, so remembering requests is useless.
    Gateway::new(settings, None)
}

/// Answers a request, and writes its log line and metrics.
pub async fn answer(router: Router, environment: &Environment, request: Request) -> Response {
    let started = Instant::now();
    let id = request.lambda_context_ref().map(|context| context.request_id.clone()).unwrap_or_default();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let sender = sender(&request);
    let response = match closed(environment, &request) {
        Some(problem) => problem.into_response(),
        None => match router.oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        },
    };
    let status = response.status();
    tracing::info!(%method, path, status = status.as_u16(), sender, "answered");
    let mut metrics = Metrics::default();
    metrics.ended(status.is_server_error(), started.elapsed());
    metrics.count(REFUSED, status.is_client_error().into());
    let repository = environment.repository();
    metrics::write(&metrics::line(&metrics, &environment.namespace, NAME, &repository, &id, SystemTime::now()));
    response
}

/// Why a request is refused that does not come through the proxy that the environment speaks of.
fn closed(environment: &Environment, request: &Request) -> Option<Problem> {
    let via = environment.via.as_ref()?;
    let said: Vec<_> = request.headers().get_all(VIA).iter().collect();
    let is_through = matches!(said[..], [said] if via.is(said.as_bytes()));
    let detail = "this address of the gateway is closed: use the address of its page";
    (!is_through).then(|| Problem::new("not-permitted", StatusCode::FORBIDDEN, detail))
}

/// The header in which the proxy says that a request comes through it.
const VIA: &str = "x-copal-via";

/// Who sent a request, by what each proxy on its way has added at the end: CloudFront its client, the API CloudFront. Whoever
/// asks the API itself can put anything before its own address, so both are told.
fn sender(request: &Request) -> String {
    let proxies = request.headers().get_all("x-forwarded-for").iter().filter_map(|value| value.to_str().ok());
    let all: Vec<&str> = proxies.flat_map(|value| value.split(',')).map(str::trim).collect();
    let last =
        all[all.len().saturating_sub(2)..].iter().map(|address| address.chars().take(ADDRESS).collect::<String>());
    last.collect::<Vec<_>>().join(" via ")
}

/// As long as an address may be: IPv6, with a zone and a port.
const ADDRESS: usize = 64;

/// Signs requests that clients send to S3.
pub struct S3Presigner(pub Arc<S3Store>);

#[async_trait]
impl Presigner for S3Presigner {
    async fn put(&self, key: &Key, length: u64, sha256: &[u8; 32], expires: Duration) -> Result<Presigned, StoreError> {
        self.0.presign_put(key, length, *sha256, expires).await
    }

    async fn get(&self, key: &Key, expires: Duration) -> Result<Presigned, StoreError> {
        self.0.presign_get(key, expires).await
    }
}

/// The function's name, which is its handler's name and a dimension of its metrics.
pub const NAME: &str = "gateway";

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_apis_own_address_is_closed_to_whoever_does_not_come_through_cloudfront() {
        let environment = |via: Option<&str>| {
            let set =
                [("COPAL_BUCKET", "b"), ("COPAL_OWNER_FINGERPRINT", OWNER), ("COPAL_VIA", via.unwrap_or_default())];
            Environment::read(|name| set.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned()))
        };
        let status = async |via: Option<&str>, said: &[&str]| {
            let router = Router::new().fallback(async || StatusCode::OK);
            let mut request = Request::default();
            for said in said {
                request.headers_mut().append(VIA, said.parse().unwrap());
            }
            answer(router, &environment(via).unwrap(), request).await.status()
        };
        assert_eq!(status(Some("secret"), &["secret"]).await, StatusCode::OK);
        // CloudFront replaces what a client says under this name, so two are not its.
        for said in [&[][..], &["other"], &[""], &["secret", "secret"]] {
            assert_eq!(status(Some("secret"), said).await, StatusCode::FORBIDDEN, "{said:?}");
        }
        assert_eq!(status(None, &[]).await, StatusCode::OK);
    }

    const OWNER: &str = "ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45ab45cd45";

    #[test]
    fn the_log_names_who_sent_a_request_through_cloudfront() {
        let through = |proxies: &[&str]| {
            let mut request = Request::default();
            for proxy in proxies {
                request.headers_mut().append("x-forwarded-for", proxy.parse().unwrap());
            }
            sender(&request)
        };
        assert_eq!(through(&["203.0.113.7, 130.176.0.1"]), "203.0.113.7 via 130.176.0.1");
        // What the sender claims itself comes before, and is not told.
        assert_eq!(through(&["198.51.100.1, 203.0.113.7", "130.176.0.1"]), "203.0.113.7 via 130.176.0.1");
        assert_eq!((through(&["203.0.113.7"]), through(&[])), ("203.0.113.7".to_owned(), String::new()));
        assert_eq!(through(&["a".repeat(900).as_str()]).len(), ADDRESS);
    }
}
