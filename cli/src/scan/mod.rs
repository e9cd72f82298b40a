//! Scan: the entries of the sources, in tree order, with one `statx` each.
//!
//! Worker threads list directories ahead of the walk that emits them. The walk itself does whatever no worker has begun,
//! so it never waits for work that waits for it, and what is emitted does not depend on how many threads there are.

mod branch;
mod explore;
mod marker;
mod pool;
mod root;
mod rules;
mod sweep;
#[cfg(test)]
mod tests;
mod walk;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use copal_engine::path::TreePath;

use crate::filter::Filter;
use crate::stat::{EntryStat, FileId};

pub use branch::source_of;
pub use marker::{BadMarker, Marker};
pub use root::{BadRoot, Root};
pub use sweep::Sweep;
pub use walk::Scan;

/// What to scan and what to leave out.
#[derive(Default)]
pub struct ScanOptions {
    /// Where to start; what lies in several of them comes once.
    pub roots: Vec<Root>,
    /// What to leave out by name.
    pub excludes: Filter,
    /// Stay on the file system of each root. Directories where another one is mounted come without their content.
    pub one_file_system: bool,
    /// A directory with one of these files comes with that file only.
    pub markers: Vec<Marker>,
    /// Names of files, such as `.gitignore`, that say what to leave out below them; in one directory the later one decides.
    pub ignore_files: Vec<OsString>,
    /// Leave out regular files with more bytes.
    pub exclude_larger_than: Option<u64>,
    /// The repository itself: its directory comes without its content.
    pub forbidden: Option<FileId>,
}

/// Something met on the way.
#[derive(Debug)]
pub enum ScanEvent {
    /// An entry to be backed up.
    Entry(Scanned),
    /// An entry that could not be looked at, or a directory (its own entry came before) that could not be listed.
    Unreadable {
        /// Which one.
        path: TreePath,
        /// Why.
        error: io::Error,
    },
    /// An entry left out for a reason the user may want to know.
    Skipped {
        /// Which one.
        path: TreePath,
        /// Why.
        reason: Skip,
    },
    /// A file of exclusions that is not, or not fully, obeyed: more is backed up than it asks for.
    BadIgnoreFile {
        /// Which one.
        path: TreePath,
        /// What is wrong with it.
        problem: String,
    },
}

/// An entry with its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned {
    /// Its name in the tree: the absolute path without the leading slash.
    pub path: TreePath,
    /// What `statx` said.
    pub stat: EntryStat,
}

/// Why something was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skip {
    /// A socket lives only as long as its process.
    Socket,
    /// The content of a directory on another file system.
    OtherFileSystem,
    /// The content, but for the marker, of a directory that holds this marker.
    Marked(OsString),
    /// The content of the repository itself.
    Repository,
    /// A root that the user also excluded.
    ExcludedRoot,
}

/// What a scan came to.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Default)]
pub struct Totals {
    /// Entries emitted.
    pub entries: u64,
    /// Entries left out by patterns, ignore files or size; what lies below such a directory is not counted.
    pub excluded: u64,
}

/// A scan that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The repository would be backed up into itself.
    #[error("{} lies in the repository itself", .0.display())]
    InRepository(PathBuf),
}

impl Scanned {
    /// Where to open it.
    pub fn source(&self) -> PathBuf {
        source_of(&self.path)
    }
}
