//! Scan: lists the entries of the sources in tree order, with one `statx` each.
//!
//! Worker threads list directories ahead of the walk that emits them. The walk itself runs tasks that no worker has
//! begun, so it never waits for a task that waits for it. What is emitted does not depend on the number of threads.

mod as_path;
mod branch;
mod explore;
mod marker;
mod pool;
mod root;
mod rules;
mod scope;
mod sweep;
#[cfg(test)]
mod tests;
mod walk;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use copal_format::path::TreePath;

use crate::filter::Filter;
use crate::stat::{EntryStat, FileId};
use crate::system::bytes_of;

pub use crate::system::source_of;
pub(crate) use as_path::resolve;
pub use as_path::{AsPath, BadAsPath};
pub use marker::{BadMarker, Marker};
pub use root::{BadRoot, Root};
pub use scope::{Extent, Scope};
pub use sweep::Sweep;
pub use walk::Scan;

/// What to scan and what to leave out.
#[derive(Default)]
pub struct ScanOptions {
    /// Where to start. An entry below several roots is emitted once.
    pub roots: Vec<Root>,
    /// Where the entries of each source lie. For a source saved under another path, `roots` has that other path.
    pub as_path: AsPath,
    /// Patterns of entries to leave out. Like all paths of a scan, those they match are paths in the snapshot.
    pub excludes: Filter,
    /// Stay on the file system of each root. Mount points of others are emitted without their content.
    pub one_file_system: bool,
    /// Of a directory that holds one of these files, only that file is emitted.
    pub markers: Vec<Marker>,
    /// Names of ignore files, such as `.gitignore`. If several in one directory disagree, the later name decides.
    pub ignore_files: Vec<OsString>,
    /// Leave out regular files with more bytes than this.
    pub exclude_larger_than: Option<u64>,
    /// Called with each entry that is left out, and the pattern, marker, ignore file or size that decides; from any
    /// thread.
    pub on_excluded: Option<OnExcluded>,
    /// The repository's directory: emitted without its content.
    pub forbidden: Option<FileId>,
}

impl ScanOptions {
    /// Whether the entry is a marker or ignore file. It is never left out itself: it shows a restore that deletes surplus
    /// where the backup has left out something.
    pub(crate) fn is_obeyed(&self, path: &TreePath) -> bool {
        let names = self.markers.iter().map(Marker::name).chain(self.ignore_files.iter().map(OsString::as_os_str));
        names.into_iter().any(|name| *bytes_of(name) == *path.name())
    }
}

/// Takes an entry that is left out, and what leaves it out.
pub type OnExcluded = Box<dyn Fn(&TreePath, &str) + Send + Sync>;

/// What a scan emits.
#[derive(Debug)]
#[allow(missing_docs, reason = "the fields' names say all")]
pub enum ScanEvent {
    /// An entry to be backed up.
    Entry(Scanned),
    /// An entry without metadata because of an error, or a directory (emitted before) that could not be listed.
    Unreadable { path: TreePath, error: io::Error },
    /// An entry left out for a reason the user may want to know.
    Skipped { path: TreePath, reason: Skip },
    /// An ignore file that is obeyed only in part or not at all: more is backed up than it asks for.
    BadIgnoreFile { path: TreePath, problem: String },
}

/// An entry with its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scanned {
    /// Its name in the tree: the absolute path without the leading slash.
    pub path: TreePath,
    /// What `statx` said.
    pub stat: EntryStat,
}

/// Why an entry or its content was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skip {
    /// An entry that is a socket: it lives only as long as its process.
    Socket,
    /// The content of a directory where another file system is mounted.
    OtherFileSystem,
    /// The content of a directory where the kernel shows its own state as files, such as `/proc`, unless it was named.
    KernelFileSystem,
    /// The content, except the marker, of a directory that holds this marker.
    Marked(OsString),
    /// The content of the repository itself.
    Repository,
    /// A root that is also excluded.
    ExcludedRoot,
}

/// Counts of a scan.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Default)]
pub struct Totals {
    /// Entries emitted.
    pub entries: u64,
    /// Entries left out by patterns, ignore files or size. Entries below an excluded directory are not counted.
    pub excluded: u64,
}

/// A scan that cannot start.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ScanError {
    #[error("{} lies in the repository itself", .0.display())]
    InRepository(PathBuf),
}

impl ScanOptions {
    /// Whether this directory is the repository.
    fn is_repository(&self, stat: &EntryStat) -> bool {
        self.forbidden.is_some_and(|repository| self.as_path.is_same(repository, stat.id()))
    }
}
