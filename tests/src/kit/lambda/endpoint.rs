//! Endpoint: the Runtime API of one execution environment, as AWS documents it for the version 2018-06-01.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};

use crate::kit::serving::Serving;

/// What a function answers to an invocation.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Response(Value),
    /// An error of its own.
    Error {
        kind: String,
        message: String,
    },
}

/// How far a process is with asking for work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has not asked for an invocation yet.
    Starting,
    /// It waits for an invocation.
    Idle,
    /// It has one.
    Busy,
    /// It said that it cannot start.
    Failed(String),
}

/// The Runtime API of one process.
pub struct Endpoint {
    invocations: mpsc::UnboundedSender<Invocation>,
    phase: watch::Receiver<Phase>,
    server: Serving,
}

struct Invocation {
    id: String,
    payload: String,
    deadline: SystemTime,
    answer: oneshot::Sender<Answer>,
}

struct Shared {
    function: String,
    invocations: tokio::sync::Mutex<mpsc::UnboundedReceiver<Invocation>>,
    pending: Mutex<HashMap<String, oneshot::Sender<Answer>>>,
    phase: watch::Sender<Phase>,
}

impl Endpoint {
    /// To be called within a runtime.
    pub fn start(function: &str) -> std::io::Result<Self> {
        let (invocations, queued) = mpsc::unbounded_channel();
        let (phase, watched) = watch::channel(Phase::Starting);
        let shared = Arc::new(Shared {
            function: function.to_owned(),
            invocations: tokio::sync::Mutex::new(queued),
            pending: Mutex::default(),
            phase,
        });
        let router = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
            .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
            .route("/2018-06-01/runtime/init/error", post(init_error))
            .with_state(shared);
        let server = Serving::start(TcpListener::bind(("127.0.0.1", 0))?, router)?;
        Ok(Self { invocations, phase: watched, server })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Hands an invocation to the process that asks for one next; the answer comes through the receiver, or never.
    pub fn invoke(&self, id: String, payload: &Value, timeout: Duration) -> oneshot::Receiver<Answer> {
        let (answer, answered) = oneshot::channel();
        let deadline = SystemTime::now() + timeout;
        // Without a server nobody answers, which the receiver tells.
        let _ = self.invocations.send(Invocation { id, payload: payload.to_string(), deadline, answer });
        answered
    }

    /// Waits until the process is in a phase.
    pub async fn reached(&self, is_it: impl FnMut(&Phase) -> bool) -> Phase {
        let mut phase = self.phase.clone();
        match phase.wait_for(is_it).await {
            Ok(phase) => phase.clone(),
            Err(_) => Phase::Failed("the endpoint is gone".to_owned()),
        }
    }
}

async fn next(State(shared): State<Arc<Shared>>) -> Response {
    shared.phase.send_replace(Phase::Idle);
    let Some(invocation) = shared.invocations.lock().await.recv().await else {
        return StatusCode::GONE.into_response();
    };
    shared.phase.send_replace(Phase::Busy);
    let Invocation { id, payload, deadline, answer } = invocation;
    shared.pending.lock().expect("nobody panics with it").insert(id.clone(), answer);
    let millis = deadline.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("lambda-runtime-aws-request-id", id),
        ("lambda-runtime-deadline-ms", millis.to_string()),
        (
            "lambda-runtime-invoked-function-arn",
            format!("arn:aws:lambda:us-east-1:123456789012:function:{}", shared.function),
        ),
        ("lambda-runtime-trace-id", TRACE.to_owned()),
    ];
    (headers, payload).into_response()
}

async fn response(State(shared): State<Arc<Shared>>, Path(id): Path<String>, body: Bytes) -> Response {
    match serde_json::from_slice(&body) {
        Ok(value) => shared.settle(&id, Answer::Response(value)),
        Err(_) => refused(StatusCode::BAD_REQUEST, "a response is JSON"),
    }
}

async fn error(State(shared): State<Arc<Shared>>, Path(id): Path<String>, headers: HeaderMap, body: Bytes) -> Response {
    let (kind, message) = told(&headers, &body);
    shared.settle(&id, Answer::Error { kind, message })
}

async fn init_error(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let (kind, message) = told(&headers, &body);
    shared.phase.send_replace(Phase::Failed(format!("{kind}: {message}")));
    accepted()
}

impl Shared {
    fn settle(&self, id: &str, answer: Answer) -> Response {
        match self.pending.lock().expect("nobody panics with it").remove(id) {
            Some(waiting) => {
                // Whoever waited may have given up.
                let _ = waiting.send(answer);
                accepted()
            }
            None => refused(StatusCode::FORBIDDEN, "no such invocation waits for an answer"),
        }
    }
}

/// What an error's body says, or its header.
fn told(headers: &HeaderMap, body: &[u8]) -> (String, String) {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let header = headers.get("lambda-runtime-function-error-type").and_then(|value| value.to_str().ok());
    let kind = body["errorType"].as_str().or(header).unwrap_or("Unknown");
    (kind.to_owned(), body["errorMessage"].as_str().unwrap_or_default().to_owned())
}

fn accepted() -> Response {
    (StatusCode::ACCEPTED, axum::Json(json!({ "status": "OK" }))).into_response()
}

fn refused(status: StatusCode, message: &str) -> Response {
    (status, axum::Json(json!({ "errorType": "InvalidRequest", "errorMessage": message }))).into_response()
}

const TRACE: &str = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0";
