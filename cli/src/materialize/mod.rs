//! Materialize: a restored tree on the file system, written so that nothing outside the target is touched.
//!
//! Every call names its object by an open directory and one name in it. Directories are opened below the target without
//! following links, so neither a hostile tree nor a link that already lies in the target leads out of it.

mod directory;
mod file;
mod later;
mod metadata;
mod object;
mod place;
mod shortfalls;
mod surplus;
mod target;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

use copal_engine::path::TreePath;

pub use file::TargetFile;
pub use later::DirectoriesLater;
pub use metadata::Metadata;
pub use place::{Place, Wanted};
pub use shortfalls::{Example, Lack, Power, Shortfalls};
pub use surplus::{Held, Surplus, SurplusError};
pub use target::{Created, Removal, Target};

/// How to write.
#[derive(Debug, Copy, Clone, Default)]
pub struct TargetOptions {
    /// What to do with files that are there already.
    pub overwrite: Overwrite,
    /// Whether a directory with content may make way for an entry of another kind.
    pub replace_full_directories: bool,
    /// Leave everything to whoever restores.
    pub no_owner: bool,
    /// Leave extended attributes and ACLs out.
    pub no_xattrs: bool,
    /// What becomes of powers that entries bring along.
    pub powers: Powers,
}

/// What becomes of what gives rights on this machine: devices, set-user-id and set-group-id of programs, and attributes of
/// `security.*` (file capabilities are one) and `trusted.*`. Whoever saved them decides what others may do here.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Default)]
pub enum Powers {
    /// They are restored.
    #[default]
    Restored,
    /// They are left out and counted: who saved them is not trusted, or the owners they were meant for are not set.
    LeftOut,
}

/// What to do with files that are there already.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Default)]
pub enum Overwrite {
    /// Leave them as they are.
    Never,
    /// Replace those whose size or mtime differs.
    #[default]
    Changed,
    /// Replace them.
    Always,
}

/// An entry that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The system refused.
    #[error("cannot {act} {path}")]
    Io {
        /// What was tried.
        act: &'static str,
        /// With which entry.
        path: TreePath,
        /// What the system says.
        source: io::Error,
    },
    /// Something else is there and may not be removed.
    #[error("something else is in the way of {path}")]
    InTheWay {
        /// Of which entry.
        path: TreePath,
    },
    /// The target itself cannot be made or opened.
    #[error("cannot restore into {}", path.display())]
    Target {
        /// Where to restore.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl WriteError {
    /// The entry it is about; the top for the target itself.
    pub fn path(&self) -> TreePath {
        match self {
            Self::Io { path, .. } | Self::InTheWay { path } => path.clone(),
            Self::Target { .. } => TreePath::TOP,
        }
    }

    /// Whether every other entry would fail in the same way: there is no space, or nothing may be written.
    pub fn hits_all(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        match self {
            Self::Io { source, .. } => matches!(source.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem),
            Self::InTheWay { .. } => false,
            Self::Target { .. } => true,
        }
    }

    /// Whether it takes rights that this process lacks.
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }

    fn io(act: &'static str, path: &TreePath, source: impl Into<io::Error>) -> Self {
        Self::Io { act, path: path.clone(), source: source.into() }
    }
}
