//! Listing: the entries in a directory of a snapshot, in order; other directories are not read.

use copal_client::reader::{EntryStream, PageReader, ReadError, TreeError};
use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::tree::{Entry, LostRange};

use super::{is_directory, made_directory};

/// How far down a listing goes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Depth {
    Children,
    Everything,
}

pub struct Listing<'a> {
    entries: EntryStream<'a>,
    directory: TreePath,
    depth: Depth,
    /// The child of the directory that was listed last.
    last: Option<TreePath>,
}

impl<'a> Listing<'a> {
    /// Starts before the first entry in a directory of a tree.
    pub fn new(pages: &'a PageReader, root: ChunkId, directory: TreePath, depth: Depth) -> Self {
        let mut entries = pages.entries(root);
        entries.seek(directory.clone());
        Self { entries, directory, depth, last: None }
    }

    /// The next entry; none at the end. Skips pages that cannot be read. Among [`Depth::Children`] are directories of
    /// which the snapshot has only the content.
    pub fn next_readable(&mut self) -> Result<Option<Entry>, TreeError> {
        while let Some(entry) = self.entries.next_readable()? {
            if entry.path == self.directory {
                continue;
            }
            let Some(child) = self.directory.child_towards(&entry.path) else { return Ok(None) };
            if self.depth == Depth::Everything {
                return Ok(Some(entry));
            }
            let is_child = child == entry.path;
            // Skip the content of subdirectories without reading it.
            if (!is_child || is_directory(&entry))
                && let Some(behind) = child.behind()
            {
                self.entries.seek(behind);
            }
            if self.last.as_ref() != Some(&child) {
                self.last = Some(child.clone());
                return Ok(Some(if is_child { entry } else { made_directory(child) }));
            }
        }
        Ok(None)
    }

    /// The ranges of paths that were skipped, and why.
    pub fn lost(&self) -> &[(LostRange, ReadError)] {
        self.entries.lost()
    }
}
