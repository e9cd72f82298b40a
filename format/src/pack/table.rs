//! Table: the content of a pack, in few large allocations.

use core::ops::Range;

use serde::Serialize;

use super::{BLOCK_ROW, CHUNK_ROW, PAGE_ROW, PackKind, REFERENCE, TRAILER_BYTES};
use crate::id::{ChunkId, DomainId};

/// The content of a pack: its session records, its blocks, and their chunks or pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackTable {
    /// Whether it holds chunks or pages.
    pub kind: PackKind,
    /// The domain of everything in the pack.
    pub domain: DomainId,
    /// The records of the sessions that sealed the blocks.
    pub sessions: Vec<Vec<u8>>,
    /// The blocks, in the order of their offsets.
    pub blocks: Vec<BlockRow>,
    /// The ids of all chunks or pages, block by block.
    pub ids: Vec<ChunkId>,
    /// The rows of all pages, in the order of `ids`; empty in a data pack.
    pub pages: Pages,
}

/// A block in a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockRow {
    /// The block's offset in the pack.
    pub offset: u32,
    /// The block's length in bytes.
    pub length: u32,
    /// The position of its session's record among the pack's sessions.
    pub session: u16,
    /// Its number within the session.
    pub counter: u64,
    /// The positions of its entries in the table's `ids`.
    pub entries: Range<u32>,
}

/// A page's row in a tree pack's table, with owned references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRow {
    /// The page of an earlier snapshot that this one replaces: a hint.
    pub replaces: Option<ChunkId>,
    /// One more than the greatest height of its references; chunks have height 0.
    pub height: u8,
    /// The ids that the page refers to, each once, in order of first use.
    pub references: Vec<ChunkId>,
}

impl PageRow {
    /// The same row, borrowed.
    pub fn view(&self) -> PageView<'_> {
        PageView { replaces: self.replaces, height: self.height, references: &self.references }
    }
}

/// A page's row in a tree pack's table.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PageView<'a> {
    /// The page of an earlier snapshot that this one replaces: a hint.
    pub replaces: Option<ChunkId>,
    /// One more than the greatest height of its references.
    pub height: u8,
    /// The ids that the page refers to, each once, in order of first use.
    pub references: &'a [ChunkId],
}

/// The rows of all pages of a tree pack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    heights: Vec<u8>,
    replaces: Vec<ChunkId>,
    reference_ends: Vec<u32>,
    references: Vec<ChunkId>,
}

impl Pages {
    /// The number of pages.
    pub fn len(&self) -> usize {
        self.heights.len()
    }

    /// Whether there are no pages, as in every data pack.
    pub fn is_empty(&self) -> bool {
        self.heights.is_empty()
    }

    /// The page at a position; none if there is no such page.
    pub fn get(&self, at: usize) -> Option<PageView<'_>> {
        let height = *self.heights.get(at)?;
        let references = self.references.get(self.start(at)..self.start(at + 1))?;
        let replaces = Some(self.replaces[at]).filter(|id| *id != NO_PAGE);
        Some(PageView { replaces, height, references })
    }

    /// All rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PageView<'_>> {
        (0..self.len()).map(|at| self.get(at).expect("positions below the number of pages have a page"))
    }

    /// The references of all pages, page by page.
    pub fn references(&self) -> &[ChunkId] {
        &self.references
    }

    pub(super) fn push(&mut self, page: PageView<'_>) {
        self.references.extend_from_slice(page.references);
        self.push_row(page.height, page.replaces.unwrap_or(NO_PAGE), self.references.len() as u32);
    }

    pub(super) fn push_row(&mut self, height: u8, replaces: ChunkId, reference_end: u32) {
        self.heights.push(height);
        self.replaces.push(replaces);
        self.reference_ends.push(reference_end);
    }

    pub(super) fn set_references(&mut self, references: Vec<ChunkId>) {
        self.references = references;
    }

    pub(super) fn truncate(&mut self, count: usize) {
        self.references.truncate(self.start(count));
        self.heights.truncate(count);
        self.replaces.truncate(count);
        self.reference_ends.truncate(count);
    }

    fn start(&self, at: usize) -> usize {
        let before = at.min(self.len()).checked_sub(1);
        before.map_or(0, |before| self.reference_ends[before] as usize)
    }
}

impl PackTable {
    /// The length of the encoded table.
    pub fn table_length(&self) -> u32 {
        let row = if self.kind == PackKind::Data { CHUNK_ROW } else { PAGE_ROW };
        (self.blocks.len() * BLOCK_ROW + self.ids.len() * row + self.pages.references.len() * REFERENCE) as u32
    }

    /// The length of the whole pack.
    pub fn pack_length(&self) -> u64 {
        let blocks_end = self.blocks.last().map_or(0, |block| u64::from(block.offset) + u64::from(block.length));
        blocks_end + u64::from(self.table_length()) + TRAILER_BYTES as u64
    }

    /// The row of the page at a position in `ids`; none in a data pack.
    pub fn page(&self, at: usize) -> Option<PageView<'_>> {
        self.pages.get(at)
    }

    /// The height of the entry at a position in `ids`: 0 for a chunk.
    pub fn height(&self, at: usize) -> u8 {
        self.page(at).map_or(0, |page| page.height)
    }

    /// The ids of a block's chunks or pages, by their positions in the block.
    pub fn block_ids(&self, block: &BlockRow) -> &[ChunkId] {
        self.ids.get(block.entries.start as usize..block.entries.end as usize).unwrap_or_default()
    }

    /// The block that holds the entry at a position in `ids`.
    pub fn block_of(&self, at: usize) -> Option<&BlockRow> {
        let after = self.blocks.partition_point(|block| block.entries.start as usize <= at);
        let block = &self.blocks[after.checked_sub(1)?];
        ((block.entries.end as usize) > at).then_some(block)
    }
}

/// Encodes that a page replaces no other.
const NO_PAGE: ChunkId = ChunkId([0; ChunkId::LEN]);
