//! Comparison: what changed from one snapshot to another, a part at a time.

use copal_engine::tree::{Change, DiffStep, TreeDiff};

use super::Obstacle;
use super::tree::Tree;
use crate::fault::{Code, Fault};
use crate::view::Read;

/// Two trees being compared.
pub struct Comparison {
    before: Tree,
    after: Tree,
    diff: TreeDiff,
}

/// A part of what changed, or what is to be read first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// What is to be read; then the call is repeated.
    pub needs: Vec<Read>,
    /// The changes.
    pub changes: Vec<Change>,
    /// Whether there are no more.
    pub is_done: bool,
}

impl Comparison {
    /// Begins with the first entries.
    pub fn new(before: &Tree, after: &Tree) -> Self {
        let diff = TreeDiff::new(before.root, after.root);
        Self { before: before.clone(), after: after.clone(), diff }
    }

    /// The next changes.
    pub fn next(&mut self, limit: usize) -> Result<Changes, Fault> {
        let mut found = Changes::default();
        while found.changes.len() < limit.max(1) {
            match self.diff.step() {
                DiffStep::Change(change) => found.changes.push(change),
                DiffStep::Done => return Ok(Changes { is_done: true, ..found }),
                DiffStep::Need(id) => {
                    // A page lies in one of the two domains, mostly the same.
                    let page = match self.after.page(&id) {
                        Err(Obstacle::Lost { .. }) if self.before.domain != self.after.domain => self.before.page(&id),
                        page => page,
                    };
                    match page {
                        Ok(page) => self.diff.supply(page).map_err(|error| Fault::of(Code::Damaged, &error))?,
                        Err(Obstacle::Needs(needs)) => return Ok(Changes { needs, ..found }),
                        Err(Obstacle::Lost { why, .. }) => return Err(Fault::new(Code::Damaged, why)),
                    }
                }
            }
        }
        Ok(found)
    }
}
