//! Error: why a configuration is not used.

use std::io;
use std::path::PathBuf;

/// Why a configuration is not used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("there is no configuration: neither {}", looked.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" nor "))]
    Missing { looked: Vec<PathBuf> },
    #[error("cannot read {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// Another user may change the file, which decides what is run, with whose rights, and what is forgotten.
    #[error("{} is not used: {} may be changed by other users", path.display(), place.display())]
    Writable {
        path: PathBuf,
        /// The file, or a directory above it.
        place: PathBuf,
    },
    #[error("{}, line {line}: {why}", path.display())]
    Wrong {
        path: PathBuf,
        /// Where in it, counted from 1.
        line: usize,
        why: String,
    },
    #[error("{} has no profile {name:?}", path.display())]
    NoProfile { path: PathBuf, name: String },
    #[error("profile {name:?} in {} is a part of others that use it", path.display())]
    Used { path: PathBuf, name: String },
    #[error("profile {name:?} in {} has no backup, forget, prune or check", path.display())]
    Idle { path: PathBuf, name: String },
    #[error("no profile in {} has a backup, forget, prune or check", path.display())]
    Nothing { path: PathBuf },
}
