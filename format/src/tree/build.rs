//! Build: makes a tree's pages from its entries.

use super::entries::EntriesWriter;
use super::entry::{BadEntry, Content, Entry};
use super::level::{LevelError, Top, Tower};
use super::links::DirectoryWriter;
use super::page::Page;
use super::params::TreeParams;
use super::walk::Passed;
use crate::id::ChunkId;
use crate::keys::domain::DomainKeys;
use crate::path::TreePath;

/// Builds a tree from entries in path order. The same entries give the same pages, however often pages are taken out.
#[derive(Clone, Debug)]
pub struct TreeBuilder {
    tower: Tower<EntriesWriter, DirectoryWriter>,
    last: Option<TreePath>,
    entries: u64,
    bytes: u64,
}

/// A finished tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The root page.
    pub root: ChunkId,
    /// Its height.
    pub height: u8,
    /// The pages not taken before; the root page comes last.
    pub pages: Vec<Page>,
    /// The number of entries.
    pub entries: u64,
    /// The total size of the files; saturates at the largest number.
    pub bytes: u64,
}

/// Why a tree cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BuildError {
    /// The paths do not ascend.
    #[error("entry {path:?} does not follow {before:?}")]
    OutOfOrder { path: TreePath, before: TreePath },
    /// The entry is inconsistent.
    #[error("entry {path:?} cannot be stored")]
    Entry { path: TreePath, source: BadEntry },
    /// The entry's metadata alone exceeds a page.
    #[error("entry {path:?} has more metadata than a page can hold")]
    Large { path: TreePath },
    /// A piece is empty, or longer than a chunk may be.
    #[error("a piece of {length} bytes cannot be part of a content list")]
    Piece { length: u32 },
    /// The tree would be higher than the format allows.
    #[error("the tree is too high")]
    TooHigh,
}

impl TreeBuilder {
    /// Starts an empty tree.
    pub fn new(params: TreeParams, keys: DomainKeys) -> Self {
        Self { tower: Tower::new(params, keys), last: None, entries: 0, bytes: 0 }
    }

    /// Adds the next entry. If the entry itself is refused, the tree is unchanged.
    pub fn push(&mut self, entry: &Entry) -> Result<(), BuildError> {
        let path = || entry.path.clone();
        if let Some(before) = self.last.as_ref().filter(|&last| *last >= entry.path) {
            return Err(BuildError::OutOfOrder { path: path(), before: before.clone() });
        }
        entry.check().map_err(|source| BuildError::Entry { path: path(), source })?;
        let below = match entry.content {
            Content::List { height, .. } => height,
            _ => 0,
        };
        self.tower.push(entry, below).map_err(|error| match error {
            LevelError::Large => BuildError::Large { path: path() },
            LevelError::TooHigh => BuildError::TooHigh,
        })?;
        self.last.get_or_insert_default().clone_from(&entry.path);
        self.entries += 1;
        self.bytes = self.bytes.saturating_add(entry.size);
        Ok(())
    }

    /// Takes over a page, and all pages below it, from a tree that was built with the same parameters and keys;
    /// `height` is the page's. Takes nothing and returns false if this tree might cut its pages otherwise: the caller
    /// must then add the page's content. Either way the tree is the same as if every entry had been added.
    pub fn take_over(&mut self, passed: &Passed, height: u8) -> Result<bool, BuildError> {
        let Passed { child, level } = passed;
        if let Some(before) = self.last.as_ref().filter(|&last| *last >= child.last_path) {
            return Err(BuildError::OutOfOrder { path: child.last_path.clone(), before: before.clone() });
        }
        let page = Top { root: child.id, height };
        let is_taken = self.tower.take_over(*level, page, child).map_err(|_| BuildError::TooHigh)?;
        if is_taken {
            self.last.get_or_insert_default().clone_from(&child.last_path);
            self.entries += child.entries;
            self.bytes = self.bytes.saturating_add(child.bytes);
        }
        Ok(is_taken)
    }

    /// The pages finished since the last call, children before parents.
    pub fn take_pages(&mut self) -> Vec<Page> {
        self.tower.take_pages()
    }

    /// Ends the tree. An empty tree is one empty page.
    pub fn finish(self) -> Result<Finished, BuildError> {
        let (top, pages) = self.tower.finish().map_err(|_| BuildError::TooHigh)?;
        Ok(Finished { root: top.root, height: top.height, pages, entries: self.entries, bytes: self.bytes })
    }
}
