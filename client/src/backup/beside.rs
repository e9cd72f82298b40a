//! Beside: reads the trees of the basis in step with the scan.

use copal_engine::backup::content::is_unfinished;
use copal_engine::path::TreePath;
use copal_engine::time::Time;
use copal_engine::tree::Entry;

use super::basis::Basis;
use crate::reader::{EntryStream, TreeError};

/// A cursor over all trees of the basis: checkpoint and parent snapshot.
pub(super) struct Beside<'a> {
    lanes: Vec<Lane<'a>>,
}

/// An entry of the basis.
pub(super) struct Old {
    pub(super) entry: Entry,
    /// When the backup that recorded it began.
    pub(super) begun: Time,
}

/// A cursor over one tree, in constant memory.
struct Lane<'a> {
    stream: EntryStream<'a>,
    next: Option<Entry>,
    begun: Time,
}

impl<'a> Beside<'a> {
    pub(super) fn new(basis: &'a Basis) -> Self {
        let lane = |tree: super::basis::Compared| Lane {
            stream: EntryStream::new(&*basis.pages, tree.root),
            next: None,
            begun: tree.begun,
        };
        Self { lanes: basis.trees().map(lane).collect() }
    }

    /// The entry of the basis at a path; paths must come in tree order. If several trees have it, the first one counts.
    pub(super) fn at(&mut self, path: &TreePath) -> Result<Option<Old>, TreeError> {
        let mut found = None;
        for lane in &mut self.lanes {
            let entry = lane.at(path)?.filter(|entry| !is_unfinished(entry));
            found = found.or(entry.map(|entry| Old { entry, begun: lane.begun }));
        }
        Ok(found)
    }
}

impl Lane<'_> {
    /// Skips pages that cannot be read: their entries are then read from the source again.
    fn at(&mut self, path: &TreePath) -> Result<Option<Entry>, TreeError> {
        loop {
            if self.next.is_none() {
                self.next = self.stream.next_readable()?;
            }
            match &self.next {
                None => return Ok(None),
                Some(entry) if entry.path < *path => self.next = None,
                Some(entry) if entry.path == *path => return Ok(self.next.take()),
                Some(_) => return Ok(None),
            }
        }
    }
}
