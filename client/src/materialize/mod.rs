//! Materialize: writes a restored tree to the file system without touching anything outside the target.
//!
//! Every call names its object by an open directory and one name in it. Directories below the target are opened without
//! following links, so neither a hostile tree nor an existing link in the target leads out of it.

mod copy;
mod directory;
mod file;
mod later;
mod metadata;
mod place;
mod shortfalls;
mod surplus;
mod target;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

use copal_format::path::TreePath;

pub use file::TargetFile;
pub use later::DirectoriesLater;
pub use metadata::{Metadata, is_power};
pub use place::{TargetState, Wanted};
pub use shortfalls::{Example, Lack, Power, Shortfalls};
pub use surplus::{Held, Stays, Surplus, SurplusError};
pub use target::{Created, Removal, Target};

pub use crate::system::Birth;

/// How to write.
#[derive(Debug, Copy, Clone, Default)]
pub struct TargetOptions {
    /// What to do with existing files.
    pub overwrite: Overwrite,
    /// Whether an entry of another kind may replace a directory that is not empty.
    pub replace_full_directories: bool,
    /// Do not set owners: everything belongs to the user who restores.
    pub no_owner: bool,
    /// Leave extended attributes and ACLs out.
    pub no_xattrs: bool,
    /// What to do with powers that entries have.
    pub powers: Powers,
}

/// What to do with what grants rights here: devices, set-user-id and set-group-id bits, and attributes in `security.*`
/// (file capabilities) and `trusted.*`. If restored, the machine that saved them decides about rights here.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Default)]
pub enum Powers {
    /// Restore them if owners are set too. Without owners they would be rights of the user who restores.
    #[default]
    WithOwners,
    /// Restore them in any case: the machine that saved them is trusted.
    Restored,
    /// Leave them out and count them: the machine that saved them is not trusted.
    LeftOut,
}

/// What to do with existing files.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Default)]
pub enum Overwrite {
    /// Leave them as they are.
    Never,
    /// Replace those whose size or mtime differs.
    #[default]
    Changed,
    /// Replace those whose mtime is older.
    Newer,
    /// Replace them.
    Always,
}

/// Why an entry cannot be written.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum WriteError {
    #[error("cannot {act} {path}")]
    Io { act: &'static str, path: TreePath, source: io::Error },
    #[error("something else is in the way of {path}")]
    InTheWay { path: TreePath },
    #[error("{path} was exchanged for another entry during the restore, and gets no metadata")]
    Exchanged { path: TreePath },
    #[error("cannot restore into {}", path.display())]
    Target { path: PathBuf, source: io::Error },
}

impl WriteError {
    /// The entry that the error is about; the top if it is about the target.
    pub fn path(&self) -> TreePath {
        match self {
            Self::Io { path, .. } | Self::InTheWay { path } | Self::Exchanged { path } => path.clone(),
            Self::Target { .. } => TreePath::TOP,
        }
    }

    /// Whether every other entry would fail too: no space is left, or the file system is read-only.
    pub fn hits_all(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        match self {
            Self::Io { source, .. } => matches!(source.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem),
            Self::InTheWay { .. } | Self::Exchanged { .. } => false,
            Self::Target { .. } => true,
        }
    }

    /// Whether this process lacks the rights.
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }

    /// The error about an entry whose directory has this error.
    fn above(self, entry: &TreePath) -> Self {
        match self {
            Self::Io { source, .. } => Self::io("make a directory above", entry, source),
            Self::InTheWay { path } => {
                Self::io("reach", entry, io::Error::other(format!("something else is in the way of {path}")))
            }
            other @ (Self::Exchanged { .. } | Self::Target { .. }) => other,
        }
    }

    fn io(act: &'static str, path: &TreePath, source: impl Into<io::Error>) -> Self {
        Self::Io { act, path: path.clone(), source: source.into() }
    }
}
