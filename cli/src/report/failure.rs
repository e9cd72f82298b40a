//! Failure: why a command could not do what it was asked.

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

/// Why a command could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The options make no sense together with what is there.
    #[error("{0}")]
    Usage(String),
    /// No repository is named, or not one that this version opens.
    #[error(transparent)]
    Location(#[from] BadLocation),
    /// No passphrase or key is at hand.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The cache or the client keys cannot be written.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The location holds no repository.
    #[error("{location} is not a repository")]
    NoRepository {
        /// Where it was looked for.
        location: String,
    },
    /// The location holds no repository now, and did when this machine used it.
    #[error("{location} held repository {met} when this machine used it, and holds none now")]
    RepositoryGone {
        /// Where it was.
        location: String,
        /// Its first digits.
        met: String,
    },
    /// The location holds another repository than this machine has met there.
    #[error("{location} holds repository {found}, and held {met} when this machine used it")]
    AnotherRepository {
        /// Where it is.
        location: String,
        /// The first digits of the one that is there.
        found: String,
        /// The first digits of the one that was met.
        met: String,
    },
    /// The location already holds one.
    #[error("{location} already holds a repository")]
    RepositoryExists {
        /// Where it was to be created.
        location: String,
    },
    /// The directory for a new repository holds something else.
    #[error("{location} is not empty")]
    NotEmpty {
        /// Where the repository was to be created.
        location: String,
    },
    /// The repository was written by a newer program.
    #[error("the repository has format {found}; this program reads formats up to {known}")]
    NewerFormat {
        /// The repository's format.
        found: u64,
        /// The newest this program knows.
        known: u64,
    },
    /// The secret opens none of the repository's key slots.
    #[error("wrong {}", kind_of_secret(*.0))]
    WrongSecret(Kind),
    /// A key slot that might open was not tried.
    #[error(transparent)]
    CostlySlot(Costly),
    /// The text cannot be a secret of its kind: it was mistyped, or the file is another one or damaged.
    #[error("this {} cannot be right", kind_of_secret(*.kind))]
    BadSecret {
        /// What it should be.
        kind: Kind,
        /// What is wrong with it.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// The store does not behave as a repository needs.
    #[error("{location} cannot hold a repository")]
    UnfitStore {
        /// Where it is.
        location: String,
        /// What it does not do.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// The machine may not do this: its client is not a full one.
    #[error("this machine may not {act} this repository")]
    NotPermitted {
        /// What it may not do: `read`, `change`.
        act: &'static str,
    },
    /// Behind a gateway the service alone writes the state and deletes.
    #[error("through a gateway nobody {0}: the service beside the store does")]
    NoJobThere(&'static str),
    /// The other machine did not run a job.
    #[error(transparent)]
    Order(OrderError),
    /// The owner has revoked the client that this machine is.
    #[error("this machine's client {client} was revoked by the owner")]
    Revoked {
        /// The client's first digits.
        client: String,
    },
    /// The machine is enrolled as write-only, and no secret is given that would open the repository.
    #[error("this machine's client is write-only: it saves, and can do nothing else")]
    WriteOnly,
    /// A client cannot be made, or a machine cannot become one.
    #[error(transparent)]
    Enrollment(Box<dyn Error + Send + Sync>),
    /// No snapshot is meant.
    #[error("no snapshot fits \"{wanted}\"")]
    NoSnapshot {
        /// What the command line says.
        wanted: String,
    },
    /// Several snapshots may be meant.
    #[error("\"{wanted}\" fits several snapshots")]
    AmbiguousSnapshot {
        /// What the command line says.
        wanted: String,
        /// Those that fit.
        candidates: Vec<SnapshotRow>,
    },
    /// `latest` is of this machine, which has made none, and of which other one it is cannot be told.
    #[error("this machine (\"{host}\") has made no snapshot that fits \"latest\"; {}", others(.candidates.len()))]
    NoneOfThisHost {
        /// The name of this machine.
        host: String,
        /// The newest of each series of others.
        candidates: Vec<SnapshotRow>,
    },
    /// Nothing in the repository is called so.
    #[error("the repository has no {what} \"{wanted}\"")]
    NoObject {
        /// What was looked for: `key`, `object`.
        what: &'static str,
        /// What the command line says.
        wanted: String,
    },
    /// The key to be removed is the one that opened the repository.
    #[error("{}", in_use(.slot, *.is_only))]
    KeyInUse {
        /// The slot's first digits.
        slot: String,
        /// Whether no other key is there.
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
    /// A path to save is not there.
    #[error("{} does not exist", .path.display())]
    NoSuchPath {
        /// The path.
        path: PathBuf,
    },
    /// A path to save lies in the repository, or the other way round.
    #[error("{} lies in the repository itself", .path.display())]
    InsideRepository {
        /// The path.
        path: PathBuf,
    },
    /// A stream to save is empty.
    #[error("the stream is empty: nothing was saved")]
    EmptyStream,
    /// An object is not what it must be, and the command cannot go on without it.
    #[error("{object} is damaged")]
    Damaged {
        /// The object's name.
        object: String,
        /// What is wrong with it.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// The repository shows an older state than this machine has met.
    #[error("{object} is older than it was: {why}")]
    Older {
        /// What is older.
        object: String,
        /// In words.
        why: String,
    },
    /// The file with this machine's client keys is damaged.
    #[error("{} does not hold a client's keys", .path.display())]
    ClientKeys {
        /// The file.
        path: PathBuf,
    },
    /// The ingest said no.
    #[error("the backup was rejected: {}", .reasons.join("; "))]
    Rejected {
        /// Why.
        reasons: Vec<String>,
    },
    /// The ingest has not said anything yet.
    #[error("{what} is uploaded, but not accepted yet")]
    NotYetAccepted {
        /// What was uploaded: the backup, a change.
        what: &'static str,
    },
    /// A person was asked, and did not say yes.
    #[error("nothing was restored or deleted: the deletions were not confirmed")]
    Declined,
    /// The store refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file system refuses.
    #[error("cannot {act} {thing}")]
    Io {
        /// What was tried: `read`, `write`.
        act: &'static str,
        /// On which file or object.
        thing: String,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// Somebody pressed Ctrl-C or asked the process to end.
    #[error("interrupted")]
    Interrupted,
    /// Whoever read the output has gone: nothing to say, and nobody to say it to.
    #[error("the output was closed")]
    OutputClosed,
    /// Anything else, in its own words.
    #[error(transparent)]
    Other(#[from] Box<dyn Error + Send + Sync>),
}

impl Failure {
    /// A failure to read or write a file, named.
    pub fn io(act: &'static str, thing: impl Into<PathBuf>, cause: io::Error) -> Self {
        Self::Io { act, thing: thing.into().display().to_string(), cause }
    }

    /// What becomes of a failure to write to standard output.
    pub fn output(cause: io::Error) -> Self {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Io { act: "write", thing: "standard output".into(), cause },
        }
    }

    /// The exit code that tells a script what happened.
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

    /// The word that tells a program what happened; stable.
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

    /// The failure and what caused it, in one line.
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

    /// The snapshots that may be meant, where several may.
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

/// A failure, as programs read it.
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
