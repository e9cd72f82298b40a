//! Kept tree: a client's own copy of the pages of its last tree, sealed with its device key, for the next backup to
//! compare with. Write-only clients and browsers need it: they cannot open what they store. Everything in it is
//! checked: pages must have their ids, and chunks are looked up in the index. Without it, files are read again, but not
//! uploaded.
//!
//! The file only grows, so a host can append while it works: `salt 16 ‖ records`. A record is
//! `kind u8 ‖ length u32 ‖ a sealed block`. The records of a head say where each page is; the last of them is marked.
//! The last complete head counts.

use std::collections::HashMap;

use copal_format::block::{BlockBuilder, OpenBlock, OpenTools, SealFault, SealTools};
use copal_format::compress::{Compress, Compressor, Parameters};
use copal_format::id::{ChunkId, RepositoryId, SessionId, SnapshotId};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::secret::Secret;
use copal_format::keys::session::SessionKey;
use copal_format::limits::{BLOCK_BYTES, CHUNK_BYTES};
use copal_format::seal::{BlockKind, Counters, SessionCipher};
use copal_format::time::Time;
use copal_format::tree::{Content, Page, VerifiedPage};
use copal_format::wire::cursor::Cursor;

/// The snapshot that a kept tree belongs to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct KeptSnapshot {
    /// Its id, if it was known when the tree was finished.
    pub id: Option<SnapshotId>,
    /// Its root page.
    pub root: ChunkId,
    /// When its backup began, by the client's clock.
    pub begun: Time,
    /// Bytes of its files.
    pub bytes: u64,
}

/// Why a tree cannot be kept. The backup goes on without it.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    /// There are more blocks than a cipher may seal.
    #[error("the tree has too many pages to be kept")]
    Full,
    /// A block was not what was sealed.
    #[error(transparent)]
    Block(#[from] SealFault),
}

/// The bytes of a kept tree, wherever the host has them.
pub trait KeptBytes {
    /// How many there are.
    fn length(&self) -> u64;
    /// Reads all of `into` from an offset; returns false if that is not possible.
    fn read(&self, at: u64, into: &mut [u8]) -> bool;
}

impl KeptBytes for Vec<u8> {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, at: u64, into: &mut [u8]) -> bool {
        let found = usize::try_from(at).ok().and_then(|at| self.get(at..at.checked_add(into.len())?));
        found.map(|found| into.copy_from_slice(found)).is_some()
    }
}

/// The place of a page: the record, and the position in it.
type Span = (u32, u32);

/// An open kept tree. Holds the places of all pages in memory, and a few opened blocks.
pub struct KeptTree<B> {
    /// Its snapshot.
    pub snapshot: KeptSnapshot,
    records: Records<B>,
    pages: HashMap<ChunkId, Span>,
    recent: Vec<(u32, OpenBlock)>,
}

impl<B: KeptBytes> KeptTree<B> {
    /// Opens a file; `None` without a complete head that this key has sealed.
    pub fn open(key: &Secret, repository: RepositoryId, bytes: B) -> Option<Self> {
        let (mut records, heads) = Records::find(key, repository, bytes)?;
        let (snapshot, pages) = heads.into_iter().rev().find_map(|head| read_head(&records.head(head)?))?;
        Some(Self { snapshot, records, pages, recent: Vec::new() })
    }

    /// A page, checked against its id.
    pub fn page(&mut self, keys: &DomainKeys, id: &ChunkId) -> Option<VerifiedPage> {
        let (height, references, plaintext) = split(self.stored(id)?)?;
        VerifiedPage::open(keys, *id, height, &references, plaintext).ok()
    }

    /// A page in the form that [`KeptWriter::take_over`] takes, unchecked.
    pub fn stored(&mut self, id: &ChunkId) -> Option<&[u8]> {
        let (number, item) = *self.pages.get(id)?;
        if !self.recent.iter().any(|(other, _)| *other == number) {
            let block = self.records.open(BlockKind::Tree, number)?;
            if self.recent.len() >= RECENT {
                self.recent.remove(0);
            }
            self.recent.push((number, block));
        }
        let (_, block) = self.recent.iter().find(|(other, _)| *other == number)?;
        block.chunk(item as usize)
    }
}

struct Records<B> {
    bytes: B,
    /// Offset and length of each record's block, by record number.
    blocks: Vec<(u64, u32)>,
    cipher: SessionCipher,
    tools: OpenTools,
    buffer: Vec<u8>,
}

impl<B: KeptBytes> Records<B> {
    /// Finds all whole records, and the range of records of each head.
    fn find(key: &Secret, repository: RepositoryId, bytes: B) -> Option<(Self, Vec<core::ops::Range<u32>>)> {
        let mut salt = [0; SessionId::LEN];
        if !bytes.read(0, &mut salt) {
            return None;
        }
        let (mut blocks, mut heads, mut begun, mut at) = (Vec::new(), Vec::new(), 0, SessionId::LEN as u64);
        let mut start = [0; START];
        while bytes.read(at, &mut start) {
            let [kind, length @ ..] = start;
            let (length, number) = (u32::from_le_bytes(length), blocks.len() as u32);
            let end = at.checked_add(START as u64 + u64::from(length))?;
            if length > BLOCK_BYTES || end > bytes.length() || kind > HEAD_PART {
                break;
            }
            blocks.push((at + START as u64, length));
            match kind {
                PAGES => begun = number + 1,
                HEAD => {
                    heads.push(begun..number + 1);
                    begun = number + 1;
                }
                _ => {}
            }
            at = end;
        }
        let (tools, buffer) = (OpenTools::new(), Vec::new());
        Some((Self { bytes, blocks, cipher: cipher(key, repository, salt), tools, buffer }, heads))
    }

    fn head(&mut self, parts: core::ops::Range<u32>) -> Option<Vec<u8>> {
        let mut head = Vec::new();
        for number in parts {
            head.extend_from_slice(self.open(BlockKind::Info, number)?.chunk(0)?);
        }
        Some(head)
    }

    fn open(&mut self, kind: BlockKind, number: u32) -> Option<OpenBlock> {
        let (at, length) = *self.blocks.get(number as usize)?;
        self.buffer.resize(length as usize, 0);
        let is_read = self.bytes.read(at, &mut self.buffer);
        let buffer = is_read.then_some(&self.buffer)?;
        OpenBlock::open(&self.cipher, kind, number.into(), buffer, &mut self.tools).ok()
    }
}

/// Writes the next kept tree while its backup runs.
pub struct KeptWriter<C = Compressor> {
    cipher: SessionCipher,
    counters: Counters,
    tools: SealTools<C>,
    builder: BlockBuilder,
    gathered: u32,
    records: u32,
    pages: HashMap<ChunkId, Span>,
    /// All pages, in the order in which the head lists them.
    order: Vec<ChunkId>,
    out: Vec<u8>,
}

impl KeptWriter {
    /// Begins a file. The salt must be new: key and salt give the key of the blocks.
    pub fn begin(key: &Secret, repository: RepositoryId, salt: [u8; SessionId::LEN]) -> Self {
        Self::begin_with(key, repository, salt, Compressor::new(Parameters::of_level(KEPT_LEVEL)))
    }
}

impl<C: Compress> KeptWriter<C> {
    /// Like [`KeptWriter::begin`], with another compressor, of [`KEPT_LEVEL`].
    pub fn begin_with(key: &Secret, repository: RepositoryId, salt: [u8; SessionId::LEN], compressor: C) -> Self {
        Self {
            cipher: cipher(key, repository, salt),
            counters: Counters::new(),
            tools: SealTools::with(compressor),
            builder: BlockBuilder::new(BlockKind::Tree, BLOCK),
            gathered: 0,
            records: 0,
            pages: HashMap::new(),
            order: Vec::new(),
            out: salt.to_vec(),
        }
    }

    /// Adds pages that were just made.
    pub fn add(&mut self, pages: &[Page]) -> Result<(), KeptError> {
        pages.iter().try_for_each(|page| self.push(page.id, &joined(page)))
    }

    /// Adds the old pages that list the content of an unchanged entry. Skips pages that `stored` does not have: then
    /// the next backup reads the file.
    pub fn take_over(
        &mut self,
        content: &Content,
        mut stored: impl FnMut(&ChunkId) -> Option<Vec<u8>>,
    ) -> Result<(), KeptError> {
        let Content::List { root, .. } = content else { return Ok(()) };
        let mut left = vec![*root];
        while let Some(id) = left.pop() {
            // References are pages or chunks; chunks are not kept.
            let Some(bytes) = stored(&id) else { continue };
            self.push(id, &bytes)?;
            left.extend(split(&bytes).map(|(_, references, _)| references).unwrap_or_default());
        }
        Ok(())
    }

    /// Ends with a head: the pages so far make this tree.
    pub fn end(&mut self, snapshot: KeptSnapshot) -> Result<(), KeptError> {
        self.close()?;
        let mut head = Vec::with_capacity(64 + self.pages.len() * (ChunkId::LEN + 8));
        head.extend_from_slice(snapshot.id.map_or(NO_ID, |id| id.0).as_slice());
        head.extend_from_slice(snapshot.root.as_bytes());
        head.extend_from_slice(&snapshot.begun.0.to_le_bytes());
        head.extend_from_slice(&snapshot.bytes.to_le_bytes());
        for id in &self.order {
            let (record, item) = self.pages[id];
            head.extend_from_slice(id.as_bytes());
            head.extend_from_slice(&record.to_le_bytes());
            head.extend_from_slice(&item.to_le_bytes());
        }
        let parts = head.len().div_ceil(HEAD_BYTES);
        for (number, part) in head.chunks(HEAD_BYTES).enumerate() {
            let mut builder = BlockBuilder::new(BlockKind::Info, part.len());
            builder.push(ChunkId([0; ChunkId::LEN]), part, None);
            self.seal(if number + 1 == parts { HEAD } else { HEAD_PART }, builder)?;
        }
        Ok(())
    }

    /// The bytes to append to the file.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        (!self.out.is_empty()).then(|| core::mem::take(&mut self.out))
    }

    #[inline(never)]
    fn push(&mut self, id: ChunkId, bytes: &[u8]) -> Result<(), KeptError> {
        // A page that is too large for a block is not kept: the next backup reads the files that it describes.
        if self.pages.contains_key(&id) || bytes.len() > CHUNK_BYTES as usize {
            return Ok(());
        }
        if !self.builder.wants(bytes.len(), None) {
            self.close()?;
        }
        self.builder.push(id, bytes, None);
        self.pages.insert(id, (self.records, self.gathered));
        self.order.push(id);
        self.gathered += 1;
        if self.builder.is_full() { self.close() } else { Ok(()) }
    }

    #[inline(never)]
    fn close(&mut self) -> Result<(), KeptError> {
        if self.builder.is_empty() {
            return Ok(());
        }
        self.gathered = 0;
        let builder = core::mem::replace(&mut self.builder, BlockBuilder::new(BlockKind::Tree, BLOCK));
        self.seal(PAGES, builder)
    }

    #[inline(never)]
    fn seal(&mut self, kind: u8, mut builder: BlockBuilder) -> Result<(), KeptError> {
        let counter = self.counters.next().ok_or(KeptError::Full)?;
        let Some(job) = builder.take(counter) else { return Ok(()) };
        let sealed = match kind {
            // Not read back: a reader computes every page's id and skips wrong pages.
            PAGES => job.run_unread(&mut self.tools, &self.cipher),
            _ => job.run(&mut self.tools, &self.cipher)?,
        };
        self.out.push(kind);
        self.out.extend_from_slice(&(sealed.bytes.len() as u32).to_le_bytes());
        self.out.extend_from_slice(&sealed.bytes);
        self.records += 1;
        Ok(())
    }
}

/// The cipher of one file: its salt takes the place of a session id.
fn cipher(key: &Secret, repository: RepositoryId, salt: [u8; SessionId::LEN]) -> SessionCipher {
    SessionCipher::new(&SessionKey::new(key.clone()), repository, SessionId(salt))
}

fn read_head(bytes: &[u8]) -> Option<(KeptSnapshot, HashMap<ChunkId, Span>)> {
    let mut fields = Cursor::new(bytes);
    let id = fields.array().ok()?;
    let snapshot = KeptSnapshot {
        id: (id != NO_ID).then_some(SnapshotId(id)),
        root: ChunkId(fields.array().ok()?),
        begun: Time(fields.i64().ok()?),
        bytes: fields.u64().ok()?,
    };
    let mut pages = HashMap::with_capacity(fields.remaining() / (ChunkId::LEN + 8));
    while fields.remaining() > 0 {
        let id = ChunkId(fields.array().ok()?);
        pages.insert(id, (fields.u32().ok()?, fields.u32().ok()?));
    }
    Some((snapshot, pages))
}

/// `height u8 ‖ n u32 ‖ n × reference 24 ‖ plaintext`.
fn joined(page: &Page) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(5 + page.references.len() * ChunkId::LEN + page.plaintext.len());
    bytes.push(page.height);
    bytes.extend_from_slice(&(page.references.len() as u32).to_le_bytes());
    page.references.iter().for_each(|id| bytes.extend_from_slice(id.as_bytes()));
    bytes.extend_from_slice(&page.plaintext);
    bytes
}

fn split(bytes: &[u8]) -> Option<(u8, Vec<ChunkId>, &[u8])> {
    let mut fields = Cursor::new(bytes);
    let (height, count) = (fields.u8().ok()?, fields.u32().ok()? as usize);
    let references = fields.take(count.checked_mul(ChunkId::LEN)?).ok()?;
    let references = references.chunks_exact(ChunkId::LEN).map(ChunkId::from_slice).collect::<Option<Vec<_>>>()?;
    Some((height, references, fields.take(fields.remaining()).ok()?))
}

/// Kinds of records: a block of pages; the last part of a head; an earlier part of one.
const PAGES: u8 = 0;
const HEAD: u8 = 1;
const HEAD_PART: u8 = 2;
/// Bytes before a record's block.
const START: usize = 5;
/// Stands for a snapshot's id that was not known yet.
const NO_ID: [u8; SnapshotId::LEN] = [0; SnapshotId::LEN];
/// Bytes of pages in a block, before compression.
const BLOCK: usize = 256 << 10;
/// Bytes of a head in one block, before compression.
const HEAD_BYTES: usize = 4 << 20;
/// Blocks kept open.
const RECENT: usize = 8;
/// The level of compression of a kept tree.
pub const KEPT_LEVEL: i32 = 1;

#[cfg(test)]
mod tests;
