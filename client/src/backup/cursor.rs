//! Cursor: reads the trees of the parent snapshot in step with the scan.

use copal_engine::backup::content::is_unfinished;
use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::Entry;

use super::parent::{Compared, Parent};
use crate::reader::{EntryStream, Pages, TreeError};

/// A cursor over the trees that a backup compares with: the checkpoint and the parent snapshot.
pub(super) struct ParentCursor<'a> {
    /// Each with the time when the backup that recorded it began.
    trees: Vec<(TreeCursor<'a>, Time)>,
}

/// An entry of the parent snapshot.
pub(super) struct ParentEntry {
    pub(super) entry: Entry,
    /// When the backup that recorded it began.
    pub(super) begun: Time,
}

/// A cursor over one tree, in constant memory.
pub(super) struct TreeCursor<'a> {
    stream: EntryStream<'a>,
    next: Option<Entry>,
}

impl<'a> ParentCursor<'a> {
    pub(super) fn new(parent: &'a Parent) -> Self {
        let cursor = |tree: Compared| (TreeCursor::new(&*parent.pages, tree.root), tree.begun);
        Self { trees: parent.trees().map(cursor).collect() }
    }

    /// The entry at a path; paths must come in tree order. If several trees have it, the first one counts.
    pub(super) fn at(&mut self, path: &TreePath) -> Result<Option<ParentEntry>, TreeError> {
        let mut found = None;
        for (tree, begun) in &mut self.trees {
            let entry = tree.at(path)?;
            found = found.or(entry.map(|entry| ParentEntry { entry, begun: *begun }));
        }
        Ok(found)
    }
}

impl<'a> TreeCursor<'a> {
    pub(super) fn new(pages: &'a dyn Pages, root: ChunkId) -> Self {
        Self { stream: EntryStream::new(pages, root), next: None }
    }

    /// The tree's entry at a path, unless it is unfinished; paths must ascend. Skips unreadable pages: their entries are
    /// read from the source again.
    pub(super) fn at(&mut self, path: &TreePath) -> Result<Option<Entry>, TreeError> {
        loop {
            if self.next.is_none() {
                self.next = self.stream.next_readable()?;
            }
            match &self.next {
                None => return Ok(None),
                Some(entry) if entry.path < *path => self.next = None,
                Some(entry) if entry.path == *path => {
                    return Ok(self.next.take().filter(|entry| !is_unfinished(entry)));
                }
                Some(_) => return Ok(None),
            }
        }
    }
}
