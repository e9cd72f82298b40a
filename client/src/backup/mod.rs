//! Backup: from the sources to an accepted snapshot.
//!
//! Threads: the scan runs ahead in tree order; one thread compares with the parent snapshot; a pool reads, cuts
//! and names chunks; this thread owns the session; one pool seals, another stores. The queues between them are bounded.
//! The session takes results in the order of the entries, so what is stored does not depend on thread timing.

mod assemble;
mod audit;
mod parent;
mod cursor;
mod budget;
mod compare;
mod content;
mod entry;
mod kept;
mod manifest;
mod narrowed;
mod options;
mod original;
mod outbox;
mod output;
mod repack;
mod sorter;
mod trouble;

use std::collections::{HashSet, VecDeque};
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use copal_engine::backup::claim::ClaimError;
use copal_engine::backup::session::{ListedPack, SessionError, Tally};
use copal_format::id::{ChunkId, SnapshotId};
use copal_format::path::TreePath;
use copal_format::receipt::IngestBy;
use copal_format::snapshot::{Counts, SnapshotInfo, Summary};
use copal_format::time::Time;
use copal_format::troubles::Troubles;
use copal_jobs::error::JobError;
use copal_jobs::ingest::{Scope, ingest};
use copal_jobs::view::{self, Parts};
use copal_store::StoreError;

use assemble::Attempt;
pub use cursor::Entries;
pub(crate) use cursor::Readable;
use manifest::Claimed;
pub use manifest::answered;
use narrowed::Listed;
pub use options::{Inherited, Options};
pub use original::{EarlierCopy, Original, Originals};
pub use parent::{Compared, Parent};
pub use repack::{Repacked, repack};
pub use trouble::{SkipKind, Trouble, TroubleKind};

use crate::archive::ArchiveError;
use crate::changed::{Gap, Narrowing};
use crate::progress::Progress;
use crate::reader::{Remembered, TreeError};
use crate::repository::{Access, LocalClient};
use crate::scan::{Scan, Sweep};
use crate::system::SEEN;
use crate::wait::wait;

/// What is backed up.
pub enum Source<'a> {
    /// The entries that a scan finds.
    Tree {
        /// The scan.
        scan: &'a Arc<Scan>,
        /// The scan's first run, if it has already begun.
        ahead: Option<Sweep>,
        /// A list of changes: what it does not have is taken over from the parent snapshot, unless that is doubtful.
        changed: Option<Narrowing>,
    },
    /// One stream of bytes, saved as a file.
    Stream {
        /// The file's name in the snapshot.
        name: Vec<u8>,
        /// Its content.
        bytes: Box<dyn Read + Send + 'a>,
        /// Whether the stream may be empty. An empty stream mostly means that the command before it failed.
        may_be_empty: bool,
    },
    /// The members of a tar archive.
    Archive {
        /// The archive.
        bytes: Box<dyn Read + Send + 'a>,
        /// The directory of the snapshot in which the members lie.
        below: TreePath,
    },
    /// A snapshot of this repository or of another one.
    Snapshot(Original<'a>),
}

impl From<ClaimError> for BackupError {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Info(error) => error.into(),
            ClaimError::Session(error) => error.into(),
            ClaimError::Seal(error) => error.into(),
        }
    }
}

/// The result of a backup.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The snapshot; none after a dry run, or if it was skipped because nothing had changed.
    pub snapshot: Option<SnapshotId>,
    /// Its root page, also after a dry run.
    pub root: Option<ChunkId>,
    /// The parent snapshot.
    pub parent: Option<SnapshotId>,
    /// Counts of what the snapshot holds.
    pub counts: Counts,
    /// How it differs from the parent snapshot.
    pub summary: Summary,
    /// What was new to the repository.
    pub tally: Tally,
    /// Entries that were not saved, or not completely.
    pub troubles: Vec<Trouble>,
    /// The number of further ones, if the source has too many to name them all.
    pub unnamed: u64,
    /// Paths of the source of which only directories were saved, and something could not be read.
    pub unsaved: Vec<PathBuf>,
    /// The party that accepted the snapshot; none if the backup did not wait for the receipt.
    pub accepted_by: Option<IngestBy>,
    /// Why a write-only client could not keep its copy of the tree.
    pub not_kept: Option<std::io::Error>,
    /// Nanoseconds by which this machine's clock is ahead of the store's (negative: behind), if over five minutes.
    pub clock_ahead: Option<i64>,
    /// Damaged index segments. The snapshot may refer to chunks that they wrongly list, until they are rebuilt.
    pub damaged: Vec<String>,
    /// Whether the repository has domains of other clients, whose packs the owner has to prove.
    pub has_other_domains: bool,
    /// Whether only the paths in a list of changes were looked at.
    pub is_narrowed: bool,
    /// Why everything was looked at despite a list.
    pub gap: Option<Gap>,
}

impl Outcome {
    /// Number of entries that could not be saved.
    pub fn errors(&self) -> u64 {
        self.summary.errors
    }

    /// Number of files that changed each time they were read. They are saved as they were read last.
    pub fn changing(&self) -> u64 {
        self.troubles.iter().filter(|trouble| trouble.kind == TroubleKind::Changing).count() as u64
    }

    /// Counts a trouble, and names it unless `most` are named already.
    fn add_trouble(&mut self, trouble: Trouble, most: usize) {
        if trouble.kind == TroubleKind::Unreadable {
            self.summary.errors += 1;
        }
        match self.troubles.len() < most {
            true => self.troubles.push(trouble),
            false => self.unnamed += 1,
        }
    }
}

/// Why a backup ended without a snapshot.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BackupError {
    #[error("the repository's descriptor is lost: nothing can be written to it")]
    NoDescriptor,
    #[error("the repository's parameters cannot be used")]
    Parameters(#[from] copal_format::chunk::BadChunkSizes),
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A block did not read back after it was sealed.
    #[error(
        "a block did not read back right after it was sealed: this machine's memory or processor cannot be trusted"
    )]
    Seal(#[from] copal_format::block::SealFault),
    #[error("the snapshot to copy cannot be read")]
    Original(#[source] TreeError),
    #[error("the snapshot to compare with cannot be read")]
    Parent(#[from] TreeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Job(#[from] JobError),
    #[error("the stream could not be read")]
    Stream(#[source] std::io::Error),
    #[error("the archive could not be read")]
    Archive(#[from] ArchiveError),
    /// The entries of an archive could not be sorted on disk.
    #[error("there is no room for the entries of the archive in the directory of temporary files (TMPDIR)")]
    Scratch(#[source] std::io::Error),
    /// The stream is empty, and that is not allowed.
    #[error("the stream is empty: nothing was saved")]
    EmptyStream,
    /// The archive has no members, and that is not allowed. The program that wrote it mostly found nothing.
    #[error("the archive has no members: nothing was saved")]
    EmptyArchive,
    /// There are only directories, and something could not be read or is excluded.
    #[error("nothing was saved: {}: {why}", .path.display())]
    Unsaved { path: PathBuf, why: String },
    /// There are only directories, which is not allowed. The parent snapshot has more.
    #[error("nothing was saved: only directories are left, and snapshot {} has more", .parent.short())]
    Emptied { parent: SnapshotId },
    /// A list of changes cannot be believed. [`backup`] then walks everything.
    #[error("everything has to be looked at: {0}")]
    Gap(#[from] Gap),
    #[error(transparent)]
    Info(#[from] copal_format::snapshot::OversizeInfo),
    /// The manifest was rejected in every attempt.
    #[error("the manifest was rejected: {0}")]
    Rejected(String),
    /// The manifest was rejected for a reason that another attempt cannot change.
    #[error("the manifest was rejected: {0}")]
    Barred(String),
    /// No receipt came in time.
    #[error("manifest {number} was not answered")]
    Unanswered { number: u64 },
    /// A thread panicked, and has printed why to standard error.
    #[error("a thread of this backup panicked: this is a mistake in copal, and nothing is lost by it")]
    Panicked,
    #[error("interrupted")]
    Interrupted,
}

impl BackupError {
    /// Whether the packs stored before are whole, and the store may still take a manifest that claims them. A full
    /// store has room again: that of the pack that did not fit.
    fn leaves_packs(&self) -> bool {
        match self {
            Self::Stream(_) | Self::Archive(_) | Self::Scratch(_) | Self::Original(_) => true,
            Self::Store(error) | Self::Job(JobError::Store(error)) => matches!(error, StoreError::Full { .. }),
            _ => false,
        }
    }
}

/// Packs that are stored and not yet accepted. The next attempt may claim the packs of a rejected one.
#[derive(Default)]
struct Carryover {
    /// Stored packs that no manifest claims: of earlier attempts, and after a flush of this one.
    packs: Vec<ListedPack>,
    ids: HashSet<ChunkId>,
    /// Manifests that were not answered yet.
    claims: VecDeque<Claim>,
    /// Ids that earlier runs have claimed in manifests without a receipt.
    earlier: HashSet<ChunkId>,
    /// Number of manifests that were accepted.
    accepted: u64,
}

/// A manifest that waits for its receipt.
struct Claim {
    claimed: Claimed,
    packs: Vec<ListedPack>,
    ids: HashSet<ChunkId>,
    is_final: bool,
}

/// Backs up the source. If a manifest is rejected because the repository changed meanwhile, another attempt starts from
/// the newest state and stores only what is missing. A stream cannot be read twice, so it gets one attempt.
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
        // First decide about what an earlier run uploaded without a receipt. Mostly there is nothing, so the state that
        // was read at the same time is current.
        let job = access.job();
        let earlier = ingest(&job, IngestBy::Client, Scope::Client(client.id), &|_| false);
        let (decided, view) = wait(futures::future::join(earlier, read()));
        if decided?.is_empty() {
            seen = Some(view?);
        }
    }
    let mut carried = Carryover::default();
    let mut last = String::new();
    let mut left = ATTEMPTS;
    let listed = Listed::of(source, options.is_dry_run);
    let mut gap = None;
    while left > 0 {
        let before = carried.accepted;
        let view = seen.take().map_or_else(|| wait(read()), Ok)?;
        let mut parent = Parent::find(access, client, &view, options, source)?;
        let followed = match listed
            .as_ref()
            .filter(|_| gap.is_none())
            .map(|listed| listed.follows(&parent, &options.paths))
            .transpose()
        {
            Ok(followed) => followed,
            Err(why) => {
                gap = Some(why);
                None
            }
        };
        if followed.is_some() {
            // Making the scope reads the pages that the comparison reads again.
            parent.pages = Arc::new(Remembered::new(parent.pages));
        }
        let attempt = Attempt { access, client, descriptor, view, parent, followed, options, progress, interrupted };
        match attempt.run(source, &mut carried) {
            Ok(mut outcome) => {
                outcome.gap = gap.or(outcome.gap);
                if let Some(listed) = listed.filter(|_| !options.is_dry_run) {
                    listed.note(&outcome);
                }
                if let Source::Tree { scan, .. } = source {
                    let as_path = scan.as_path();
                    outcome.troubles.iter_mut().for_each(|trouble| trouble.path = as_path.place_of(&trouble.path));
                    outcome.unsaved.iter_mut().for_each(|path| *path = as_path.place_of(path));
                }
                return Ok(outcome);
            }
            Err(BackupError::Gap(why)) => {
                gap = Some(why);
                // No manifest claims the packs that this attempt has stored: the next one stores their content again.
                carried = Carryover { accepted: carried.accepted, ..Carryover::default() };
                continue;
            }
            Err(BackupError::Rejected(why)) => last = why,
            Err(BackupError::Unsaved { path, why }) => {
                let place = if let Source::Tree { scan, .. } = source { scan.as_path().place_of(&path) } else { path };
                return Err(BackupError::Unsaved { path: place, why });
            }
            Err(error) => return Err(error),
        }
        // A run of many hours may overlap many prunes: progress resets the attempts.
        left = if carried.accepted > before { ATTEMPTS } else { left - 1 };
        if matches!(source, Source::Stream { .. } | Source::Archive { .. }) || interrupted.load(Ordering::Relaxed) {
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
        let inherited = options.inherited.as_ref();
        let errors = self.summary.errors + inherited.map_or(0, |inherited| inherited.errors);
        SnapshotInfo {
            host: options.host.clone(),
            paths,
            label: options.label.clone(),
            tags,
            started,
            counts: self.counts,
            summary: Summary { errors, ..self.summary },
            metadata: inherited.map_or(SEEN, |inherited| inherited.metadata),
            program: concat!("copal ", env!("CARGO_PKG_VERSION")).to_owned(),
            user: options.user.clone(),
            exclusions: options.exclusions.clone(),
            troubles: self.recorded_troubles(inherited),
            origin: inherited.and_then(|inherited| inherited.origin),
        }
    }

    /// The troubles as the snapshot records them: paths of the tree, which are those of the system without the root.
    fn recorded_troubles(&self, inherited: Option<&Inherited>) -> Troubles {
        let mut recorded = inherited.map(|inherited| inherited.troubles.clone()).unwrap_or_default();
        for trouble in &self.troubles {
            match trouble.kind {
                TroubleKind::Unreadable => recorded.unreadable(&trouble.tree_bytes()),
                TroubleKind::Changing => recorded.changing(&trouble.tree_bytes()),
                TroubleKind::Unlisted | TroubleKind::Skipped(_) => {}
            }
        }
        recorded
    }
}

/// Attempts in a row without an accepted manifest. A manifest is rejected only if the state changed meanwhile, so more
/// rejections than this mean a fault.
const ATTEMPTS: u32 = 4;
