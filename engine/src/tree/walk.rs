//! Walk: the entries of a tree in order, from pages that the caller fetches on demand.

use core::cmp::Ordering;

use super::entry::Entry;
use super::frontier::{Frontier, Head, LostRange, WalkError};
use super::page::VerifiedPage;
use crate::id::ChunkId;
use crate::path::TreePath;

/// Reads a tree in order, in memory that grows with its height only.
#[derive(Debug)]
pub struct TreeWalk {
    frontier: Frontier,
    start: Option<TreePath>,
}

/// What a tree has at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// This entry.
    Entry(Box<Entry>),
    /// It is not known without this page, which must be supplied or skipped.
    Need(ChunkId),
    /// Nothing.
    Nothing,
}

/// What a walk does next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "most steps are entries, which are moved on at once")]
pub enum Step {
    /// The next entry.
    Entry(Entry),
    /// This page must be supplied, or skipped, before the walk can go on.
    Need(ChunkId),
    /// There are no more entries.
    Done,
}

impl TreeWalk {
    /// Starts before the first entry below a root page.
    pub fn new(root: ChunkId) -> Self {
        Self { frontier: Frontier::new(root), start: None }
    }

    /// Passes over entries before a path, without asking for pages that hold nothing else. Goes forward only.
    pub fn seek(&mut self, path: TreePath) {
        self.start = self.start.take().max(Some(path));
    }

    /// The next entry, or the page without which it is not known.
    pub fn step(&mut self) -> Step {
        loop {
            let start = self.start.as_ref();
            match self.frontier.head() {
                Head::End => return Step::Done,
                Head::Page(_, Some(child)) if Some(&child.last_path) < start => {
                    self.frontier.pass();
                }
                Head::Page(id, _) => return Step::Need(id),
                Head::Entry(entry) => {
                    let is_before_start = Some(&entry.path) < start;
                    match self.frontier.take_entry() {
                        Some(entry) if !is_before_start => return Step::Entry(entry),
                        _ => {}
                    }
                }
            }
        }
    }

    /// Takes the entry at a path, if there is one, and passes over those before it, which are not moved for that. Goes
    /// forward only.
    pub fn find(&mut self, path: &TreePath) -> Found {
        loop {
            match self.frontier.head() {
                Head::End => return Found::Nothing,
                Head::Page(id, _) => return Found::Need(id),
                Head::Entry(entry) => match entry.path.cmp(path) {
                    Ordering::Less => self.frontier.pass_entry(),
                    Ordering::Equal => {
                        let entry = self.frontier.take_entry().expect("it is the head");
                        return Found::Entry(Box::new(entry));
                    }
                    Ordering::Greater => return Found::Nothing,
                },
            }
        }
    }

    /// Supplies the page that the walk needs.
    pub fn supply(&mut self, page: VerifiedPage) -> Result<(), WalkError> {
        self.frontier.open(page)
    }

    /// Goes on behind the needed page, which cannot be had; tells what is lost. None if another page is needed.
    pub fn skip(&mut self, id: ChunkId) -> Option<LostRange> {
        matches!(self.frontier.head(), Head::Page(needed, _) if needed == id).then(|| self.frontier.pass())
    }

    /// Pages that will be needed, for reading ahead: those known so far, in order.
    pub fn peek_needed(&self) -> impl Iterator<Item = ChunkId> {
        let start = self.start.as_ref();
        let wanted = self.frontier.upcoming().filter(move |child| Some(&child.last_path) >= start);
        wanted.map(|child| child.id)
    }
}
