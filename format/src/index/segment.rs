//! Segments: immutable sorted files of the index, searched in place in a mapped file.

use core::ops::Range;

use serde::Serialize;

use super::rows::{
    BLOCK_ROW, ENTRY, Front, HEADER, Location, PACK_ROW, PAGE, RawEntry, SegmentBlock, SegmentPack, block_row, locate,
    pack_row,
};
use super::search::{Ascending, Records};
use crate::id::{ChunkId, DomainId};
use crate::wire::DecodeError;

/// An entry of a segment.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The chunk or page.
    pub id: ChunkId,
    /// The block's position among the segment's blocks, for counting by block.
    pub block: u32,
    /// Where the copy lies.
    pub location: Location,
}

/// An entry of a segment, without its location.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SegmentEntry {
    /// The chunk or page.
    pub id: ChunkId,
    /// The block's position among the segment's blocks.
    pub block: u32,
    /// The item's position in the block.
    pub ordinal: u16,
    /// Whether this is a page.
    pub is_page: bool,
}

/// The bytes are not a segment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("malformed index segment")]
pub struct SegmentError(#[from] DecodeError);

/// A segment over borrowed, mapped or owned bytes. Nothing is loaded up front. In a segment that [`Segment::verify`]
/// would refuse, lookups give wrong answers but never panic.
#[derive(Clone, Debug)]
pub struct Segment<B> {
    bytes: B,
    domain: DomainId,
    blocks_start: usize,
    entries_start: usize,
    packs: u32,
    blocks: u32,
}

impl<B: AsRef<[u8]>> Segment<B> {
    /// Checks the header and the lengths of the parts. Takes constant time.
    pub fn parse(bytes: B) -> Result<Self, SegmentError> {
        let all = bytes.as_ref();
        let front = Front::parse(all)?;
        if front.length() != all.len() as u64 {
            return Err(DecodeError::new(all.len(), "a segment's length does not fit its numbers").into());
        }
        let [blocks_start, blocks_end, entries_start] =
            [front.blocks_start(), front.blocks_end(), front.entries_start()].map(|at| at as usize);
        if all[blocks_end..entries_start].iter().any(|&byte| byte != 0) {
            return Err(DecodeError::new(blocks_end, "reserved bytes are not zero").into());
        }
        let Front { domain, packs, blocks, .. } = front;
        Ok(Self { domain, blocks_start, entries_start, packs, blocks, bytes })
    }

    /// The stored bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// The domain of all entries.
    pub fn domain(&self) -> DomainId {
        self.domain
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.records().len()
    }

    /// Whether the segment has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of packs.
    pub fn pack_count(&self) -> u32 {
        self.packs
    }

    /// The number of blocks.
    pub fn block_count(&self) -> u32 {
        self.blocks
    }

    /// The smallest and the largest id; none in an empty segment.
    pub fn bounds(&self) -> Option<(ChunkId, ChunkId)> {
        let id = |at: usize| ChunkId::from_slice(&self.records().get(at)?[..ChunkId::LEN]);
        Some((id(0)?, id(self.len().checked_sub(1)?)?))
    }

    /// The copies of a chunk or page.
    pub fn find(&self, id: &ChunkId) -> Copies<'_, B> {
        Copies { segment: self, id: *id, at: self.records().lower_bound(id.as_bytes(), 0) }
    }

    /// Looks up many ids, in ascending order. Calls `found` for each copy with the position of its id in `ids`.
    pub fn find_many(&self, ids: &[ChunkId], mut found: impl FnMut(usize, Location)) {
        debug_assert!(ids.is_sorted(), "ids to look up ascend");
        // Most segments of a large domain cover few of the ids.
        let Some((first, last)) = self.bounds() else { return };
        let before = ids.partition_point(|id| *id < first);
        let ids = &ids[before..ids.partition_point(|id| *id <= last).max(before)];
        let mut search = Ascending::new(self.records());
        let mut group: Vec<(usize, RawEntry)> = Vec::with_capacity(2 * GROUP);
        for (number, some) in ids.chunks(GROUP).enumerate() {
            search.touch(some.iter().map(ChunkId::as_bytes));
            for (at, id) in some.iter().enumerate() {
                let mut from = search.lower_bound(id.as_bytes());
                while let Some(raw) = self.raw(from).filter(|raw| raw.id == *id) {
                    group.push((before + number * GROUP + at, raw));
                    from += 1;
                    if group.len() == 2 * GROUP {
                        self.resolve_group(&mut group, &mut found);
                    }
                }
            }
            self.resolve_group(&mut group, &mut found);
        }
    }

    /// Like [`Segment::lower_bound`] for many ids, which ascend. Calls `found` with each index in `ids` and its bound.
    pub fn lower_bounds(&self, ids: &[ChunkId], mut found: impl FnMut(usize, usize)) {
        debug_assert!(ids.is_sorted(), "ids to look up ascend");
        let mut search = Ascending::new(self.records());
        for (number, some) in ids.chunks(GROUP).enumerate() {
            search.touch(some.iter().map(ChunkId::as_bytes));
            for (at, id) in some.iter().enumerate() {
                found(number * GROUP + at, search.lower_bound(id.as_bytes()));
            }
        }
    }

    /// Resolves the locations of a group. Touches all needed rows first, so that memory accesses overlap.
    fn resolve_group(&self, group: &mut Vec<(usize, RawEntry)>, found: &mut impl FnMut(usize, Location)) {
        for (_, raw) in group.iter() {
            core::hint::black_box(self.block(raw.block));
        }
        for (_, raw) in group.iter() {
            let pack = self.block(raw.block).map(|block| HEADER + block.pack as usize * PACK_ROW);
            core::hint::black_box(pack.and_then(|start| self.bytes.as_ref().get(start)));
        }
        for (position, raw) in group.drain(..) {
            if let Some(entry) = self.resolve(raw) {
                found(position, entry.location);
            }
        }
    }

    /// All entries in order. Skips entries that name a block outside the segment.
    pub fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        (0..self.len()).filter_map(|at| self.entry(at))
    }

    /// All packs, ascending. Skips packs of unknown kind or place.
    pub fn packs(&self) -> impl Iterator<Item = SegmentPack> + '_ {
        (0..self.packs).filter_map(|at| self.pack(at))
    }

    /// All blocks, ascending by pack and offset.
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = SegmentBlock> + '_ {
        self.bytes.as_ref()[self.blocks_start..][..self.blocks as usize * BLOCK_ROW]
            .chunks_exact(BLOCK_ROW)
            .map(block_row)
    }

    /// The positions of a pack's blocks among all blocks.
    pub fn blocks_of(&self, pack: u32) -> Range<u32> {
        let rows =
            Records::new(&self.bytes.as_ref()[self.blocks_start..][..self.blocks as usize * BLOCK_ROW], BLOCK_ROW);
        let first_from = |pack: u32| {
            let (mut low, mut high) = (0, rows.len());
            while low < high {
                let middle = low + (high - low) / 2;
                let below = rows.get(middle).is_some_and(|row| block_row(row).pack < pack);
                if below { low = middle + 1 } else { high = middle }
            }
            low as u32
        };
        first_from(pack)..pack.checked_add(1).map_or(self.blocks, first_from)
    }

    /// The pack at a position; none if the position is too large, or the kind or place unknown.
    pub fn pack(&self, at: u32) -> Option<SegmentPack> {
        if at >= self.packs {
            return None;
        }
        pack_row(self.bytes.as_ref().get(HEADER + at as usize * PACK_ROW..)?.first_chunk()?)
    }

    /// The block at a position; none if the position is too large.
    pub fn block(&self, at: u32) -> Option<SegmentBlock> {
        if at >= self.blocks {
            return None;
        }
        let start = self.blocks_start + at as usize * BLOCK_ROW;
        self.bytes.as_ref().get(start..start + BLOCK_ROW).map(block_row)
    }

    /// The position of the first entry whose id is not less than `id`.
    pub fn lower_bound(&self, id: &ChunkId) -> usize {
        self.records().lower_bound(id.as_bytes(), 0)
    }

    /// The id of the entry at a position; none after the last entry.
    pub fn id_at(&self, at: usize) -> Option<ChunkId> {
        ChunkId::from_slice(&self.records().get(at)?[..ChunkId::LEN])
    }

    /// The entry at a position, without its location; none after the last entry.
    pub fn entry_at(&self, at: usize) -> Option<SegmentEntry> {
        let raw = self.raw(at)?;
        Some(SegmentEntry { id: raw.id, block: raw.block, ordinal: raw.ordinal, is_page: raw.flags & PAGE != 0 })
    }

    pub(super) fn entry(&self, at: usize) -> Option<Entry> {
        self.resolve(self.raw(at)?)
    }

    pub(super) fn raw(&self, at: usize) -> Option<RawEntry> {
        self.records().get(at)?.first_chunk().map(RawEntry::read)
    }

    pub(super) fn resolve(&self, raw: RawEntry) -> Option<Entry> {
        let block = self.block(raw.block)?;
        let pack = self.pack(block.pack)?;
        Some(Entry { id: raw.id, block: raw.block, location: locate(&pack, &block, raw.ordinal, raw.flags) })
    }

    pub(super) fn pack_row(&self, at: u32) -> &[u8] {
        &self.bytes.as_ref()[HEADER + at as usize * PACK_ROW..][..PACK_ROW]
    }

    fn records(&self) -> Records<'_> {
        Records::new(&self.bytes.as_ref()[self.entries_start..], ENTRY)
    }
}

/// The copies of one chunk or page in a segment.
#[derive(Debug)]
pub struct Copies<'s, B> {
    segment: &'s Segment<B>,
    id: ChunkId,
    at: usize,
}

impl<B: AsRef<[u8]>> Iterator for Copies<'_, B> {
    type Item = Location;

    fn next(&mut self) -> Option<Location> {
        loop {
            let raw = self.segment.raw(self.at).filter(|raw| raw.id == self.id)?;
            self.at += 1;
            if let Some(entry) = self.segment.resolve(raw) {
                return Some(entry.location);
            }
        }
    }
}

/// How many ids are looked up side by side, so that their memory accesses overlap.
const GROUP: usize = 32;
