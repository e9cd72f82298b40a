//! Writes packs.

use super::read::trailer_bytes;
use super::{BLOCK_ROW, BlockRow, HEAD_MAGIC, HEADER, PackKind, PackTable, PageView, Pages, TRAILER_BYTES, VERSION};
use crate::id::{ChunkId, DomainId, ObjectHash, PackId};
use crate::limits::{
    BLOCK_BYTES, BLOCK_ENTRIES, HEIGHT, PACK_BLOCKS, PACK_BYTES, PACK_ENTRIES, PACK_SESSIONS, PAGE_REFERENCES,
    SESSION_BLOCKS, SESSION_RECORD_BYTES,
};

/// A finished pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pack {
    /// The SHA-256 of the bytes.
    pub id: PackId,
    /// The object to be stored.
    pub bytes: Vec<u8>,
    /// What the pack holds.
    pub table: PackTable,
}

/// Why a pack cannot be started or does not take a block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum PackLimit {
    /// There is no room left: the block belongs into the next pack.
    #[error("the pack has no room for another block of {bytes} bytes and {entries} entries")]
    Full { bytes: usize, entries: usize },
    /// No pack can hold a block of this size.
    #[error("a sealed block of {0} bytes fits into no pack")]
    BlockBytes(usize),
    /// No pack can hold a block with this many chunks or pages.
    #[error("a block of {0} entries fits into no pack")]
    BlockEntries(usize),
    /// Too many session records, or none.
    #[error("a pack cannot hold {0} session records")]
    Sessions(usize),
    /// A session record that is too long for readers.
    #[error("a session record of {0} bytes is too long")]
    SessionRecord(usize),
    /// The pack has no record of the block's session.
    #[error("the pack has no record of the session at position {0}")]
    Session(u16),
    /// The block's counter is beyond what readers accept for one session key.
    #[error("block number {0} exceeds what one session key may seal")]
    Counter(u64),
    /// The number of page rows is wrong: one for each page of a tree pack, none in a data pack.
    #[error("a block of {entries} entries came with rows for {pages} pages")]
    Pages { entries: usize, pages: usize },
    /// A page whose height or number of references is too large for readers.
    #[error("a page of height {height} with {references} references fits into no pack")]
    Page { height: u8, references: usize },
}

/// Collects sealed blocks. The caller decides when to finish, by comparing [`PackWriter::len`] with its target.
#[derive(Clone, Debug)]
pub struct PackWriter {
    bytes: Vec<u8>,
    table: PackTable,
}

impl PackWriter {
    /// Starts a pack with the records of these sessions. The random bytes make its name unique.
    pub fn new(kind: PackKind, domain: DomainId, random: [u8; 16], sessions: Vec<Vec<u8>>) -> Result<Self, PackLimit> {
        if sessions.is_empty() || sessions.len() > usize::from(PACK_SESSIONS) {
            return Err(PackLimit::Sessions(sessions.len()));
        }
        if let Some(record) = sessions.iter().find(|record| record.len() > SESSION_RECORD_BYTES) {
            return Err(PackLimit::SessionRecord(record.len()));
        }
        let bytes = header(kind, domain, random, &sessions);
        let table = PackTable { kind, domain, sessions, blocks: Vec::new(), ids: Vec::new(), pages: Pages::default() };
        Ok(Self { bytes, table })
    }

    /// Reserves memory for a pack of this length.
    pub fn reserve(&mut self, bytes: usize) {
        self.bytes.reserve(bytes.min(PACK_BYTES as usize).saturating_sub(self.bytes.len()));
    }

    /// Appends a sealed block with its ids and, in a tree pack, a row for each page. A refused block changes nothing.
    pub fn add_block<'p>(
        &mut self,
        stored: &[u8],
        session: u16,
        counter: u64,
        ids: impl IntoIterator<Item = ChunkId>,
        pages: impl IntoIterator<Item = PageView<'p>>,
    ) -> Result<(), PackLimit> {
        let (start, first_page) = (self.table.ids.len(), self.table.pages.len());
        self.table.ids.extend(ids);
        pages.into_iter().for_each(|page| self.table.pages.push(page));
        if let Err(limit) = self.check(stored, session, counter, start) {
            self.table.ids.truncate(start);
            self.table.pages.truncate(first_page);
            return Err(limit);
        }
        self.table.blocks.push(BlockRow {
            offset: self.bytes.len() as u32,
            length: stored.len() as u32,
            session,
            counter,
            entries: start as u32..self.table.ids.len() as u32,
        });
        self.bytes.extend_from_slice(stored);
        Ok(())
    }

    /// The length of the pack if it were finished now.
    pub fn len(&self) -> usize {
        self.bytes.len() + self.table.table_length() as usize + TRAILER_BYTES
    }

    /// The length of header and table, which ingest reads, if the pack were finished now.
    pub fn clear_length(&self) -> u64 {
        self.header_length() as u64 + u64::from(self.table.table_length())
    }

    /// Whether the pack has no block yet.
    pub fn is_empty(&self) -> bool {
        self.table.blocks.is_empty()
    }

    /// Finishes the pack.
    ///
    /// # Panics
    /// If it has no block.
    pub fn finish(self) -> Pack {
        let (bytes, table) = self.close();
        Pack { id: PackId(ObjectHash::of(&bytes).0), bytes, table }
    }

    /// Like [`PackWriter::finish`], but leaves it to the host to compute the pack's name.
    ///
    /// # Panics
    /// If it has no block.
    pub fn close(mut self) -> (Vec<u8>, PackTable) {
        assert!(!self.is_empty(), "a pack is finished only when it holds a block");
        let header_length = self.header_length() as u32;
        self.bytes.reserve_exact(self.table.table_length() as usize + TRAILER_BYTES);
        append_table(&mut self.bytes, &self.table);
        self.bytes.extend_from_slice(&trailer_bytes(&self.table, header_length));
        (self.bytes, self.table)
    }

    fn header_length(&self) -> usize {
        self.table.blocks.first().map_or(self.bytes.len(), |block| block.offset as usize)
    }

    /// Checks a block whose entries, from `start` on, are already in the table.
    fn check(&self, stored: &[u8], session: u16, counter: u64, start: usize) -> Result<(), PackLimit> {
        let table = &self.table;
        let entries = table.ids.len() - start;
        let pages = table.pages.len().saturating_sub(start);
        if stored.is_empty() || stored.len() > BLOCK_BYTES as usize {
            return Err(PackLimit::BlockBytes(stored.len()));
        }
        if entries == 0 || entries > BLOCK_ENTRIES as usize {
            return Err(PackLimit::BlockEntries(entries));
        }
        if usize::from(session) >= table.sessions.len() {
            return Err(PackLimit::Session(session));
        }
        if counter >= SESSION_BLOCKS {
            return Err(PackLimit::Counter(counter));
        }
        if pages != if table.kind == PackKind::Data { 0 } else { entries } {
            return Err(PackLimit::Pages { entries, pages });
        }
        for page in (start..start + pages).filter_map(|at| table.page(at)) {
            let (height, references) = (page.height, page.references.len());
            if !(1..=HEIGHT).contains(&height) || references > PAGE_REFERENCES as usize {
                return Err(PackLimit::Page { height, references });
            }
        }
        let full = table.blocks.len() >= PACK_BLOCKS as usize
            || table.ids.len() > PACK_ENTRIES as usize
            || (self.len() + stored.len() + BLOCK_ROW) as u64 > PACK_BYTES;
        if full { Err(PackLimit::Full { bytes: stored.len(), entries }) } else { Ok(()) }
    }
}

fn header(kind: PackKind, domain: DomainId, random: [u8; 16], sessions: &[Vec<u8>]) -> Vec<u8> {
    let length = HEADER + sessions.iter().map(|record| 4 + record.len()).sum::<usize>();
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(HEAD_MAGIC);
    bytes.extend_from_slice(&[VERSION, kind as u8]);
    bytes.extend_from_slice(&(sessions.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&(length as u32).to_le_bytes());
    bytes.extend_from_slice(domain.as_bytes());
    bytes.extend_from_slice(&random);
    for record in sessions {
        bytes.extend_from_slice(&(record.len() as u32).to_le_bytes());
        bytes.extend_from_slice(record);
    }
    bytes
}

fn append_table(out: &mut Vec<u8>, table: &PackTable) {
    for block in &table.blocks {
        out.extend_from_slice(&block.offset.to_le_bytes());
        out.extend_from_slice(&block.length.to_le_bytes());
        out.extend_from_slice(&block.session.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&(block.entries.len() as u32).to_le_bytes());
        out.extend_from_slice(&block.counter.to_le_bytes());
    }
    for (at, id) in table.ids.iter().enumerate() {
        out.extend_from_slice(id.as_bytes());
        if let Some(page) = table.page(at) {
            out.extend_from_slice(&page.replaces.map_or([0; ChunkId::LEN], |id| id.0));
            out.extend_from_slice(&[page.height, 0, 0, 0]);
            out.extend_from_slice(&(page.references.len() as u32).to_le_bytes());
        }
    }
    table.pages.references().iter().for_each(|id| out.extend_from_slice(id.as_bytes()));
}
