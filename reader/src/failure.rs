//! Failure: why the program ends early.

use std::io;
use std::path::{Path, PathBuf};

use copal_format::keys::attempts::Doubt;

use crate::export::NotExport;

/// Why the program ends early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}; --help tells what can be asked")]
    Usage(String),
    #[error("{0:?} is not a repository, or its directory was not given to the runtime (--dir)")]
    NoRepository(PathBuf),
    #[error(transparent)]
    Export(NotExport),
    #[error("no passphrase was given")]
    NoSecret,
    #[error("the {kind} cannot be used: {why}")]
    BadSecret {
        kind: &'static str,
        /// Why not; never contains the secret.
        why: String,
    },
    #[error("the {0} opens none of the key slots")]
    WrongSecret(&'static str),
    #[error("key slot {object} is damaged: {why}")]
    DamagedSlot {
        /// The name of a copy.
        object: String,
        why: String,
    },
    /// A slot that might open was not tried because of its memory cost.
    #[error("key slot {slot} asks for {mib} MiB of memory: {doubt}; --unlock-memory {mib} tries it all the same")]
    CostlySlot {
        slot: String,
        /// The memory that a passphrase needs there.
        mib: u32,
        /// Why it was not tried.
        doubt: Doubt,
    },
    #[error("{0}")]
    Snapshot(String),
    #[error("{path:?} cannot be written: {cause}")]
    Target { path: PathBuf, cause: io::Error },
    #[error("{0:?} is not empty: nothing is written into a directory that holds something")]
    TargetInUse(PathBuf),
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
