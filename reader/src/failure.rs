//! Failure: why the program ends early.

use std::io;
use std::path::{Path, PathBuf};

use copal_format::keys::attempts::Doubt;

use crate::export::NotExport;

/// Why the program ends early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line is not valid.
    #[error("{0}; --help tells what can be asked")]
    Usage(String),
    /// The directory does not look like a repository.
    #[error("{0:?} is not a repository, or its directory was not given to the runtime (--dir)")]
    NoRepository(PathBuf),
    /// The export is not whole.
    #[error(transparent)]
    Export(NotExport),
    /// The secret is empty.
    #[error("no passphrase was given")]
    NoSecret,
    /// The text is not a valid passphrase, recovery code or key.
    #[error("the {kind} cannot be used: {why}")]
    BadSecret {
        /// Its kind.
        kind: &'static str,
        /// Why not; never contains the secret.
        why: String,
    },
    /// The secret opens no slot.
    #[error("the {0} opens none of the key slots")]
    WrongSecret(&'static str),
    /// The slots that might open are damaged.
    #[error("key slot {object} is damaged: {why}")]
    DamagedSlot {
        /// The name of a copy.
        object: String,
        /// What is wrong.
        why: String,
    },
    /// A slot that might open was not tried because of its memory cost.
    #[error("key slot {slot} asks for {mib} MiB of memory: {doubt}; --unlock-memory {mib} tries it all the same")]
    CostlySlot {
        /// Its id.
        slot: String,
        /// The memory that a passphrase needs there.
        mib: u32,
        /// Why it was not tried.
        doubt: Doubt,
    },
    /// No snapshot matches, or more than one.
    #[error("{0}")]
    Snapshot(String),
    /// The target cannot be used.
    #[error("{path:?} cannot be written: {cause}")]
    Target {
        /// The target.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// The target directory is not empty.
    #[error("{0:?} is not empty: nothing is written into a directory that holds something")]
    TargetInUse(PathBuf),
    /// Input or output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Failure {
    /// A target that cannot be written.
    pub(crate) fn target(path: &Path, cause: io::Error) -> Self {
        Self::Target { path: path.to_owned(), cause }
    }

    /// The exit code, the same as that of `copal` (`docs/cli.md`).
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::DamagedSlot { .. } | Self::Export(_) => 4,
            Self::NoRepository(_) => 10,
            Self::WrongSecret(_) | Self::BadSecret { .. } => 12,
            _ => 1,
        }
    }
}
