//! List walk: the pieces of a huge file in order, from pages that the caller fetches on demand.

use core::ops::Range;
use std::vec::IntoIter;

use super::entry::Piece;
use super::frontier::WalkError;
use super::page::{ListChild, PageContent, VerifiedPage};
use crate::id::ChunkId;

/// Reads a content list in order, in memory that grows with its height only.
#[derive(Debug)]
pub struct ListWalk {
    branches: Vec<Branch>,
    pieces: IntoIter<Piece>,
    offset: u64,
    start: u64,
}

/// What a walk does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListStep {
    /// The next piece.
    Piece {
        /// Where it lies in the file's content.
        offset: u64,
        /// The piece.
        piece: Piece,
    },
    /// This page must be supplied, or skipped, before the walk can go on.
    Need(ChunkId),
    /// There are no more pieces.
    Done,
}

/// The unread rest of an opened list of lists.
#[derive(Debug)]
struct Branch {
    height: u8,
    children: IntoIter<ListChild>,
}

impl ListWalk {
    /// Starts before the first piece of a content of this root, height and length, as the file's entry says.
    pub fn new(root: ChunkId, height: u8, bytes: u64) -> Self {
        let root = vec![ListChild { id: root, bytes }].into_iter();
        let above = Branch { height: height.saturating_add(1), children: root };
        Self { branches: vec![above], pieces: Vec::new().into_iter(), offset: 0, start: 0 }
    }

    /// Passes over pieces that end at or before an offset, without asking for pages that hold nothing else.
    pub fn seek(&mut self, offset: u64) {
        self.start = self.start.max(offset);
    }

    /// The next piece, or the page without which it is not known.
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
        // In a list the pages of a level all have the same height.
        if height.checked_add(1) != Some(above) {
            return Err(WalkError::Height { id, height });
        }
        // Whoever writes pages chooses the numbers. What adds up here keeps every offset of the walk in range.
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

    /// Goes on behind the needed page, which cannot be had; tells which bytes of the content are lost. None if another
    /// page is needed.
    pub fn skip(&mut self, id: ChunkId) -> Option<Range<u64>> {
        let is_needed = self.pieces.as_slice().is_empty() && self.needed()?.1.id == id;
        is_needed.then(|| self.pass())
    }

    /// Pages that will be needed, for reading ahead: those known so far, in order.
    pub fn peek_needed(&self) -> impl Iterator<Item = ChunkId> {
        let mut end = self.offset + self.pieces.as_slice().iter().map(|piece| u64::from(piece.length)).sum::<u64>();
        let children = self.branches.iter().rev().flat_map(|branch| branch.children.as_slice());
        let wanted = children.filter(move |child| {
            end += child.bytes;
            end > self.start
        });
        wanted.map(|child| child.id)
    }

    /// The page that comes next, and the height of the one above it.
    fn needed(&self) -> Option<(u8, ListChild)> {
        let first = |branch: &Branch| Some((branch.height, *branch.children.as_slice().first()?));
        self.branches.iter().rev().find_map(first)
    }

    fn pass(&mut self) -> Range<u64> {
        let start = self.offset;
        self.offset += self.drop_page();
        start..self.offset
    }

    /// Drops the needed page; gives the bytes below it.
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
