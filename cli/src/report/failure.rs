//! Failure: why a command failed.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use copal_store::StoreError;
use serde::Serialize;

use super::human;
use super::rows::SnapshotRow;
use crate::exit::Exit;
use crate::location::BadLocation;
use crate::places::PlaceError;
use crate::remote::OrderError;
use crate::repository::Costly;
use crate::secrets::{Kind, SecretError};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The options do not fit each other or the repository.
    #[error("{0}")]
    Usage(String),
    /// No repository is named, or this version cannot open it.
    #[error(transparent)]
    Location(#[from] BadLocation),
    /// There is no passphrase or key.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The cache or the client keys cannot be written.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The location holds no repository.
    #[error("{location} is not a repository")]
    NoRepository {
        /// The location.
        location: String,
    },
    /// The location holds no repository any more; it did when this machine last used it.
    #[error("{location} held repository {met} when this machine used it, and holds none now")]
    RepositoryGone {
        /// The location.
        location: String,
        /// The first digits of its id.
        met: String,
    },
    /// The location holds another repository than before.
    #[error("{location} holds repository {found}, and held {met} when this machine used it")]
    AnotherRepository {
        /// The location.
        location: String,
        /// The first digits of the id found.
        found: String,
        /// The first digits of the id seen before.
        met: String,
    },
    /// The location already holds a repository.
    #[error("{location} already holds a repository")]
    RepositoryExists {
        /// The location.
        location: String,
    },
    /// The directory for a new repository holds something else.
    #[error("{location} is not empty")]
    NotEmpty {
        /// The location.
        location: String,
    },
    /// The repository was written by a newer program.
    #[error("the repository has format {found}; this program reads formats up to {known}")]
    NewerFormat {
        /// The repository's format.
        found: u64,
        /// The newest format that this program knows.
        known: u64,
    },
    /// The secret opens none of the repository's key slots.
    #[error("wrong {}", kind_of_secret(*.0))]
    WrongSecret(Kind),
    /// A key slot that might open was not tried because of its memory cost.
    #[error(transparent)]
    CostlySlot(Costly),
    /// The text is not a valid secret of its kind: mistyped, another file, or damaged.
    #[error("this {} cannot be right", kind_of_secret(*.kind))]
    BadSecret {
        /// The kind.
        kind: Kind,
        /// What is wrong with it.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// The store does not give the guarantees that a repository needs.
    #[error("{location} cannot hold a repository")]
    UnfitStore {
        /// The location.
        location: String,
        /// What it lacks.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// This machine's client is not a full one, so it may not do this.
    #[error("this machine may not {act} this repository")]
    NotPermitted {
        /// What it may not do: `read`, `change`.
        act: &'static str,
    },
    /// Behind a gateway only the service writes the state and deletes.
    #[error("through a gateway nobody {0}: the service beside the store does")]
    NoJobThere(&'static str),
    /// The other machine did not run a job.
    #[error(transparent)]
    Order(OrderError),
    /// The owner has revoked this machine's client.
    #[error("this machine's client {client} was revoked by the owner")]
    Revoked {
        /// The client's first digits.
        client: String,
    },
    /// The machine is write-only, and no secret is given that would open the repository.
    #[error("this machine's client is write-only: it saves, and can do nothing else")]
    WriteOnly,
    /// A client cannot be made, or a machine cannot become one.
    #[error(transparent)]
    Enrollment(Box<dyn Error + Send + Sync>),
    /// No snapshot matches.
    #[error("no snapshot fits \"{wanted}\"")]
    NoSnapshot {
        /// The text from the command line.
        wanted: String,
    },
    /// Several snapshots match.
    #[error("\"{wanted}\" fits several snapshots")]
    AmbiguousSnapshot {
        /// The text from the command line.
        wanted: String,
        /// The snapshots that match.
        candidates: Vec<SnapshotRow>,
    },
    /// `latest` means this machine's newest snapshot, but it has none, and several other series could be meant.
    #[error("this machine (\"{host}\") has made no snapshot that fits \"latest\"; {}", others(.candidates.len()))]
    NoneOfThisHost {
        /// The name of this machine.
        host: String,
        /// The newest snapshot of each other series.
        candidates: Vec<SnapshotRow>,
    },
    /// The repository has no object, key or the like of this name.
    #[error("the repository has no {what} \"{wanted}\"")]
    NoObject {
        /// What was looked for: `key`, `object`.
        what: &'static str,
        /// The text from the command line.
        wanted: String,
    },
    /// The key to remove is the one that opened the repository.
    #[error("{}", in_use(.slot, *.is_only))]
    KeyInUse {
        /// The slot's first digits.
        slot: String,
        /// Whether it is the only key.
        is_only: bool,
    },
    /// The snapshot was forgotten, and prune has freed what it needs.
    #[error("snapshot {snapshot} cannot come back: prune has freed what it needs")]
    Freed {
        /// The snapshot's first digits.
        snapshot: String,
    },
    /// The snapshot has no such path.
    #[error("snapshot {snapshot} has no {}", human::path(.path))]
    NotInSnapshot {
        /// The path.
        path: Vec<u8>,
        /// The snapshot's first digits.
        snapshot: String,
    },
    /// A path to save does not exist.
    #[error("{} does not exist", .path.display())]
    NoSuchPath {
        /// The path.
        path: PathBuf,
    },
    /// A path to save is inside the repository, or contains it.
    #[error("{} lies in the repository itself", .path.display())]
    InsideRepository {
        /// The path.
        path: PathBuf,
    },
    /// A stream to save is empty.
    #[error("the stream is empty: nothing was saved")]
    EmptyStream,
    /// An object is damaged, and the command needs it.
    #[error("{object} is damaged")]
    Damaged {
        /// The object's name.
        object: String,
        /// What is wrong with it.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// The repository shows an older state than this machine has seen.
    #[error("{object} is older than it was: {why}")]
    Older {
        /// What is older.
        object: String,
        /// The reason, in words.
        why: String,
    },
    /// The file with this machine's client keys is damaged.
    #[error("{} does not hold a client's keys", .path.display())]
    ClientKeys {
        /// The file.
        path: PathBuf,
    },
    /// Ingest rejected the backup.
    #[error("the backup was rejected: {}", .reasons.join("; "))]
    Rejected {
        /// The reasons.
        reasons: Vec<String>,
    },
    /// Ingest has not answered yet.
    #[error("{what} is uploaded, but not accepted yet")]
    NotYetAccepted {
        /// What was uploaded: the backup, a change.
        what: &'static str,
    },
    /// The user did not confirm.
    #[error("nothing was restored or deleted: the deletions were not confirmed")]
    Declined,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file system failed.
    #[error("cannot {act} {thing}")]
    Io {
        /// What was tried: `read`, `write`.
        act: &'static str,
        /// The file or object.
        thing: String,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// The user pressed Ctrl-C, or the process was asked to end.
    #[error("interrupted")]
    Interrupted,
    /// The reader of the output has closed it: nothing to report.
    #[error("the output was closed")]
    OutputClosed,
    /// Any other error.
    #[error(transparent)]
    Other(#[from] Box<dyn Error + Send + Sync>),
}

impl Failure {
    /// A failure to read or write a named file.
    pub fn io(act: &'static str, thing: impl Into<PathBuf>, cause: io::Error) -> Self {
        Self::Io { act, thing: thing.into().display().to_string(), cause }
    }

    /// The failure for an error of standard output.
    pub fn output(cause: io::Error) -> Self {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Io { act: "write", thing: "standard output".into(), cause },
        }
    }

    /// The exit code for scripts.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) | Self::Location(_) => Exit::Usage,
            Self::NoRepository { .. } | Self::RepositoryGone { .. } => Exit::NoRepository,
            Self::WrongSecret(_) | Self::BadSecret { .. } => Exit::WrongPassphrase,
            Self::Damaged { .. } | Self::Older { .. } => Exit::Damage,
            Self::Rejected { .. } | Self::NotYetAccepted { .. } => Exit::Rejected,
            Self::Interrupted => Exit::Interrupted,
            Self::OutputClosed => Exit::Done,
            _ => Exit::Failed,
        }
    }

    /// The kind for programs; stable.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Usage(_) => "usage",
            Self::Location(_) => "location",
            Self::Secret(_) => "secret",
            Self::Place(_) => "place",
            Self::NoRepository { .. } | Self::RepositoryGone { .. } => "no_repository",
            Self::AnotherRepository { .. } => "another_repository",
            Self::RepositoryExists { .. } => "repository_exists",
            Self::NotEmpty { .. } => "not_empty",
            Self::NewerFormat { .. } => "newer_format",
            Self::WrongSecret(_) | Self::BadSecret { .. } => "wrong_passphrase",
            Self::CostlySlot(_) => "costly_slot",
            Self::UnfitStore { .. } => "unfit_store",
            Self::NotPermitted { .. }
            | Self::NoJobThere(_)
            | Self::Order(_)
            | Self::Revoked { .. }
            | Self::WriteOnly => "not_permitted",
            Self::Enrollment(_) => "enrollment",
            Self::NoSnapshot { .. } | Self::Freed { .. } => "no_snapshot",
            Self::AmbiguousSnapshot { .. } | Self::NoneOfThisHost { .. } => "ambiguous_snapshot",
            Self::NoObject { .. } => "no_object",
            Self::KeyInUse { .. } => "key_in_use",
            Self::NotInSnapshot { .. } => "not_in_snapshot",
            Self::NoSuchPath { .. } => "no_such_path",
            Self::InsideRepository { .. } => "inside_repository",
            Self::EmptyStream => "empty_stream",
            Self::Damaged { .. } => "damaged",
            Self::Older { .. } => "older_state",
            Self::ClientKeys { .. } => "client_keys",
            Self::Rejected { .. } => "rejected",
            Self::NotYetAccepted { .. } => "not_yet_accepted",
            Self::Store(_) | Self::Io { .. } => "io",
            Self::Declined => "declined",
            Self::Interrupted => "interrupted",
            Self::OutputClosed => "output_closed",
            Self::Other(_) => "other",
        }
    }

    /// The failure with its causes, in one line.
    pub fn text(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }

    /// The snapshots that match, if several do.
    pub(super) fn candidates(&self) -> Option<&[SnapshotRow]> {
        match self {
            Self::AmbiguousSnapshot { candidates, .. } | Self::NoneOfThisHost { candidates, .. } => Some(candidates),
            _ => None,
        }
    }

    /// The failure as one JSON object.
    pub(super) fn json(&self) -> String {
        let candidates = self.candidates();
        let (error, advice) = (self.text(), self.advice());
        let object = ErrorObject { error, kind: self.kind(), advice, exit_code: self.exit().code(), candidates };
        serde_json::to_string(&object).expect("plain fields become JSON")
    }
}

/// A failure in JSON.
#[derive(Serialize)]
struct ErrorObject<'a> {
    error: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
    exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidates: Option<&'a [SnapshotRow]>,
}

fn kind_of_secret(kind: Kind) -> &'static str {
    match kind {
        Kind::Passphrase => "passphrase",
        Kind::KeyFile => "key file",
        Kind::RecoveryCode => "recovery code",
    }
}

fn others(series: usize) -> String {
    match series {
        1 => "another client has one series".into(),
        _ => format!("other clients have {series} series"),
    }
}

fn in_use(slot: &str, is_only: bool) -> String {
    match is_only {
        true => format!("key {slot} is the only one that opens the repository"),
        false => format!("key {slot} is in use: it opened the repository this time"),
    }
}
