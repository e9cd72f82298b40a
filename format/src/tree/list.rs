//! List: builds the content list of a large file, which is a tree of its own.

use super::build::BuildError;
use super::entry::{Content, Piece};
use super::level::Tower;
use super::links::{ListsWriter, PiecesWriter};
use super::page::Page;
use super::params::TreeParams;
use crate::id::ChunkId;
use crate::keys::domain::DomainKeys;

/// Builds a content list from pieces. The same pieces give the same pages, however often pages are taken out.
#[derive(Clone, Debug)]
pub struct ListBuilder {
    tower: Tower<PiecesWriter, ListsWriter>,
    pieces: u64,
    bytes: u64,
}

/// A finished content list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedList {
    /// The root page.
    pub root: ChunkId,
    /// Its height.
    pub height: u8,
    /// The pages not taken before; the root page comes last.
    pub pages: Vec<Page>,
    /// The number of pieces.
    pub pieces: u64,
    /// The total length of the pieces.
    pub bytes: u64,
}

impl ListBuilder {
    /// Starts a list.
    pub fn new(params: TreeParams, keys: DomainKeys) -> Self {
        Self { tower: Tower::new(params, keys), pieces: 0, bytes: 0 }
    }

    /// Adds the next piece.
    pub fn push(&mut self, piece: Piece) -> Result<(), BuildError> {
        if !piece.is_sound() {
            return Err(BuildError::Piece { length: piece.length });
        }
        self.tower.push(&piece, 0).map_err(|_| BuildError::TooHigh)?;
        self.pieces += 1;
        self.bytes += u64::from(piece.length);
        Ok(())
    }

    /// The pages finished since the last call, children before parents.
    pub fn take_pages(&mut self) -> Vec<Page> {
        self.tower.take_pages()
    }

    /// Ends the list. Fails for a list without pieces: an empty file has no list.
    pub fn finish(self) -> Result<FinishedList, BuildError> {
        if self.pieces == 0 {
            return Err(BuildError::Piece { length: 0 });
        }
        let (top, pages) = self.tower.finish().map_err(|_| BuildError::TooHigh)?;
        Ok(FinishedList { root: top.root, height: top.height, pages, pieces: self.pieces, bytes: self.bytes })
    }
}

impl FinishedList {
    /// The content for the file's entry.
    pub fn content(&self) -> Content {
        Content::List { root: self.root, height: self.height }
    }
}
