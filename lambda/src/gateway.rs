//! Gateway: the service's HTTP interface behind a function URL or an HTTP API. Object bytes go directly between clients
//! and S3, by requests that this function signs.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use axum::Router;
use axum::response::Response;
use copal_gateway::router::{Gateway, Orders, Presigned, Presigner, Quota, Settings};
use copal_jobs::metrics::{Metrics, REFUSED};
use copal_store::s3::S3Store;
use copal_store::{Key, Store, StoreError};
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
    let response = match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
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
        self.0.presign_put(key, length, *sha256, expires).await.map(presigned)
    }

    async fn get(&self, key: &Key, expires: Duration) -> Result<Presigned, StoreError> {
        self.0.presign_get(key, expires).await.map(presigned)
    }
}

fn presigned(signed: copal_store::s3::Presigned) -> Presigned {
    let headers = signed.headers.into_iter().map(|(name, value)| (name.to_owned(), value));
    Presigned { url: signed.url, headers: headers.collect() }
}

/// The function's name, which is its handler's name and a dimension of its metrics.
pub const NAME: &str = "gateway";

#[cfg(test)]
mod tests {
    use super::*;

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
