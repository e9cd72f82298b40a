//! Error: why a configuration is not used.

use std::io;
use std::path::PathBuf;

/// Why a configuration is not used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// No file is named, and none lies in the usual places.
    #[error("there is no configuration: neither {}", looked.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" nor "))]
    Missing {
        /// The paths at which the program has looked.
        looked: Vec<PathBuf>,
    },
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// Somebody else may change the file. It says what is run, with whose rights, and what is forgotten.
    #[error("{} is not used: {} may be changed by other users", path.display(), place.display())]
    Writable {
        /// The file.
        path: PathBuf,
        /// The file, or a directory above it.
        place: PathBuf,
    },
    /// A key or a value is wrong.
    #[error("{}, line {line}: {why}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Where in it, counted from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// There is no such profile.
    #[error("{} has no profile {name:?}", path.display())]
    NoProfile {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        name: String,
    },
    /// The profile is a part of others.
    #[error("profile {name:?} in {} is a part of others that use it", path.display())]
    Used {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        name: String,
    },
    /// The profile has no act.
    #[error("profile {name:?} in {} has no backup, forget, prune or check", path.display())]
    Idle {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        name: String,
    },
    /// No profile has an act.
    #[error("no profile in {} has a backup, forget, prune or check", path.display())]
    Nothing {
        /// The file.
        path: PathBuf,
    },
}
