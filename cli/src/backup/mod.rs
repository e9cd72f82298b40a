//! Backup: from the sources to an accepted snapshot.
//!
//! Threads: a scan ahead in tree order; one thread that compares with the basis; a pool that reads, cuts and names; this
//! one, which owns the session; a pool that seals; one that stores. Everything between them is bounded by bytes, and
//! results are taken in the order of the entries, so that what is stored does not depend on which thread was faster.

mod assemble;
mod audit;
mod basis;
mod beside;
mod budget;
mod compare;
mod content;
mod entry;
mod kept;
mod manifest;
mod outbox;
mod output;
mod rewrite;

use std::collections::{HashSet, VecDeque};
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use copal_engine::backup::change::Signs;
use copal_engine::backup::session::{SessionError, Tally};
use copal_engine::id::{ChunkId, PackId, SnapshotId};
use copal_engine::pack::PackKind;
use copal_engine::receipt::IngestBy;
use copal_engine::snapshot::{Counts, MetadataSeen, SnapshotInfo, Summary};
use copal_engine::time::Time;
use copal_service::error::JobError;
use copal_service::ingest::{Scope, ingest};
use copal_service::view::{self, Parts};
use copal_store::StoreError;

pub use basis::Basis;
use manifest::Claimed;
pub use rewrite::{Rewritten, rewrite};

use crate::args::values::Percent;
use crate::reader::TreeError;
use crate::report::progress::Progress;
use crate::repository::{Access, LocalClient};
use crate::scan::{Root, Scan, Skip, Sweep};
use crate::wait::wait;

/// What is backed up.
pub enum Source<'a> {
    /// What a scan finds.
    Tree {
        /// The scan.
        scan: &'a Arc<Scan>,
        /// The scan's first run, if it was begun already.
        ahead: Option<Sweep>,
    },
    /// One stream of bytes, as a file of this name.
    Stream {
        /// The file's name in the snapshot.
        name: Vec<u8>,
        /// Its content.
        bytes: Box<dyn Read + Send + 'a>,
        /// Whether it may be empty: mostly something else has failed then.
        may_be_empty: bool,
    },
}

/// How a backup goes about it.
pub struct Options {
    /// The host it is recorded for.
    pub host: String,
    /// The paths it is recorded for; with host and label they are the source.
    pub paths: Vec<Vec<u8>>,
    /// A name for the source, or empty.
    pub label: String,
    /// Tags.
    pub tags: Vec<String>,
    /// The time it is recorded for, instead of now.
    pub time: Option<Time>,
    /// Who runs it.
    pub user: String,
    /// Whether every file is read.
    pub force: bool,
    /// Which signs of change are believed.
    pub signs: Signs,
    /// Whether nothing is written.
    pub is_dry_run: bool,
    /// Whether no snapshot is made if the tree is that of the basis.
    pub skip_if_unchanged: bool,
    /// The part of the basis's bytes that may be stored again because the repository wants it.
    pub rewrite_budget: Percent,
    /// Threads that read, and threads that seal.
    pub threads: usize,
    /// How long to wait for the service's answer, where that is not the client's own; none: not at all.
    pub wait: Option<Duration>,
}

impl Options {
    /// One directory, with nothing asked for and nobody waited for.
    pub fn plain(host: &str, root: &Root, threads: usize) -> Self {
        Self {
            host: host.into(),
            paths: vec![root.path().as_bytes().to_vec()],
            label: String::new(),
            tags: Vec::new(),
            time: None,
            user: String::new(),
            force: false,
            signs: Signs::default(),
            is_dry_run: false,
            skip_if_unchanged: false,
            rewrite_budget: Percent::NONE,
            threads,
            wait: None,
        }
    }
}

/// An entry that was not, or not wholly, saved.
#[derive(Debug)]
pub struct Trouble {
    /// Which one.
    pub path: PathBuf,
    /// What happened to it.
    pub kind: TroubleKind,
    /// In words.
    pub why: String,
}

/// What happened to an entry.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// It is not in the snapshot, or without its content.
    Unreadable,
    /// It kept changing; what was read last is in the snapshot.
    Changing,
    /// It was left out on purpose.
    Skipped(SkipKind),
}

/// Why an entry was left out on purpose.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum SkipKind {
    /// A socket, or what was named itself and is excluded: a person may not expect it.
    Noted,
    /// Everything else that is told only on request.
    Quiet,
}

impl From<&Skip> for SkipKind {
    fn from(skip: &Skip) -> Self {
        if matches!(skip, Skip::Socket | Skip::ExcludedRoot) { SkipKind::Noted } else { SkipKind::Quiet }
    }
}

/// What a backup did.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The snapshot; none after a dry run, or if nothing had changed.
    pub snapshot: Option<SnapshotId>,
    /// What it was compared with.
    pub basis: Option<SnapshotId>,
    /// What is in it.
    pub counts: Counts,
    /// How it differs from the basis.
    pub summary: Summary,
    /// What was new.
    pub tally: Tally,
    /// Entries that were not, or not wholly, saved.
    pub troubles: Vec<Trouble>,
    /// Who has accepted the snapshot; none if nobody was waited for.
    pub accepted_by: Option<IngestBy>,
    /// Why a write-only client could not keep its copy of the tree.
    pub not_kept: Option<std::io::Error>,
    /// Nanoseconds by which this machine's clock is ahead of the store's, if that is more than a few minutes.
    pub clock_ahead: Option<i64>,
    /// Segments of the index that are damaged: what the snapshot refers to may not be found until it is made again.
    pub damaged: Vec<String>,
    /// Whether the repository has domains of other clients, whose packs somebody has to prove.
    pub has_other_domains: bool,
}

impl Outcome {
    /// Entries that could not be saved.
    pub fn errors(&self) -> u64 {
        self.count(TroubleKind::Unreadable)
    }

    /// Files that somebody wrote to each time they were read: they are saved as they were read last.
    pub fn changing(&self) -> u64 {
        self.count(TroubleKind::Changing)
    }

    fn count(&self, kind: TroubleKind) -> u64 {
        self.troubles.iter().filter(|trouble| trouble.kind == kind).count() as u64
    }
}

/// Why a backup ended without a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The repository has no descriptor any more.
    #[error("the repository's descriptor is lost: nothing can be written to it")]
    NoDescriptor,
    /// Its parameters cannot be used.
    #[error("the repository's parameters cannot be used")]
    Parameters(#[from] copal_engine::chunk::BadChunkSizes),
    /// The session cannot go on.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A block did not read back after it was sealed.
    #[error(
        "a block did not read back right after it was sealed: this machine's memory or processor cannot be trusted"
    )]
    Seal(#[from] copal_engine::block::SealFault),
    /// The basis cannot be read.
    #[error("the snapshot to compare with cannot be read")]
    Basis(#[from] TreeError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A job of the service failed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The stream could not be read.
    #[error("the stream could not be read")]
    Stream(#[source] std::io::Error),
    /// Nothing came.
    #[error("the stream is empty: nothing was saved")]
    EmptyStream,
    /// The snapshot's description is too large.
    #[error(transparent)]
    Info(#[from] copal_engine::snapshot::OversizeInfo),
    /// The manifest was rejected, again and again.
    #[error("the manifest was rejected: {0}")]
    Rejected(String),
    /// The manifest was rejected for what no other try can mend.
    #[error("the manifest was rejected: {0}")]
    Barred(String),
    /// Nobody has answered the manifest in time.
    #[error("manifest {number} was not answered")]
    Unanswered {
        /// The manifest's number.
        number: u64,
    },
    /// A thread came to a state that must not be; it has said which.
    #[error("a thread of this backup panicked: this is a mistake in copal, and nothing is lost by it")]
    Panicked,
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

/// What is stored and not yet accepted. What an attempt that was rejected leaves of it, the next one may name again.
#[derive(Default)]
struct Carried {
    /// Packs that no manifest names.
    packs: Vec<(PackKind, PackId, u64)>,
    ids: HashSet<ChunkId>,
    /// Manifests that were not answered yet.
    claims: VecDeque<Claim>,
    /// What earlier runs have claimed and nobody has answered.
    earlier: HashSet<ChunkId>,
    /// Manifests that were accepted.
    accepted: u64,
}

/// A manifest that waits for its answer.
struct Claim {
    claimed: Claimed,
    packs: Vec<(PackKind, PackId, u64)>,
    ids: HashSet<ChunkId>,
    is_final: bool,
}

/// Backs up. A manifest that is rejected because the repository changed meanwhile is followed by another attempt on the
/// newest state, which stores only what is missing.
pub fn backup<'a>(
    access: impl Into<Access<'a>>,
    client: &LocalClient,
    source: &mut Source<'_>,
    options: &Options,
    progress: &Arc<Progress>,
    interrupted: &AtomicBool,
) -> Result<Outcome, BackupError> {
    let access = access.into();
    let descriptor = access.descriptor().ok_or(BackupError::NoDescriptor)?;
    let parts = Parts::of_domain(client.domain);
    let read = || view::read_parts(access.store().as_ref(), &parts);
    let mut seen = None;
    if !options.is_dry_run && access.decides() {
        // What an earlier run uploaded and did not live to see accepted. Mostly there is nothing, and then the state was
        // read meanwhile.
        let host = access.host();
        let earlier = ingest(&host, IngestBy::Client, Scope::Client(client.id), &|_| false);
        let (decided, view) = wait(futures::future::join(earlier, read()));
        if decided?.is_empty() {
            seen = Some(view?);
        }
    }
    let mut carried = Carried::default();
    let mut last = String::new();
    let mut left = ATTEMPTS;
    while left > 0 {
        let before = carried.accepted;
        let view = seen.take().map_or_else(|| wait(read()), Ok)?;
        let basis = Basis::find(access, client, &view, options)?;
        let attempt = assemble::Attempt { access, client, descriptor, view, basis, options, progress, interrupted };
        match attempt.run(source, &mut carried) {
            Ok(outcome) => return Ok(outcome),
            Err(BackupError::Rejected(why)) => last = why,
            Err(error) => return Err(error),
        }
        // A run of many hours may meet many prunes; as long as it gets on, it goes on.
        left = if carried.accepted > before { ATTEMPTS } else { left - 1 };
        if matches!(source, Source::Stream { .. }) || interrupted.load(Ordering::Relaxed) {
            break;
        }
    }
    Err(BackupError::Rejected(last))
}

impl Outcome {
    fn info(&self, options: &Options, started: Time) -> SnapshotInfo {
        let mut paths = options.paths.clone();
        paths.sort();
        paths.dedup();
        let mut tags = options.tags.clone();
        tags.sort();
        tags.dedup();
        SnapshotInfo {
            host: options.host.clone(),
            paths,
            label: options.label.clone(),
            tags,
            started,
            counts: self.counts,
            summary: self.summary,
            metadata: METADATA,
            program: concat!("copal ", env!("CARGO_PKG_VERSION")).to_owned(),
            user: options.user.clone(),
        }
    }
}

/// What Linux shows of every entry.
const METADATA: MetadataSeen = MetadataSeen(255);
/// A manifest is rejected only if the state changed under it: more often than this in a row, and nothing accepted, is a
/// fault.
const ATTEMPTS: u32 = 4;
