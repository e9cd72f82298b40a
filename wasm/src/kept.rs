//! Kept tree: a client's copy of its last tree, sealed with its own key, for the next backup to compare with. Its
//! content is checked like everything else: pages must have their ids, and chunks are looked up in the index. If it is
//! lost, files are read again, but not uploaded again.
//!
//! The file only grows at its end, so a host can append while it works: `salt 16 ‖ records`; a record is `kind u8 ‖
//! length u32 ‖ a sealed block`. A head record says where each page is; the last complete head counts.

use std::cell::RefCell;
use std::collections::HashMap;

use copal_engine::block::{BlockBuilder, OpenBlock, OpenTools, SealTools};
use copal_engine::compress::Parameters;
use copal_engine::id::{ChunkId, RepositoryId, SessionId};
use copal_engine::keys::domain::DomainKeys;
use copal_engine::keys::secret::Secret;
use copal_engine::limits::{BLOCK_BYTES, CHUNK_BYTES};
use copal_engine::seal::{BlockKind, Counters, SessionCipher};
use copal_engine::time::Time;
use copal_engine::tree::{Content, Page, VerifiedPage};

use crate::fault::{Code, Fault};
use crate::sealed;

/// The snapshot of a kept tree.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptSnapshot {
    pub(crate) root: ChunkId,
    /// When its backup began, by the client's clock.
    pub(crate) begun: Time,
    /// Bytes of its files.
    pub(crate) bytes: u64,
}

/// The place of a page: the record, and the position in it.
type Place = (u32, u32);

/// An open kept tree.
pub(crate) struct KeptTree {
    pub(crate) snapshot: KeptSnapshot,
    bytes: Vec<u8>,
    /// The ranges of the records' blocks, by record number.
    records: Vec<core::ops::Range<usize>>,
    pages: HashMap<ChunkId, Place>,
    cipher: SessionCipher,
    recent: RefCell<Recent>,
}

#[derive(Default)]
struct Recent {
    tools: OpenTools,
    blocks: Vec<(u32, OpenBlock)>,
}

impl KeptTree {
    /// Opens a file; `None` without a complete head of this client.
    pub(crate) fn open(key: &Secret, repository: RepositoryId, bytes: Vec<u8>) -> Option<Self> {
        let (salt, _) = bytes.split_first_chunk::<{ SessionId::LEN }>()?;
        let cipher = sealed::cipher(key, repository, *salt);
        let (mut records, mut heads, mut at) = (Vec::new(), Vec::new(), SessionId::LEN);
        while let Some((kind, block)) = record_at(&bytes, at) {
            at = block.end;
            if kind == HEAD {
                heads.push(records.len());
            }
            records.push(block);
        }
        let mut recent = Recent::default();
        let (snapshot, pages) = heads.into_iter().rev().find_map(|number| {
            let stored = &bytes[records[number].clone()];
            let block = OpenBlock::open(&cipher, BlockKind::Info, number as u64, stored, &mut recent.tools).ok()?;
            read_head(block.chunk(0)?)
        })?;
        Some(Self { snapshot, bytes, records, pages, cipher, recent: RefCell::new(recent) })
    }

    /// A page, checked against its id.
    pub(crate) fn page(&self, keys: &DomainKeys, id: &ChunkId) -> Option<VerifiedPage> {
        self.with_stored(id, |bytes| {
            let (height, references, plaintext) = split(bytes)?;
            VerifiedPage::open(keys, *id, height, &references, plaintext).ok()
        })
    }

    fn with_stored<T>(&self, id: &ChunkId, act: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        let (number, item) = *self.pages.get(id)?;
        let mut recent = self.recent.borrow_mut();
        let recent = &mut *recent;
        if !recent.blocks.iter().any(|(other, _)| *other == number) {
            let stored = &self.bytes[self.records.get(number as usize)?.clone()];
            let block =
                OpenBlock::open(&self.cipher, BlockKind::Tree, number.into(), stored, &mut recent.tools).ok()?;
            if recent.blocks.len() >= RECENT {
                recent.blocks.remove(0);
            }
            recent.blocks.push((number, block));
        }
        let (_, block) = recent.blocks.iter().find(|(other, _)| *other == number)?;
        act(block.chunk(item as usize)?)
    }
}

/// Writes the next kept tree while its backup runs.
pub(crate) struct KeptWriter {
    cipher: SessionCipher,
    counters: Counters,
    tools: SealTools,
    builder: BlockBuilder,
    gathered: u32,
    records: u32,
    pages: HashMap<ChunkId, Place>,
    out: Vec<u8>,
}

impl KeptWriter {
    /// Begins a file.
    pub(crate) fn begin(key: &Secret, repository: RepositoryId, salt: [u8; SessionId::LEN]) -> Self {
        Self {
            cipher: sealed::cipher(key, repository, salt),
            counters: Counters::new(),
            tools: SealTools::new(Parameters::of_level(LEVEL)),
            builder: BlockBuilder::new(BlockKind::Tree, BLOCK),
            gathered: 0,
            records: 0,
            pages: HashMap::new(),
            out: salt.to_vec(),
        }
    }

    /// Adds pages that were just made.
    pub(crate) fn add(&mut self, pages: &[Page]) -> Result<(), Fault> {
        pages.iter().try_for_each(|page| self.push(page.id, &joined(page)))
    }

    /// Adds the old pages that list the content of an unchanged entry; skips those that were not kept.
    pub(crate) fn take_over(&mut self, content: &Content, before: &[KeptTree]) -> Result<(), Fault> {
        let Content::List { root, .. } = content else { return Ok(()) };
        let mut left = vec![*root];
        while let Some(id) = left.pop() {
            let stored = before.iter().find_map(|tree| tree.with_stored(&id, |bytes| Some(bytes.to_vec())));
            let Some(bytes) = stored else { continue };
            self.push(id, &bytes)?;
            let references = split(&bytes).map(|(_, references, _)| references).unwrap_or_default();
            // Other references are chunks.
            left.extend(references.into_iter().filter(|id| before.iter().any(|tree| tree.pages.contains_key(id))));
        }
        Ok(())
    }

    /// Ends with a head: the pages so far make this tree.
    pub(crate) fn end(&mut self, snapshot: KeptSnapshot) -> Result<(), Fault> {
        self.close()?;
        let mut head = Vec::with_capacity(40 + self.pages.len() * (ChunkId::LEN + 8));
        head.extend_from_slice(snapshot.root.as_bytes());
        head.extend_from_slice(&snapshot.begun.0.to_le_bytes());
        head.extend_from_slice(&snapshot.bytes.to_le_bytes());
        let mut pages: Vec<_> = self.pages.iter().collect();
        pages.sort_unstable();
        for (id, (record, item)) in pages {
            head.extend_from_slice(id.as_bytes());
            head.extend_from_slice(&record.to_le_bytes());
            head.extend_from_slice(&item.to_le_bytes());
        }
        // A tree with too many pages for one head is not kept: the next backup reads every file.
        if head.len() > CHUNK_BYTES as usize {
            return Ok(());
        }
        let mut builder = BlockBuilder::new(BlockKind::Info, head.len());
        builder.push(ChunkId([0; ChunkId::LEN]), &head, None);
        self.seal(HEAD, builder)
    }

    /// The bytes to append to the file.
    pub(crate) fn take(&mut self) -> Option<Vec<u8>> {
        (!self.out.is_empty()).then(|| core::mem::take(&mut self.out))
    }

    fn push(&mut self, id: ChunkId, bytes: &[u8]) -> Result<(), Fault> {
        if self.pages.contains_key(&id) || bytes.len() > CHUNK_BYTES as usize {
            return Ok(());
        }
        if !self.builder.wants(bytes.len(), None) {
            self.close()?;
        }
        self.builder.push(id, bytes, None);
        self.pages.insert(id, (self.records, self.gathered));
        self.gathered += 1;
        if self.builder.is_full() { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<(), Fault> {
        if self.builder.is_empty() {
            return Ok(());
        }
        self.gathered = 0;
        let builder = core::mem::replace(&mut self.builder, BlockBuilder::new(BlockKind::Tree, BLOCK));
        self.seal(PAGES, builder)
    }

    fn seal(&mut self, kind: u8, mut builder: BlockBuilder) -> Result<(), Fault> {
        let used_up = || Fault::new(Code::SessionUsedUp, "the tree has too many pages to be kept");
        let counter = self.counters.next().ok_or_else(used_up)?;
        let Some(job) = builder.take(counter) else { return Ok(()) };
        let sealed = match kind {
            HEAD => job.run(&mut self.tools, &self.cipher)?,
            // Not read back: a reader computes every page's id and skips wrong pages.
            _ => job.run_unread(&mut self.tools, &self.cipher),
        };
        self.out.push(kind);
        self.out.extend_from_slice(&(sealed.bytes.len() as u32).to_le_bytes());
        self.out.extend_from_slice(&sealed.bytes);
        self.records += 1;
        Ok(())
    }
}

/// The kind of the record at an offset and the range of its block; `None` at the end, or where the file was cut.
fn record_at(bytes: &[u8], at: usize) -> Option<(u8, core::ops::Range<usize>)> {
    let head: [u8; 5] = bytes.get(at..at.checked_add(5)?)?.try_into().ok()?;
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    let end = (at + 5).checked_add(length as usize)?;
    (length <= BLOCK_BYTES && matches!(head[0], PAGES | HEAD) && end <= bytes.len()).then_some((head[0], at + 5..end))
}

fn read_head(bytes: &[u8]) -> Option<(KeptSnapshot, HashMap<ChunkId, Place>)> {
    let (root, rest) = bytes.split_first_chunk::<{ ChunkId::LEN }>()?;
    let (begun, rest) = rest.split_first_chunk()?;
    let (size, rest) = rest.split_first_chunk()?;
    let snapshot = KeptSnapshot {
        root: ChunkId(*root),
        begun: Time(i64::from_le_bytes(*begun)),
        bytes: u64::from_le_bytes(*size),
    };
    let mut pages = HashMap::new();
    for row in rest.chunks(ChunkId::LEN + 8) {
        let (id, place) = row.split_first_chunk::<{ ChunkId::LEN }>()?;
        let place: [u8; 8] = place.try_into().ok()?;
        let [a, b, c, d, e, f, g, h] = place;
        pages.insert(ChunkId(*id), (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])));
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
    let (height, rest) = bytes.split_first()?;
    let (count, rest) = rest.split_first_chunk()?;
    let length = (u32::from_le_bytes(*count) as usize).checked_mul(ChunkId::LEN)?;
    let (references, plaintext) = rest.split_at_checked(length)?;
    let references = references.chunks_exact(ChunkId::LEN).map(ChunkId::from_slice).collect::<Option<Vec<_>>>()?;
    Some((*height, references, plaintext))
}

const PAGES: u8 = 0;
const HEAD: u8 = 1;
/// Bytes of pages per block, before compression.
const BLOCK: usize = 256 << 10;
/// Blocks kept open.
const RECENT: usize = 8;
const LEVEL: i32 = 1;
