//! Backend: the place of a repository and the store that reaches it.

mod proof;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use copal_format::limits::ADDRESS_BYTES;
use copal_jobs::objects::COPIED;
use copal_jobs::replica::is_replica;
use copal_jobs::scratch::with_copies;
use copal_store::adapt::{Adapt, AtOnce};
use copal_store::cache::Cache;
use copal_store::frozen::Frozen;
use copal_store::fs::FsStore;
use copal_store::limit::{Limit, Rates, Within};
use copal_store::retry::{Backoff, Pause, Retry, ThreadPause};
use copal_store::s3::{BadConfig, Retention, RuntimePause, S3Config, S3Store};
use copal_store::site::{BadSite, Site, SiteAddress};
use copal_store::{Store, StoreError};

use crate::exported::{ExportStore, NotExport};
use crate::location::{BadLocation, Location};
use crate::remote::GatewayStore;
use crate::vacancy;
use crate::wait::wait;
use proof::Proof;

/// The place of a repository, existing or not yet made, and the store that reaches it.
#[derive(Clone)]
pub struct Backend {
    location: Location,
    kind: BackendKind,
    /// The store with retries. All users of the backend share its rate limit.
    store: Arc<dyn Store>,
    /// Whether it takes no writes.
    is_frozen: bool,
}

/// Settings for reaching a store, whichever kind it is.
#[derive(Clone, Debug, Default)]
pub struct BackendOptions {
    /// Rate limits in bytes per second.
    pub rates: Rates,
    /// The storage class of new packs in S3.
    pub storage_class: Option<String>,
    /// The KMS key that S3 encrypts new objects with.
    pub kms_key: Option<String>,
    /// The object lock of new packs and manifests in S3.
    pub object_lock: Option<Retention>,
    /// Whether reads renew object locks before they end.
    pub renews_locks: bool,
    /// The cache directory, which records the servers that passed the probe.
    pub cache: Option<PathBuf>,
}

#[derive(Clone)]
enum BackendKind {
    Directory(Arc<FsStore>),
    Gateway(Arc<GatewayStore>),
    Bucket(Arc<S3Store>, Proof),
    Site(Arc<dyn Site>, Proof),
    Other,
}

/// Why a store takes no writes: it holds a replica.
#[derive(Clone, Debug, thiserror::Error)]
#[error("this is a replica, into which only \"copal sync\" writes")]
pub struct IsReplica;

/// Why a backend cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BackendError {
    #[error("there is nothing at {0}")]
    Absent(String),
    #[error("{path} cannot be read")]
    Export {
        path: String,
        #[source]
        why: NotExport,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    /// This version cannot open such a location.
    #[error(transparent)]
    Location(#[from] BadLocation),
    #[error(transparent)]
    Bucket(#[from] BadConfig),
    /// A store of another kind cannot be opened.
    #[error(transparent)]
    Site(#[from] BadSite),
}

impl Backend {
    /// Opens the place of a repository. A directory, or the file of an export, must exist. Writes nothing.
    pub fn open(location: &Location, backend_options: &BackendOptions) -> Result<Self, BackendError> {
        if let Some(backend) = Self::elsewhere(location, backend_options) {
            return backend;
        }
        let absent = || BackendError::Absent(location.to_string());
        if location.directory()?.is_file() {
            let store = ExportStore::open(location.directory()?).map_err(|why| match why {
                NotExport::Other => absent(),
                why => BackendError::Export { path: location.to_string(), why },
            })?;
            return Ok(Self { is_frozen: true, ..Self::of_store(location, Arc::new(store)) });
        }
        let store = match FsStore::open(location.directory()?) {
            Ok(store) => store,
            Err(StoreError::NotFound { .. } | StoreError::Gone { .. } | StoreError::Obstructed { .. }) => {
                return Err(absent());
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Self::in_directory(location, store, backend_options))
    }

    /// Opens a place to create a repository in. A missing directory is created, a missing bucket is not.
    pub fn create(location: &Location) -> Result<Self, BackendError> {
        Self::create_by(location, &BackendOptions::default())
    }

    /// Like [`Self::create`], with the given settings.
    pub fn create_by(location: &Location, backend_options: &BackendOptions) -> Result<Self, BackendError> {
        if let Some(backend) = Self::elsewhere(location, backend_options) {
            let backend = backend?;
            if let BackendKind::Site(site, _) = &backend.kind {
                wait(site.make())?;
            }
            return Ok(backend);
        }
        Ok(Self::in_directory(location, FsStore::create(location.directory()?)?, backend_options))
    }

    fn in_directory(location: &Location, store: FsStore, backend_options: &BackendOptions) -> Self {
        let directory = Arc::new(store);
        let store = limited(directory.clone(), backend_options.rates, Within::Nobody, ThreadPause);
        Self { location: location.clone(), kind: BackendKind::Directory(directory), store, is_frozen: false }
    }

    /// A backend that is not a local directory: opening and creating it are the same.
    fn elsewhere(location: &Location, backend_options: &BackendOptions) -> Option<Result<Self, BackendError>> {
        if let Location::S3 { bucket, prefix } = location {
            return Some(Self::in_bucket(location, bucket, prefix, backend_options));
        }
        if let Location::Site(address) = location {
            return Some(Self::at_site(location, address, backend_options));
        }
        let gateway = match location {
            Location::Https(address) => GatewayStore::web(address),
            Location::Ssh(address) => GatewayStore::ssh(address.clone()),
            Location::Directory(_) | Location::S3 { .. } | Location::Site(_) | Location::Opened(_) => return None,
        };
        let store = limited(Arc::new(gateway.clone().patient()), backend_options.rates, Within::Nobody, ThreadPause);
        Some(Ok(Self { location: location.clone(), kind: BackendKind::Gateway(gateway), store, is_frozen: false }))
    }

    fn in_bucket(
        location: &Location,
        bucket: &str,
        prefix: &str,
        backend_options: &BackendOptions,
    ) -> Result<Self, BackendError> {
        let mut config = S3Config::new(bucket, prefix);
        config.rates = backend_options.rates;
        config.storage_classes =
            backend_options.storage_class.iter().map(|class| ("packs/".to_owned(), class.clone())).collect();
        config.kms_key.clone_from(&backend_options.kms_key);
        config.lock = backend_options.object_lock;
        config.renews_locks = backend_options.renews_locks;
        let bare = Arc::new(wait(S3Store::open(config))?);
        let store = patient(bare.clone(), backend_options.rates, Within::Store, bare.pause());
        let proof = Proof::new(backend_options, &bare.fingerprint());
        Ok(Self { location: location.clone(), kind: BackendKind::Bucket(bare, proof), store, is_frozen: false })
    }

    fn at_site(
        location: &Location,
        address: &SiteAddress,
        backend_options: &BackendOptions,
    ) -> Result<Self, BackendError> {
        let site = address.open(&|name| std::env::var(name).ok())?;
        let store = patient(site.clone(), backend_options.rates, Within::Nobody, site.pause());
        let proof = Proof::new(backend_options, &address.fingerprint());
        Ok(Self { location: location.clone(), kind: BackendKind::Site(site, proof), store, is_frozen: false })
    }

    /// Refuses all writes from now on, except the removal of keys, if the place holds a replica: only a sync may write there.
    /// A gateway refuses by itself.
    pub fn freeze_replica(&mut self) -> Result<(), StoreError> {
        if self.is_behind_gateway() {
            return Ok(());
        }
        let is_replica = match wait(is_replica(self.store.as_ref())) {
            // A client that may not look can still write what clients write; the next sync reports it.
            Err(StoreError::Denied { .. }) => false,
            is_replica => is_replica?,
        };
        if is_replica {
            self.store = Arc::new(Frozen::new(self.store.clone(), "keys/", IsReplica));
            self.is_frozen = true;
        }
        Ok(())
    }

    /// Whether the store refuses writes, because it holds a replica or is an export.
    pub fn is_frozen(&self) -> bool {
        self.is_frozen
    }

    /// A backend over a store that is already open.
    pub fn of_store(location: &Location, store: Arc<dyn Store>) -> Self {
        Self { location: location.clone(), kind: BackendKind::Other, store, is_frozen: false }
    }

    /// Whether every request is a round trip: then the callers send many requests at once and ask for much with each.
    pub fn is_remote(&self) -> bool {
        self.store.is_remote()
    }

    /// How many packs to upload at once.
    pub fn uploads(&self) -> usize {
        if self.is_remote() { UPLOADS } else { 1 }
    }

    /// Whether a gateway is in front of the store. A gateway lets no client delete.
    pub fn is_behind_gateway(&self) -> bool {
        matches!(self.location, Location::Https(_) | Location::Ssh(_))
    }

    /// The gateway in front of the store, if there is one, for requests that only a gateway answers. It has no retries
    /// and rate limits, unlike [`Self::store`].
    pub fn gateway(&self) -> Option<&GatewayStore> {
        match &self.kind {
            BackendKind::Gateway(gateway) => Some(gateway.as_ref()),
            _ => None,
        }
    }

    /// How many threads read packs, for a machine that runs `threads` at once.
    pub fn readers(&self, threads: usize) -> usize {
        if self.is_remote() { threads.max(READERS) } else { threads }
    }

    /// The location that was opened.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// The store; the same one each time.
    pub fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    /// For a bucket or site, the store with a cache of index and state in `directory`; otherwise, or if the cache cannot be
    /// opened, the store itself.
    pub fn cached_store(&self, directory: &Path) -> Arc<dyn Store> {
        let store = self.store();
        if !matches!(self.kind, BackendKind::Bucket(..) | BackendKind::Site(..)) {
            return store;
        }
        let Ok(cache) = Cache::open(store.clone(), &directory.join("objects"), COPIED) else {
            return store;
        };
        // A failed shrink only leaves copies that take space: the next run tries again.
        let _ = wait(cache.shrink(COPIES_MAX));
        Arc::new(cache)
    }

    /// Like [`Self::cached_store`], for one run only: the copies are temporary.
    pub fn store_of_a_run(&self) -> Arc<dyn Store> {
        match self.kind {
            BackendKind::Bucket(..) | BackendKind::Site(..) => with_copies(&self.store),
            _ => self.store(),
        }
    }

    /// The local directory that holds the repository, if there is one.
    pub fn directory(&self) -> Option<&Path> {
        match &self.location {
            Location::Directory(path) => Some(path),
            _ => None,
        }
    }

    /// The repository's address as another machine may use it; empty if it is too long or not UTF-8.
    pub fn address(&self) -> String {
        let text = match self.directory() {
            Some(directory) => directory.canonicalize().ok().and_then(|path| path.to_str().map(str::to_owned)),
            None => Some(self.location.to_string()),
        };
        text.filter(|text| text.len() <= ADDRESS_BYTES).unwrap_or_default()
    }

    /// Whether the store holds anything besides what an interrupted `init` leaves: then somebody else uses it.
    pub fn holds_other_files(&self) -> Result<bool, std::io::Error> {
        match (&self.kind, self.directory()) {
            (BackendKind::Directory(_), Some(directory)) => vacancy::holds_other_files(directory),
            (BackendKind::Gateway(_), _) => Ok(false),
            _ => vacancy::holds_other_objects(self.store.as_ref()).map_err(std::io::Error::other),
        }
    }
}

/// A remote store with retries and limits. A call that waits for the rate limit, or for its retry, does not take the place
/// of another call.
fn patient<S: Store + ?Sized + 'static>(
    bare: Arc<S>,
    rates: Rates,
    within: Within,
    pause: RuntimePause,
) -> Arc<dyn Store> {
    let store = Retry::new(Adapt::new(bare, AtOnce::default(), &pause), Backoff::default(), pause.clone());
    limited(Arc::new(store), rates, within, pause)
}

/// A store with rate limits, if any are set.
fn limited(store: Arc<dyn Store>, rates: Rates, within: Within, pause: impl Pause + 'static) -> Arc<dyn Store> {
    if rates == Rates::default() { store } else { Arc::new(Limit::new(store, rates, within, pause)) }
}

/// Most bytes of local copies: the index of 250 million chunks fits.
const COPIES_MAX: u64 = 8 << 30;
/// Packs uploaded at once: with packs of 32 MiB, 128 MiB of memory.
const UPLOADS: usize = 4;
/// Threads that wait for ranges of 4 MiB each.
const READERS: usize = 16;

#[cfg(test)]
mod tests {
    use copal_store::fault::{Fate, Fault};
    use copal_store::memory::MemoryStore;
    use copal_store::{Key, Op};

    use super::*;

    #[test]
    fn all_who_use_a_backend_share_one_limit() {
        let rates = Rates { upload: Some(1_000_000), download: None };
        let backend_options = BackendOptions { rates, ..BackendOptions::default() };
        let directory = tempfile::tempdir().unwrap();
        let here = Location::Directory(directory.path().to_path_buf());
        for location in [here, Location::Https("https://gateway.example".to_owned())] {
            let backend = Backend::open(&location, &backend_options).unwrap();
            let free = Backend::open(&location, &BackendOptions::default()).unwrap();
            assert!(Arc::ptr_eq(&backend.store(), &backend.clone().store()), "{location}");
            assert!(Arc::ptr_eq(&free.store(), &free.store()), "{location}");
        }
    }

    #[test]
    fn what_one_uploads_is_waited_for_by_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let location = Location::Directory(directory.path().to_path_buf());
        let rates = Rates { upload: Some(1_000_000), download: None };
        let backend = Backend::open(&location, &BackendOptions { rates, ..BackendOptions::default() }).unwrap();
        let started = std::time::Instant::now();
        for name in ["a", "b"] {
            let key = copal_store::Key::new(name).unwrap();
            wait(backend.store().create(&key, vec![0; 200_000].into())).unwrap();
        }
        assert!(started.elapsed() >= std::time::Duration::from_millis(400), "{:?}", started.elapsed());
    }

    #[test]
    fn a_replica_takes_no_writes_and_who_may_not_look_for_its_mark_goes_on() {
        let here = Location::Directory("somewhere".into());
        let mark = Key::new("work/replica").unwrap();
        for (has_mark, is_denied, is_frozen) in [(false, false, false), (true, false, true), (true, true, false)] {
            let inner = MemoryStore::new();
            if has_mark {
                wait(inner.create(&mark, "a mark".into())).unwrap();
            }
            let store = Fault::at(
                inner,
                move |call| is_denied && call.op == Op::Stat,
                |call| Fate::FailBefore(StoreError::Denied { op: call.op, key: call.key.into(), source: "no".into() }),
            );
            let mut backend = Backend::of_store(&here, Arc::new(store));
            backend.freeze_replica().unwrap();
            let created = wait(backend.store().create(&Key::new("packs/one").unwrap(), "x".into()));
            assert_eq!(matches!(created, Err(StoreError::ReadOnly { .. })), is_frozen, "{created:?}");
            assert_eq!(backend.is_frozen(), is_frozen);
        }
    }
}
