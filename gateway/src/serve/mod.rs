//! Serve: the whole service on one machine: a gateway for clients, and the jobs next to the store. It has no keys.

mod activity;
mod aside;
mod connections;
mod hosts;
mod jobs;
mod listen;
mod metrics;
mod note;
mod ordered;
mod page;
mod singly;
mod stdio;
mod system;
mod tls;
mod turn;
mod upkeep;
mod watch;
mod work;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use copal_format::id::{OwnerFingerprint, PackId};
use copal_jobs::context::Entropy;
use copal_store::{Key, Store, StoreError};
use futures::executor::block_on as wait;

use crate::protocol::PIPE_ORIGIN;
use crate::router::{Arrival, Gateway, Memory, Orders, Presigner, Quota, Settings};
use aside::Aside;
use jobs::Jobs;
use metrics::Metrics;
use page::Page;
use watch::Watch;
use work::Work;

pub use listen::{Listening, bind, serve_here};
pub use note::JobNote;
pub use ordered::ingested;

/// Why a repository cannot be served.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ServeError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file, an address or a certificate cannot be used.
    #[error("cannot {act}")]
    Io { act: String, source: io::Error },
}

/// What to serve, how, and whom to inform.
pub struct Service<'a> {
    /// The repository's objects.
    pub store: Arc<dyn Store>,
    /// Random bytes.
    pub entropy: Arc<dyn Entropy>,
    /// Returns the seconds since 1970.
    pub clock: fn() -> u64,
    /// The owner that must have signed the repository. None before there is one: any owner may create it.
    pub owner: Option<OwnerFingerprint>,
    /// Signs addresses of the bucket, which clients then use directly.
    pub presigner: Option<Arc<dyn Presigner>>,
    /// The directory in which jobs note what they are working on.
    pub notes: Option<PathBuf>,
    /// How to serve.
    pub options: Options,
    /// Called once the sockets accept clients.
    pub listening: &'a dyn Fn(&Listening),
    /// Called with the results of jobs.
    pub note: Arc<dyn Fn(&JobNote) + Send + Sync>,
}

/// How a repository is served.
#[derive(Clone, Debug)]
pub struct Options {
    /// How clients reach the gateway.
    pub door: Door,
    /// Whether anybody may read key slots, and so try to guess passphrases. Always so for [`Door::Pipe`].
    pub open_slots: bool,
    /// Whether anybody may create the repository while there is none. Always so for [`Door::Pipe`].
    pub accept_init: bool,
    /// How much clients may store.
    pub quota: Quota,
    /// The web origin whose pages may use the gateway.
    pub cors: Option<String>,
    /// How often to look for manifests that were uploaded another way; zero: never.
    pub ingest_every: Duration,
}

/// How clients reach the gateway: through a pipe or a socket.
#[derive(Clone, Debug)]
pub enum Door {
    /// One client, which has started this process with ssh, on standard input and output.
    Pipe {
        /// Whether to run the keyless jobs that the client orders.
        jobs: bool,
    },
    /// Clients that connect to an address.
    Socket(Box<Socket>),
}

/// An address for clients, and what is served beside the gateway.
#[derive(Clone, Debug)]
pub struct Socket {
    /// The address and port; port 0 takes any that is free.
    pub address: SocketAddr,
    /// The certificate chain and its private key, files in PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The gateway's address as clients know it, if a proxy is in front of it.
    pub public_url: Option<String>,
    /// Other host names of this gateway.
    pub host_names: Vec<String>,
    /// Connections at once from one address.
    pub connections_per_address: usize,
    /// The address and port for Prometheus.
    pub metrics: Option<SocketAddr>,
    /// The directory of a web page.
    pub page: Option<PathBuf>,
    /// When scheduled jobs run.
    pub schedule: Schedule,
}

/// How often each scheduled job runs; zero: never.
#[derive(Copy, Clone, Debug)]
pub struct Schedule {
    /// Snapshots expire that the signed policy does not keep.
    pub expire: Duration,
    /// The index is compacted.
    pub compact: Duration,
    /// The repository is pruned.
    pub prune: Duration,
    /// The repository is checked.
    pub check: Duration,
}

/// Serves until the process is asked to end; through a pipe, until standard input ends.
pub fn serve(service: Service<'_>) -> Result<(), ServeError> {
    let Service { store, entropy, clock, owner, presigner, notes, options, listening, note } = service;
    let metrics = Arc::new(Metrics::new(clock));
    let page = match &options.door {
        Door::Socket(socket) => socket.page.as_deref(),
        Door::Pipe { .. } => None,
    };
    let page = page.map(|directory| read_page(directory, presigner.as_deref())).transpose()?;
    let watch = Watch::new(notes);
    let work = Work {
        store: store.clone(),
        entropy: entropy.clone(),
        owner,
        metrics: metrics.clone(),
        watch: watch.clone(),
        note: note.clone(),
    };
    let jobs = Jobs::start(work, &options, clock);
    let (announce, suspect) = (jobs.announcer(), jobs.suspecter());
    let (is_pipe, origin, is_tls) = match &options.door {
        Door::Pipe { .. } => (true, Some(PIPE_ORIGIN.to_owned()), false),
        Door::Socket(socket) => (false, socket.public_url.clone(), socket.tls.is_some()),
    };
    let orders = match &options.door {
        Door::Pipe { jobs: true } => Orders::Answered(jobs.runner()),
        Door::Pipe { jobs: false } => Orders::None,
        Door::Socket(_) => Orders::Scheduled(jobs.scheduled()),
    };
    let settings = Settings {
        // Calls that wait for a disk must not block tasks that wait for the network.
        store: Arc::new(Aside::new(store)),
        entropy,
        clock,
        presigner,
        owner,
        origin,
        other_origins: Vec::new(),
        scheme: if is_tls { "https" } else { "http" },
        // A client that comes by ssh may read the directory as well as this process may.
        open_slots: options.open_slots || is_pipe,
        accept_init: options.accept_init || is_pipe,
        quota: options.quota,
        cors: options.cors,
        arrived: Some(Arc::new(move |arrival: Arrival| announce(arrival))),
        suspected: Some(Arc::new(move |packs: Vec<PackId>| suspect(packs))),
        jobs: Some(Arc::new(move || watch.health())),
        orders,
    };
    let is_https = settings.is_tls();
    // A pipe has one client and a process of its own, so nobody else can replay a request.
    let memory = if is_pipe { Memory::default() } else { Memory::since(clock(), Instant::now()) };
    let router = Gateway::new(settings, Some(memory)).router();
    let served = match options.door {
        Door::Pipe { .. } => stdio::serve(router),
        Door::Socket(socket) => listen::serve((router, is_https), page, &socket, metrics, listening, note),
    };
    jobs.finish();
    served
}

fn read_page(directory: &Path, presigner: Option<&dyn Presigner>) -> Result<Page, ServeError> {
    let origin = presigner.map(origin).transpose()?;
    let failed = |source| ServeError::Io { act: format!("serve the page in {}", directory.display()), source };
    Page::read(directory, origin.as_deref()).map_err(failed)
}

/// Scheme, host and port of the presigned addresses.
fn origin(presigner: &dyn Presigner) -> Result<String, StoreError> {
    let key = Key::new("copal/1").expect("it is a name");
    let address = wait(presigner.get(&key, Duration::from_secs(1)))?.url;
    let host = address.find("://").map_or(0, |at| at + 3);
    let end = address[host..].find('/').map_or(address.len(), |at| host + at);
    Ok(address[..end].to_owned())
}
