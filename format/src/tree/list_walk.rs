//! List walk: yields the pieces of a file in order. The caller fetches the pages of a large file's list on demand.

use core::ops::Range;
use std::vec::IntoIter;

use super::entry::{Content, Entry, Piece};
use super::frontier::WalkError;
use super::page::{ListChild, PageContent};
use super::verified::VerifiedPage;
use crate::id::ChunkId;

/// Reads a file's pieces in order. Its memory grows only with the height of the file's content list.
#[derive(Debug)]
pub struct ListWalk {
    branches: Vec<Branch>,
    pieces: IntoIter<Piece>,
    offset: u64,
    start: u64,
}

/// The next step of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListStep {
    /// The next piece.
    Piece {
        /// The piece's offset in the file's content.
        offset: u64,
        /// The piece.
        piece: Piece,
    },
    /// The walk needs this page, which must be supplied or skipped.
    Need(ChunkId),
    /// There are no more pieces.
    Done,
}

/// The unread links of an opened list of lists.
#[derive(Debug)]
struct Branch {
    height: u8,
    children: IntoIter<ListChild>,
}

impl ListWalk {
    /// Starts before the first piece of an entry's content. Content inside the entry has no pieces.
    pub fn of(entry: &Entry) -> Self {
        let pieces = match &entry.content {
            Content::List { root, height } => return Self::new(*root, *height, entry.content_bytes()),
            Content::Chunks(pieces) => pieces.clone(),
            Content::None | Content::Inline(_) => Vec::new(),
        };
        Self { branches: Vec::new(), pieces: pieces.into_iter(), offset: 0, start: 0 }
    }

    /// Starts before the first piece of a list. Root, height and length in bytes are those of the file's entry.
    pub fn new(root: ChunkId, height: u8, bytes: u64) -> Self {
        let root = vec![ListChild { id: root, bytes }].into_iter();
        let above = Branch { height: height.saturating_add(1), children: root };
        Self { branches: vec![above], pieces: Vec::new().into_iter(), offset: 0, start: 0 }
    }

    /// Skips pieces that end at or before an offset, and does not ask for pages with only such pieces.
    pub fn seek(&mut self, offset: u64) {
        self.start = self.start.max(offset);
    }

    /// The next piece, or the page needed to find it.
    pub fn step(&mut self) -> ListStep {
        loop {
            if let Some(piece) = self.pieces.next() {
                let offset = self.offset;
                self.offset += u64::from(piece.length);
                if self.offset > self.start {
                    return ListStep::Piece { offset, piece };
                }
                continue;
            }
            match self.needed() {
                None => return ListStep::Done,
                Some((_, child)) if self.offset + child.bytes <= self.start => {
                    self.pass();
                }
                Some((_, child)) => return ListStep::Need(child.id),
            }
        }
    }

    /// Supplies the page that the walk needs.
    pub fn supply(&mut self, page: VerifiedPage) -> Result<(), WalkError> {
        let (id, height) = (page.id(), page.height());
        let (above, child) = self.needed().filter(|needed| needed.1.id == id).ok_or(WalkError::Unasked { id })?;
        // In a list, all pages of a level have the same height.
        if height.checked_add(1) != Some(above) {
            return Err(WalkError::Height { id, height });
        }
        // The writer of a page may put any numbers into it. This check keeps all offsets of the walk in range.
        let bytes = match page.content() {
            PageContent::List(pieces) => sum(pieces.iter().map(|piece| u64::from(piece.length))),
            PageContent::Lists(children) => sum(children.iter().map(|child| child.bytes)),
            PageContent::Entries(_) | PageContent::Directory(_) => return Err(WalkError::Kind { id }),
        };
        if bytes != Some(child.bytes) {
            return Err(WalkError::Claim { id });
        }
        self.drop_page();
        match page.into_content() {
            PageContent::List(pieces) => self.pieces = pieces.into_iter(),
            PageContent::Lists(children) => self.branches.push(Branch { height, children: children.into_iter() }),
            PageContent::Entries(_) | PageContent::Directory(_) => unreachable!("refused above"),
        }
        Ok(())
    }

    /// Skips the needed page, which cannot be read; returns the lost range of content. None if another page is needed.
    pub fn skip(&mut self, id: ChunkId) -> Option<Range<u64>> {
        let is_needed = self.pieces.as_slice().is_empty() && self.needed()?.1.id == id;
        is_needed.then(|| self.pass())
    }

    /// The pages known to be needed, in order, for reading ahead.
    pub fn peek_needed(&self) -> impl Iterator<Item = ChunkId> {
        let mut end = self.offset + self.pieces.as_slice().iter().map(|piece| u64::from(piece.length)).sum::<u64>();
        let children = self.branches.iter().rev().flat_map(|branch| branch.children.as_slice());
        let wanted = children.filter(move |child| {
            end += child.bytes;
            end > self.start
        });
        wanted.map(|child| child.id)
    }

    /// The next page to open, and the height of the page above it.
    fn needed(&self) -> Option<(u8, ListChild)> {
        let first = |branch: &Branch| Some((branch.height, *branch.children.as_slice().first()?));
        self.branches.iter().rev().find_map(first)
    }

    fn pass(&mut self) -> Range<u64> {
        let start = self.offset;
        self.offset += self.drop_page();
        start..self.offset
    }

    /// Drops the needed page; returns the length of the content below it.
    fn drop_page(&mut self) -> u64 {
        while self.branches.last().is_some_and(|branch| branch.children.as_slice().is_empty()) {
            self.branches.pop();
        }
        self.branches.last_mut().and_then(|branch| branch.children.next()).map_or(0, |child| child.bytes)
    }
}

fn sum(mut lengths: impl Iterator<Item = u64>) -> Option<u64> {
    lengths.try_fold(0u64, u64::checked_add)
}

#[cfg(test)]
mod tests {
    use super::sum;

    #[test]
    fn lengths_that_wrap_add_up_to_nothing() {
        assert_eq!(sum([1, 2].into_iter()), Some(3));
        assert_eq!(sum([u64::MAX, 3].into_iter()), None, "a page may not claim 2 bytes with that");
    }
}
