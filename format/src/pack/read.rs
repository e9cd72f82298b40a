//! Reads packs. The trailer tells where table and header are, so that a host fetches only what it needs.

use core::ops::Range;

use super::{BLOCK_ROW, CHUNK_ROW, END_MAGIC, HEAD_MAGIC, HEADER, PAGE_ROW, REFERENCE, VERSION};
use super::{BlockRow, PackKind, PackTable, Pages};
use crate::id::{ChunkId, DomainId};
use crate::limits::{
    BLOCK_BYTES, BLOCK_ENTRIES, HEIGHT, PACK_BLOCKS, PACK_BYTES, PACK_ENTRIES, PACK_HEADER_BYTES, PACK_SESSIONS,
    PAGE_REFERENCES, SESSION_BLOCKS, SESSION_RECORD_BYTES,
};
use crate::wire::DecodeError;
use crate::wire::cursor::Cursor;

/// The length of the trailer at the end of a pack.
pub const TRAILER_BYTES: usize = 32;

/// Why bytes are not a pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// The object is shorter than any pack, or longer than the format allows.
    #[error("no pack has {0} bytes")]
    Length(u64),
    /// A part in the clear is malformed; the error's offset counts from the start of that part.
    #[error("malformed {part} of a pack")]
    Malformed {
        /// `header`, `table` or `trailer`.
        part: &'static str,
        /// What is wrong, and where.
        source: DecodeError,
    },
}

/// The trailer of a pack: its numbers of blocks and entries, and the lengths of header and table.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Trailer {
    blocks: u32,
    entries: u32,
    references: u32,
    table_length: u32,
    header_length: u32,
    pack_length: u64,
}

impl Trailer {
    /// Parses the last [`TRAILER_BYTES`] bytes of a pack of this length.
    pub fn parse(last: &[u8], pack_length: u64) -> Result<Self, PackError> {
        if pack_length > PACK_BYTES || pack_length < (HEADER + BLOCK_ROW + CHUNK_ROW + TRAILER_BYTES) as u64 {
            return Err(PackError::Length(pack_length));
        }
        Self::decode(last, pack_length).map_err(|source| PackError::Malformed { part: "trailer", source })
    }

    fn decode(last: &[u8], pack_length: u64) -> Result<Self, DecodeError> {
        let mut cursor = Cursor::new(last);
        let (blocks, entries, references) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
        let (table_length, header_length) = (cursor.u32()?, cursor.u32()?);
        cursor.zeros(4)?;
        cursor.expect(END_MAGIC, "the bytes do not end as a pack does")?;
        cursor.finish()?;
        if !(1..=PACK_BLOCKS).contains(&blocks) {
            return Err(DecodeError::new(0, "a number of blocks that no pack has"));
        }
        if !(blocks..=PACK_ENTRIES).contains(&entries) {
            return Err(DecodeError::new(4, "a number of entries that no pack has"));
        }
        let data = table_bytes(PackKind::Data, blocks, entries, 0);
        let tree = table_bytes(PackKind::Tree, blocks, entries, references);
        let table = u64::from(table_length);
        if table != tree && (table != data || references != 0) {
            return Err(DecodeError::new(12, "the table's length does not fit the numbers"));
        }
        if header_length as usize > PACK_HEADER_BYTES {
            return Err(DecodeError::new(16, "a header longer than that of any pack"));
        }
        let most = pack_length - TRAILER_BYTES as u64;
        if (header_length as usize) < HEADER || u64::from(header_length) + table >= most {
            return Err(DecodeError::new(16, "header and table leave no room for blocks"));
        }
        Ok(Self { blocks, entries, references, table_length, header_length, pack_length })
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The number of chunks or pages.
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// The length of the header in bytes.
    pub fn header_length(&self) -> u32 {
        self.header_length
    }

    /// The length of the table in bytes.
    pub fn table_length(&self) -> u32 {
        self.table_length
    }

    /// The range of the header in the pack.
    pub fn header_range(&self) -> Range<u64> {
        0..u64::from(self.header_length)
    }

    /// The range of the table in the pack.
    pub fn table_range(&self) -> Range<u64> {
        let end = self.pack_length - TRAILER_BYTES as u64;
        end - u64::from(self.table_length)..end
    }
}

/// Parses header and table, fetched from the ranges of the trailer.
pub fn parse_table(trailer: &Trailer, header: &[u8], table: &[u8]) -> Result<PackTable, PackError> {
    let (kind, domain, sessions) =
        decode_header(trailer, header).map_err(|source| PackError::Malformed { part: "header", source })?;
    let rows = decode_table(trailer, kind, sessions.len(), table);
    let (blocks, ids, pages) = rows.map_err(|source| PackError::Malformed { part: "table", source })?;
    Ok(PackTable { kind, domain, sessions, blocks, ids, pages })
}

/// Parses the table of a whole pack in memory.
pub fn parse(bytes: &[u8]) -> Result<PackTable, PackError> {
    let length = bytes.len() as u64;
    let last = bytes.last_chunk::<TRAILER_BYTES>().ok_or(PackError::Length(length))?;
    let trailer = Trailer::parse(last, length)?;
    let part = |range: Range<u64>| &bytes[range.start as usize..range.end as usize];
    parse_table(&trailer, part(trailer.header_range()), part(trailer.table_range()))
}

pub(super) fn trailer_bytes(table: &PackTable, header_length: u32) -> [u8; TRAILER_BYTES] {
    let [blocks, entries, references] =
        [table.blocks.len(), table.ids.len(), table.pages.references().len()].map(|count| count as u32);
    let mut bytes = [0; TRAILER_BYTES];
    let fields = [blocks, entries, references, table.table_length(), header_length];
    for (field, value) in bytes.chunks_exact_mut(4).zip(fields) {
        field.copy_from_slice(&value.to_le_bytes());
    }
    bytes[24..].copy_from_slice(END_MAGIC);
    bytes
}

fn table_bytes(kind: PackKind, blocks: u32, entries: u32, references: u32) -> u64 {
    let row = if kind == PackKind::Data { CHUNK_ROW } else { PAGE_ROW };
    [(blocks, BLOCK_ROW), (entries, row), (references, REFERENCE)]
        .map(|(count, width)| u64::from(count) * width as u64)
        .iter()
        .sum()
}

type Header = (PackKind, DomainId, Vec<Vec<u8>>);

fn decode_header(trailer: &Trailer, header: &[u8]) -> Result<Header, DecodeError> {
    let mut cursor = Cursor::new(header);
    cursor.expect(HEAD_MAGIC, "not a Copal pack")?;
    cursor.expect(&[VERSION], "a version of packs this program does not know")?;
    let error = cursor.error("a kind of packs this program does not know");
    let kind = PackKind::from_byte(cursor.u8()?).ok_or(error)?;
    let error = cursor.error("a number of sessions that no pack has");
    let sessions = Some(cursor.u16()?).filter(|count| (1..=PACK_SESSIONS).contains(count)).ok_or(error)?;
    let error = cursor.error("header and trailer disagree on the header's length");
    if cursor.u32()? != trailer.header_length {
        return Err(error);
    }
    let domain = DomainId(cursor.array()?);
    cursor.take(16)?;
    let mut records = Vec::with_capacity(usize::from(sessions));
    for _ in 0..sessions {
        let error = cursor.error("a session record is longer than allowed");
        let length = cursor.u32()? as usize;
        if length > SESSION_RECORD_BYTES {
            return Err(error);
        }
        records.push(cursor.take(length)?.to_vec());
    }
    cursor.finish()?;
    if trailer.table_length as u64 != table_bytes(kind, trailer.blocks, trailer.entries, trailer.references) {
        return Err(DecodeError::new(9, "the table's length does not fit the pack's kind"));
    }
    Ok((kind, domain, records))
}

type Rows = (Vec<BlockRow>, Vec<ChunkId>, Pages);

fn decode_table(trailer: &Trailer, kind: PackKind, sessions: usize, table: &[u8]) -> Result<Rows, DecodeError> {
    if table.len() != trailer.table_length as usize {
        return Err(DecodeError::new(table.len(), "the table has another length than the trailer says"));
    }
    let mut cursor = Cursor::new(table);
    let blocks = decode_blocks(&mut cursor, trailer, sessions)?;
    let entries = trailer.entries as usize;
    if kind == PackKind::Data {
        let ids = decode_ids(&mut cursor, entries)?;
        cursor.finish()?;
        return Ok((blocks, ids, Pages::default()));
    }
    let mut ids = Vec::with_capacity(entries);
    let mut pages = Pages::default();
    let mut end = 0u32;
    for _ in 0..entries {
        ids.push(ChunkId(cursor.array()?));
        let replaces = ChunkId(cursor.array()?);
        let error = cursor.error("a page's height is not 1 to 31");
        let height = Some(cursor.u8()?).filter(|height| (1..=HEIGHT).contains(height)).ok_or(error)?;
        cursor.zeros(3)?;
        let error = cursor.error("a page has more references than allowed");
        let references = cursor.u32()?;
        let sum = end.checked_add(references).filter(|&sum| sum <= trailer.references);
        end = sum.filter(|_| references <= PAGE_REFERENCES).ok_or(error)?;
        pages.push_row(height, replaces, end);
    }
    if end != trailer.references {
        return Err(cursor.error("the pages' references are fewer than the trailer says"));
    }
    pages.set_references(decode_ids(&mut cursor, trailer.references as usize)?);
    cursor.finish()?;
    Ok((blocks, ids, pages))
}

fn decode_blocks(cursor: &mut Cursor<'_>, trailer: &Trailer, sessions: usize) -> Result<Vec<BlockRow>, DecodeError> {
    let mut blocks = Vec::with_capacity(trailer.blocks as usize);
    let (mut at, mut first) = (trailer.header_length, 0u32);
    let blocks_end = trailer.table_range().start;
    for _ in 0..trailer.blocks {
        let start = cursor.offset();
        let error = |what| DecodeError::new(start, what);
        let (offset, length, session) = (cursor.u32()?, cursor.u32()?, cursor.u16()?);
        cursor.zeros(2)?;
        let (entries, counter) = (cursor.u32()?, cursor.u64()?);
        if offset != at {
            return Err(error("a block does not start where the one before ends"));
        }
        let end = u64::from(offset) + u64::from(length);
        if !(1..=BLOCK_BYTES).contains(&length) || end > blocks_end {
            return Err(error("a block has a length that no block of this pack can have"));
        }
        if usize::from(session) >= sessions {
            return Err(error("a block's session has no record"));
        }
        if counter >= SESSION_BLOCKS {
            return Err(error("a block's counter exceeds what one session may seal"));
        }
        if !(1..=BLOCK_ENTRIES).contains(&entries) || entries > trailer.entries - first {
            return Err(error("a block has a number of entries that no block of this pack can have"));
        }
        blocks.push(BlockRow { offset, length, session, counter, entries: first..first + entries });
        (at, first) = (end as u32, first + entries);
    }
    if u64::from(at) != blocks_end {
        return Err(cursor.error("the last block does not end where the table starts"));
    }
    if first != trailer.entries {
        return Err(cursor.error("the blocks' entries are fewer than the trailer says"));
    }
    Ok(blocks)
}

fn decode_ids(cursor: &mut Cursor<'_>, count: usize) -> Result<Vec<ChunkId>, DecodeError> {
    let bytes = cursor.take(count * ChunkId::LEN)?;
    Ok(bytes.chunks_exact(ChunkId::LEN).filter_map(ChunkId::from_slice).collect())
}
