//! Settings: where a repository is, and what this machine keeps for it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use copal_format::keys::slot::{Argon2Params, SlotInput};
use copal_format::receipt::IngestBy;
use copal_format::repository::Parameters;
use copal_jobs::budget::Budget;
use copal_jobs::check::{self, Depth, Report};
use copal_jobs::context::JobContext;
use copal_jobs::scratch::Files;
use copal_store::Store;
use zeroize::Zeroizing;

use super::{Copal, Error};
use crate::backend::{Backend, BackendError, BackendOptions};
use crate::entropy::SystemEntropy;
use crate::location::Location;
use crate::met::{met_at, remember};
use crate::places::{Places, this_host};
use crate::remote::Introduction;
use crate::repository::{Init, ReaderProgram, Repository, init, list_descriptors};
use crate::wait::wait;

/// Where a repository is, and what this machine keeps for it. The defaults are those of the `copal` command.
#[derive(Clone)]
pub struct Settings {
    at: At,
    state: Option<PathBuf>,
    cache: Option<PathBuf>,
    host: Option<String>,
    threads: usize,
    ca_file: Option<PathBuf>,
    backend: BackendOptions,
}

#[derive(Clone)]
enum At {
    Address(OsString),
    Store(Location, Arc<dyn Store>),
}

/// A repository that was just made.
pub struct Created {
    /// The repository, open. It may have been made although it cannot be opened now: the recovery code is valid all the
    /// same.
    pub copal: Result<Copal, Error>,
    /// Opens the repository when its passphrase or key file is lost. It is never shown again.
    pub recovery_code: Zeroizing<String>,
}

impl Settings {
    /// The repository at an address as `copal --repository` takes it: a directory, `s3://bucket/prefix`, `https://` and
    /// `ssh://` gateways, `sftp://`.
    pub fn at(address: impl Into<OsString>) -> Self {
        Self::new(At::Address(address.into()))
    }

    /// The repository in a store of any kind. `name` stands for it in messages and in this machine's own notes.
    ///
    /// Every promise rests on the store: it must create an object only if there is none of this name, and list what it
    /// has created. This is not probed, failed calls are not retried, and [`Self::backend_options`] do not count. If
    /// the store keeps its objects in a directory, do not back up that directory or restore into it: this cannot be
    /// noticed.
    pub fn over(name: impl Into<String>, store: Arc<dyn Store>) -> Self {
        Self::new(At::Store(Location::Opened(name.into()), store))
    }

    fn new(at: At) -> Self {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let backend = BackendOptions::default();
        Self { at, state: None, cache: None, host: None, threads, ca_file: None, backend }
    }

    /// Keeps this machine's keys, and what it has met, below this directory.
    #[must_use]
    pub fn state_dir(self, directory: impl Into<PathBuf>) -> Self {
        Self { state: Some(directory.into()), ..self }
    }

    /// Keeps copies of indexes of remote repositories below this directory. It may be deleted at any time.
    #[must_use]
    pub fn cache_dir(self, directory: impl Into<PathBuf>) -> Self {
        Self { cache: Some(directory.into()), ..self }
    }

    /// Names this machine in snapshots; by default, `COPAL_HOST` or its host name.
    #[must_use]
    pub fn host(self, name: impl Into<String>) -> Self {
        Self { host: Some(name.into()), ..self }
    }

    /// Works with this many threads; by default, one for each processor.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    /// Trusts the certificates in this PEM file, too, when it reaches a gateway.
    #[must_use]
    pub fn ca_file(self, path: impl Into<PathBuf>) -> Self {
        Self { ca_file: Some(path.into()), ..self }
    }

    /// Reaches the store with these options: rates, storage class, object lock.
    #[must_use]
    pub fn backend_options(self, backend: BackendOptions) -> Self {
        Self { backend, ..self }
    }

    /// Whether a repository is there.
    pub fn is_there(&self) -> Result<bool, Error> {
        match self.reach(false) {
            Ok(backend) => Ok(Repository::is_at(&backend)?),
            Err(Error::Backend(BackendError::Absent(_))) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens the repository with its passphrase, recovery code or key file.
    pub fn open(&self, secret: &SlotInput) -> Result<Copal, Error> {
        let mut backend = self.reach(false)?;
        backend.freeze_replica()?;
        backend.prove()?;
        self.unlock(&backend, secret)
    }

    /// Makes a repository in an empty place, and opens it. A missing directory is created, a missing bucket is not.
    pub fn create(&self, secret: &SlotInput) -> Result<Created, Error> {
        // Checked before anything is made: the directory may be the mount point of a missing disk.
        let location = self.location()?;
        if let Some(met) = met_at(self.places()?.state(), &location).first()
            && !self.is_there()?
        {
            return Err(Error::RepositoryGone { location: location.to_string(), met: *met });
        }
        let backend = self.reach(true)?;
        let made = init(&Init {
            backend: &backend,
            inputs: std::slice::from_ref(secret),
            parameters: Parameters::default(),
            ingest: IngestBy::Client,
            argon2: Argon2Params::default(),
            reader: ReaderProgram::inside().as_ref(),
        })?;
        Ok(Created { copal: self.unlock(&backend, secret), recovery_code: made.recovery_code })
    }

    /// Verifies the repository without its key: that everything it needs is there and whole. [`Depth`] says how much is
    /// read. Writes nothing; what it finds is in the report. It does not compare with what this machine has met there,
    /// so another repository in its place passes.
    pub fn verify(&self, depth: Depth) -> Result<Report, Error> {
        self.verify_until(depth, &Budget::unlimited())
    }

    /// Like [`Self::verify`], until the budget is over: [`Budget::until`] takes a flag, for example. The report says
    /// how much was left.
    pub fn verify_until(&self, depth: Depth, budget: &Budget) -> Result<Report, Error> {
        let backend = self.reach(false)?;
        let store = backend.store_of_a_run();
        let none = || Error::NoRepository { location: backend.location().to_string() };
        let (object, newest) = list_descriptors(store.as_ref())?.pop().ok_or_else(none)?;
        let descriptor = newest.map_err(|source| Error::Descriptor { object, source })?;
        let job = JobContext {
            store: store.as_ref(),
            entropy: &SystemEntropy,
            scratch: &Files::default(),
            repository: descriptor.repository,
            owner_key: descriptor.owner_key,
        };
        Ok(wait(check::inspect_until(&job, depth, budget))?.0)
    }

    fn unlock(&self, backend: &Backend, secret: &SlotInput) -> Result<Copal, Error> {
        let places = self.places()?;
        if !Repository::is_at(backend)? {
            return Err(Error::NoRepository { location: backend.location().to_string() });
        }
        let mut repository = Repository::open(backend, secret, |id| places.state_of(id))?;
        if backend.is_remote()
            && let Ok(cache) = places.cache_of(repository.id())
        {
            repository.keep_copies_in(&cache);
        }
        if met_at(places.state(), backend.location()).is_empty() {
            remember(repository.state_dir(), backend.location());
        }
        let host = self.host.clone().unwrap_or_else(|| this_host(environment));
        Ok(Copal::new(repository, places, host, self.threads))
    }

    fn location(&self) -> Result<Location, Error> {
        Ok(match &self.at {
            At::Address(address) => Location::parse(Some(address))?,
            At::Store(location, _) => location.clone(),
        })
    }

    fn reach(&self, creates: bool) -> Result<Backend, Error> {
        let location = self.location()?;
        let store = match &self.at {
            At::Address(_) => None,
            At::Store(_, store) => Some(store.clone()),
        };
        let places = self.places()?;
        let options = BackendOptions { cache: Some(places.cache().to_owned()), ..self.backend.clone() };
        let backend = match (store, creates) {
            (Some(store), _) => Backend::of_store(&location, store),
            (None, true) => Backend::create_by(&location, &options)?,
            (None, false) => Backend::open(&location, &options)?,
        };
        if let Some(gateway) = backend.gateway() {
            gateway.introduce(Introduction { state: places.state().to_owned(), ca_file: self.ca_file.clone() });
        }
        Ok(backend)
    }

    fn places(&self) -> Result<Places, Error> {
        Ok(Places::find(self.cache.clone(), self.state.clone(), environment)?)
    }
}

fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
