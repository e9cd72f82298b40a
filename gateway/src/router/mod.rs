//! Router: the HTTP interface for clients without rights on the store (`docs/gateway.md`). Any host can serve it: a Lambda
//! function, `copal serve`, a pipe.

mod age;
mod bodies;
mod bucket;
mod call;
mod content;
mod cors;
mod facts;
pub(crate) mod headers;
mod holdings;
mod jobs;
mod ledger;
mod memory;
pub(crate) mod network;
mod newest;
mod objects;
mod pieces;
mod problem;
mod quota;
mod records;
mod rights;
mod room;
mod shared;
mod shares;
mod state;
mod tickets;
mod transfers;
mod written;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::{get, post};
use copal_format::id::{ClientId, OwnerFingerprint, PackId};
use copal_store::{Key, Presigned, Store, StoreError};

use bodies::{Bodies, Pace};
use copal_jobs::context::Entropy;
pub use facts::{Facts, read_facts};
pub use jobs::{JobRunner, NotNow, Orders, Scheduled, ScheduledJob};
pub use memory::Memory;
pub use problem::Problem;
pub use quota::Quota;
use room::Space;

/// The configuration of a gateway.
#[derive(Clone)]
pub struct Settings {
    /// The repository's objects.
    pub store: Arc<dyn Store>,
    /// Random bytes.
    pub entropy: Arc<dyn Entropy>,
    /// Returns the seconds since 1970.
    pub clock: fn() -> u64,
    /// Signs addresses at which the store itself takes and gives objects. Without it, the gateway does.
    pub presigner: Option<Arc<dyn Presigner>>,
    /// The owner whose signature the descriptor must carry.
    pub owner: Option<OwnerFingerprint>,
    /// The gateway's address as clients know it, such as `https://backup.example`; by default that of each request.
    pub origin: Option<String>,
    /// Other addresses of the gateway, which clients may have met it by.
    pub other_origins: Vec<String>,
    /// `http` or `https`, for addresses taken from requests.
    pub scheme: &'static str,
    /// Whether anybody may read key slots. If so, anybody can try to guess passphrases.
    pub open_slots: bool,
    /// Whether anybody may create the repository while there is none.
    pub accept_init: bool,
    /// How much clients may store.
    pub quota: Quota,
    /// The web origin whose pages may use the gateway.
    pub cors: Option<String>,
    /// Called when something may have arrived for ingest.
    pub arrived: Option<Arc<dyn Fn(Arrival) + Send + Sync>>,
    /// Called with packs that a full client reports as harmed or whole again. It examines them itself.
    pub suspected: Option<Arc<dyn Fn(Vec<PackId>) + Send + Sync>>,
    /// Returns the health of the jobs that run beside the gateway.
    pub jobs: Option<Arc<dyn Fn() -> Vec<JobHealth> + Send + Sync>>,
    /// Which jobs callers may order.
    pub orders: Orders,
}

impl Settings {
    /// Whether clients reach the gateway by https, its own or a proxy's.
    pub(crate) fn is_tls(&self) -> bool {
        self.scheme == "https" || self.origin.as_ref().is_some_and(|origin| origin.starts_with("https://"))
    }
}

/// The health of a job that runs beside the gateway.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct JobHealth {
    /// The job's name.
    pub job: &'static str,
    /// How many of its runs panicked or ended the process.
    pub stops: u64,
    /// Whether its last run failed.
    pub is_failing: bool,
}

/// Something that ingest may have to decide.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arrival {
    /// A manifest of this client.
    Manifest(ClientId),
    /// A change.
    Change,
}

impl Arrival {
    /// The client of the manifest.
    pub fn client(self) -> Option<ClientId> {
        match self {
            Self::Manifest(client) => Some(client),
            Self::Change => None,
        }
    }
}

/// Signs addresses at which the store itself takes or gives one object.
#[async_trait]
pub trait Presigner: Send + Sync {
    /// An address for creating an object of exactly these bytes. It never replaces an object.
    async fn put(&self, key: &Key, length: u64, sha256: &[u8; 32], expires: Duration) -> Result<Presigned, StoreError>;

    /// An address for reading an object.
    async fn get(&self, key: &Key, expires: Duration) -> Result<Presigned, StoreError>;
}

/// A gateway to one repository.
pub struct Gateway {
    settings: Settings,
    known: facts::Known,
    memory: Option<Memory>,
    bodies: Bodies,
    /// Memory for objects on their way to clients.
    answers: Space,
}

impl Gateway {
    /// Makes a gateway. A host that lives on between requests passes a memory.
    pub fn new(settings: Settings, memory: Option<Memory>) -> Self {
        let known = facts::Known::new(settings.quota != Quota::default());
        Self { settings, known, memory, bodies: Bodies::new(Pace::default()), answers: pieces::space() }
    }

    /// The routes.
    pub fn router(self) -> Router {
        let gateway = Arc::new(self);
        let is_tls = gateway.settings.is_tls();
        let router = Router::new()
            .route("/v1/health", get(state::health))
            .route("/v1/repository", get(state::repository))
            .route("/v1/time", get(state::time))
            .route("/v1/index", get(state::index))
            .route("/v1/receipts/{client}/{number}", get(state::receipt))
            .route("/v1/uploads", post(transfers::uploads))
            .route("/v1/downloads", post(transfers::downloads))
            .route("/v1/suspects", post(transfers::suspects))
            .route("/v1/jobs", get(jobs::told).post(jobs::order))
            .route("/v1/quota", get(quota::told))
            .route("/v1/shares", get(shares::list))
            .route("/v1/shares/{id}", post(shares::create).delete(shares::revoke))
            .route("/v1/shares/{id}/openings", post(shares::open))
            .route("/v1/shares/{id}/parts", post(shares::part))
            .route("/v1/objects", get(objects::list))
            .route(
                "/v1/objects/{*key}",
                get(objects::read).head(objects::stat).put(objects::create).delete(objects::delete),
            )
            .method_not_allowed_fallback(async || {
                Problem::new("method", StatusCode::METHOD_NOT_ALLOWED, "there is no such method here")
            })
            .fallback(async || Problem::new("not-found", StatusCode::NOT_FOUND, "there is nothing at this address"))
            .layer(middleware::from_fn_with_state(gateway.clone(), cors::answer))
            .with_state(gateway);
        headers::on(router, is_tls)
    }

    /// Tells the host that ingest may have work.
    fn hint(&self, arrival: Arrival) {
        if let Some(arrived) = &self.settings.arrived {
            arrived(arrival);
        }
    }
}

/// How long signed addresses are valid, in seconds.
const TRANSFER_SECONDS: u64 = 15 * 60;
