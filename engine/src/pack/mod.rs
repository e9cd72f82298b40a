//! Packs: sealed blocks collected into objects of a size that suits the store, each closed by a table in the clear.
//!
//! The table tells without any key which chunks or pages a pack holds and what its pages refer to; the index, mark and
//! prune live on it. A reader takes the trailer first, then the table, then the header.

mod read;
mod table;
mod write;

pub use read::{PackError, TRAILER_BYTES, Trailer, parse, parse_table};
pub use table::{BlockRow, PackTable, PageRow, PageView, Pages};
pub use write::{Pack, PackLimit, PackWriter};

/// What the blocks of a pack hold.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PackKind {
    /// Chunks.
    Data = 0,
    /// Pages of trees and content lists.
    Tree = 1,
}

impl PackKind {
    /// Reads the kind as packs, segments and state write it.
    pub fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(PackKind::Data),
            1 => Some(PackKind::Tree),
            _ => None,
        }
    }
}

const HEAD_MAGIC: &[u8; 8] = b"COPALPAK";
const END_MAGIC: &[u8; 8] = b"COPALEND";
const VERSION: u8 = 1;
/// Bytes of the header before the session records.
const HEADER: usize = 48;
/// What the table spends on a block, on a chunk, on a page and on a reference.
const BLOCK_ROW: usize = 24;
const CHUNK_ROW: usize = 24;
const PAGE_ROW: usize = 56;
const REFERENCE: usize = 24;

#[cfg(test)]
mod tests;
