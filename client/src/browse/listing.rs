//! Listing: the names in a directory, starting at any of them. Only the pages that hold the directory's own entries are
//! read.

use std::sync::Arc;

use copal_format::path::TreePath;
use copal_format::tree::EntryKind;

use super::node::{Attributes, Kind, Node};
use super::tree::{Position, Reached, Sought, Tree};
use super::{BrowseError, Browser, NAME_BYTES, Trouble};

/// A name in a directory.
pub struct Listed {
    /// Another listing can start after this number, at any later time.
    pub number: u64,
    /// The name.
    pub name: Vec<u8>,
    /// What it names.
    pub node: Node,
    /// What `stat` tells of it.
    pub attributes: Attributes,
}

impl Browser {
    /// Lists a directory after a number, or from its start, until `take` returns false. Fails in the end if it has met
    /// entries that could not be read or shown.
    pub fn list(
        &self,
        directory: &Node,
        after: Option<u64>,
        take: &mut dyn FnMut(Listed) -> bool,
    ) -> Result<(), BrowseError> {
        match &directory.0 {
            Kind::Folder(folder) => {
                if after.is_none() {
                    self.renew();
                }
                let shelf = self.shelf();
                for (number, name, node) in shelf.list(folder, after).ok_or(BrowseError::Absent)? {
                    let attributes = self.attributes(node)?;
                    if !take(Listed { number, name: name.into(), node: node.clone(), attributes }) {
                        break;
                    }
                }
                Ok(())
            }
            Kind::Entry(tree, path, EntryKind::Directory) => self.list_entries(tree, path, after, take),
            Kind::Alias(_) | Kind::Entry(..) => Err(BrowseError::Kind),
        }
    }

    fn list_entries(
        &self,
        tree: &Arc<Tree>,
        directory: &TreePath,
        after: Option<u64>,
        take: &mut dyn FnMut(Listed) -> bool,
    ) -> Result<(), BrowseError> {
        let mut is_complete = true;
        let mut walk = Walk { tree, directory, last: None };
        let mut reached = walk.start(after)?;
        loop {
            let position = match reached {
                Reached::End => break,
                Reached::Lost(lost) => {
                    is_complete = false;
                    self.tell(Trouble::Entries(tree.snapshot, &lost.range, &lost.error));
                    let Some(next) = lost.next else { break };
                    reached = tree.reach(Sought::Number(next))?;
                    continue;
                }
                Reached::Entry(position) => position,
            };
            let entry = position.entry();
            if !entry.path.is_within(directory) {
                break;
            }
            let Some(child) = directory.child_towards(&entry.path).filter(|child| !walk.has_passed(child)) else {
                reached = walk.step(position)?;
                continue;
            };
            let is_own = child == entry.path;
            let is_shown = !(is_own && tree.leaves_out(entry.kind()));
            if is_shown && child.name().len() > NAME_BYTES {
                is_complete = false;
                self.tell(Trouble::Name(tree.snapshot, &child));
            } else if is_shown {
                let attributes = match is_own {
                    true => self.attributes_at(tree, &position),
                    // Pages that were met before may have held its own entry.
                    false => self.attributes(&Node(Kind::Entry(tree.clone(), child.clone(), EntryKind::Directory)))?,
                };
                let (number, name) = (position.number, child.name().to_vec());
                let node = Node(Kind::Entry(tree.clone(), child.clone(), attributes.kind));
                if !take(Listed { number, name, node, attributes }) {
                    break;
                }
            }
            reached = walk.pass(position, child)?;
        }
        if is_complete { Ok(()) } else { Err(BrowseError::Incomplete) }
    }
}

/// Walks over the entries directly in a directory.
struct Walk<'t> {
    tree: &'t Tree,
    directory: &'t TreePath,
    /// The child that was listed last.
    last: Option<TreePath>,
}

impl Walk<'_> {
    /// The first entry in the directory, or the first after the child that has the entry of number `after`.
    fn start(&mut self, after: Option<u64>) -> Result<Reached, BrowseError> {
        let Some(number) = after else {
            return Ok(self.tree.reach(Sought::Path(self.directory))?);
        };
        match self.tree.reach(Sought::Number(number))? {
            Reached::Entry(position) => match self.directory.child_towards(&position.entry().path) {
                Some(child) => self.pass(position, child),
                // No listing of this directory gave this number.
                None => Ok(Reached::End),
            },
            other => Ok(other),
        }
    }

    /// Continues after a child and everything below it.
    fn pass(&mut self, position: Position, child: TreePath) -> Result<Reached, BrowseError> {
        let behind = child.behind();
        let number = position.number;
        let next = position.next().filter(|next| !next.entry().path.is_within(&child));
        let reached = match (next, behind) {
            (Some(next), _) => Reached::Entry(next),
            (None, Some(behind)) => self.tree.reach(Sought::Path(&behind))?,
            (None, None) => self.tree.reach(Sought::Number(number.saturating_add(1)))?,
        };
        self.last = Some(child);
        Ok(reached)
    }

    fn step(&self, position: Position) -> Result<Reached, BrowseError> {
        let number = position.number.saturating_add(1);
        match position.next() {
            Some(next) => Ok(Reached::Entry(next)),
            None => Ok(self.tree.reach(Sought::Number(number))?),
        }
    }

    fn has_passed(&self, child: &TreePath) -> bool {
        self.last.as_ref() == Some(child)
    }
}
