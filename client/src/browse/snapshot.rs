//! One snapshot, for programs: its entries in tree order or by directory, and its files as streams that seek. Pages and
//! blocks are read on demand, and every chunk is compared with its id before its bytes are given out.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use copal_format::path::TreePath;
use copal_format::tree::{Entry, EntryKind, Mode};

use super::domain::Domain;
use super::tree::{Lost, Position, Reached, Sought, Tree};
use super::{BrowseError, content};
use crate::history::Snapshot;
use crate::reader::ReadError;

/// The tree of one snapshot. Clones share what was read.
#[derive(Clone)]
pub struct SnapshotTree(Arc<Tree>);

/// Entries of a snapshot in tree order. Where a page is damaged, one error stands for its entries, and the walk
/// continues after them. An error of the store ends it.
pub struct Walk {
    tree: Arc<Tree>,
    top: TreePath,
    /// Whether only the entries directly in `top` are wanted.
    is_shallow: bool,
    /// The entry of a shallow walk that was given out last.
    last: Option<TreePath>,
    next: Next,
}

enum Next {
    Path(TreePath),
    Number(u64),
    At(Position),
    End,
}

/// A file of a snapshot, as a stream. Holes read as zeros.
pub struct FileReader {
    tree: Arc<Tree>,
    entry: Entry,
    /// Where the next byte is read.
    at: u64,
    /// The bytes read last, and where they begin in the file.
    held: Vec<u8>,
    held_from: u64,
}

impl SnapshotTree {
    pub(crate) fn new(snapshot: &Snapshot, domain: Arc<Domain>) -> Self {
        Self(Arc::new(Tree::new(snapshot, domain)))
    }

    /// The entry at a path; none if the snapshot has no such entry. A directory of which the snapshot has only the
    /// content is as in [`Self::list`].
    pub fn entry(&self, path: &TreePath) -> Result<Option<Entry>, ReadError> {
        match self.0.reach(Sought::Path(path))? {
            Reached::Entry(position) => {
                let found = position.entry();
                if found.path == *path {
                    return Ok(Some(found.clone()));
                }
                // An entry below the path shows that the path is a directory.
                Ok(found.path.is_within(path).then(|| bare_directory(path.clone())))
            }
            Reached::Lost(lost) => Err(lost.error),
            Reached::End => Ok(None),
        }
    }

    /// The entry at a path and all entries below it.
    pub fn walk(&self, top: TreePath) -> Walk {
        Walk { tree: self.0.clone(), next: Next::Path(top.clone()), top, is_shallow: false, last: None }
    }

    /// The entries directly in a directory. Reads only the pages that hold them. A directory of which the snapshot has
    /// only the content is listed with mode 0755, without owner and times.
    pub fn list(&self, directory: TreePath) -> Walk {
        Walk { is_shallow: true, ..self.walk(directory) }
    }

    /// Opens a regular file.
    pub fn open(&self, path: &TreePath) -> Result<FileReader, BrowseError> {
        let entry = self.entry(path)?.ok_or(BrowseError::Absent)?;
        if entry.kind() != EntryKind::File {
            return Err(BrowseError::Kind);
        }
        Ok(FileReader { tree: self.0.clone(), entry, at: 0, held: Vec::new(), held_from: 0 })
    }
}

impl Walk {
    fn reach(&mut self) -> Result<Reached, ReadError> {
        match std::mem::replace(&mut self.next, Next::End) {
            Next::Path(path) => self.tree.reach(Sought::Path(&path)),
            Next::Number(number) => self.tree.reach(Sought::Number(number)),
            Next::At(position) => Ok(Reached::Entry(position)),
            Next::End => Ok(Reached::End),
        }
    }

    fn pass_lost(&mut self, lost: Lost) -> ReadError {
        // If a page ends after the top, nothing after the page lies below the top.
        let through = lost.range.through;
        let may_go_on = through.is_none_or(|through| through < self.top || through.is_within(&self.top));
        self.next = lost.next.filter(|_| may_go_on).map_or(Next::End, Next::Number);
        lost.error
    }

    /// Passes an entry. Returns it if it is wanted; in a list, the child of the top that it is or lies below, once.
    fn take(&mut self, position: Position) -> Option<Entry> {
        let entry = position.entry().clone();
        if !self.is_shallow {
            self.pass(position, None);
            return Some(entry).filter(|entry| entry.path.is_within(&self.top));
        }
        let child = self.top.child_towards(&entry.path);
        self.pass(position, child.as_ref());
        let child = child.filter(|child| self.last.as_ref() != Some(child))?;
        self.last = Some(child.clone());
        Some(if child == entry.path { entry } else { bare_directory(child) })
    }

    /// Continues after an entry, or after everything in a child of the top.
    fn pass(&mut self, position: Position, child: Option<&TreePath>) {
        let number = position.number.saturating_add(1);
        let is_below = |next: &Position| child.is_some_and(|child| next.entry().path.is_within(child));
        self.next = match (position.next(), child.and_then(TreePath::behind)) {
            (Some(next), Some(behind)) if is_below(&next) => Next::Path(behind),
            (Some(next), _) => Next::At(next),
            (None, Some(behind)) => Next::Path(behind),
            (None, None) => Next::Number(number),
        };
    }
}

impl Iterator for Walk {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let position = match self.reach() {
                Ok(Reached::Entry(position)) => position,
                Ok(Reached::Lost(lost)) => return Some(Err(self.pass_lost(lost))),
                Ok(Reached::End) => return None,
                Err(error) => return Some(Err(error)),
            };
            let path = &position.entry().path;
            // After a lost page the walk may be before the top.
            if *path > self.top && !path.is_within(&self.top) {
                self.next = Next::End;
                return None;
            }
            if let Some(entry) = self.take(position) {
                return Some(Ok(entry));
            }
        }
    }
}

impl FileReader {
    /// The file's entry.
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// The file's size in bytes, with its holes.
    pub fn size(&self) -> u64 {
        self.entry.size
    }
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.at >= self.entry.size {
            return Ok(0);
        }
        let end = self.held_from + self.held.len() as u64;
        if self.at < self.held_from || self.at >= end {
            let read = content::read(&self.tree.domain, &self.entry, self.at, WINDOW);
            (self.held, self.held_from) = (read.map_err(io::Error::other)?, self.at);
        }
        let from = &self.held[(self.at - self.held_from) as usize..];
        let length = from.len().min(buffer.len());
        buffer[..length].copy_from_slice(&from[..length]);
        self.at += length as u64;
        Ok(length)
    }
}

impl Seek for FileReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.entry.size.checked_add_signed(by),
        };
        self.at = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// A directory of which the snapshot has only the content.
fn bare_directory(path: TreePath) -> Entry {
    Entry::new(path, Mode::new(EntryKind::Directory, 0o755))
}

/// Bytes that a file reader holds.
const WINDOW: u32 = 256 << 10;
