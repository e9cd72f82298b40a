//! Cursor: reads the trees of the parent snapshot in step with the scan.

use std::cmp::Ordering;

use copal_engine::backup::content::is_unfinished;
use copal_format::id::ChunkId;
use copal_format::path::TreePath;
use copal_format::time::Time;
use copal_format::tree::{Entry, LostRange};

use super::parent::{Compared, Parent};
use crate::reader::{EntryStream, Pages, ReadError, TreeError};
use crate::scan::source_of;

/// A cursor over the trees that a backup compares with: the checkpoint and the parent snapshot.
pub(super) struct ParentCursor<'a> {
    /// Each with the time when the backup that recorded it began.
    trees: Vec<(TreeCursor<'a>, Time)>,
}

pub(super) struct ParentEntry {
    pub(super) entry: Entry,
    /// When the backup that recorded it began.
    pub(super) begun: Time,
}

/// A cursor over one tree, in constant memory.
pub(super) struct TreeCursor<'a> {
    stream: Box<dyn Entries + 'a>,
    next: Option<Entry>,
}

/// The entries of a tree, in tree order.
pub trait Entries {
    /// The next entry that can be read.
    fn next(&mut self) -> Result<Option<Entry>, TreeError>;

    /// The paths that could not be read since the last call, each with the reason.
    fn troubles(&mut self) -> Vec<(TreePath, String)>;
}

impl<'a> ParentCursor<'a> {
    pub(super) fn new(parent: &'a Parent) -> Self {
        let cursor = |tree: Compared| (TreeCursor::new(&*parent.pages, tree.root), tree.begun);
        Self { trees: parent.trees().map(cursor).collect() }
    }

    /// The entry at a path; paths must come in tree order. If several trees have it, the first one counts. Calls
    /// `passed` with each entry on the way; without a path, with all that are left.
    pub(super) fn find(
        &mut self,
        path: Option<&TreePath>,
        mut passed: impl FnMut(Entry),
    ) -> Result<Option<ParentEntry>, TreeError> {
        let mut found = None;
        for (tree, begun) in &mut self.trees {
            let entry = tree.find(path, &mut passed)?;
            found = found.or(entry.map(|entry| ParentEntry { entry, begun: *begun }));
        }
        Ok(found)
    }
}

impl<'a> TreeCursor<'a> {
    pub(super) fn new(pages: &'a dyn Pages, root: ChunkId) -> Self {
        Self::of(Box::new(Readable::of(EntryStream::new(pages, root))))
    }

    pub(super) fn of(stream: Box<dyn Entries + 'a>) -> Self {
        Self { stream, next: None }
    }

    /// The tree's entry at a path, unless it is unfinished; paths must ascend. Skips unreadable pages: their entries are
    /// read from the source again.
    pub(super) fn at(&mut self, path: &TreePath) -> Result<Option<Entry>, TreeError> {
        self.find(Some(path), &mut |_| ())
    }

    fn find(&mut self, path: Option<&TreePath>, passed: &mut impl FnMut(Entry)) -> Result<Option<Entry>, TreeError> {
        loop {
            if self.next.is_none() {
                self.next = self.stream.next()?;
            }
            let Some(entry) = self.next.take() else { return Ok(None) };
            match path.map_or(Ordering::Less, |path| entry.path.cmp(path)) {
                Ordering::Less => passed(entry),
                Ordering::Equal => return Ok(Some(entry).filter(|entry| !is_unfinished(entry))),
                Ordering::Greater => {
                    self.next = Some(entry);
                    return Ok(None);
                }
            }
        }
    }
}

/// The entries of a tree of Copal. Skips pages that cannot be read.
pub(crate) struct Readable<'a> {
    stream: EntryStream<'a>,
    /// How many of the lost ranges were told.
    told: usize,
}

impl<'a> Readable<'a> {
    pub(crate) fn of(stream: EntryStream<'a>) -> Self {
        Self { stream, told: 0 }
    }
}

impl Entries for Readable<'_> {
    fn next(&mut self) -> Result<Option<Entry>, TreeError> {
        self.stream.next_readable()
    }

    fn troubles(&mut self) -> Vec<(TreePath, String)> {
        let new = &self.stream.lost()[self.told..];
        self.told += new.len();
        new.iter().map(|(range, error)| lost_range(range, error)).collect()
    }
}

fn lost_range(range: &LostRange, error: &ReadError) -> (TreePath, String) {
    let name = |path: &Option<TreePath>| path.as_ref().map(|path| source_of(path).display().to_string());
    let behind = name(&range.after).map(|after| format!(" behind {after}")).unwrap_or_default();
    let up_to = name(&range.through).map(|through| format!(" up to {through}")).unwrap_or_default();
    let path = range.through.as_ref().or(range.after.as_ref()).cloned().unwrap_or_default();
    (path, format!("all entries{behind}{up_to} are lost: {error}"))
}
