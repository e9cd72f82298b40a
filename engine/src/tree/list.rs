//! List: the content of a huge file as a tree of its own.

use super::build::BuildError;
use super::entry::{Content, Piece};
use super::level::Tower;
use super::links::{ListsWriter, PiecesWriter};
use super::page::Page;
use super::params::TreeParams;
use crate::id::ChunkId;
use crate::keys::domain::DomainKeys;

/// Builds a content list from a file's pieces. The same pieces make the same pages, however they are taken out.
#[derive(Clone, Debug)]
pub struct ListBuilder {
    tower: Tower<PiecesWriter, ListsWriter>,
    pieces: u64,
    bytes: u64,
}

/// A finished content list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedList {
    /// The page above all others.
    pub root: ChunkId,
    /// Its height.
    pub height: u8,
    /// The pages that were not taken before; the root is the last page of all.
    pub pages: Vec<Page>,
    /// Pieces in the list.
    pub pieces: u64,
    /// Bytes of all pieces.
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

    /// The pages finished since this was last asked, those below before those above.
    pub fn take_pages(&mut self) -> Vec<Page> {
        self.tower.take_pages()
    }

    /// Ends the list, which must have pieces: a file without content has no list.
    pub fn finish(self) -> Result<FinishedList, BuildError> {
        if self.pieces == 0 {
            return Err(BuildError::Piece { length: 0 });
        }
        let (top, pages) = self.tower.finish().map_err(|_| BuildError::TooHigh)?;
        Ok(FinishedList { root: top.root, height: top.height, pages, pieces: self.pieces, bytes: self.bytes })
    }
}

impl FinishedList {
    /// What the file's entry says of it.
    pub fn content(&self) -> Content {
        Content::List { root: self.root, height: self.height }
    }
}
