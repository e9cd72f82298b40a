//! Wire: requests and answers, over the web or through a pipe.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, Method, Request, StatusCode};
use bytes::Bytes;
use copal_service::gateway::TYPES;
use copal_store::StoreError;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::pipe::{Pipe, SshAddress};
use super::problem::{Asked, of_reply};
use super::runtime;

/// The way to a gateway.
pub(super) enum Wire {
    Web(Web),
    Pipe(Pipe),
}

/// The web, with certificates.
#[derive(Default)]
pub(super) struct Web {
    client: OnceLock<reqwest::Client>,
    ca_file: Mutex<Option<PathBuf>>,
    /// Whether anybody has answered yet.
    has_answered: AtomicBool,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) bytes: Bytes,
}

/// No answer.
#[derive(Debug)]
pub(super) struct WireError {
    pub(super) may_pass: bool,
    pub(super) source: Box<dyn Error + Send + Sync>,
}

impl Wire {
    pub(super) fn web() -> Self {
        Self::Web(Web::default())
    }

    pub(super) fn pipe(address: SshAddress) -> Self {
        Self::Pipe(Pipe::new(address))
    }

    /// Names a file of certificates to trust besides the system's.
    pub(super) fn trust(&self, file: PathBuf) {
        if let Self::Web(web) = self {
            *web.ca_file.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
        }
    }

    /// Sends a request and reads the whole answer.
    pub(super) async fn send(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Reply, WireError> {
        let request = Request::builder().method(method).uri(url).body(body);
        let mut request = request.map_err(|error| WireError { may_pass: false, source: error.into() })?;
        *request.headers_mut() = headers;
        match self {
            Self::Web(web) => web.send(request).await,
            Self::Pipe(pipe) => pipe.send(request).await,
        }
    }
}

impl Web {
    async fn send(&self, request: Request<Bytes>) -> Result<Reply, WireError> {
        let client = match self.client.get() {
            Some(client) => client,
            None => {
                let ca_file = self.ca_file.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let built = build(ca_file)?;
                self.client.get_or_init(|| built)
            }
        };
        let client = client.clone();
        let answered = runtime::run(async move {
            let response = client.execute(request.try_into()?).await?;
            let (status, headers) = (response.status(), response.headers().clone());
            Ok::<_, reqwest::Error>(Reply { status, headers, bytes: response.bytes().await? })
        });
        match answered.await {
            Ok(reply) => {
                self.has_answered.store(true, Ordering::Relaxed);
                Ok(reply)
            }
            Err(error) => {
                // An address where nobody ever was is likely a wrong one.
                let is_lost = error.is_connect() && !self.has_answered.load(Ordering::Relaxed);
                let may_pass = !is_lost && !error.is_builder() && !is_about_certificates(&error);
                Err(WireError { may_pass, source: words(&error).into() })
            }
        }
    }
}

fn build(ca_file: Option<PathBuf>) -> Result<reqwest::Client, WireError> {
    let refused = |error: &dyn Error| WireError { may_pass: false, source: words(error).into() };
    // Another part of the command may have chosen already; it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("copal/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT)
        .read_timeout(IDLE)
        .pool_max_idle_per_host(CONNECTIONS);
    if let Some(file) = ca_file {
        let unreadable = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
        let pem = std::fs::read(&file).map_err(|error| refused(&unreadable(error)))?;
        let certificates = reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| refused(&error))?;
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(|error| refused(&error))
}

/// Whether a certificate, or something else of TLS, is what is wrong: that does not pass.
fn is_about_certificates(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(at) = cause {
        let inner = at.downcast_ref::<io::Error>().and_then(|error| error.get_ref());
        if at.is::<rustls::Error>() || inner.is_some_and(|inner| inner.is::<rustls::Error>()) {
            return true;
        }
        cause = at.source();
    }
    false
}

/// An error with its causes, each once. Addresses are left out where they may hold signatures of a store.
fn words(error: &dyn Error) -> String {
    let mut words = Vec::new();
    let mut cause: Option<&dyn Error> = Some(error);
    while let Some(at) = cause {
        let text = at.to_string();
        let text = text.split(" for url (").next().unwrap_or_default().to_owned();
        if !words.iter().any(|said: &String| said.contains(&text)) {
            words.push(text);
        }
        cause = at.source();
    }
    words.join(": ")
}

impl Reply {
    /// The name of the problem that the answer tells of.
    pub(super) fn problem(&self) -> Option<String> {
        if self.status.is_success() {
            return None;
        }
        let body: Value = serde_json::from_slice(&self.bytes).ok()?;
        body["type"].as_str()?.strip_prefix(TYPES).map(str::to_owned)
    }

    /// The answer as JSON, if it is one.
    pub(super) fn json<T: DeserializeOwned>(&self, asked: &Asked<'_>) -> Result<T, StoreError> {
        if !self.status.is_success() {
            return Err(of_reply(asked, self));
        }
        serde_json::from_slice(&self.bytes).map_err(|error| asked.io(error))
    }
}

const CONNECT: Duration = Duration::from_secs(10);
/// So long nothing may arrive.
const IDLE: Duration = Duration::from_secs(60);
const CONNECTIONS: usize = 16;
