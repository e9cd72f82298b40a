//! Frontier: how far a tree was read: what comes next, in order, whether it is an entry or a page still to be fetched.

use std::vec::IntoIter;

use super::entry::Entry;
use super::page::{Child, PageContent, VerifiedPage};
use crate::id::ChunkId;
use crate::limits::HEIGHT;
use crate::path::TreePath;

/// Entries that cannot be told, because a page cannot be read: those behind `after`, up to `through`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRange {
    /// The last path before them; none at the start of the tree.
    pub after: Option<TreePath>,
    /// The last path among them; none if they reach the end of the tree.
    pub through: Option<TreePath>,
}

/// Why a sound page is not the one that belongs here. Only a faulty or hostile writer makes such trees.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// Another page was asked for, or none.
    #[error("page {id} was not asked for")]
    Unasked {
        /// The page that was supplied.
        id: ChunkId,
    },
    /// The page is not lower than the one that refers to it.
    #[error("page {id} of height {height} is referred to from no higher page")]
    Height {
        /// Which page.
        id: ChunkId,
        /// Its height.
        height: u8,
    },
    /// A page of a content list within the tree, or the reverse.
    #[error("page {id} is of a kind that does not belong here")]
    Kind {
        /// Which page.
        id: ChunkId,
    },
    /// The page above says something else of it.
    #[error("page {id} does not hold what the page above says")]
    Claim {
        /// Which page.
        id: ChunkId,
    },
    /// It repeats paths that came before it.
    #[error("page {id} holds paths that do not follow those before")]
    Order {
        /// Which page.
        id: ChunkId,
    },
}

/// What comes next in a tree that is being read.
#[derive(Debug)]
pub(super) enum Head<'a> {
    Entry(&'a Entry),
    /// A page to be opened or passed, and what the page above says of it; the root has none above.
    Page(ChunkId, Option<&'a Child>),
    End,
}

/// The unread rest of a tree, in memory that grows with its height only.
#[derive(Debug)]
pub(super) struct Frontier {
    root: Option<ChunkId>,
    branches: Vec<Branch>,
    entries: IntoIter<Entry>,
    /// The last path that was read, or will be when `entries` are taken.
    after: Option<TreePath>,
}

/// The unread rest of an opened directory.
#[derive(Debug)]
struct Branch {
    height: u8,
    children: IntoIter<Child>,
}

impl Frontier {
    pub(super) fn new(root: ChunkId) -> Self {
        Self { root: Some(root), branches: Vec::new(), entries: Vec::new().into_iter(), after: None }
    }

    pub(super) fn head(&self) -> Head<'_> {
        match self.entries.as_slice().first() {
            Some(entry) => Head::Entry(entry),
            None => self.next_page().map_or(Head::End, |(id, child)| Head::Page(id, child)),
        }
    }

    /// The first page that was not opened, behind any entries.
    pub(super) fn next_page(&self) -> Option<(ChunkId, Option<&Child>)> {
        let child = || self.upcoming().next().map(|child| (child.id, Some(child)));
        self.root.map(|root| (root, None)).or_else(child)
    }

    /// Pages known to come, in the order they will be asked for unless one of them has pages below it.
    pub(super) fn upcoming(&self) -> impl Iterator<Item = &Child> {
        self.branches.iter().rev().flat_map(|branch| branch.children.as_slice())
    }

    pub(super) fn take_entry(&mut self) -> Option<Entry> {
        self.entries.next()
    }

    pub(super) fn pass_entry(&mut self) {
        self.entries.next();
    }

    /// Puts what the next page holds in its place.
    pub(super) fn open(&mut self, page: VerifiedPage) -> Result<(), WalkError> {
        let (id, height) = (page.id(), page.height());
        let (_, claim) = self.next_page().filter(|next| next.0 == id).ok_or(WalkError::Unasked { id })?;
        let above = if claim.is_some() { self.height() } else { HEIGHT + 1 };
        if height >= above {
            return Err(WalkError::Height { id, height });
        }
        let (summary, first) = match page.content() {
            PageContent::Entries(entries) => (entries_below(entries), entries.first().map(|entry| &entry.path)),
            PageContent::Directory(children) => (pages_below(children), children.first().map(|child| &child.last_path)),
            PageContent::List(_) | PageContent::Lists(_) => return Err(WalkError::Kind { id }),
        };
        if claim.is_some_and(|child| summary != (Some(&child.last_path), child.entries, child.bytes)) {
            return Err(WalkError::Claim { id });
        }
        if self.after.is_some() && first <= self.after.as_ref() {
            return Err(WalkError::Order { id });
        }
        self.drop_page();
        match page.into_content() {
            PageContent::Entries(entries) => {
                self.after = entries.last().map(|entry| entry.path.clone()).or(self.after.take());
                self.entries = entries.into_iter();
            }
            PageContent::Directory(children) => {
                self.branches.push(Branch { height, children: children.into_iter() });
            }
            PageContent::List(_) | PageContent::Lists(_) => unreachable!("refused above"),
        }
        Ok(())
    }

    /// Goes on behind the next page without opening it.
    pub(super) fn pass(&mut self) -> LostRange {
        let through = self.drop_page().map(|child| child.last_path);
        let after = self.after.take();
        self.after = through.clone();
        LostRange { after, through }
    }

    fn drop_page(&mut self) -> Option<Child> {
        if self.root.take().is_some() {
            return None;
        }
        self.forget_read_branches();
        self.branches.last_mut().and_then(|branch| branch.children.next())
    }

    fn height(&self) -> u8 {
        let unread = self.branches.iter().rev().find(|branch| !branch.children.as_slice().is_empty());
        unread.map_or(0, |branch| branch.height)
    }

    fn forget_read_branches(&mut self) {
        while self.branches.last().is_some_and(|branch| branch.children.as_slice().is_empty()) {
            self.branches.pop();
        }
    }
}

fn entries_below(entries: &[Entry]) -> (Option<&TreePath>, u64, u64) {
    let bytes = entries.iter().fold(0, |sum: u64, entry| sum.saturating_add(entry.size));
    (entries.last().map(|entry| &entry.path), entries.len() as u64, bytes)
}

fn pages_below(children: &[Child]) -> (Option<&TreePath>, u64, u64) {
    let bytes = children.iter().fold(0, |sum: u64, child| sum.saturating_add(child.bytes));
    let entries = children.iter().fold(0, |sum: u64, child| sum.saturating_add(child.entries));
    (children.last().map(|child| &child.last_path), entries, bytes)
}
