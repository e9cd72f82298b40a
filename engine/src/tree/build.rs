//! Build: entries in, pages out.

use super::entries::EntriesWriter;
use super::entry::{BadEntry, Content, Entry};
use super::level::{LevelError, Tower};
use super::links::DirectoryWriter;
use super::page::Page;
use super::params::TreeParams;
use crate::id::ChunkId;
use crate::keys::domain::DomainKeys;
use crate::path::TreePath;

/// Builds the tree of entries that come in order. The same entries make the same pages, however they are taken out.
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
    /// The page above all others.
    pub root: ChunkId,
    /// Its height.
    pub height: u8,
    /// The pages that were not taken before; the root is the last page of all.
    pub pages: Vec<Page>,
    /// Entries in the tree.
    pub entries: u64,
    /// Sizes of its files; stays at the largest number if the sum exceeds it.
    pub bytes: u64,
}

/// Why a tree cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Paths must ascend.
    #[error("entry {path:?} does not follow {before:?}")]
    OutOfOrder {
        /// The entry that came too late.
        path: TreePath,
        /// The one before it.
        before: TreePath,
    },
    /// The entry contradicts itself.
    #[error("entry {path:?} cannot be stored")]
    Entry {
        /// Which entry.
        path: TreePath,
        /// What is wrong with it.
        #[source]
        source: BadEntry,
    },
    /// The entry's metadata alone exceed a page.
    #[error("entry {path:?} has more metadata than a page can hold")]
    Large {
        /// Which entry.
        path: TreePath,
    },
    /// A piece of a list is empty or larger than a chunk can be.
    #[error("a piece of {length} bytes cannot be part of a content list")]
    Piece {
        /// The piece's length.
        length: u32,
    },
    /// The tree would be higher than the format allows.
    #[error("the tree is too high")]
    TooHigh,
}

impl TreeBuilder {
    /// Starts an empty tree.
    pub fn new(params: TreeParams, keys: DomainKeys) -> Self {
        Self { tower: Tower::new(params, keys), last: None, entries: 0, bytes: 0 }
    }

    /// Adds the next entry. One that is refused for its own sake leaves the tree as it was.
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

    /// The pages finished since this was last asked, those below before those above.
    pub fn take_pages(&mut self) -> Vec<Page> {
        self.tower.take_pages()
    }

    /// Ends the tree. Without entries it is one empty page.
    pub fn finish(self) -> Result<Finished, BuildError> {
        let (top, pages) = self.tower.finish().map_err(|_| BuildError::TooHigh)?;
        Ok(Finished { root: top.root, height: top.height, pages, entries: self.entries, bytes: self.bytes })
    }
}
