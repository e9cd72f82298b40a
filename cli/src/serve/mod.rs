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
mod pin;
mod presign;
mod singly;
mod stdio;
mod tls;
mod unmade;
mod watch;
mod work;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use copal_engine::id::{OwnerFingerprint, PackId};
use copal_service::error::JobError;
use copal_service::gateway::{Arrival, Facts, Gateway, Memory, Presigner, Quota, Settings, read_facts};
use copal_store::s3::BadConfig;
use copal_store::{Store, StoreError};

use crate::args::serve::{Presign, Serve};
use aside::Aside;
use copal_client::clock;
use copal_client::entropy::SystemEntropy;
use copal_client::location::Location;
use copal_client::remote::PIPE_ORIGIN;
use copal_client::site::{Means, Site, SiteError};
use copal_client::wait::wait;
use jobs::Jobs;
use metrics::Metrics;
use page::Page;
use unmade::Unmade;
use watch::Watch;

pub use listen::Listening;
pub use note::JobNote;
pub use ordered::ingested;

/// Why a repository cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// There is no repository.
    #[error("there is no repository at {0}")]
    NoRepository(String),
    /// Another gateway serves it already.
    #[error("{0} is served by a gateway already")]
    Gateway(Location),
    /// The store cannot be reached.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The descriptor cannot be used.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The bucket's name or prefix is invalid.
    #[error(transparent)]
    Bucket(#[from] BadConfig),
    /// The repository belongs to another owner than expected.
    #[error("the repository is signed by owner {found}, and {expected} was expected")]
    Owner {
        /// The owner that was named, or seen first.
        expected: OwnerFingerprint,
        /// The owner that signed the descriptor.
        found: OwnerFingerprint,
    },
    /// A file, an address or a certificate cannot be used.
    #[error("cannot {act}")]
    Io {
        /// What failed.
        act: String,
        /// Why it did not work.
        #[source]
        source: io::Error,
    },
}

/// What to serve, and whom to inform.
pub struct Service<'a> {
    /// The repository's location.
    pub location: &'a Location,
    /// Settings for reaching the store.
    pub means: &'a Means,
    /// The options of `serve`.
    pub options: &'a Serve,
    /// The directory in which this machine remembers owners.
    pub state: PathBuf,
    /// Called once the sockets accept clients.
    pub listening: &'a dyn Fn(&Listening),
    /// Called with the results of jobs.
    pub note: Arc<dyn Fn(&JobNote) + Send + Sync>,
}

/// Serves until the process is asked to end; with `--stdio`, until standard input ends.
pub fn serve(service: &Service<'_>) -> Result<(), ServeError> {
    let options = service.options;
    if matches!(service.location, Location::Https(_) | Location::Ssh(_)) {
        return Err(ServeError::Gateway(service.location.clone()));
    }
    let is_init_accepted = options.accept_init || options.stdio;
    let found = match Site::open(service.location, service.means) {
        Ok(site) => Some(site.store()),
        Err(SiteError::Absent(_)) => None,
        Err(error) => return Err(error.into()),
    };
    let facts = match &found {
        Some(store) => wait(read_facts(store, None))?,
        None => None,
    };
    let owner = match &facts {
        Some(facts) => Some(pinned(service, facts)?),
        None if is_init_accepted => options.owner_fingerprint,
        None => return Err(ServeError::NoRepository(service.location.to_string())),
    };
    let store: Arc<dyn Store> = match found {
        Some(store) if facts.is_some() => store,
        found => Arc::new(Unmade::new(service.location.clone(), service.means.clone(), found)),
    };
    let bucket = direct(service)?;
    let page = match &options.web {
        Some(directory) => {
            let origin = bucket.as_deref().map(presign::origin).transpose()?;
            let failed = |source| ServeError::Io { act: format!("serve the page in {}", directory.display()), source };
            Some(Page::read(directory, origin.as_deref()).map_err(failed)?)
        }
        None => None,
    };
    let metrics = Arc::new(Metrics::new());
    // A process that serves one client through a pipe keeps no notes.
    let lasting = facts.as_ref().filter(|_| !options.stdio);
    let notes = lasting.map(|facts| service.state.join(facts.descriptor.repository.to_string()).join("jobs"));
    let watch = Watch::new(notes);
    let jobs = Jobs::start(store.clone(), owner, options, metrics.clone(), watch.clone(), service.note.clone());
    // With `--stdio` each client has its own process and pipe, so nobody else can replay a request.
    let memory = if options.stdio { Memory::default() } else { Memory::since(seconds()) };
    let router = Gateway::new(settings(service, &store, owner, bucket, &jobs, watch), Some(memory)).router();
    let served = if options.stdio {
        stdio::serve(router)
    } else {
        listen::serve(router, page, options, metrics, service.listening, service.note.clone())
    };
    jobs.finish();
    served
}

/// The bucket that clients may use directly, if any.
fn direct(service: &Service<'_>) -> Result<Option<Arc<dyn Presigner>>, ServeError> {
    let presign = service.options.presign;
    let Some(bucket) = presign::Bucket::of(service.location, service.means)?.filter(|_| presign != Presign::Never)
    else {
        return Ok(None);
    };
    // With `--stdio` each command starts a process, so the probe must be brief.
    if presign == Presign::Safe && !bucket.binds_requests(service.options.stdio)? {
        (service.note)(&JobNote::Unbound);
        return Ok(None);
    }
    Ok(Some(Arc::new(bucket)))
}

/// The owner that the repository must have: the one named, else the one that was seen first.
fn pinned(service: &Service<'_>, facts: &Facts) -> Result<OwnerFingerprint, ServeError> {
    let path = service.state.join(facts.descriptor.repository.to_string()).join("owner");
    let expected = match service.options.owner_fingerprint {
        Some(named) => named,
        None => pin::remembered(&path, facts.owner)
            .map_err(|source| ServeError::Io { act: format!("remember the owner in {}", path.display()), source })?,
    };
    if expected != facts.owner {
        return Err(ServeError::Owner { expected, found: facts.owner });
    }
    Ok(expected)
}

/// Seconds since 1970.
fn seconds() -> u64 {
    u64::try_from(clock::now().to_unix().0).unwrap_or(0)
}

fn settings(
    service: &Service<'_>,
    store: &Arc<dyn Store>,
    owner: Option<OwnerFingerprint>,
    presigner: Option<Arc<dyn Presigner>>,
    jobs: &Jobs,
    watch: Watch,
) -> Settings {
    let options = service.options;
    let (announce, suspect) = (jobs.announcer(), jobs.suspecter());
    let origin = if options.stdio { Some(PIPE_ORIGIN.to_owned()) } else { options.public_url.clone() };
    Settings {
        // Calls that wait for a disk must not block tasks that wait for the network.
        store: Arc::new(Aside::new(store.clone())),
        entropy: Arc::new(SystemEntropy),
        clock: seconds,
        presigner,
        owner,
        origin,
        scheme: if options.tls_cert.is_some() { "https" } else { "http" },
        // A client that comes by ssh may read the directory as well as this process may.
        open_slots: options.open_slots || options.stdio,
        accept_init: options.accept_init || options.stdio,
        quota: Quota { stored: options.quota.map(|size| size.0), daily: options.daily_quota.map(|size| size.0) },
        cors: options.cors.clone(),
        arrived: Some(Arc::new(move |arrival: Arrival| announce(arrival))),
        suspected: Some(Arc::new(move |packs: Vec<PackId>| suspect(packs))),
        jobs: Some(Arc::new(move || watch.health())),
        runner: options.jobs.then(|| jobs.runner()),
    }
}
