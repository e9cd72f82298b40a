//! Blocks: all blocks that the index knows, from the rows of all segments.

use copal_format::id::PackId;
use copal_format::index::{Segment, SegmentBlock};
use copal_format::room::{Column, List, Scratch};

use super::merged::InventoryLimit;
use super::{BlockItem, PackItem};

/// The blocks of a domain, ascending by pack and offset.
pub(super) struct Blocks {
    pub(super) blocks: List<BlockItem>,
    /// For each segment and each of its blocks, one more than the block's number; 0 if its pack is unknown.
    numbers: Vec<Column<u32>>,
}

impl Blocks {
    /// Joins the rows of all segments. Notes in each pack how many bytes of its blocks no row mentions. If a segment's
    /// rows are not in order, some blocks count as unknown.
    pub(super) fn of<B: AsRef<[u8]>>(
        segments: &[Segment<B>],
        packs: &mut [PackItem],
        scratch: &dyn Scratch,
    ) -> Result<Self, InventoryLimit> {
        let mut blocks = List::default();
        let column = |segment: &Segment<B>| Column::new(scratch, segment.block_count() as usize);
        let mut numbers: Vec<Column<u32>> = segments.iter().map(column).collect();
        let mut rows: Vec<Rows<'_, B>> = segments.iter().map(Rows::new).collect();
        let mut found: Vec<(SegmentBlock, usize, u32)> = Vec::new();
        for (number, pack) in packs.iter_mut().enumerate() {
            found.clear();
            let mut length = 0;
            for (source, rows) in rows.iter_mut().enumerate() {
                let Some(of_pack) = rows.turn_to(&pack.id) else { continue };
                length = of_pack;
                while let Some(block) = rows.next_block() {
                    found.push((SegmentBlock { pack: 0, ..block }, source, rows.block - 1));
                }
            }
            // All rows of a block are equal.
            found.sort_unstable();
            let mut last = None;
            for (SegmentBlock { offset, length: stored, items: entries, .. }, source, at) in &found {
                if last.replace(*offset) != Some(*offset) {
                    if blocks.len() >= NOWHERE as usize - 1 {
                        return Err(InventoryLimit { what: "blocks" });
                    }
                    let item = BlockItem { pack: number as u32, offset: *offset, length: *stored, entries: *entries };
                    blocks.push(scratch, item);
                    length = length.saturating_sub(u64::from(*stored));
                }
                numbers[*source].set(*at as usize, blocks.len() as u32);
            }
            pack.unlisted = length;
        }
        Ok(Self { blocks, numbers })
    }

    /// The number of a segment's block; [`NOWHERE`] if its pack is unknown.
    pub(super) fn number(&self, segment: usize, block: u32) -> u32 {
        let of = &self.numbers[segment];
        let number = if (block as usize) < of.len() { of.get(block as usize) } else { 0 };
        number.checked_sub(1).unwrap_or(NOWHERE)
    }
}

/// The rows of a segment, in their order.
struct Rows<'a, B> {
    segment: &'a Segment<B>,
    pack: u32,
    id: Option<PackId>,
    block: u32,
}

impl<'a, B: AsRef<[u8]>> Rows<'a, B> {
    fn new(segment: &'a Segment<B>) -> Self {
        let mut rows = Self { segment, pack: 0, id: None, block: 0 };
        rows.read_id();
        rows
    }

    fn read_id(&mut self) {
        // An unreadable row counts as one of an unknown pack.
        let unknown = (self.pack < self.segment.pack_count()).then_some(PackId([0; 32]));
        self.id = self.segment.pack(self.pack).map(|pack| pack.id).or(unknown);
    }

    /// Skips to a pack. Returns the bytes of its blocks; none if the segment lacks it.
    fn turn_to(&mut self, pack: &PackId) -> Option<u64> {
        while self.id.is_some_and(|id| id < *pack) {
            while self.next_block().is_some() {}
            self.pack += 1;
            self.read_id();
        }
        self.id.filter(|id| id == pack)?;
        let blocks = self.segment.pack(self.pack).and_then(|row| row.blocks());
        Some(blocks.map_or(0, |blocks| blocks.end - blocks.start))
    }

    fn next_block(&mut self) -> Option<SegmentBlock> {
        let block = self.segment.block(self.block).filter(|block| block.pack == self.pack)?;
        self.block += 1;
        Some(block)
    }
}

/// The block of an entry in an unknown pack.
pub(super) const NOWHERE: u32 = u32::MAX;
