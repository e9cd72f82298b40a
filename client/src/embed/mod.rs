//! Embed: a repository as a program uses it, with the defaults of the `copal` command. [`Settings`] opens it, [`Copal`]
//! backs up, lists, reads and restores. Both are made of the other modules, which programs may use beside them.

mod error;
mod settings;

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use copal_format::client::Role;
use copal_format::exclusions::Exclusions;
use copal_format::layout;
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_jobs::error::JobError;
use copal_jobs::view::{self, Parts};

pub use error::{Error, ErrorKind};
pub use settings::{Created, Settings};

use crate::backup::{self, Options, Source};
use crate::browse::{Domains, Shared, SnapshotTree};
use crate::filter::{Case, FilterBuilder, Selection};
use crate::history::{History, Snapshot};
use crate::materialize::{Overwrite, TargetOptions};
use crate::met::{memory_of, met_at, remember};
use crate::places::Places;
use crate::progress::Progress;
use crate::repository::{LocalClient, Met, Repository};
use crate::restore::{self, Event, Request, Scope, SpecPath};
use crate::scan::{Root, Scan, ScanOptions};
use crate::stat::EntryStat;
use crate::wait::{SERVICE_ANSWERS, wait};

/// An open repository. Threads may share it; each call reads the newest state.
pub struct Copal {
    repository: Repository,
    places: Places,
    host: String,
    threads: usize,
    domains: Domains,
}

/// How a backup is made, and what its snapshot says of itself.
#[derive(Clone, Default)]
pub struct Saving {
    /// The label of the source. Host, paths and label together tell which snapshots follow each other.
    pub label: String,
    /// Tags of the snapshot.
    pub tags: Vec<String>,
    /// The snapshot's time, instead of now.
    pub time: Option<Time>,
    /// Patterns of entries to leave out, in the syntax of gitignore.
    pub excludes: Vec<String>,
    /// Whether to stay on the file system of each path.
    pub one_file_system: bool,
    /// Whether to make no snapshot if nothing has changed.
    pub skip_if_unchanged: bool,
    /// Whether to make a snapshot even if it holds only directories, and the last one has more or something could not
    /// be read.
    pub may_be_empty: bool,
    /// Counts what is done; another thread may read it.
    pub progress: Arc<Progress>,
    /// Ends the backup early when it becomes true. What is stored by then is not stored again.
    pub interrupted: Arc<AtomicBool>,
}

/// How a snapshot is restored.
pub struct Restoring<'a> {
    /// The part to restore: an entry, or a directory with its content. Everything by default.
    pub path: TreePath,
    /// What to do with existing files.
    pub overwrite: Overwrite,
    /// Whether to read everything again and compare it.
    pub verifies: bool,
    /// Called with events, from any thread.
    pub tell: &'a (dyn Fn(Event<'_>) + Sync),
    /// Counts what is done; another thread may read it.
    pub progress: Arc<Progress>,
    /// Ends the restore early when it becomes true. The next restore goes on from there.
    pub interrupted: Arc<AtomicBool>,
}

impl Default for Restoring<'_> {
    fn default() -> Self {
        Self {
            path: TreePath::TOP,
            overwrite: Overwrite::default(),
            verifies: false,
            tell: &|_| {},
            progress: Arc::default(),
            interrupted: Arc::default(),
        }
    }
}

impl Copal {
    fn new(repository: Repository, places: Places, host: String, threads: usize) -> Self {
        let ahead = if repository.backend().is_remote() { 4 } else { 1 };
        let domains = Domains::new(Shared::new(CACHE_BYTES, ahead));
        Self { repository, places, host, threads, domains }
    }

    /// The repository that it works on, for everything that this type does not do.
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The kept snapshots, the oldest first. Fails if a manifest cannot be read: [`Self::history`] tells of the others.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>, Error> {
        let history = self.history()?;
        match history.problems.into_iter().next() {
            Some((object, why)) => Err(Error::Unlisted { object, why }),
            None => Ok(history.snapshots.into_iter().filter(Snapshot::is_kept).collect()),
        }
    }

    /// All snapshots that can be read, forgotten ones and checkpoints too, and what is wrong with the others. Fails if
    /// the repository has lost parts of its state, or shows an older one than this machine has seen.
    pub fn history(&self) -> Result<History, Error> {
        let store = self.repository.store().as_ref();
        let view = wait(view::read_parts(store, &Parts::RECORDS))?;
        match wait(view::lost_newer(&self.repository.job(), &view))? {
            Some((_, evidence)) if view.root.is_none() => return Err(JobError::StateLost { evidence }.into()),
            Some((number, why)) => return Err(Error::Older { object: layout::root(number), why }),
            None => {}
        }
        let memory = memory_of(self.repository.state_dir(), self.repository.backend().location());
        match Met::older(store, &memory, view.root.as_ref(), CLIENTS)?.into_iter().next() {
            Some((object, why)) => Err(Error::Older { object, why }),
            None => Ok(History::read(&self.repository, &view)?),
        }
    }

    /// The newest kept snapshot of this host, else of any full client (`latest`), or the one whose id begins with
    /// `name`. A snapshot that cannot be listed may be the wanted one: then no other is returned instead.
    pub fn snapshot(&self, name: &str) -> Result<Snapshot, Error> {
        let history = self.history()?;
        let none = || match history.problems.first() {
            Some((object, why)) => Error::Unlisted { object: object.clone(), why: why.clone() },
            None => Error::NoSnapshot { wanted: name.to_owned() },
        };
        if name == "latest" {
            let own = history.kept().filter(|snapshot| snapshot.machine() == self.host).last();
            // A write-only client decides nothing for machines of other names.
            let of_others = || history.kept().filter(|snapshot| snapshot.signer.role == Role::Full).last();
            let found = own.or_else(|| history.problems.is_empty().then(of_others).flatten());
            return found.cloned().ok_or_else(none);
        }
        let digits = name.to_ascii_lowercase();
        let mut found =
            history.kept().filter(|snapshot| !digits.is_empty() && snapshot.id.to_string().starts_with(&digits));
        let first = found.next().ok_or_else(none)?;
        match found.next() {
            Some(_) => Err(Error::Ambiguous { wanted: name.to_owned() }),
            None => Ok(first.clone()),
        }
    }

    /// Backs up files and directories as one snapshot.
    pub fn backup<P: AsRef<Path>>(&self, paths: &[P], saving: &Saving) -> Result<backup::Outcome, Error> {
        let roots = paths.iter().map(|path| Root::new(path.as_ref())).collect::<Result<Vec<_>, _>>()?;
        let mut names: Vec<_> = roots.iter().map(|root| root.path().as_bytes().to_vec()).collect();
        names.sort();
        names.dedup();
        if names.is_empty() {
            return Err(Error::NothingNamed);
        }
        let mut patterns = FilterBuilder::new();
        for pattern in &saving.excludes {
            patterns.add(pattern, Case::Exact)?;
        }
        let one_file_system = saving.one_file_system;
        let exclusions = Exclusions { patterns: patterns.added().to_vec(), one_file_system, ..Exclusions::default() };
        let directory = self.repository.backend().directory();
        let scan = Arc::new(Scan::new(ScanOptions {
            roots,
            excludes: patterns.finish()?,
            one_file_system,
            forbidden: directory.and_then(|path| EntryStat::of_path(path).ok()).map(|stat| stat.id()),
            ..ScanOptions::default()
        })?);
        let options = Options { exclusions: exclusions.recorded(), ..self.options(names, saving) };
        self.save(&mut Source::Tree { scan: &scan, ahead: None, changed: None }, &options, saving)
    }

    /// Backs up a stream as a snapshot of one file of this name. Fails if the stream is empty, which mostly means that
    /// what writes it has failed.
    pub fn backup_stream(
        &self,
        name: &str,
        bytes: impl Read + Send,
        saving: &Saving,
    ) -> Result<backup::Outcome, Error> {
        let bad = || Error::StreamName { name: name.to_owned() };
        let path = TreePath::new(name).map_err(|_| bad())?;
        if !path.is_directly_in(&TreePath::TOP) {
            return Err(bad());
        }
        let name = path.as_bytes().to_vec();
        let options = self.options(vec![name.clone()], saving);
        let mut source = Source::Stream { name, bytes: Box::new(bytes), may_be_empty: false };
        self.save(&mut source, &options, saving)
    }

    fn options(&self, names: Vec<Vec<u8>>, saving: &Saving) -> Options {
        Options {
            label: saving.label.clone(),
            tags: saving.tags.clone(),
            time: saving.time,
            user: std::env::var("USER").unwrap_or_default(),
            skip_if_unchanged: saving.skip_if_unchanged,
            may_be_empty: saving.may_be_empty,
            rewrite_budget: REWRITE_BUDGET,
            wait: Some(SERVICE_ANSWERS),
            ..Options::new(self.host.clone(), names, self.threads)
        }
    }

    /// Refuses another repository than the one met here, and a state older than the one met, as the command does.
    fn save(&self, source: &mut Source<'_>, options: &Options, saving: &Saving) -> Result<backup::Outcome, Error> {
        let (repository, location) = (&self.repository, self.repository.backend().location());
        let met = met_at(self.places.state(), location);
        if let Some(first) = met.first().filter(|_| !met.contains(&repository.id())) {
            let location = location.to_string();
            return Err(Error::AnotherRepository { location, found: repository.id(), met: *first });
        }
        let (store, memory) = (repository.store().as_ref(), memory_of(repository.state_dir(), location));
        let state = wait(view::read_parts(store, &Parts::NOTHING))?;
        if let Some((object, why)) = Met::older(store, &memory, state.root.as_ref(), CLIENTS)?.into_iter().next() {
            return Err(Error::Older { object, why });
        }
        remember(repository.state_dir(), location);
        let client = LocalClient::load_or_register(repository, &self.host)?;
        let outcome = backup::backup(repository, &client, source, options, &saving.progress, &saving.interrupted)?;
        // The snapshot is saved. A failure only costs the next run its comparison with this state.
        if let Ok(state) = wait(view::read_parts(store, &Parts::NOTHING))
            && let Ok(met) = Met::now(store, state.root.as_ref(), CLIENTS)
        {
            met.keep(&memory);
        }
        match outcome.damaged.first() {
            Some(segment) => Err(Error::Unsound { segment: segment.clone(), outcome: Box::new(outcome) }),
            None => Ok(outcome),
        }
    }

    /// The entries and files of a snapshot.
    pub fn tree(&self, snapshot: &Snapshot) -> Result<SnapshotTree, Error> {
        Ok(SnapshotTree::new(snapshot, self.domains.of(&self.repository, snapshot.domain)?))
    }

    /// Restores a snapshot, or a part of it, into a directory.
    pub fn restore(
        &self,
        snapshot: &Snapshot,
        target: &Path,
        restoring: &Restoring<'_>,
    ) -> Result<restore::Outcome, Error> {
        let target = self.outside(target)?;
        let domain = self.domains.of(&self.repository, snapshot.domain)?;
        let threads = self.repository.backend().readers(self.threads);
        let whole = Request::whole(domain.pages(), snapshot, target, threads);
        let place = SpecPath::Absolute(restoring.path.clone());
        let request = Request {
            scope: match restoring.path.is_top() {
                true => Scope::whole(),
                false => Scope::find(domain.pages(), snapshot.root, &place, &whole.sources)?,
            },
            selection: Selection::default(),
            options: TargetOptions { overwrite: restoring.overwrite, ..whole.options },
            verifies: restoring.verifies,
            ..whole
        };
        Ok(restore::restore(&request, &restoring.progress, restoring.tell, &restoring.interrupted)?)
    }

    /// The absolute target. Fails if it lies in the repository, where restored files would be taken for objects.
    fn outside(&self, target: &Path) -> Result<std::path::PathBuf, Error> {
        let refused = |cause| Error::Target { path: target.to_owned(), cause };
        let absolute = std::path::absolute(target).map_err(refused)?;
        let there = absolute.ancestors().find_map(|above| above.canonicalize().ok());
        let own = self.repository.backend().directory().and_then(|directory| directory.canonicalize().ok());
        match own.zip(there) {
            Some((own, there)) if there.starts_with(&own) => Err(Error::InRepository { path: target.to_owned() }),
            _ => Ok(absolute),
        }
    }
}

/// Memory for opened blocks and pages of snapshots that are read.
const CACHE_BYTES: u64 = 64 << 20;
/// Share of a source that a backup uploads again if the repository wants it: the default of `copal backup`.
const REWRITE_BUDGET: f64 = 0.02;
/// The prefix of the clients that this machine may list: all, since it opens the repository as its owner.
const CLIENTS: &str = "clients/";
