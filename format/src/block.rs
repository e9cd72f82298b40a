//! Blocks: chunks or pages, compressed and sealed together. The unit of compression, encryption and deletion.

mod fault;
mod pending;
mod plaintext;

use crate::compress::{Compress, Compressor, Decompressor, Parameters};
use crate::id::ChunkId;
use crate::limits::{BLOCK_ENTRIES, CHUNK_BYTES, CLEAR_SHARE, SESSION_RECORD_BYTES};
use crate::seal::{BlockKind, Counter, NONCE, SessionCipher};
use plaintext::{Codec, Parts};

pub use fault::{BlockError, SealFault};
pub use pending::PendingBlock;
pub use plaintext::padme;

/// What a tree pack's table says about a page in the clear, for a service without keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageClear {
    /// Greater than the height of every chunk and page that it refers to.
    pub height: u8,
    /// The chunks and pages it refers to, each once, in order of first use.
    pub references: Vec<ChunkId>,
    /// The page of the parent snapshot that this page replaces: a hint.
    pub replaces: Option<ChunkId>,
}

/// A chunk or page of a block, as the pack's table lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockItem {
    /// Its id.
    pub id: ChunkId,
    /// Its length in bytes before compression. Not in the table.
    pub length: u32,
    /// What the table says about it, if it is a page.
    pub page: Option<PageClear>,
}

impl BlockItem {
    /// Bytes of its row in the pack's table.
    pub fn row_length(&self) -> u64 {
        row_length(self.page.as_ref())
    }
}

/// Collects chunks or pages until they make a block.
#[derive(Debug)]
pub struct BlockBuilder {
    kind: BlockKind,
    target: usize,
    items: Vec<BlockItem>,
    raw: Vec<u8>,
    /// Bytes of all items, including those that the host keeps.
    length: usize,
    /// Bytes of the items' rows in a pack's table.
    rows: u64,
}

impl BlockBuilder {
    /// Starts empty. A target above 8 MiB counts as 8 MiB, so that no block exceeds the limits.
    pub fn new(kind: BlockKind, target: usize) -> Self {
        Self { kind, target: target.min(TARGET), items: Vec::new(), raw: Vec::new(), length: 0, rows: 0 }
    }

    /// Whether to add an item to the open block; if not, take the block first. An item of at least half the target may
    /// not take the block past the target. No item may take the block's rows past what one pack's table may have.
    pub fn wants(&self, length: usize, page: Option<&PageClear>) -> bool {
        let has_room = 2 * length < self.target || self.length + length <= self.target;
        self.is_empty() || (has_room && self.rows + row_length(page) <= ROWS_MOST)
    }

    /// Adds a chunk, or a page with what the table says about it.
    ///
    /// # Panics
    /// If the item is longer than any chunk or page may be, or the block is full.
    pub fn push(&mut self, id: ChunkId, bytes: &[u8], page: Option<PageClear>) {
        assert!(bytes.len() <= CHUNK_BYTES as usize, "chunks and pages are cut within the limit");
        assert!(!self.is_full(), "a full block is taken before more is added");
        self.rows += row_length(page.as_ref());
        self.items.push(BlockItem { id, length: bytes.len() as u32, page });
        self.raw.extend_from_slice(bytes);
        self.length += bytes.len();
    }

    /// Adds a chunk whose bytes the host keeps and compresses. The block can then only be parted: [`SealJob::part`].
    ///
    /// # Panics
    /// If the chunk is longer than any chunk may be, or the block is full.
    pub fn push_elsewhere(&mut self, id: ChunkId, length: u32) {
        assert!(length <= CHUNK_BYTES, "chunks are cut within the limit");
        assert!(!self.is_full(), "a full block is taken before more is added");
        self.rows += row_length(None);
        self.items.push(BlockItem { id, length, page: None });
        self.length += length as usize;
    }

    /// Moves all items of another block of this kind to the end of this one, if both have items and fit in one. Does
    /// nothing if the host keeps the bytes of one of them.
    pub fn append(&mut self, other: &mut Self) {
        let fits = self.kind == other.kind
            && self.length + other.length <= self.target
            && self.items.len() + other.items.len() <= BLOCK_ENTRIES as usize
            && self.rows + other.rows <= ROWS_MOST;
        let is_here = |block: &Self| !block.is_empty() && block.raw.len() == block.length;
        if !(fits && is_here(self) && is_here(other)) {
            return;
        }
        self.items.append(&mut other.items);
        self.raw.append(&mut other.raw);
        self.length += core::mem::take(&mut other.length);
        self.rows += core::mem::take(&mut other.rows);
    }

    /// Whether the block must be taken before another item is added.
    pub fn is_full(&self) -> bool {
        !self.is_empty() && (self.length >= self.target || self.items.len() >= BLOCK_ENTRIES as usize)
    }

    /// Whether the block has no items.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Takes the collected items as the block of this number; none if there are no items, and the number stays unused.
    pub fn take(&mut self, counter: Counter) -> Option<SealJob> {
        if self.is_empty() {
            return None;
        }
        // The next block will be about as long, perhaps a little longer: growing would copy it.
        let next = Vec::with_capacity(self.raw.len() + self.raw.len() / 4);
        let raw = core::mem::replace(&mut self.raw, next);
        let items = core::mem::take(&mut self.items);
        (self.length, self.rows) = (0, 0);
        Some(SealJob { kind: self.kind, counter, items, raw, stored: Vec::new() })
    }
}

/// A block to be compressed and sealed on any thread. Its number is already fixed.
#[derive(Debug)]
pub struct SealJob {
    /// What the block holds.
    pub kind: BlockKind,
    /// The items, in order.
    pub items: Vec<BlockItem>,
    counter: Counter,
    raw: Vec<u8>,
    stored: Vec<u8>,
}

impl SealJob {
    /// Seals the block into a used buffer, because a new buffer costs a page fault for each memory page.
    pub fn into_buffer(self, stored: Vec<u8>) -> Self {
        Self { stored, ..self }
    }

    /// The number of the block in its session.
    pub fn counter(&self) -> u64 {
        self.counter.get()
    }

    /// Bytes before compression.
    pub fn raw_length(&self) -> u64 {
        self.items.iter().map(|item| u64::from(item.length)).sum()
    }

    /// Separates the block from its bytes, for a host that compresses ([`SealTools::plaintext`]) and seals in different
    /// places. The bytes are empty if the chunks came by `BlockBuilder::push_elsewhere`.
    pub fn part(self) -> (PendingBlock, Vec<u8>) {
        let raw_length = self.raw_length();
        let SealJob { kind, items, counter, raw, .. } = self;
        (PendingBlock::new(kind, items, counter, raw_length), raw)
    }

    /// Seals the block, then opens it again and compares, so that an encoder's error does not become a lost backup.
    pub fn run<C: Compress>(self, tools: &mut SealTools<C>, cipher: &SessionCipher) -> Result<SealedBlock, SealFault> {
        let (block, lengths, raw) = self.seal(tools, cipher);
        tools.verify(cipher, block.kind, block.counter, &block.bytes, &lengths, &raw)?;
        Ok(block)
    }

    /// Seals the block without reading it back. Only for redundant copies, on which nobody has to rely.
    pub fn run_unread<C: Compress>(self, tools: &mut SealTools<C>, cipher: &SessionCipher) -> SealedBlock {
        self.seal(tools, cipher).0
    }

    /// Returns the block, the lengths of its items, and their bytes.
    fn seal<C: Compress>(self, tools: &mut SealTools<C>, cipher: &SessionCipher) -> (SealedBlock, Vec<u32>, Vec<u8>) {
        let SealJob { kind, items, counter, raw, stored } = self;
        let number = counter.get();
        let lengths: Vec<u32> = items.iter().map(|item| item.length).collect();
        plaintext::encode(&lengths, &raw, &mut tools.compressor, &mut tools.plaintext);
        let bytes = cipher.seal_into(kind, counter, &tools.plaintext, stored);
        (SealedBlock { kind, counter: number, items, bytes, raw_length: raw.len() as u64 }, lengths, raw)
    }
}

/// A block as a pack stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedBlock {
    /// What it holds.
    pub kind: BlockKind,
    /// Its number in the session.
    pub counter: u64,
    /// Its items, in order.
    pub items: Vec<BlockItem>,
    /// The stored bytes.
    pub bytes: Vec<u8>,
    /// Bytes before compression.
    pub raw_length: u64,
}

/// Reusable contexts and buffers with which one thread seals blocks.
#[derive(Debug)]
pub struct SealTools<C = Compressor> {
    compressor: C,
    plaintext: Vec<u8>,
    open: OpenTools,
    raw: Vec<u8>,
}

impl SealTools {
    /// Prepares to compress with the parameters.
    pub fn new(parameters: Parameters) -> Self {
        Self::with(Compressor::new(parameters))
    }
}

impl<C: Compress> SealTools<C> {
    /// Prepares to seal what something else compresses.
    pub fn with(compressor: C) -> Self {
        Self { compressor, plaintext: Vec::new(), open: OpenTools::new(), raw: Vec::new() }
    }

    /// Encodes a block's plaintext from chunks of these lengths, which follow each other in `raw`. Decompresses it
    /// again and compares, in case of an encoder's error.
    pub fn plaintext(&mut self, counter: u64, lengths: &[u32], raw: &[u8]) -> Result<Vec<u8>, SealFault> {
        let mut plaintext = Vec::new();
        plaintext::encode(lengths, raw, &mut self.compressor, &mut plaintext);
        let unreadable = |source| SealFault::Unreadable { counter, source };
        let parts = Parts::parse(&plaintext).map_err(|source| unreadable(BlockError::Malformed { counter, source }))?;
        self.open.plaintext.clone_from(&plaintext);
        let unpacked = match parts.codec {
            Codec::Raw => &plaintext[parts.payload.clone()],
            Codec::Zstd => {
                self.open.decompress(&parts, counter, &mut self.raw).map_err(unreadable)?;
                &self.raw
            }
        };
        if is_same(unpacked, raw) && parts.lengths == lengths {
            Ok(plaintext)
        } else {
            Err(SealFault::Differs { counter })
        }
    }

    /// Checks that a stored block opens to exactly these chunks.
    fn verify(
        &mut self,
        cipher: &SessionCipher,
        kind: BlockKind,
        counter: u64,
        stored: &[u8],
        lengths: &[u32],
        raw: &[u8],
    ) -> Result<(), SealFault> {
        let unreadable = |source| SealFault::Unreadable { counter, source };
        let parts = self.open.open(cipher, kind, counter, stored).map_err(unreadable)?;
        let opened = match parts.codec {
            Codec::Raw => &self.open.plaintext[parts.payload.clone()],
            Codec::Zstd => {
                self.open.decompress(&parts, counter, &mut self.raw).map_err(unreadable)?;
                &self.raw
            }
        };
        if is_same(opened, raw) && parts.lengths == lengths { Ok(()) } else { Err(SealFault::Differs { counter }) }
    }
}

/// Reusable contexts and buffers with which one thread opens blocks.
#[derive(Debug, Default)]
pub struct OpenTools {
    decompressor: Decompressor,
    plaintext: Vec<u8>,
}

impl OpenTools {
    /// Prepares to open blocks.
    pub fn new() -> Self {
        Self::default()
    }

    fn open(
        &mut self,
        cipher: &SessionCipher,
        kind: BlockKind,
        counter: u64,
        stored: &[u8],
    ) -> Result<Parts, BlockError> {
        cipher.open(kind, counter, stored, &mut self.plaintext)?;
        Parts::parse(&self.plaintext).map_err(|source| BlockError::Malformed { counter, source })
    }

    fn decompress(&mut self, parts: &Parts, counter: u64, raw: &mut Vec<u8>) -> Result<(), BlockError> {
        let done = parts.decompress(&self.plaintext, &mut self.decompressor, raw);
        done.map_err(|source| BlockError::Compression { counter, source })
    }
}

/// An opened block. The caller still has to check the ids of its chunks or pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenBlock {
    bytes: Vec<u8>,
    /// The start of each item in `bytes`, then the end of the last one.
    bounds: Vec<usize>,
}

impl OpenBlock {
    /// Opens a stored block of this kind and number.
    pub fn open(
        cipher: &SessionCipher,
        kind: BlockKind,
        counter: u64,
        stored: &[u8],
        tools: &mut OpenTools,
    ) -> Result<Self, BlockError> {
        let parts = tools.open(cipher, kind, counter, stored)?;
        Self::unpack(&parts, counter, tools)
    }

    /// Reads a block of this kind and number that another cipher, such as a browser's, has opened under `nonce`. Checks
    /// that the plaintext is what was sealed.
    pub fn opened(
        cipher: &SessionCipher,
        kind: BlockKind,
        counter: u64,
        nonce: &[u8; NONCE],
        plaintext: Vec<u8>,
        tools: &mut OpenTools,
    ) -> Result<Self, BlockError> {
        cipher.check(kind, counter, nonce, &plaintext)?;
        tools.plaintext = plaintext;
        let parts = Parts::parse(&tools.plaintext).map_err(|source| BlockError::Malformed { counter, source })?;
        Self::unpack(&parts, counter, tools)
    }

    /// Decompresses the plaintext that `tools` holds.
    fn unpack(parts: &Parts, counter: u64, tools: &mut OpenTools) -> Result<Self, BlockError> {
        let (bytes, start) = match parts.codec {
            Codec::Raw => (core::mem::take(&mut tools.plaintext), parts.payload.start),
            Codec::Zstd => {
                let mut raw = Vec::new();
                tools.decompress(parts, counter, &mut raw)?;
                (raw, 0)
            }
        };
        let mut bounds = vec![start];
        bounds.extend(parts.lengths.iter().scan(start, |end, &length| {
            *end += length as usize;
            Some(*end)
        }));
        Ok(Self { bytes, bounds })
    }

    /// How many chunks or pages it holds.
    #[expect(clippy::len_without_is_empty, reason = "a block holds at least one item")]
    pub fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The chunk or page at a position in the block.
    pub fn chunk(&self, ordinal: usize) -> Option<&[u8]> {
        let end = *self.bounds.get(ordinal.checked_add(1)?)?;
        Some(&self.bytes[self.bounds[ordinal]..end])
    }
}

/// Compares 64 bytes at a time. WebAssembly's library compares single bytes, in a twentieth of the time of compression.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<64>(), b.as_chunks::<64>());
    let differing = |(a, b): (&[u8; 64], &[u8; 64])| a.iter().zip(b).fold(0, |bits, (a, b)| bits | (a ^ b)) != 0;
    a.len() == b.len() && a_rest == b_rest && !a.iter().zip(b).any(differing)
}

fn row_length(page: Option<&PageClear>) -> u64 {
    page.map_or(CHUNK_ROW, |page| PAGE_ROW + page.references.len() as u64 * REFERENCE)
}

/// A block of this length plus one item of the largest size is within the limits.
const TARGET: usize = 8 << 20;
/// The most bytes of table rows in one block: with the longest pack header they fit one pack's share of a manifest.
const ROWS_MOST: u64 = CLEAR_SHARE - (1 << 10) - SESSION_RECORD_BYTES as u64;
/// Bytes of a table row for a chunk, for a page, and for each reference of a page.
const CHUNK_ROW: u64 = 24;
const PAGE_ROW: u64 = 56;
const REFERENCE: u64 = 24;

#[cfg(test)]
mod tests;
