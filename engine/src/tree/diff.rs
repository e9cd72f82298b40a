//! Diff: what changed between two trees, skipping what they share.

use super::entry::Entry;
use super::frontier::{Frontier, Head, WalkError};
use super::page::{Child, VerifiedPage};
use crate::id::ChunkId;
use crate::path::TreePath;

/// Compares two trees in order, in memory that grows with their heights only.
#[derive(Debug)]
pub struct TreeDiff {
    before: Frontier,
    after: Frontier,
    asked: Side,
}

/// An entry that one tree has and the other has not, or has otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The entry's path.
    pub path: TreePath,
    /// The entry in the first tree.
    pub before: Option<Entry>,
    /// The entry in the second tree.
    pub after: Option<Entry>,
}

/// What a comparison does next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly every step is a change, and none is kept")]
pub enum DiffStep {
    /// The next entry that differs.
    Change(Change),
    /// This page must be supplied before the comparison can go on.
    Need(ChunkId),
    /// There are no more differences.
    Done,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Side {
    Before,
    After,
}

/// What the heads of the two trees call for.
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

    /// The next change, or the page without which it is not known. Pages that both trees have are not asked for.
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
            // If the other tree goes on with the same page, the entries before that page are in one tree only.
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

/// Of two pages that start at the same place, the one that cannot lie within the other and so must be opened anyway.
fn further(before: Option<&Child>, after: Option<&Child>) -> Side {
    match (before, after) {
        (None, _) => Side::Before,
        (_, None) => Side::After,
        (Some(a), Some(b)) if (&b.last_path, b.entries) > (&a.last_path, a.entries) => Side::After,
        _ => Side::Before,
    }
}
