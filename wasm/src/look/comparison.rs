//! Comparison: the changes between two snapshots, part by part.

use copal_engine::difference::{Difference, difference};
use copal_format::tree::{Change, DiffStep, TreeDiff};

use super::Obstacle;
use super::tree::Tree;
use crate::fault::{Code, Fault};
use crate::view::Read;

/// A running comparison of two trees.
pub struct Comparison {
    before: Tree,
    after: Tree,
    diff: TreeDiff,
}

/// A part of the changes, or the reads that are needed first; never both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Reads to supply before the call is repeated.
    pub needs: Vec<Read>,
    /// The changes, and what differs.
    pub changes: Vec<(Difference, Change)>,
    /// Whether there are no more changes.
    pub is_done: bool,
}

impl Comparison {
    /// A comparison from the first entries on.
    pub fn new(before: &Tree, after: &Tree) -> Self {
        let diff = TreeDiff::new(before.root, after.root);
        Self { before: before.clone(), after: after.clone(), diff }
    }

    /// The next changes.
    pub fn next(&mut self, limit: usize) -> Result<Changes, Fault> {
        let mut found = Changes::default();
        while found.changes.len() < limit.max(1) {
            match self.diff.step() {
                DiffStep::Change(change) => {
                    if let Some(how) = difference(change.before.as_ref(), change.after.as_ref()) {
                        found.changes.push((how, change));
                    }
                }
                DiffStep::Done => return Ok(Changes { is_done: true, ..found }),
                DiffStep::Need(id) => {
                    // The page is in the domain of one of the trees. Mostly both trees have the same domain.
                    let page = match self.after.page(&id) {
                        Err(Obstacle::Lost { .. }) if self.before.domain != self.after.domain => self.before.page(&id),
                        page => page,
                    };
                    match page {
                        Ok(page) => self.diff.supply(page).map_err(|error| Fault::of(Code::Damaged, &error))?,
                        // The diff gives each change once: hand these over first. The next call needs the page again.
                        Err(_) if !found.changes.is_empty() => return Ok(found),
                        Err(Obstacle::Needs(needs)) => return Ok(Changes { needs, ..found }),
                        Err(Obstacle::Lost { why, .. }) => return Err(Fault::new(Code::Damaged, why)),
                    }
                }
            }
        }
        Ok(found)
    }
}
