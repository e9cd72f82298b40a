//! Frontier: the position in a tree being read. What comes next is an entry, or a page that must be fetched.

use std::vec::IntoIter;

use super::entry::Entry;
use super::page::{Child, PageContent};
use super::verified::VerifiedPage;
use crate::id::ChunkId;
use crate::limits::HEIGHT;
use crate::path::TreePath;

/// A range of entries that cannot be read because a page is missing: those after `after`, up to `through` inclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRange {
    /// The last path before the range; none if it begins with the tree.
    pub after: Option<TreePath>,
    /// The last path of the range; none if it ends with the tree.
    pub through: Option<TreePath>,
}

/// Why an intact page does not fit its place. Only a faulty or hostile writer makes such trees.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum WalkError {
    /// The walk did not ask for this page.
    #[error("page {id} was not asked for")]
    Unasked { id: ChunkId },
    /// The page is not lower than the page that refers to it.
    #[error("page {id} of height {height} is referred to from no higher page")]
    Height { id: ChunkId, height: u8 },
    /// A page of a content list in a tree of entries, or the reverse.
    #[error("page {id} is of a kind that does not belong here")]
    Kind { id: ChunkId },
    /// The page's content is not what its parent says.
    #[error("page {id} does not hold what the page above says")]
    Claim { id: ChunkId },
    /// The page's paths do not follow the previous ones.
    #[error("page {id} holds paths that do not follow those before")]
    Order { id: ChunkId },
}

/// What comes next in a tree being read.
#[derive(Debug)]
pub(super) enum Head<'a> {
    Entry(&'a Entry),
    /// A page to be opened or skipped, and its parent's link to it; the root has none.
    Page(ChunkId, Option<&'a Child>),
    End,
}

/// The unread rest of a tree. Its memory grows only with the tree's height.
#[derive(Debug)]
pub(super) struct Frontier {
    root: Option<ChunkId>,
    branches: Vec<Branch>,
    entries: IntoIter<Entry>,
    /// The last path read so far, counting all of `entries`.
    after: Option<TreePath>,
}

/// The unread links of an opened directory.
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

    /// The first unopened page, after any entries.
    pub(super) fn next_page(&self) -> Option<(ChunkId, Option<&Child>)> {
        let child = || self.upcoming().next().map(|child| (child.id, Some(child)));
        self.root.map(|root| (root, None)).or_else(child)
    }

    /// The unopened pages known so far, in order. More pages may come between them.
    pub(super) fn upcoming(&self) -> impl Iterator<Item = &Child> {
        self.branches.iter().rev().flat_map(|branch| branch.children.as_slice())
    }

    /// The page that comes next, with the last path before it; none if an entry comes first, or if it is its level's
    /// last page.
    pub(super) fn inner_page(&self) -> Option<(Option<&TreePath>, &Child)> {
        let mut upcoming = self.upcoming();
        let next = upcoming.next().filter(|_| self.root.is_none() && self.entries.as_slice().is_empty())?;
        upcoming.next().map(|_| (self.after.as_ref(), next))
    }

    pub(super) fn take_entry(&mut self) -> Option<Entry> {
        self.entries.next()
    }

    pub(super) fn pass_entry(&mut self) {
        self.entries.next();
    }

    /// Replaces the next page by its content.
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

    /// Skips the next page without opening it.
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

    /// How many directories of pages are above the next page.
    pub(super) fn depth(&self) -> usize {
        let is_unread = |branch: &Branch| !branch.children.as_slice().is_empty();
        self.branches.iter().rposition(is_unread).map_or(0, |at| at + 1)
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
