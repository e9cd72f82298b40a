//! Failure: why a command failed.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use copal_client::causes::with_causes;
use copal_client::location::BadLocation;
use copal_client::places::PlaceError;
use copal_client::remote::OrderError;
use copal_client::repository::Costly;
use copal_client::restic::ResticError;
use copal_format::id::{ClientId, RepositoryId, SlotId, SnapshotId};
use copal_format::keys::slot::SlotKind;
use copal_jobs::replica::SyncError;
use copal_store::StoreError;
use serde::Serialize;

use super::human;
use super::rows::SnapshotRow;
use crate::config::ConfigError;
use crate::exit::Exit;
use crate::secrets::SecretError;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("profile {profile:?} is being run already: this run leaves it out")]
    Busy { profile: String },
    #[error("another \"copal watch\" of the same paths runs already")]
    Watched,
    #[error("hook {hook} failed: {why}")]
    Hook { hook: String, why: String },
    #[error(transparent)]
    Location(#[from] BadLocation),
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error("{location} is not a repository")]
    NoRepository { location: String },
    #[error("{location} held repository {} when this machine used it, and holds none now", .met.short())]
    RepositoryGone { location: String, met: RepositoryId },
    #[error("{location} holds repository {}, and held {} when this machine used it", .found.short(), .met.short())]
    AnotherRepository { location: String, found: RepositoryId, met: RepositoryId },
    #[error("{location} holds repository {}, and this machine is a client of {}", .found.short(), .met.short())]
    ClientElsewhere { location: String, found: RepositoryId, met: RepositoryId },
    #[error("{location} already holds a repository")]
    RepositoryExists { location: String },
    #[error("{location} is not empty")]
    NotEmpty { location: String },
    #[error("the repository has format {found}; this program reads formats up to {known}")]
    NewerFormat { found: u64, known: u64 },
    #[error("wrong {0}")]
    WrongSecret(SlotKind),
    #[error("the repository has no {0} among its keys")]
    NoKey(SlotKind),
    /// A key slot that might open was not tried because of its memory cost.
    #[error(transparent)]
    CostlySlot(Costly),
    /// The text is not a valid secret of its kind: mistyped, another file, or damaged.
    #[error("invalid {kind}")]
    BadSecret {
        kind: SlotKind,
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
    #[error("cannot {0} through a gateway: the server does it on its own schedule")]
    NoJobThere(&'static str),
    /// A gateway cannot do it, and the service beside it does not do it by itself.
    #[error("cannot {0} through a gateway")]
    NotThere(&'static str),
    #[error(transparent)]
    Order(OrderError),
    #[error("this machine's client {} was revoked by the owner", .client.short())]
    Revoked { client: ClientId },
    /// The machine is write-only, and no secret is given that would open the repository.
    #[error("this machine is write-only: it may run only \"copal backup\" and \"copal status\"")]
    WriteOnly,
    /// A client cannot be made, or a machine cannot become one.
    #[error(transparent)]
    Enrollment(Box<dyn Error + Send + Sync>),
    #[error("no snapshot matches \"{wanted}\"")]
    NoSnapshot { wanted: String },
    #[error("\"{wanted}\" matches several snapshots")]
    AmbiguousSnapshot { wanted: String, candidates: Vec<SnapshotRow> },
    /// `latest` means this machine's newest snapshot, but it has none, and several other series could be meant.
    #[error("this machine (\"{host}\") has made no snapshot that matches \"latest\"; {}", others(.candidates.len()))]
    NoneOfThisHost {
        host: String,
        /// The newest snapshot of each other series.
        candidates: Vec<SnapshotRow>,
    },
    #[error("the repository has no {what} \"{wanted}\"")]
    NoObject {
        /// What was looked for: `key`, `object`.
        what: &'static str,
        wanted: String,
    },
    #[error("{}", in_use(.slot, *.is_only))]
    KeyInUse { slot: SlotId, is_only: bool },
    #[error("snapshot {} cannot be restored to the list: prune has deleted data that it needs", .snapshot.short())]
    Freed { snapshot: SnapshotId },
    #[error("snapshot {} has no {}", .snapshot.short(), human::path(.path))]
    NotInSnapshot { path: Vec<u8>, snapshot: SnapshotId },
    #[error("{} does not exist", .path.display())]
    NoSuchPath { path: PathBuf },
    #[error("{} is inside the repository, or contains it", .path.display())]
    InsideRepository { path: PathBuf },
    #[error("the stream is empty: nothing was saved")]
    EmptyStream,
    #[error("the archive has no members: nothing was saved")]
    EmptyArchive,
    #[error("nothing of {} could be saved: the profile ends here, and nothing is forgotten", .path.display())]
    PathUnread { path: PathBuf },
    #[error("nothing was saved: {}: {why}", .path.display())]
    Unsaved { path: PathBuf, why: String },
    #[error("nothing was saved: only directories are left, and snapshot {} has more", .parent.short())]
    Emptied { parent: SnapshotId },
    #[error("{object} is damaged")]
    Damaged {
        object: String,
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    #[error("{object} is older than it was: {why}")]
    Older { object: String, why: String },
    #[error("the client keys in {} are damaged", .path.display())]
    ClientKeys { path: PathBuf },
    #[error("the backup was rejected: {}", .reasons.join("; "))]
    Rejected { reasons: Vec<String> },
    #[error("{what} is uploaded, but not accepted yet")]
    NotYetAccepted {
        /// What was uploaded: the backup, a change.
        what: &'static str,
    },
    #[error(transparent)]
    Sync(SyncError),
    #[error(transparent)]
    Restic(#[from] ResticError),
    #[error("nothing was restored or deleted: the deletions were not confirmed")]
    Declined,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("repository {location}")]
    StoreOf {
        location: String,
        #[source]
        error: StoreError,
    },
    #[error("cannot {act} {thing}")]
    Io {
        /// What was tried: `read`, `write`.
        act: &'static str,
        thing: String,
        #[source]
        cause: io::Error,
    },
    #[error("interrupted")]
    Interrupted,
    /// The reader of the output has closed it: nothing to report.
    #[error("the output was closed")]
    OutputClosed,
    #[error(transparent)]
    Other(#[from] Box<dyn Error + Send + Sync>),
}

impl Failure {
    /// A failure to read or write a named file.
    pub fn io(act: &'static str, thing: impl Into<PathBuf>, cause: io::Error) -> Self {
        Self::Io { act, thing: thing.into().display().to_string(), cause }
    }

    /// The failure of every write without a descriptor.
    pub fn no_descriptor() -> Self {
        Self::Damaged { object: "the descriptor in copal/".into(), cause: "nothing can be written without it".into() }
    }

    /// The failure for an error of standard output.
    pub fn output(cause: io::Error) -> Self {
        match cause.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Io { act: "write", thing: "standard output".into(), cause },
        }
    }

    pub fn exit(&self) -> Exit {
        Self::exit_of(self.kind())
    }

    /// The exit code for a kind of failure.
    pub(super) fn exit_of(kind: &str) -> Exit {
        match kind {
            "usage" | "config" | "location" => Exit::Usage,
            "busy" => Exit::Busy,
            "no_repository" => Exit::NoRepository,
            "wrong_passphrase" => Exit::WrongPassphrase,
            "damaged" | "older_state" => Exit::Damage,
            "rejected" | "not_yet_accepted" => Exit::Rejected,
            "interrupted" => Exit::Interrupted,
            "output_closed" => Exit::Done,
            _ => Exit::Failed,
        }
    }

    /// The kind for programs; stable.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Usage(_) => "usage",
            Self::Config(_) => "config",
            Self::Busy { .. } | Self::Watched => "busy",
            Self::Hook { .. } => "hook",
            Self::Location(_) => "location",
            Self::Secret(_) => "secret",
            Self::Place(_) => "place",
            Self::NoRepository { .. } | Self::RepositoryGone { .. } | Self::Restic(ResticError::Absent) => {
                "no_repository"
            }
            Self::Restic(ResticError::WrongPassword(_)) => "wrong_passphrase",
            Self::Restic(ResticError::Damaged { .. }) => "damaged",
            Self::Restic(ResticError::Store(_)) => "io",
            Self::Restic(ResticError::Version(_)) => "newer_format",
            Self::AnotherRepository { .. } | Self::ClientElsewhere { .. } => "another_repository",
            Self::RepositoryExists { .. } => "repository_exists",
            Self::NotEmpty { .. } => "not_empty",
            Self::Sync(SyncError::NotReplica) => "no_replica",
            Self::Sync(SyncError::Diverged { .. }) => "diverged",
            Self::Sync(SyncError::Foreign) => "another_repository",
            Self::Sync(SyncError::Exists) => "repository_exists",
            Self::Sync(SyncError::Riddled(_) | SyncError::Endless { .. }) => "damaged",
            Self::Sync(_) => "io",
            Self::NewerFormat { .. } => "newer_format",
            Self::WrongSecret(_) | Self::NoKey(_) | Self::BadSecret { .. } => "wrong_passphrase",
            Self::CostlySlot(_) => "costly_slot",
            Self::NotPermitted { .. }
            | Self::NoJobThere(_)
            | Self::NotThere(_)
            | Self::Order(_)
            | Self::Revoked { .. }
            | Self::WriteOnly => "not_permitted",
            Self::Enrollment(_) => "enrollment",
            Self::NoSnapshot { .. } | Self::Freed { .. } | Self::Restic(ResticError::NoSnapshot(_)) => "no_snapshot",
            Self::AmbiguousSnapshot { .. } | Self::NoneOfThisHost { .. } => "ambiguous_snapshot",
            Self::NoObject { .. } => "no_object",
            Self::KeyInUse { .. } => "key_in_use",
            Self::NotInSnapshot { .. } => "not_in_snapshot",
            Self::NoSuchPath { .. } => "no_such_path",
            Self::InsideRepository { .. } => "inside_repository",
            Self::EmptyStream | Self::EmptyArchive => "empty_stream",
            Self::Emptied { .. } => "emptied",
            Self::PathUnread { .. } | Self::Unsaved { .. } => "unsaved",
            Self::Damaged { .. } => "damaged",
            Self::Older { .. } => "older_state",
            Self::ClientKeys { .. } => "client_keys",
            Self::Rejected { .. } => "rejected",
            Self::NotYetAccepted { .. } => "not_yet_accepted",
            Self::Store(_) | Self::StoreOf { .. } | Self::Io { .. } => "io",
            Self::Declined => "declined",
            Self::Interrupted => "interrupted",
            Self::OutputClosed => "output_closed",
            Self::Other(_) => "other",
        }
    }

    /// The failure with its causes, in one line.
    pub fn text(&self) -> String {
        with_causes(self)
    }

    pub(super) fn candidates(&self) -> Option<&[SnapshotRow]> {
        match self {
            Self::AmbiguousSnapshot { candidates, .. } | Self::NoneOfThisHost { candidates, .. } => Some(candidates),
            _ => None,
        }
    }

    pub(super) fn json(&self) -> String {
        serde_json::to_string(&self.object()).expect("plain fields become JSON")
    }

    pub fn value(&self) -> serde_json::Value {
        serde_json::to_value(self.object()).expect("plain fields become JSON")
    }

    fn object(&self) -> ErrorObject<'_> {
        let (error, advice) = (self.text(), self.advice());
        let exit_code = self.exit().code();
        ErrorObject { error, kind: self.kind(), advice, exit_code, candidates: self.candidates() }
    }
}

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

fn others(series: usize) -> String {
    match series {
        1 => "another client has one series".into(),
        _ => format!("other clients have {series} series"),
    }
}

fn in_use(slot: &SlotId, is_only: bool) -> String {
    let slot = slot.short();
    match is_only {
        true => format!("key {slot} is the only one that opens the repository"),
        false => format!("key {slot} is in use: it opened the repository this time"),
    }
}
