//! Packs: sealed blocks collected into objects of a suitable size, each with a table in the clear at its end.
//!
//! The table lists a pack's chunks or pages, and the references of pages. It needs no key, and index, mark and prune
//! rely on it. A reader fetches the trailer first, then table and header.

mod read;
mod table;
mod write;

use serde::Serialize;

pub use read::{PackError, TRAILER_BYTES, Trailer, parse, parse_table};
pub use table::{BlockRow, PackTable, PageRow, PageView, Pages};
pub use write::{Pack, PackLimit, PackWriter};

/// The kind of items in a pack.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PackKind {
    /// Chunks.
    Data = 0,
    /// Pages of trees and content lists.
    Tree = 1,
}

impl PackKind {
    /// Decodes the kind, as packs, segments and state encode it.
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
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
/// The length of the header before its session records.
const HEADER: usize = 48;
/// The lengths of a table's rows: for a block, a chunk, a page, and a reference of a page.
const BLOCK_ROW: usize = 24;
const CHUNK_ROW: usize = 24;
const PAGE_ROW: usize = 56;
const REFERENCE: usize = 24;

#[cfg(test)]
mod tests;
