//! Diff: the differences between two trees. Skips subtrees that both have.

use super::entry::Entry;
use super::frontier::{Frontier, Head, WalkError};
use super::page::Child;
use super::verified::VerifiedPage;
use crate::id::ChunkId;
use crate::path::TreePath;

/// Compares two trees in order. Its memory grows only with their heights.
#[derive(Debug)]
pub struct TreeDiff {
    before: Frontier,
    after: Frontier,
    asked: Side,
}

/// An entry that is only in one tree, or differs between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The entry's path.
    pub path: TreePath,
    /// The entry in the first tree.
    pub before: Option<Entry>,
    /// The entry in the second tree.
    pub after: Option<Entry>,
}

/// The next step of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly every step is a change, and none is kept")]
pub enum DiffStep {
    /// The next entry that differs.
    Change(Change),
    /// The comparison needs this page, which must be supplied.
    Need(ChunkId),
    /// There are no more differences.
    Done,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// What to do, given the heads of both trees.
enum Act {
    Ask(Side, ChunkId),
    PassBoth,
    TakeOne(Side),
    TakeBoth,
    End,
}

impl TreeDiff {
    /// Starts before the first entries of two trees.
    pub fn new(before: ChunkId, after: ChunkId) -> Self {
        Self { before: Frontier::new(before), after: Frontier::new(after), asked: Side::Before }
    }

    /// The next difference, or the page needed to find it. Does not ask for pages that both trees have.
    pub fn step(&mut self) -> DiffStep {
        loop {
            let (before, after) = match self.act() {
                Act::End => return DiffStep::Done,
                Act::Ask(side, id) => {
                    self.asked = side;
                    return DiffStep::Need(id);
                }
                Act::PassBoth => {
                    self.before.pass();
                    self.after.pass();
                    continue;
                }
                Act::TakeOne(Side::Before) => (self.before.take_entry(), None),
                Act::TakeOne(Side::After) => (None, self.after.take_entry()),
                Act::TakeBoth => (self.before.take_entry(), self.after.take_entry()),
            };
            if before != after
                && let Some(entry) = after.as_ref().or(before.as_ref())
            {
                return DiffStep::Change(Change { path: entry.path.clone(), before, after });
            }
        }
    }

    /// Supplies the page that the comparison needs.
    pub fn supply(&mut self, page: VerifiedPage) -> Result<(), WalkError> {
        match self.asked {
            Side::Before => self.before.open(page),
            Side::After => self.after.open(page),
        }
    }

    fn act(&self) -> Act {
        match (self.before.head(), self.after.head()) {
            (Head::End, Head::End) => Act::End,
            (Head::Page(a, _), Head::Page(b, _)) if a == b => Act::PassBoth,
            (Head::Page(a, child), Head::Page(b, other)) => match further(child, other) {
                Side::Before => Act::Ask(Side::Before, a),
                Side::After => Act::Ask(Side::After, b),
            },
            (Head::Entry(a), Head::Entry(b)) => match a.path.cmp(&b.path) {
                core::cmp::Ordering::Less => Act::TakeOne(Side::Before),
                core::cmp::Ordering::Greater => Act::TakeOne(Side::After),
                core::cmp::Ordering::Equal => Act::TakeBoth,
            },
            // The other tree's next page also comes next here, after these entries: so they are only in this tree.
            (Head::Entry(_), Head::Page(b, _)) if self.before.next_page().is_some_and(|next| next.0 == b) => {
                Act::TakeOne(Side::Before)
            }
            (Head::Page(a, _), Head::Entry(_)) if self.after.next_page().is_some_and(|next| next.0 == a) => {
                Act::TakeOne(Side::After)
            }
            (Head::Page(a, _), _) => Act::Ask(Side::Before, a),
            (_, Head::Page(b, _)) => Act::Ask(Side::After, b),
            (Head::Entry(_), Head::End) => Act::TakeOne(Side::Before),
            (Head::End, Head::Entry(_)) => Act::TakeOne(Side::After),
        }
    }
}

/// Of two pages that start at the same position, the one to open: it cannot be part of the other.
fn further(before: Option<&Child>, after: Option<&Child>) -> Side {
    match (before, after) {
        (None, _) => Side::Before,
        (_, None) => Side::After,
        (Some(a), Some(b)) if (&b.last_path, b.entries) > (&a.last_path, a.entries) => Side::After,
        _ => Side::Before,
    }
}
