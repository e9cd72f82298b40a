//! Failure: why a command could not do what it was asked, and what a person can do about it.

use std::error::Error;
use std::io;
use std::path::PathBuf;

use copal_store::StoreError;
use serde::Serialize;

use super::human;
use super::rows::SnapshotRow;
use crate::exit::Exit;
use crate::places::{BadLocation, PlaceError};
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
    /// The machine may not do this: it is registered as write-only, or was revoked.
    #[error("this machine may not {act} this repository")]
    NotPermitted {
        /// What it may not do: `read`, `change`.
        act: &'static str,
    },
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
    /// An object is not what it must be, and the command cannot go on without it.
    #[error("{object} is damaged")]
    Damaged {
        /// The object's name.
        object: String,
        /// What is wrong with it.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
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
    #[error("the backup is uploaded, but not accepted yet")]
    NotYetAccepted,
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
            Self::NoRepository { .. } => Exit::NoRepository,
            Self::WrongSecret(_) | Self::BadSecret { .. } => Exit::WrongPassphrase,
            Self::Damaged { .. } => Exit::Damage,
            Self::Rejected { .. } | Self::NotYetAccepted => Exit::Rejected,
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
            Self::NoRepository { .. } => "no_repository",
            Self::RepositoryExists { .. } => "repository_exists",
            Self::NotEmpty { .. } => "not_empty",
            Self::NewerFormat { .. } => "newer_format",
            Self::WrongSecret(_) | Self::BadSecret { .. } => "wrong_passphrase",
            Self::UnfitStore { .. } => "unfit_store",
            Self::NotPermitted { .. } => "not_permitted",
            Self::NoSnapshot { .. } | Self::Freed { .. } => "no_snapshot",
            Self::AmbiguousSnapshot { .. } => "ambiguous_snapshot",
            Self::NoObject { .. } => "no_object",
            Self::KeyInUse { .. } => "key_in_use",
            Self::NotInSnapshot { .. } => "not_in_snapshot",
            Self::NoSuchPath { .. } => "no_such_path",
            Self::InsideRepository { .. } => "inside_repository",
            Self::Damaged { .. } => "damaged",
            Self::ClientKeys { .. } => "client_keys",
            Self::Rejected { .. } => "rejected",
            Self::NotYetAccepted => "not_yet_accepted",
            Self::Store(_) | Self::Io { .. } => "io",
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

    /// What to do about it, where there is something to say.
    pub fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Usage(_) => "\"copal COMMAND --help\" explains the options",
            Self::Location(BadLocation::Missing) => "name it with -r DIRECTORY or in COPAL_REPOSITORY",
            Self::Location(_) => "name a directory, mounted from elsewhere if need be",
            Self::Secret(SecretError::Missing) => {
                "give a passphrase in COPAL_PASSWORD_FILE, COPAL_PASSWORD_COMMAND or COPAL_PASSWORD, or a key file with --key-file"
            }
            Self::Secret(SecretError::Empty { .. }) => {
                "a repository is never without a passphrase: give at least one character"
            }
            Self::Secret(SecretError::Differ) => "run the command again and type the same passphrase twice",
            Self::Secret(SecretError::CommandFailed(_)) => {
                "run the command in COPAL_PASSWORD_COMMAND by hand to see why"
            }
            Self::Secret(SecretError::Unreadable { .. }) => "look at the file's name and who may read it",
            Self::Place(PlaceError::Homeless { .. }) => "name directories with --cache-dir and --state-dir",
            Self::NoRepository { .. } => {
                "if the location is right (and mounted), create a repository there with \"copal init\" or \"copal backup --init\""
            }
            Self::RepositoryExists { .. } => "use it as it is, or choose another directory",
            Self::NotEmpty { .. } => "choose an empty or a new directory",
            Self::NewerFormat { .. } => "install a newer copal; nothing was changed",
            Self::WrongSecret(Kind::KeyFile) => {
                "use the key file of this repository, or its passphrase or recovery code"
            }
            Self::WrongSecret(_) => {
                "try again; the recovery code opens the repository too, where a passphrase is asked for"
            }
            Self::BadSecret { .. } => "compare it with what was written down, letter by letter",
            Self::NotPermitted { .. } => "use a machine that knows the passphrase, or give the passphrase",
            Self::NoSnapshot { .. } => {
                "\"copal snapshots\" lists what there is; --host, --path and --tag narrow \"latest\""
            }
            Self::AmbiguousSnapshot { .. } => {
                "give more digits of the id, or narrow \"latest\" with --host, --path and --tag"
            }
            Self::KeyInUse { is_only: true, .. } => "add another key first, with \"copal key add\"",
            Self::KeyInUse { .. } => "open the repository with another key: that shows that another one works",
            Self::NotInSnapshot { .. } => "\"copal ls SNAPSHOT\" and \"copal find GLOB\" show what is there",
            Self::NoSuchPath { .. } => "look at the path's name and whether it is mounted",
            Self::InsideRepository { .. } => {
                "keep the repository out of what is backed up, or leave it out with --exclude"
            }
            Self::Damaged { object, .. } if is_index(object) => {
                "run \"copal rebuild-index\" while nobody else writes to the repository: it makes the index again from the packs and manifests"
            }
            Self::Damaged { object, .. } if object.contains("copal/") => {
                "\"copal repair\" writes a new descriptor; until then everything can be restored"
            }
            Self::Damaged { object, .. } if object.starts_with("clients/") => {
                "move it out of the repository and run \"copal backup\" on the machine that it belongs to, which writes it again"
            }
            Self::Damaged { object, .. } if object.starts_with("keys/") => {
                "open the repository with another key or the recovery code, and make a new key with \"copal key add\""
            }
            Self::ClientKeys { .. } => {
                "delete it: \"copal backup\" then registers this machine again, and nothing is uploaded twice"
            }
            Self::Damaged { .. } => {
                "run \"copal check --full\" to see what is hit; back up the sources again, and what they still have heals"
            }
            Self::Rejected { .. } => {
                "nothing that was saved before is affected; run the backup again, and \"copal check\" if it recurs"
            }
            Self::NotYetAccepted => {
                "it counts once \"copal ingest\" (or the service) has run; nothing needs to be uploaded again"
            }
            Self::Interrupted => "what is done is kept: the next run goes on from there",
            Self::Store(error) => return advice_on_store(error),
            Self::Io { cause, .. } | Self::Place(PlaceError::Refused { cause, .. }) => return advice_on(cause),
            Self::Secret(_)
            | Self::UnfitStore { .. }
            | Self::Freed { .. }
            | Self::NoObject { .. }
            | Self::OutputClosed
            | Self::Other(_) => {
                return None;
            }
        })
    }

    /// The failure as one JSON object.
    pub(super) fn json(&self) -> String {
        let candidates = match self {
            Self::AmbiguousSnapshot { candidates, .. } => Some(candidates.as_slice()),
            _ => None,
        };
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

/// Whether an object is made again by `rebuild-index`.
fn is_index(object: &str) -> bool {
    object == "the index" || ["roots/", "state/", "index/"].iter().any(|folder| object.starts_with(folder))
}

fn kind_of_secret(kind: Kind) -> &'static str {
    match kind {
        Kind::Passphrase => "passphrase",
        Kind::KeyFile => "key file",
        Kind::RecoveryCode => "recovery code",
    }
}

fn in_use(slot: &str, is_only: bool) -> String {
    match is_only {
        true => format!("key {slot} is the only one that opens the repository"),
        false => format!("key {slot} is in use: it opened the repository this time"),
    }
}

fn advice_on_store(error: &StoreError) -> Option<&'static str> {
    Some(match error {
        StoreError::Full { .. } => return advice_on(&io::ErrorKind::StorageFull.into()),
        StoreError::Denied { .. } => "look at who may read and write the repository",
        StoreError::ReadOnly { .. } => return advice_on(&io::ErrorKind::ReadOnlyFilesystem.into()),
        StoreError::Gone { .. } => {
            "look whether it is mounted, and run it again once it is back: nothing was written elsewhere"
        }
        StoreError::Obstructed { .. } => "something else was put into the repository's directory: move it away",
        StoreError::NotCreateOnly { .. } => "keep the repository on another file system",
        StoreError::Transient { .. } => "run it again in a while",
        StoreError::Io { source, .. } => return source.downcast_ref().and_then(advice_on),
        StoreError::NotFound { .. } | StoreError::OutOfRange { .. } | StoreError::Crashed => return None,
    })
}

fn advice_on(cause: &io::Error) -> Option<&'static str> {
    Some(match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space and run it again; what is saved stays whole, and \"copal prune\" frees what nothing needs"
        }
        io::ErrorKind::PermissionDenied => "look at who may read and write it; a backup of a whole system runs as root",
        io::ErrorKind::FileTooLarge => {
            "the file system, or a limit of this process (ulimit -f), does not take files of this size"
        }
        io::ErrorKind::ReadOnlyFilesystem => "mount it for writing",
        io::ErrorKind::NotFound => "look at its name and whether it is mounted",
        io::ErrorKind::AlreadyExists => "choose another name: it is never replaced",
        _ => return None,
    })
}
