//! Domain: reads pages and chunks of one domain through the caches, and blocks ahead of a sequential reader.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock};

use copal_engine::read::CopyFault;
use copal_format::block::{OpenBlock, OpenTools};
use copal_format::id::{ChunkId, DomainId, PackId};
use copal_format::index::Location;
use copal_format::keys::domain::DomainKeys;
use copal_format::seal::BlockKind;
use copal_jobs::error::JobError;
use copal_jobs::view::{self, Parts};
use crossbeam_channel::{Receiver, Sender, bounded};

use super::cache::{Cache, locked};
use super::page::{Claim, TreePage};
use crate::history::pages;
use crate::reader::{CopyError, PageReader, ReadError};
use crate::repository::Repository;
use crate::wait::wait;

/// The memory, and the threads that read ahead. All domains share them.
pub(crate) struct Shared {
    pages: Cache<(DomainId, ChunkId), Arc<TreePage>>,
    blocks: Cache<(PackId, u32), Arc<HeldBlock>>,
    ahead: Sender<(Arc<Domain>, Location)>,
}

/// Reads one domain. Threads share it.
pub(crate) struct Domain {
    id: DomainId,
    reader: PageReader,
    shared: Arc<Shared>,
    tools: Mutex<Vec<OpenTools>>,
    /// The positions of readers in packs, the newest last.
    streams: Mutex<VecDeque<Stream>>,
}

/// The domains of a repository that were read so far.
pub(crate) struct Domains {
    shared: Arc<Shared>,
    open: Mutex<HashMap<DomainId, Arc<Domain>>>,
}

impl Domains {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared, open: Mutex::default() }
    }

    /// A domain's reader, which takes a newer index by itself when it needs one.
    pub(crate) fn of(&self, repository: &Repository, id: DomainId) -> Result<Arc<Domain>, JobError> {
        let mut open = locked(&self.open);
        if let Some(domain) = open.get(&id) {
            return Ok(domain.clone());
        }
        let view = wait(view::read_parts(repository.store().as_ref(), &Parts::index_of(id)))?;
        let reader = pages(repository, &view, id);
        let domain = Arc::new(Domain::new(id, reader, self.shared.clone()));
        Ok(open.entry(id).or_insert(domain).clone())
    }
}

/// An opened block. The id of each chunk is computed once.
struct HeldBlock {
    block: OpenBlock,
    ids: Vec<OnceLock<ChunkId>>,
}

/// A reader that takes the blocks of a pack in order.
struct Stream {
    pack: PackId,
    /// Where its last block starts and ends.
    block: (u32, u32),
    /// The end of what was requested ahead.
    ahead: u32,
}

impl Shared {
    /// Memory of at most this many bytes, and threads that read ahead until it is dropped.
    pub(crate) fn new(most: u64, threads: usize) -> Arc<Self> {
        let (ahead, wanted) = bounded(QUEUE);
        for _ in 0..threads {
            let wanted: Receiver<(Arc<Domain>, Location)> = wanted.clone();
            std::thread::spawn(move || {
                for (domain, location) in wanted {
                    // An error is reported to whoever needs the block.
                    let _ = domain.block(&location);
                }
            });
        }
        Arc::new(Self { pages: Cache::new(most / 4), blocks: Cache::new(most - most / 4), ahead })
    }
}

impl Domain {
    pub(crate) fn new(id: DomainId, reader: PageReader, shared: Arc<Shared>) -> Self {
        Self { id, reader, shared, tools: Mutex::default(), streams: Mutex::default() }
    }

    /// Reads the domain's pages without the caches.
    pub(crate) fn pages(&self) -> &PageReader {
        &self.reader
    }

    /// A page that agrees with its parent's claim.
    pub(super) fn page(&self, id: &ChunkId, claim: &Claim<'_>) -> Result<Arc<TreePage>, ReadError> {
        let damaged = |why: &str| ReadError::Damaged { id: *id, object: "a page".into(), why: why.into() };
        let page = self.shared.pages.get_or((self.id, *id), || {
            let page = TreePage::of(self.reader.page(id)?).ok_or_else(|| damaged("its lengths exceed all bounds"))?;
            let weight = page.weight();
            Ok::<_, ReadError>((Arc::new(page), weight))
        })?;
        if page.fits(claim) { Ok(page) } else { Err(damaged("it does not hold what the page above says")) }
    }

    /// Passes on a chunk's verified bytes.
    pub(crate) fn chunk<T>(self: &Arc<Self>, id: &ChunkId, take: impl FnOnce(&[u8]) -> T) -> Result<T, ReadError> {
        let (block, location) = self.reader.try_copies(id, |location| {
            let block = self.block(location)?;
            match block.id(self.reader.keys(), location.ordinal) {
                Some(found) if found == *id => Ok((block, *location)),
                Some(_) => Err(CopyFault::OtherBytes.into()),
                None => Err(CopyFault::FewerChunks.into()),
            }
        })?;
        self.read_ahead(&location);
        Ok(take(block.block.chunk(location.ordinal.into()).unwrap_or_default()))
    }

    fn block(&self, location: &Location) -> Result<Arc<HeldBlock>, CopyError> {
        self.shared.blocks.get_or((location.pack, location.offset), || {
            let mut tools = locked(&self.tools).pop().unwrap_or_default();
            let opened = self.reader.blocks().open_at(location, BlockKind::Data, &mut tools);
            locked(&self.tools).push(tools);
            let block = HeldBlock::new(opened?);
            let weight = block.weight();
            Ok((Arc::new(block), weight))
        })
    }

    /// If the block before this one in its pack was read last, lets threads open those that follow.
    fn read_ahead(self: &Arc<Self>, location: &Location) {
        let block = (location.offset, location.offset.saturating_add(location.length));
        let mut streams = locked(&self.streams);
        let here =
            |stream: &Stream| stream.pack == location.pack && [stream.block.0, stream.block.1].contains(&block.0);
        let Some(at) = streams.iter().rposition(here) else {
            if streams.len() >= STREAMS {
                streams.pop_front();
            }
            return streams.push_back(Stream { pack: location.pack, block, ahead: block.1 });
        };
        let stream = &mut streams[at];
        if stream.block == block {
            return;
        }
        let from = stream.ahead.max(block.1);
        let until = block.1.saturating_add(AHEAD);
        (stream.block, stream.ahead) = (block, until.max(from));
        drop(streams);
        let table = self.reader.blocks().table(location.place, location.pack, location.pack_length);
        let Ok(table) = table else { return };
        let first = table.blocks.partition_point(|row| row.offset < from);
        for row in table.blocks[first..].iter().take_while(|row| row.offset < until) {
            let next =
                Location { offset: row.offset, length: row.length, items: row.entries.len() as u32, ..*location };
            if !self.shared.blocks.has(&(next.pack, next.offset)) {
                // If all threads are busy, reading ahead gains nothing.
                let _ = self.shared.ahead.try_send((self.clone(), next));
            }
        }
    }
}

impl HeldBlock {
    fn new(block: OpenBlock) -> Self {
        let ids = (0..block.len()).map(|_| OnceLock::new()).collect();
        Self { block, ids }
    }

    fn id(&self, keys: &DomainKeys, ordinal: u16) -> Option<ChunkId> {
        let bytes = self.block.chunk(ordinal.into())?;
        Some(*self.ids[usize::from(ordinal)].get_or_init(|| keys.chunk_id(bytes)))
    }

    /// About how many bytes of memory it takes; an eighth may be padding.
    fn weight(&self) -> u64 {
        let bytes: usize = (0..self.block.len()).filter_map(|at| self.block.chunk(at)).map(<[u8]>::len).sum();
        (bytes + bytes / 8 + self.ids.len() * (8 + size_of::<OnceLock<ChunkId>>())) as u64
    }
}

/// Bytes of a pack that are opened before they are needed.
const AHEAD: u32 = 4 << 20;
/// Blocks that wait to be opened ahead.
const QUEUE: usize = 32;
/// Sequential readers that are remembered.
const STREAMS: usize = 64;
