//! Gateway: the HTTP interface for clients that have no rights on the store (`docs/gateway.md`). A router that any host can
//! serve: a function in the cloud, `copal serve`, a pipe.

mod bodies;
mod call;
mod cors;
mod facts;
mod holdings;
mod jobs;
mod ledger;
mod memory;
mod objects;
mod pieces;
mod problem;
mod quota;
mod rights;
mod state;
mod transfers;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::http::StatusCode;
use axum::middleware;
use axum::routing::{get, post};
use copal_engine::id::{ClientId, OwnerFingerprint, PackId};
use copal_store::{Key, Store, StoreError};

use crate::host::Entropy;
use bodies::{Bodies, Pace};
pub use facts::{Facts, read_facts};
pub use jobs::{Ingested, JobOrder, JobRunner, Rejection};
pub use memory::Memory;
pub use problem::{PROBLEM, Problem, TYPES};
pub use quota::Quota;

/// What a gateway is made of.
#[derive(Clone)]
pub struct Settings {
    /// The repository's objects.
    pub store: Arc<dyn Store>,
    /// Random bytes.
    pub entropy: Arc<dyn Entropy>,
    /// Seconds since 1970.
    pub clock: fn() -> u64,
    /// Who hands out addresses at which the store takes and gives objects itself; without one they go through the gateway.
    pub presigner: Option<Arc<dyn Presigner>>,
    /// The owner that the descriptor has to be signed by.
    pub owner: Option<OwnerFingerprint>,
    /// The address by which clients know the gateway, such as `https://backup.example`; otherwise what they say it is.
    pub origin: Option<String>,
    /// `http` or `https`, where the address is what clients say.
    pub scheme: &'static str,
    /// Whether anybody may read key slots, which are then open to guessing of passphrases.
    pub open_slots: bool,
    /// Whether whoever comes first may make the repository.
    pub accept_init: bool,
    /// How much a client may store.
    pub quota: Quota,
    /// The web origin whose pages may use the gateway.
    pub cors: Option<String>,
    /// Is told of what may have been uploaded for ingest.
    pub arrived: Option<Arc<dyn Fn(Arrival) + Send + Sync>>,
    /// Is told of packs that a full client found harmed, or whole again, and looks at them by itself.
    pub suspected: Option<Arc<dyn Fn(Vec<PackId>) + Send + Sync>>,
    /// Tells how the jobs are that run beside the gateway.
    pub jobs: Option<Arc<dyn Fn() -> Vec<JobHealth> + Send + Sync>>,
    /// Runs jobs that callers order; without one nobody may order any.
    pub runner: Option<Arc<dyn JobRunner>>,
}

/// How a job is that runs beside the gateway.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct JobHealth {
    /// Which.
    pub job: &'static str,
    /// So many of its runs panicked, or took the process with them.
    pub stops: u64,
    /// Whether its last run did not end well.
    pub is_failing: bool,
}

/// What ingest may have to decide about.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arrival {
    /// A manifest of this client.
    Manifest(ClientId),
    /// A change.
    Change,
}

impl Arrival {
    /// The client whose manifest it is.
    pub fn client(self) -> Option<ClientId> {
        match self {
            Self::Manifest(client) => Some(client),
            Self::Change => None,
        }
    }
}

/// Hands out addresses at which the store itself takes or gives one object.
#[async_trait]
pub trait Presigner: Send + Sync {
    /// For creating an object of exactly these bytes, and never replacing one.
    async fn put(&self, key: &Key, length: u64, sha256: &[u8; 32], expires: Duration) -> Result<Presigned, StoreError>;

    /// For reading an object.
    async fn get(&self, key: &Key, expires: Duration) -> Result<Presigned, StoreError>;
}

/// An address, and the headers that have to be sent to it. Whoever sees the address may make the request: it is a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Presigned {
    /// The address.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
}

impl fmt::Debug for Presigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = self.url.split('?').next().unwrap_or_default();
        f.debug_struct("Presigned").field("url", &bare).finish_non_exhaustive()
    }
}

/// A gateway to one repository.
pub struct Gateway {
    settings: Settings,
    known: facts::Known,
    memory: Option<Memory>,
    bodies: Bodies,
}

impl Gateway {
    /// A gateway; with a memory if it lives on between requests.
    pub fn new(settings: Settings, memory: Option<Memory>) -> Self {
        Self { settings, known: facts::Known::default(), memory, bodies: Bodies::new(Pace::default()) }
    }

    /// The routes.
    pub fn router(self) -> Router {
        let gateway = Arc::new(self);
        Router::new()
            .route("/v1/health", get(state::health))
            .route("/v1/repository", get(state::repository))
            .route("/v1/time", get(state::time))
            .route("/v1/index", get(state::index))
            .route("/v1/receipts/{client}/{number}", get(state::receipt))
            .route("/v1/uploads", post(transfers::uploads))
            .route("/v1/downloads", post(transfers::downloads))
            .route("/v1/suspects", post(transfers::suspects))
            .route("/v1/jobs", post(jobs::order))
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
            .with_state(gateway)
    }

    /// Tells the host that ingest may have something to decide about.
    fn hint(&self, arrival: Arrival) {
        if let Some(arrived) = &self.settings.arrived {
            arrived(arrival);
        }
    }
}

/// How long addresses that were handed out count.
const TRANSFER_SECONDS: u64 = 15 * 60;
