//! Context: the global options, and the repository that they name.

mod changing;
mod reading;

use std::ffi::OsString;
use std::io::{Read, Write};

use copal_client::backend::{Backend, BackendOptions};
use copal_client::credentials::Credentials;
use copal_client::location::{BadLocation, Location};
use copal_client::met::{met_at, remember};
use copal_client::places::{Places, this_host};
use copal_client::remote::Introduction;
use copal_client::repository::{Costly, Enrolled, LocalClient, Repository};
use copal_client::verify;
use copal_client::wait::wait;
use copal_format::id::RepositoryId;
use copal_format::keys::slot::{SlotInput, SlotKind};
use copal_format::receipt::IngestBy;
use copal_format::shown;
use copal_jobs::ingest::{Scope, ingest};
use copal_store::StoreError;
use copal_store::limit::Rates;

use super::failure::of_open;
use crate::args::global::Global;
use crate::args::values::Size;
use crate::report::{Failure, Printer, human};
use crate::secrets::{Credential, Names, OF_REPOSITORY, Sources, Terminal};
use crate::system::open_terminal;

pub(super) struct Context<'a> {
    pub(super) global: &'a Global,
    pub(super) report: &'a Printer,
    renews_locks: bool,
    names: &'static Names,
}

impl<'a> Context<'a> {
    pub(super) fn new(global: &'a Global, report: &'a Printer) -> Self {
        Self { global, report, renews_locks: false, names: &OF_REPOSITORY }
    }

    /// A context for another repository, with these options and variables.
    pub(super) fn other<'o>(&self, global: &'o Global, names: &'static Names) -> Context<'o>
    where
        'a: 'o,
    {
        Context { names, ..Context::new(global, self.report) }
    }

    /// Like this context, but renews object locks. For commands that read everything needed, which then stays locked.
    pub(super) fn renewing_locks(&self) -> Self {
        Self { renews_locks: true, ..*self }
    }

    /// The location of the repository, which need not exist yet.
    pub(super) fn location(&self) -> Result<Location, Failure> {
        match Location::parse(self.global.repository.as_deref()) {
            Err(BadLocation::Missing) => Ok(self.enrolled_at()?.ok_or(BadLocation::Missing)?),
            location => Ok(location?),
        }
    }

    /// Names the repository in a failure of its store. For a command that uses no other one.
    pub(super) fn with_repository(&self, failure: Failure) -> Failure {
        match (failure, self.location()) {
            (Failure::Store(error), Ok(location)) => Failure::StoreOf { location: location.to_string(), error },
            (failure, _) => failure,
        }
    }

    /// The only repository that this machine is enrolled in as write-only; none if there are none or several.
    fn enrolled_at(&self) -> Result<Option<Location>, Failure> {
        let directories = self.places().map(|places| Credentials::directories(places.state())).unwrap_or_default();
        let [only] = directories.as_slice() else { return Ok(None) };
        let credentials = Credentials::find(only)?;
        let address = credentials.map(|credentials| credentials.address);
        Ok(address.map(|address| Location::parse(Some(address.as_ref()))).transpose()?)
    }

    /// The backend of the repository; fails if there is none, before anybody is asked for a passphrase.
    pub(super) fn backend(&self) -> Result<Backend, Failure> {
        self.reach().map_err(|failure| match failure {
            Failure::NoRepository { location } => self.no_repository(location),
            failure => failure,
        })
    }

    pub(super) fn no_repository(&self, location: String) -> Failure {
        match self.met().first() {
            Some(met) => Failure::RepositoryGone { location, met: *met },
            None => Failure::NoRepository { location },
        }
    }

    /// Makes the place of a new repository. Fails if this machine has met one there that is gone now, unless
    /// `--another` allows it.
    pub(super) fn create_place(&self) -> Result<Backend, Failure> {
        if !self.global.another
            && !self.met().is_empty()
            && let Err(gone @ Failure::RepositoryGone { .. }) = self.backend()
        {
            return Err(gone);
        }
        Ok(Backend::create_by(&self.location()?, &self.backend_options())?)
    }

    /// The backend of the repository; takes no writes if it is a replica.
    fn reach(&self) -> Result<Backend, Failure> {
        let mut backend = self.reach_to_sync()?;
        backend.freeze_replica()?;
        Ok(backend)
    }

    /// The backend of the repository, into which a sync may write although it is a replica.
    pub(super) fn reach_to_sync(&self) -> Result<Backend, Failure> {
        let backend = Backend::open(&self.location()?, &self.backend_options())?;
        self.introduce(&backend)?;
        let is_there = match Repository::is_at(&backend) {
            // `init` creates the directory of a site, like one on this machine.
            Err(StoreError::Gone { .. }) if matches!(backend.location(), Location::Site(_)) => false,
            is_there => is_there?,
        };
        if !is_there {
            return Err(Failure::NoRepository { location: backend.location().to_string() });
        }
        backend.prove()?;
        Ok(backend)
    }

    /// The repositories that this machine has met at the location.
    pub(super) fn met(&self) -> Vec<RepositoryId> {
        match (self.places(), self.location()) {
            (Ok(places), Ok(location)) => met_at(places.state(), &location),
            _ => Vec::new(),
        }
    }

    /// Refuses a repository other than the one met at this location, unless `--another` allows it; remembers it as met.
    pub(super) fn is_met(&self, backend: &Backend, repository: RepositoryId) -> Result<(), Failure> {
        let met = self.met();
        match met.first() {
            Some(first) if !met.contains(&repository) && !self.global.another => {
                let location = backend.location().to_string();
                Err(Failure::AnotherRepository { location, found: repository, met: *first })
            }
            _ => {
                self.meet(backend, repository);
                Ok(())
            }
        }
    }

    pub(super) fn meet(&self, backend: &Backend, repository: RepositoryId) {
        let _ = self.places().map(|places| remember(&places.state_of(repository), backend.location()));
    }

    /// Gives the backend what it needs to identify this machine to a gateway.
    pub(super) fn introduce(&self, backend: &Backend) -> Result<(), Failure> {
        let (state, ca_file) = (self.places()?.state().to_owned(), self.global.ca_file.clone());
        if let Some(gateway) = backend.gateway() {
            gateway.introduce(Introduction { state, ca_file });
        }
        Ok(())
    }

    pub(super) fn backend_options(&self) -> BackendOptions {
        let rate = |size: Option<Size>| size.map(|size| size.0).filter(|rate| *rate > 0);
        BackendOptions {
            rates: Rates { upload: rate(self.global.limit_upload), download: rate(self.global.limit_download) },
            storage_class: self.global.storage_class.clone(),
            kms_key: self.global.kms_key.clone(),
            object_lock: self.global.object_lock,
            renews_locks: self.renews_locks,
            cache: self.places().ok().map(|places| places.cache().to_owned()),
        }
    }

    pub(super) fn places(&self) -> Result<Places, Failure> {
        Ok(Places::find(self.global.cache_dir.clone(), self.global.state_dir.clone(), environment)?)
    }

    pub(super) fn secrets(&self) -> Sources {
        let global = self.global;
        Sources {
            command: global.password_command.clone(),
            keychain: global.keychain.then(|| self.address().ok()).flatten(),
            ..Sources::new(self.names, global.key_file.clone(), global.password_file.clone(), environment)
        }
    }

    /// The repository's address, by which the keychain names its secret.
    pub(super) fn address(&self) -> Result<String, Failure> {
        Ok(match self.location()? {
            Location::Directory(path) => {
                let path = std::path::absolute(&path).unwrap_or(path);
                shown::path(path.as_os_str().as_encoded_bytes())
            }
            elsewhere => elsewhere.to_string(),
        })
    }

    pub(super) fn this_host(&self) -> String {
        this_host(environment)
    }

    /// This machine's write-only credentials for a repository; none if it is not enrolled there.
    pub(super) fn enrolled(&self, backend: &Backend) -> Result<Option<Credentials>, Failure> {
        let places = self.places()?;
        let directories = Credentials::directories(places.state());
        // On machines without credentials, do not read the descriptor.
        if directories.is_empty() {
            return Ok(None);
        }
        let of_this = self.state_there(backend)?.map(|state_dir| Credentials::find(&state_dir));
        if let Some(credentials) = of_this.transpose()?.flatten() {
            return Ok(Some(credentials));
        }
        // If another repository is here now, or its descriptor is lost, opening it with these credentials reports that.
        let here = backend.address();
        let kept = directories.iter().filter_map(|directory| Credentials::find(directory).ok().flatten());
        Ok(kept.into_iter().find(|credentials| credentials.address == here))
    }

    pub(super) fn open_enrolled(&self, backend: &Backend, credentials: Credentials) -> Result<Enrolled, Failure> {
        // Without a cache directory the only cost is that every file is read.
        let places = self.places()?;
        let state_dir = places.state_of(credentials.repository);
        let cache_dir = places.cache_of(credentials.repository);
        let cache_dir = cache_dir.inspect_err(|error| self.report.warn(&format!("{error}: every file is read"))).ok();
        let id = credentials.repository;
        let enrolled = Enrolled::open(backend, credentials, &state_dir, cache_dir);
        let enrolled = enrolled.map_err(|error| of_open(error, SlotKind::Passphrase))?;
        if self.met().is_empty() {
            self.meet(backend, id);
        }
        Ok(enrolled)
    }

    /// Opens the repository with its secret. A write-only machine without a given secret fails instead of asking.
    pub(super) fn open(&self) -> Result<Repository, Failure> {
        let (backend, credential) = self.unlocking()?;
        self.open_with(&backend, &credential)
    }

    /// Like [`Self::open`], but without the cache of earlier runs; for commands that look for damage.
    pub(super) fn open_bare(&self) -> Result<Repository, Failure> {
        let (backend, credential) = self.unlocking()?;
        let mut repository = self.open_as_it_is(&backend, &credential)?;
        repository.read_anew();
        Ok(repository)
    }

    fn unlocking(&self) -> Result<(Backend, Credential), Failure> {
        let backend = self.backend()?;
        if !self.secrets().is_given() && self.enrolled(&backend)?.is_some() {
            return Err(Failure::WriteOnly);
        }
        let credential = self.credential()?;
        Ok((backend, credential))
    }

    /// The secret for an existing repository, from the options, the environment or the terminal.
    pub(super) fn credential(&self) -> Result<Credential, Failure> {
        Ok(self.secrets().existing(&mut Terminal)?)
    }

    pub(super) fn open_with(&self, backend: &Backend, credential: &Credential) -> Result<Repository, Failure> {
        let mut repository = self.open_as_it_is(backend, credential)?;
        if backend.is_remote()
            && let Ok(cache) = self.places()?.cache_of(repository.id())
        {
            repository.keep_copies_in(&cache);
        }
        Ok(repository)
    }

    fn open_as_it_is(&self, backend: &Backend, credential: &Credential) -> Result<Repository, Failure> {
        let input = input(credential)?;
        let places = self.places()?;
        let repository = Repository::open_if(backend, &input, &|costly| self.agrees(costly), |id| places.state_of(id));
        let repository = repository.map_err(|error| of_open(error, credential.kind()))?;
        let met = self.met();
        match met.first() {
            None => self.meet(backend, repository.id()),
            Some(_) if met.contains(&repository.id()) => {}
            Some(first) => {
                let (here, first) = (repository.id().short(), first.short());
                self.report.warn(&format!("this is repository {here}, and this machine has met {first} in its place"));
            }
        }
        if repository.descriptor.is_none() {
            let state = match &repository.descriptor_fault {
                Some((object, fault)) => format!("{object} cannot be used ({fault})"),
                None => "is lost".to_owned(),
            };
            self.report.warn(&format!("the repository's descriptor {state}: it can be read, but not written to"));
        }
        Ok(repository)
    }

    /// Whether to try a costly key slot: `--unlock-memory` decides, or else the user.
    fn agrees(&self, costly: &Costly) -> bool {
        match self.global.unlock_memory {
            Some(Size(most)) => u64::from(costly.cost.m_kib) << 10 <= most,
            None => agrees(&format!("{costly}. Try it?")),
        }
    }

    /// This machine's client, for writing; registers it if the repository does not know it. Fails if the state is older
    /// than one this machine has met, or of another repository in its place.
    pub(super) fn client(&self, repository: &Repository) -> Result<LocalClient, Failure> {
        self.may_write(repository)?;
        LocalClient::load_or_register(repository, &self.this_host()).map_err(Failure::from)
    }

    /// Opens and checks packs that are not proven yet, up to `most` bytes, and signs the owner's proof of them.
    pub(super) fn prove(&self, repository: &Repository, most: u64) -> Result<(), Failure> {
        let view = self.records(repository)?;
        let packs = verify::unproven(&view, most);
        if packs.is_empty() {
            return Ok(());
        }
        let client = self.client(repository)?;
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let proved = verify::prove(repository, &client, (&view, &packs), threads)?;
        if proved.forged > 0 {
            let forged = human::things(proved.forged, "pack does", "packs do");
            self.report.warn(&format!(
                "{forged} not hold what their clients claim: \"copal check --full\" names them; revoke those clients"
            ));
        }
        Ok(())
    }

    /// Like [`Self::ingest`]. A dry run goes on with what is accepted by now if the repository takes no writes.
    pub(super) fn ingest_first(&self, repository: &Repository, is_dry_run: bool) -> Result<(), Failure> {
        match self.ingest(repository) {
            Err(Failure::Store(error)) if is_dry_run && error.refuses_writes() => Ok(()),
            ingested => ingested,
        }
    }

    /// Ingests waiting manifests and changes, if clients ingest here. Fails like [`Self::may_write`].
    pub(super) fn ingest(&self, repository: &Repository) -> Result<(), Failure> {
        self.may_write(repository)?;
        self.ingest_anyway(repository)
    }

    /// Like [`Self::ingest`], but also on an older state: for the commands that mend it.
    pub(super) fn ingest_anyway(&self, repository: &Repository) -> Result<(), Failure> {
        if repository.ingests() {
            wait(ingest(&repository.job(), IngestBy::Client, Scope::All, &|_| false))?;
        }
        Ok(())
    }
}

pub(super) const CLIENTS: &str = "clients/";

pub(super) fn input(credential: &Credential) -> Result<SlotInput, Failure> {
    let text = credential.expose();
    let unusable =
        |cause: Box<dyn std::error::Error + Send + Sync>| Failure::BadSecret { kind: credential.kind(), cause };
    match credential.kind() {
        SlotKind::Passphrase => SlotInput::passphrase(text).map_err(|error| unusable(error.into())),
        SlotKind::KeyFile => SlotInput::key_file(text).map_err(|error| unusable(error.into())),
        SlotKind::RecoveryCode => SlotInput::recovery_code(text).map_err(|error| unusable(error.into())),
    }
}

fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Asks the person at the terminal; returns false unless the answer is yes, or without a terminal.
fn agrees(question: &str) -> bool {
    let Ok((mut terminal, mut typed)) = open_terminal() else { return false };
    let mut answer = [0; 64];
    let asked = write!(terminal, "{question} [y/N] ").and_then(|()| typed.read(&mut answer));
    asked.is_ok_and(|length| answer[..length].trim_ascii().eq_ignore_ascii_case(b"y"))
}
