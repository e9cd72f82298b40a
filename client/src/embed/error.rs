//! Why a program did not get what it asked for.

use std::io;
use std::path::PathBuf;

use copal_format::id::RepositoryId;
use copal_format::repository::DescriptorError;
use copal_jobs::error::JobError;
use copal_store::StoreError;

use crate::backend::BackendError;
use crate::backup::{BackupError, Outcome};
use crate::browse::{BrowseError, ContentError};
use crate::filter::BadPattern;
use crate::location::BadLocation;
use crate::places::PlaceError;
use crate::reader::{ReadError, TreeError};
use crate::repository::{ClientError, InitError, OpenError};
use crate::restore::{RestoreError, ScopeError};
use crate::scan::{BadRoot, ScanError};

/// Why a program did not get what it asked for. [`Error::kind`] says what a program may do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum Error {
    #[error("{location} is not a repository: Settings::create makes one")]
    NoRepository { location: String },
    #[error("no kept snapshot is named {wanted:?}")]
    NoSnapshot { wanted: String },
    #[error("several snapshots begin with {wanted:?}: give more digits")]
    Ambiguous { wanted: String },
    /// A manifest cannot be read: the list of snapshots would not be complete.
    #[error("{object} cannot be listed: {why}; Copal::history gives all other snapshots")]
    Unlisted { object: String, why: String },
    /// The snapshot is saved, but a part of the index is damaged: it may refer to chunks that are not there.
    #[error(
        "{segment} is damaged: what was saved can be restored once \"copal rebuild-index\" has made the index again"
    )]
    Unsound { segment: String, outcome: Box<Outcome> },
    #[error("no path to back up is given")]
    NothingNamed,
    #[error("a stream is saved as one name without a slash, not as {name:?}")]
    StreamName { name: String },
    #[error("{} lies in the repository, where restored files would be taken for objects", path.display())]
    InRepository { path: PathBuf },
    #[error("cannot restore into {}", path.display())]
    Target {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// A disk may not be mounted, or somebody has replaced the repository.
    #[error(
        "{location} holds the repository {found}, and this machine knows {met} there: is the right disk mounted? \
         \"copal backup --another\" accepts it"
    )]
    AnotherRepository { location: String, found: RepositoryId, met: RepositoryId },
    /// A disk may not be mounted.
    #[error("this machine knows the repository {met} at {location}, and there is none now: is the right disk mounted?")]
    RepositoryGone { location: String, met: RepositoryId },
    /// The store has lost data, was restored from a copy, or lies.
    #[error("{object} is older than this machine has seen: {why}; \"copal check\" says more")]
    Older { object: String, why: String },
    #[error("descriptor {object} cannot be used")]
    Descriptor {
        object: String,
        #[source]
        source: DescriptorError,
    },
    #[error(transparent)]
    Location(#[from] BadLocation),
    #[error(transparent)]
    Backend(#[from] BackendError),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Init(#[from] InitError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Root(#[from] BadRoot),
    #[error(transparent)]
    Scan(#[from] ScanError),
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error(transparent)]
    Browse(#[from] BrowseError),
    #[error(transparent)]
    Scope(#[from] ScopeError),
    #[error(transparent)]
    Restore(#[from] RestoreError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Job(#[from] JobError),
}

/// What a program may do about an error.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The repository, snapshot or entry is not there.
    Absent,
    /// The passphrase, recovery code or key file does not open the repository.
    Secret,
    /// Something in the repository is lost or damaged, or not what this machine has met there.
    Damaged,
    /// The store cannot be reached, is full, or refuses.
    Store,
    /// The caller ended it.
    Interrupted,
    /// Everything else: what was asked for cannot be done.
    Refused,
}

impl Error {
    /// What a program may do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoRepository { .. } | Self::NoSnapshot { .. } => ErrorKind::Absent,
            Self::Unlisted { .. }
            | Self::Unsound { .. }
            | Self::RepositoryGone { .. }
            | Self::AnotherRepository { .. }
            | Self::Older { .. }
            | Self::Descriptor { .. } => ErrorKind::Damaged,
            Self::Backend(BackendError::Absent(_)) => ErrorKind::Absent,
            Self::Backend(BackendError::Store(error)) | Self::Store(error) => of_store(error),
            Self::Open(error) => of_open(error),
            Self::Init(InitError::Store(error)) => of_store(error),
            Self::Client(ClientError::Store(error)) => of_store(error),
            Self::Client(ClientError::Job(error)) | Self::Job(error) => of_job(error),
            Self::Backup(error) => of_backup(error),
            Self::Browse(error) => of_browse(error),
            Self::Scope(ScopeError::Absent) => ErrorKind::Absent,
            Self::Scope(ScopeError::Lost(_)) => ErrorKind::Damaged,
            Self::Scope(ScopeError::Tree(error)) => of_tree(error),
            Self::Restore(error) => of_restore(error),
            _ => ErrorKind::Refused,
        }
    }
}

fn of_store(error: &StoreError) -> ErrorKind {
    match error {
        // The repository names the object, and it is not there as it should be.
        StoreError::NotFound { .. } | StoreError::OutOfRange { .. } => ErrorKind::Damaged,
        _ => ErrorKind::Store,
    }
}

fn of_job(error: &JobError) -> ErrorKind {
    match error {
        JobError::Store(error) => of_store(error),
        JobError::Damaged { .. } | JobError::StateLost { .. } | JobError::Contradicted { .. } => ErrorKind::Damaged,
        _ => ErrorKind::Refused,
    }
}

fn of_open(error: &OpenError) -> ErrorKind {
    match error {
        OpenError::NoRepository(_) => ErrorKind::Absent,
        OpenError::WrongSecret { .. } | OpenError::NoSlot { .. } => ErrorKind::Secret,
        OpenError::DamagedSlot { .. } | OpenError::Descriptor { .. } => ErrorKind::Damaged,
        OpenError::Costly(_) | OpenError::Another { .. } => ErrorKind::Refused,
        OpenError::Store(error) => of_store(error),
        OpenError::Job(error) => of_job(error),
    }
}

fn of_read(error: &ReadError) -> ErrorKind {
    match error {
        ReadError::Absent { .. } | ReadError::Damaged { .. } => ErrorKind::Damaged,
        ReadError::Store(error) => of_store(error),
    }
}

fn of_tree(error: &TreeError) -> ErrorKind {
    match error {
        TreeError::Read(error) => of_read(error),
        TreeError::Walk(_) => ErrorKind::Damaged,
    }
}

fn of_browse(error: &BrowseError) -> ErrorKind {
    match error {
        BrowseError::Absent => ErrorKind::Absent,
        BrowseError::Kind => ErrorKind::Refused,
        BrowseError::Incomplete | BrowseError::Content(ContentError::Length) => ErrorKind::Damaged,
        BrowseError::Read(error) | BrowseError::Content(ContentError::Read(error)) => of_read(error),
    }
}

fn of_backup(error: &BackupError) -> ErrorKind {
    match error {
        BackupError::Interrupted => ErrorKind::Interrupted,
        BackupError::Store(error) => of_store(error),
        BackupError::Job(error) => of_job(error),
        BackupError::NoDescriptor => ErrorKind::Damaged,
        BackupError::Original(error) | BackupError::Parent(error) => of_tree(error),
        _ => ErrorKind::Refused,
    }
}

fn of_restore(error: &RestoreError) -> ErrorKind {
    match error {
        RestoreError::Interrupted => ErrorKind::Interrupted,
        RestoreError::Store(error) => of_store(error),
        RestoreError::Tree(error) => of_tree(error),
        RestoreError::Target(_) | RestoreError::Declined => ErrorKind::Refused,
    }
}
