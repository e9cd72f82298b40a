//! Failure: why nothing, or nothing more, could be done.

use std::io;
use std::path::{Path, PathBuf};

use copal_engine::keys::attempts::Doubt;

/// Why the program ends early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line makes no sense.
    #[error("{0}; --help tells what can be asked")]
    Usage(String),
    /// There is nothing that looks like a repository.
    #[error("{0:?} is not a repository, or its directory was not given to the runtime (--dir)")]
    NoRepository(PathBuf),
    /// Nothing was typed.
    #[error("no passphrase was given")]
    NoSecret,
    /// What was given cannot be a passphrase, recovery code or key.
    #[error("the {kind} cannot be used: {why}")]
    BadSecret {
        /// What it is.
        kind: &'static str,
        /// Why not; never what was given.
        why: String,
    },
    /// No slot opens with it.
    #[error("the {0} opens none of the key slots")]
    WrongSecret(&'static str),
    /// All slots that might open are damaged.
    #[error("key slot {object} is damaged: {why}")]
    DamagedSlot {
        /// A copy of it.
        object: String,
        /// What is wrong.
        why: String,
    },
    /// A slot that might open was not tried.
    #[error("key slot {slot} asks for {mib} MiB of memory: {doubt}; --unlock-memory {mib} tries it all the same")]
    CostlySlot {
        /// Its id.
        slot: String,
        /// What a passphrase takes there.
        mib: u32,
        /// Why it was not tried.
        doubt: Doubt,
    },
    /// No snapshot is meant, or more than one.
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
    /// The target is somebody's.
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

    /// The exit code, as the command's (`docs/cli.md`).
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::DamagedSlot { .. } => 4,
            Self::NoRepository(_) => 10,
            Self::WrongSecret(_) | Self::BadSecret { .. } => 12,
            _ => 1,
        }
    }
}
