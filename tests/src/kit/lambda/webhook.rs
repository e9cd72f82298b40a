//! Webhook: what a server of S3 tells by itself of new objects, put into the queue before ingest as it comes.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Json, Router};
use serde_json::Value;

use super::queue::Queue;
use crate::kit::serving::Serving;

/// An address that is told of events.
pub struct Webhook {
    listener: TcpListener,
    told: Arc<AtomicU64>,
}

#[derive(Clone)]
struct Way {
    queue: Arc<Queue>,
    told: Arc<AtomicU64>,
}

impl Webhook {
    /// A free address; who comes waits until somebody listens.
    pub fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        Self { listener, told: Arc::default() }
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.local_addr().expect("a bound socket has an address")
    }

    pub fn told(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }

    /// Sends to a queue what it is told from now on. To be called within a runtime.
    pub(super) fn listen(&self, queue: Arc<Queue>) -> std::io::Result<Serving> {
        let router = Router::new().fallback(take).with_state(Way { queue, told: self.told.clone() });
        Serving::start(self.listener.try_clone()?, router)
    }
}

async fn take(State(way): State<Way>, event: Option<Json<Value>>) -> StatusCode {
    // A server asks first whether anybody is there.
    if let Some(Json(event)) = event {
        way.told.fetch_add(1, Ordering::Relaxed);
        way.queue.send(&event);
    }
    StatusCode::OK
}
