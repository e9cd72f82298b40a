//! Walk: yields the entries of a tree in order, from pages that the caller fetches on demand.

use core::cmp::Ordering;

use super::entry::Entry;
use super::frontier::{Frontier, Head, LostRange, WalkError};
use super::page::{Child, PageContent};
use super::verified::VerifiedPage;
use crate::id::ChunkId;
use crate::path::TreePath;

/// Reads a tree in order. Its memory grows only with the tree's height.
#[derive(Debug)]
pub struct TreeWalk {
    frontier: Frontier,
    start: Option<TreePath>,
    /// How many directories of pages are above each page of entries; none before one was opened.
    depth: Option<usize>,
}

/// A page that a walk has passed without opening it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The link to it.
    pub child: Child,
    /// How many levels of pages are below it; 0 for a page of entries.
    pub level: u8,
}

/// The result of looking up a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The entry.
    Entry(Box<Entry>),
    /// The walk needs this page first, which must be supplied or skipped.
    Need(ChunkId),
    /// No entry has this path.
    Nothing,
}

/// The next step of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "most steps are entries, which are moved on at once")]
pub enum Step {
    /// The next entry.
    Entry(Entry),
    /// The walk needs this page, which must be supplied or skipped.
    Need(ChunkId),
    /// There are no more entries.
    Done,
}

impl TreeWalk {
    /// Starts before the first entry.
    pub fn new(root: ChunkId) -> Self {
        Self { frontier: Frontier::new(root), start: None, depth: None }
    }

    /// Skips entries before a path, and does not ask for pages with only such entries. Never goes back.
    pub fn seek(&mut self, path: TreePath) {
        self.start = self.start.take().max(Some(path));
    }

    /// The next entry, or the page needed to find it.
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

    /// Takes the entry at a path, if there is one. Skips the entries before it without moving them. Never goes back.
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
        let above = matches!(page.content(), PageContent::Entries(_)).then(|| self.frontier.depth());
        self.frontier.open(page)?;
        self.depth = self.depth.or(above);
        Ok(())
    }

    /// Passes over the next page and all below it, if `is_wanted`, given the last path before the page and the link to
    /// it. Never passes the last page of a level, nor a page before any entry was read.
    pub fn pass(&mut self, is_wanted: impl FnOnce(Option<&TreePath>, &Child) -> bool) -> Option<Passed> {
        let (after, child) = self.frontier.inner_page()?;
        let level = u8::try_from(self.depth?.checked_sub(self.frontier.depth())?).ok()?;
        if !is_wanted(after, child) {
            return None;
        }
        let child = child.clone();
        self.frontier.pass();
        Some(Passed { child, level })
    }

    /// Skips the needed page, which cannot be read; returns the lost range. None if another page is needed.
    pub fn skip(&mut self, id: ChunkId) -> Option<LostRange> {
        matches!(self.frontier.head(), Head::Page(needed, _) if needed == id).then(|| self.frontier.pass())
    }

    /// The pages known to be needed, in order, for reading ahead.
    pub fn peek_needed(&self) -> impl Iterator<Item = ChunkId> {
        let start = self.start.as_ref();
        let wanted = self.frontier.upcoming().filter(move |child| Some(&child.last_path) >= start);
        wanted.map(|child| child.id)
    }
}
