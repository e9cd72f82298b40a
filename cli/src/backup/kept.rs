//! Kept tree: a write-only client's own copy of the pages of its last tree, sealed with the device key. The client
//! cannot open what it has stored, so without this copy it would read every file again. Pages are checked by their ids,
//! and chunks are looked up in the index. Losing or damaging the copy costs reading, never uploading.
//!
//! The file holds blocks of pages, then a head that says where each page lies, then the head's position in the clear.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use copal_engine::block::{BlockBuilder, OpenBlock, OpenTools, SealTools};
use copal_engine::compress::Parameters;
use copal_engine::id::{ChunkId, SessionId, SnapshotId, SourceId};
use copal_engine::keys::domain::DomainKeys;
use copal_engine::keys::session::SessionKey;
use copal_engine::limits::{BLOCK_BYTES, CHUNK_BYTES};
use copal_engine::seal::{BlockKind, Counters, SessionCipher};
use copal_engine::time::Time;
use copal_engine::tree::{Content, Page, VerifiedPage};

use crate::entropy::random;
use crate::reader::{Pages, ReadError};
use crate::repository::Enrolled;

/// The snapshot that a kept tree belongs to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptSnapshot {
    pub(super) id: SnapshotId,
    pub(super) root: ChunkId,
    /// When its backup began, by this machine's clock.
    pub(super) begun: Time,
    /// Total bytes of its files.
    pub(super) bytes: u64,
}

pub(super) struct KeptTree {
    pub(super) snapshot: KeptSnapshot,
    file: File,
    cipher: SessionCipher,
    keys: DomainKeys,
    /// Offset and length of each block; a block's number is its index here.
    blocks: Vec<(u64, u32)>,
    /// Block number and position in the block of each page.
    pages: HashMap<ChunkId, (u32, u32)>,
    recent: Mutex<Recent>,
}

#[derive(Default)]
struct Recent {
    tools: OpenTools,
    blocks: Vec<(u32, Arc<OpenBlock>)>,
}

impl KeptTree {
    /// Opens the kept tree of a source; none if there is none, or if it cannot be read.
    pub(super) fn open(enrolled: &Enrolled, source: SourceId, keys: &DomainKeys) -> Option<Self> {
        let file = File::open(path(enrolled, source)?).ok()?;
        let length = file.metadata().ok()?.len();
        let mut salt = [0; SessionId::LEN];
        file.read_exact_at(&mut salt, 0).ok()?;
        let mut tail = [0; TAIL];
        file.read_exact_at(&mut tail, length.checked_sub(TAIL as u64)?).ok()?;
        let mut tail = Fields(&tail);
        let (at, head_blocks, blocks) = (tail.u64()?, tail.u32()?, tail.u32()?);
        if tail.0 != MAGIC {
            return None;
        }
        let cipher = cipher(enrolled, SessionId(salt));
        let mut tools = OpenTools::new();
        let mut head = Vec::new();
        let mut at = at;
        for number in 0..head_blocks {
            let mut bytes = [0; 4];
            file.read_exact_at(&mut bytes, at).ok()?;
            let stored = read_block(&file, at + 4, u32::from_le_bytes(bytes)).ok()?;
            let counter = u64::from(blocks) + u64::from(number);
            let block = OpenBlock::open(&cipher, BlockKind::Info, counter, &stored, &mut tools).ok()?;
            head.extend_from_slice(block.chunk(0)?);
            at += 4 + stored.len() as u64;
        }
        let mut head = Fields(&head);
        let snapshot = KeptSnapshot {
            id: SnapshotId::from_slice(head.take(SnapshotId::LEN)?)?,
            root: ChunkId::from_slice(head.take(ChunkId::LEN)?)?,
            begun: Time(head.u64()? as i64),
            bytes: head.u64()?,
        };
        let places: Option<Vec<(u64, u32)>> = (0..blocks).map(|_| Some((head.u64()?, head.u32()?))).collect();
        let mut pages = HashMap::new();
        while !head.0.is_empty() {
            pages.insert(ChunkId::from_slice(head.take(ChunkId::LEN)?)?, (head.u32()?, head.u32()?));
        }
        let (keys, recent) = (keys.clone(), Mutex::default());
        Some(Self { snapshot, file, cipher, keys, blocks: places?, pages, recent })
    }

    /// The opened block that holds a page, and the page's position in it.
    fn stored(&self, id: &ChunkId) -> Result<(Arc<OpenBlock>, usize), ReadError> {
        let (number, item) = *self.pages.get(id).ok_or(ReadError::Absent { id: *id })?;
        let damaged = |why: String| ReadError::Damaged { id: *id, object: "the kept tree".into(), why };
        let mut recent = self.recent.lock().expect("no reader panics");
        if let Some((_, block)) = recent.blocks.iter().find(|(other, _)| *other == number) {
            return Ok((block.clone(), item as usize));
        }
        let (at, length) = *self.blocks.get(number as usize).ok_or_else(|| damaged("it has no such block".into()))?;
        let stored = read_block(&self.file, at, length).map_err(|error| damaged(error.to_string()))?;
        let opened = OpenBlock::open(&self.cipher, BlockKind::Tree, number.into(), &stored, &mut recent.tools);
        let block = Arc::new(opened.map_err(|error| damaged(error.to_string()))?);
        if recent.blocks.len() >= RECENT {
            recent.blocks.remove(0);
        }
        recent.blocks.push((number, block.clone()));
        Ok((block, item as usize))
    }
}

impl Pages for KeptTree {
    fn page(&self, id: &ChunkId) -> Result<VerifiedPage, ReadError> {
        let damaged = |why: String| ReadError::Damaged { id: *id, object: "the kept tree".into(), why };
        let (block, item) = self.stored(id)?;
        let page = block.chunk(item).and_then(split);
        let (height, references, plaintext) = page.ok_or_else(|| damaged("it holds no such page".into()))?;
        VerifiedPage::open(&self.keys, *id, height, &references, plaintext).map_err(|error| damaged(error.to_string()))
    }
}

/// Writes the next kept tree while the backup builds it.
pub(super) struct KeptWriter {
    path: PathBuf,
    unfinished: PathBuf,
    file: File,
    cipher: SessionCipher,
    counters: Counters,
    tools: SealTools,
    builder: BlockBuilder,
    gathered: u32,
    at: u64,
    blocks: Vec<(u64, u32)>,
    pages: HashMap<ChunkId, (u32, u32)>,
    /// The previous kept tree, from which the content lists of unchanged huge files are copied.
    before: Option<Arc<KeptTree>>,
}

impl KeptWriter {
    /// Begins a kept tree; none if this machine has no cache directory.
    pub(super) fn begin(
        enrolled: &Enrolled,
        source: SourceId,
        before: Option<Arc<KeptTree>>,
    ) -> Option<io::Result<Self>> {
        let path = path(enrolled, source)?;
        remove_leftovers(&path);
        let unfinished = path.with_extension(format!("{:016x}", u64::from_le_bytes(random())));
        let salt: [u8; SessionId::LEN] = random();
        let create = |path: &Path| {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(&salt)?;
            Ok(file)
        };
        let file = match create(&unfinished) {
            Ok(file) => file,
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(Self {
            path,
            unfinished,
            file,
            cipher: cipher(enrolled, SessionId(salt)),
            counters: Counters::new(),
            tools: SealTools::new(Parameters::of_level(LEVEL)),
            builder: BlockBuilder::new(BlockKind::Tree, BLOCK),
            gathered: 0,
            at: salt.len() as u64,
            blocks: Vec::new(),
            pages: HashMap::new(),
            before,
        }))
    }

    /// Adds pages that were just made.
    pub(super) fn add(&mut self, pages: Vec<Page>) -> io::Result<()> {
        pages.iter().try_for_each(|page| self.push(page.id, &joined(page)))
    }

    /// Copies the pages that list an unchanged entry's content. Pages that the previous kept tree lacks are skipped:
    /// the next backup then reads the file once.
    pub(super) fn take_over(&mut self, content: &Content) -> io::Result<()> {
        let (Content::List { root, .. }, Some(before)) = (content, self.before.clone()) else { return Ok(()) };
        let mut left = vec![*root];
        while let Some(id) = left.pop() {
            let Ok((block, item)) = before.stored(&id) else { continue };
            let Some(bytes) = block.chunk(item) else { continue };
            self.push(id, bytes)?;
            let references = split(bytes).map(|(_, references, _)| references).unwrap_or_default();
            // References to ids that are not pages are chunks.
            left.extend(references.into_iter().filter(|id| before.pages.contains_key(id)));
        }
        Ok(())
    }

    /// Replaces the previous kept tree with this one.
    pub(super) fn finish(mut self, snapshot: KeptSnapshot) -> io::Result<()> {
        self.close()?;
        let mut head = Vec::with_capacity(64 + self.pages.len() * (ChunkId::LEN + 8));
        head.extend_from_slice(snapshot.id.as_bytes());
        head.extend_from_slice(snapshot.root.as_bytes());
        head.extend_from_slice(&(snapshot.begun.0 as u64).to_le_bytes());
        head.extend_from_slice(&snapshot.bytes.to_le_bytes());
        for (at, length) in &self.blocks {
            head.extend_from_slice(&at.to_le_bytes());
            head.extend_from_slice(&length.to_le_bytes());
        }
        for (id, (block, item)) in &self.pages {
            head.extend_from_slice(id.as_bytes());
            head.extend_from_slice(&block.to_le_bytes());
            head.extend_from_slice(&item.to_le_bytes());
        }
        let (at, mut head_blocks) = (self.at, 0u32);
        for part in head.chunks(HEAD_PART) {
            let mut builder = BlockBuilder::new(BlockKind::Info, HEAD_PART);
            builder.push(ChunkId([0; ChunkId::LEN]), part, None);
            let sealed = self.seal(&mut builder)?;
            self.file.write_all(&(sealed.len() as u32).to_le_bytes())?;
            self.file.write_all(&sealed)?;
            head_blocks += 1;
        }
        self.file.write_all(&at.to_le_bytes())?;
        self.file.write_all(&head_blocks.to_le_bytes())?;
        self.file.write_all(&(self.blocks.len() as u32).to_le_bytes())?;
        self.file.write_all(MAGIC)?;
        self.file.sync_all()?;
        std::fs::rename(&self.unfinished, &self.path)
    }

    fn push(&mut self, id: ChunkId, bytes: &[u8]) -> io::Result<()> {
        // A page that is too large for a block is not kept: the next backup reads the files that it describes.
        if self.pages.contains_key(&id) || bytes.len() > CHUNK_BYTES as usize {
            return Ok(());
        }
        if !self.builder.wants(bytes.len(), None) {
            self.close()?;
        }
        self.builder.push(id, bytes, None);
        self.pages.insert(id, (self.blocks.len() as u32, self.gathered));
        self.gathered += 1;
        if self.builder.is_full() { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> io::Result<()> {
        if self.builder.is_empty() {
            return Ok(());
        }
        let mut builder = std::mem::replace(&mut self.builder, BlockBuilder::new(BlockKind::Tree, BLOCK));
        let sealed = self.seal(&mut builder)?;
        self.file.write_all(&sealed)?;
        self.blocks.push((self.at, sealed.len() as u32));
        self.at += sealed.len() as u64;
        self.gathered = 0;
        Ok(())
    }

    fn seal(&mut self, builder: &mut BlockBuilder) -> io::Result<Vec<u8>> {
        let counter = self.counters.next().ok_or_else(|| io::Error::other("the tree has too many pages to be kept"))?;
        let job = builder.take(counter).expect("it holds something");
        job.run(&mut self.tools, &self.cipher).map(|block| block.bytes).map_err(io::Error::other)
    }
}

impl Drop for KeptWriter {
    fn drop(&mut self) {
        // After `finish` renamed it, nothing has this name. An unfinished file is of no use.
        let _ = std::fs::remove_file(&self.unfinished);
    }
}

fn path(enrolled: &Enrolled, source: SourceId) -> Option<PathBuf> {
    enrolled.cache_dir.as_ref().map(|directory| directory.join(format!("tree-{source}")))
}

/// Removes unfinished files of killed runs. A younger file may belong to a run that goes on.
fn remove_leftovers(path: &Path) {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else { return };
    let prefix = [name.as_encoded_bytes(), b"."].concat();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|found| found.modified()).ok().and_then(|time| time.elapsed().ok());
        if entry.file_name().as_encoded_bytes().starts_with(&prefix) && age.is_some_and(|age| age > LEFTOVER_AGE) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The cipher of one file: its random salt takes the place of a session id.
fn cipher(enrolled: &Enrolled, salt: SessionId) -> SessionCipher {
    let credentials = &enrolled.credentials;
    let key = credentials.device.derive("kept-tree", credentials.repository.as_bytes());
    SessionCipher::new(&SessionKey::new(key), credentials.repository, salt)
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
    let mut fields = Fields(bytes);
    let height = *fields.take(1)?.first()?;
    let count = fields.u32()? as usize;
    let references = fields.take(count.checked_mul(ChunkId::LEN)?)?;
    let references = references.chunks_exact(ChunkId::LEN).map(ChunkId::from_slice).collect::<Option<Vec<_>>>()?;
    Some((height, references, fields.0))
}

fn read_block(file: &File, at: u64, length: u32) -> io::Result<Vec<u8>> {
    if length > BLOCK_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut stored = vec![0; length as usize];
    file.read_exact_at(&mut stored, at)?;
    Ok(stored)
}

/// The bytes that are not read yet, taken from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }
}

const MAGIC: &[u8; 8] = b"copaltr1";
/// Bytes at the file's end: the head's offset, the number of its blocks, the number of page blocks, the magic.
const TAIL: usize = 8 + 4 + 4 + MAGIC.len();
/// Bytes of pages in a block, before compression.
const BLOCK: usize = 256 << 10;
/// Bytes of the head in one block, before compression.
const HEAD_PART: usize = 4 << 20;
/// No run writes to an unfinished file that is older than this.
const LEFTOVER_AGE: Duration = Duration::from_secs(48 * 3_600);
const LEVEL: i32 = 3;
/// Opened blocks that are held in memory.
const RECENT: usize = 8;
