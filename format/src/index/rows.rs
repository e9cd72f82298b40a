//! Rows: the byte layout of a segment's header, packs, blocks and entries.

use std::ops::Range;

use serde::Serialize;

use crate::id::{ChunkId, DomainId, PackId};
use crate::layout::Place;
use crate::limits::{HEIGHT, SEGMENT_ENTRIES};
use crate::pack::{PackKind, TRAILER_BYTES};
use crate::wire::DecodeError;
use crate::wire::cursor::Cursor;

/// The place of one copy of a chunk or page.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The pack.
    pub pack: PackId,
    /// The folder in which the pack is stored.
    pub place: Place,
    /// The pack's length in bytes.
    pub pack_length: u64,
    /// The table's length in bytes.
    pub table_length: u32,
    /// The block's offset in the pack.
    pub offset: u32,
    /// The block's length in bytes.
    pub length: u32,
    /// The number of items in the block, whether in the index or not.
    pub items: u32,
    /// The item's position in the block.
    pub ordinal: u16,
    /// The page's height; 0 for a chunk.
    pub height: u8,
    /// Whether this is a page.
    pub is_page: bool,
}

/// A pack that a segment refers to.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SegmentPack {
    /// The pack.
    pub id: PackId,
    /// Its length in bytes.
    pub length: u64,
    /// Its header's length in bytes.
    pub header_length: u32,
    /// Its table's length in bytes.
    pub table_length: u32,
    /// Whether it holds chunks or pages.
    pub kind: PackKind,
    /// The folder in which it is stored.
    pub place: Place,
}

impl SegmentPack {
    /// Where its blocks lie, in bytes; none if it is too short for its header, table and trailer.
    pub fn blocks(&self) -> Option<Range<u64>> {
        let end = self.length.checked_sub(TRAILER_BYTES as u64 + u64::from(self.table_length))?;
        (u64::from(self.header_length) <= end).then(|| self.header_length.into()..end)
    }
}

/// A block that a segment refers to.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SegmentBlock {
    /// The pack's position among the segment's packs.
    pub pack: u32,
    /// The block's offset in the pack.
    pub offset: u32,
    /// Its length in bytes.
    pub length: u32,
    /// The number of items in it, whether in the index or not.
    pub items: u32,
}

/// A segment's header: the number of rows of each kind, and so their offsets.
#[derive(Copy, Clone, Debug)]
pub(super) struct Front {
    pub(super) domain: DomainId,
    pub(super) packs: u32,
    pub(super) blocks: u32,
    pub(super) entries: u64,
}

impl Front {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        cursor.expect(MAGIC, "not an index segment")?;
        let domain = DomainId(cursor.array()?);
        cursor.take(16)?;
        let (packs, blocks, entries) = (cursor.u32()?, cursor.u32()?, cursor.u64()?);
        cursor.zeros(8)?;
        if entries > SEGMENT_ENTRIES || u64::from(blocks) > entries || packs > blocks {
            return Err(DecodeError::new(40, "a segment has numbers that cannot be"));
        }
        Ok(Self { domain, packs, blocks, entries })
    }

    pub(super) fn blocks_start(&self) -> u64 {
        HEADER as u64 + u64::from(self.packs) * PACK_ROW as u64
    }

    pub(super) fn blocks_end(&self) -> u64 {
        self.blocks_start() + u64::from(self.blocks) * BLOCK_ROW as u64
    }

    pub(super) fn entries_start(&self) -> u64 {
        self.blocks_end().next_multiple_of(ENTRY as u64)
    }

    pub(super) fn length(&self) -> u64 {
        self.entries_start() + self.entries * ENTRY as u64
    }
}

/// An entry as stored. If blocks are in order, the derived order is that of entries.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RawEntry {
    pub(super) id: ChunkId,
    pub(super) block: u32,
    pub(super) ordinal: u16,
    pub(super) flags: u16,
}

impl RawEntry {
    pub(super) fn read(bytes: &[u8; ENTRY]) -> Self {
        let [id @ .., b0, b1, b2, b3, o0, o1, f0, f1] = *bytes;
        Self {
            id: ChunkId(id),
            block: u32::from_le_bytes([b0, b1, b2, b3]),
            ordinal: u16::from_le_bytes([o0, o1]),
            flags: u16::from_le_bytes([f0, f1]),
        }
    }

    pub(super) fn place(&self) -> (ChunkId, u32, u16) {
        (self.id, self.block, self.ordinal)
    }

    /// Whether the flags are valid, for a chunk or for a page.
    pub(super) fn has_sound_flags(&self) -> bool {
        self.flags == 0 || (PAGE + 1..=PAGE + u16::from(HEIGHT)).contains(&self.flags)
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.id.as_bytes());
        out.extend_from_slice(&self.block.to_le_bytes());
        out.extend_from_slice(&self.ordinal.to_le_bytes());
        out.extend_from_slice(&self.flags.to_le_bytes());
    }
}

/// The flags of an entry: for a page its height, for a chunk 0.
pub(super) fn flags(kind: PackKind, height: u8) -> u16 {
    match kind {
        PackKind::Data => 0,
        PackKind::Tree => PAGE | u16::from(height),
    }
}

pub(super) fn locate(pack: &SegmentPack, block: &SegmentBlock, ordinal: u16, flags: u16) -> Location {
    Location {
        pack: pack.id,
        place: pack.place,
        pack_length: pack.length,
        table_length: pack.table_length,
        offset: block.offset,
        length: block.length,
        items: block.items,
        ordinal,
        height: flags as u8,
        is_page: flags & PAGE != 0,
    }
}

pub(super) fn block_row(row: &[u8]) -> SegmentBlock {
    SegmentBlock { pack: u32_at(row, 0), offset: u32_at(row, 4), length: u32_at(row, 8), items: u32_at(row, 12) }
}

/// Parses a pack's row; none if its kind or place is unknown.
pub(super) fn pack_row(row: &[u8; PACK_ROW]) -> Option<SegmentPack> {
    Some(SegmentPack {
        id: PackId::from_slice(&row[..32])?,
        length: u64::from_le_bytes(row[32..40].try_into().ok()?),
        header_length: u32_at(row, 40),
        table_length: u32_at(row, 44),
        kind: PackKind::from_byte(row[48])?,
        place: place(row[49])?,
    })
}

fn place(byte: u8) -> Option<Place> {
    [Place::Packs, Place::Moved].into_iter().find(|place| *place as u8 == byte)
}

fn u32_at(row: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]])
}

pub(super) const MAGIC: &[u8; 8] = b"COPALIDX";
pub(super) const HEADER: usize = 64;
pub(super) const PACK_ROW: usize = 52;
pub(super) const BLOCK_ROW: usize = 16;
pub(super) const ENTRY: usize = 32;
/// Set in the flags of a page; the bits below hold its height.
pub(super) const PAGE: u16 = 1 << 8;
