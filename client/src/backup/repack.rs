//! Repack: a backup whose source is the repository itself. It opens sparse blocks (mostly dead), checks their live
//! chunks and pages, and packs those anew. The old copies then die by the same rule as all others.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use copal_engine::backup::session::{ListedPack, Session, SessionStart};
use copal_engine::read;
use copal_format::block::{OpenBlock, OpenTools};
use copal_format::id::PackId;
use copal_format::index::Location;
use copal_format::keys::domain::DomainKeys;
use copal_format::limits::MANIFEST_PACKS;
use copal_format::pack::{PackKind, PackTable};
use copal_format::seal::BlockKind;
use copal_format::tree::Page;
use copal_jobs::prune::{Live, Sparse, SparseBlock};
use copal_jobs::view::{self, View};
use copal_store::Store;

use super::BackupError;
use super::manifest::{MANIFEST_EVERY, ManifestChain, refusal};
use super::output::Output;
use crate::compression::Compression;
use crate::entropy::secret;
use crate::progress::Progress;
use crate::reader::{BlockReader, CopyError};
use crate::repository::{LocalClient, Repository};
use crate::wait::{Patience, SERVICE_ANSWERS, wait};

/// The result of a repack.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Repacked {
    /// Chunks and pages that were written again.
    pub items: u64,
    /// Bytes of the packs written.
    pub bytes: u64,
    /// Chunks and pages left in place because they cannot be read. `check` reports the cause.
    pub unreadable: u64,
}

/// Packs the live chunks and pages of sparse blocks of the client's domain into new blocks and claims them. Keeps the
/// order of a snapshot, so that blocks compress like those of a backup. Checks the id of each chunk and page. Writes
/// manifests regularly: an interruption costs no more than the work since the last one.
pub fn repack(
    repository: &Repository,
    client: &LocalClient,
    sparse: &Sparse,
    threads: usize,
    interrupted: &AtomicBool,
) -> Result<Repacked, BackupError> {
    let descriptor = repository.descriptor.as_ref().ok_or(BackupError::NoDescriptor)?;
    let keys = repository.domain_keys(client.domain);
    let (record, cipher) = repository.new_session(client.domain);
    let view = wait(view::read(repository.store().as_ref()))?;
    let session = Session::begin(SessionStart {
        parameters: descriptor.parameters.clone(),
        domain: client.domain,
        keys: keys.clone(),
        record,
        seed: secret(),
    })?;
    let store: Arc<dyn Store> = repository.store().clone();
    let reader = BlockReader::new(store, repository.owner.clone(), client.domain);
    thread::scope(|scope| {
        let level = (Compression::Auto, descriptor.parameters.zstd_level);
        let progress = Arc::new(Progress::default());
        let output = Output::start(scope, threads, &cipher, level, Some(repository.backend()), &progress, interrupted);
        let chain = ManifestChain::find(repository.into(), client, &view)?;
        let own = HashSet::new();
        let done = Repacked::default();
        let listed = Instant::now();
        let mut writer = Writer { view: &view, session, output, chain, own, listed, done, interrupted };
        let mut source = Source { reader: &reader, keys: &keys, tools: OpenTools::new(), open: VecDeque::new() };
        for live in &sparse.live {
            if interrupted.load(Ordering::Relaxed) {
                writer.claim()?;
                return Err(BackupError::Interrupted);
            }
            match source.item(&sparse.blocks[live.block as usize], live) {
                Ok(LiveContent::Chunk(bytes)) => writer.session.add_chunk(live.id, bytes, |_| false)?,
                Ok(LiveContent::Page(page)) => writer.session.add_page(*page)?,
                Err(CopyError::Store(error)) => return Err(error.into()),
                Err(CopyError::Damaged(_)) => {
                    writer.done.unreadable += 1;
                    continue;
                }
            }
            writer.done.items += 1;
            writer.act()?;
            writer.claim_if_due()?;
        }
        writer.claim()?;
        writer.done.bytes = writer.session.tally().bytes_stored;
        Ok(writer.done)
    })
}

struct Writer<'a> {
    view: &'a View,
    session: Session,
    output: Output<'a>,
    chain: ManifestChain<'a>,
    own: HashSet<PackId>,
    listed: Instant,
    done: Repacked,
    interrupted: &'a AtomicBool,
}

impl Writer<'_> {
    fn claim_if_due(&mut self) -> Result<(), BackupError> {
        let packs = self.session.packs_unlisted();
        let is_due = packs >= MANIFEST_PACKS || (packs > 0 && self.listed.elapsed() >= MANIFEST_EVERY);
        if is_due { self.claim() } else { Ok(()) }
    }

    /// Stores open blocks and packs, and claims them.
    fn claim(&mut self) -> Result<(), BackupError> {
        self.output.flush(&mut self.session, &mut noting(&mut self.own))?;
        self.listed = Instant::now();
        for packs in self.session.take_listing().chunks(MANIFEST_PACKS) {
            let named = packs.iter().copied().map(ListedPack::named).collect();
            let claimed = self.chain.add(named, None, &self.own)?;
            self.chain.decide(self.view, &self.own)?;
            let answer = self.chain.answer(claimed, &mut Patience::of(SERVICE_ANSWERS), self.interrupted)?;
            let receipt = answer.ok_or(BackupError::Unanswered { number: claimed.number })?;
            if let Some(why) = refusal(&receipt)? {
                return Err(BackupError::Rejected(why));
            }
        }
        Ok(())
    }

    fn act(&mut self) -> Result<(), BackupError> {
        self.output.serve(&mut self.session, &mut noting(&mut self.own))
    }
}

fn noting(own: &mut HashSet<PackId>) -> impl FnMut(PackId, &PackTable) {
    |id, _| _ = own.insert(id)
}

/// Reads the sparse blocks. Each backup packed its chunks in the same order, so a few blocks are needed in turns: the
/// blocks used last stay open.
struct Source<'a> {
    reader: &'a BlockReader,
    keys: &'a DomainKeys,
    tools: OpenTools,
    open: VecDeque<((PackId, u32), Result<OpenBlock, String>)>,
}

/// A chunk or page whose bytes have its id.
enum LiveContent<'a> {
    Chunk(&'a [u8]),
    Page(Box<Page>),
}

impl Source<'_> {
    fn item(&mut self, block: &SparseBlock, live: &Live) -> Result<LiveContent<'_>, CopyError> {
        let damaged = |why: &str| CopyError::Damaged(why.to_owned());
        let at = self.open(block)?;
        let opened = self.open[at].1.as_ref().map_err(|why| damaged(why))?;
        if block.kind == PackKind::Data {
            return Ok(LiveContent::Chunk(read::chunk(self.keys, &live.id, live.ordinal, opened)?));
        }
        let table = self.reader.table(block.place, block.pack, block.pack_length)?;
        let location = Location { ordinal: live.ordinal, ..location(block) };
        read::page(self.keys, &live.id, &location, &table, opened)?;
        let page = read::page_row(&table, block.offset, live.ordinal)?;
        Ok(LiveContent::Page(Box::new(Page {
            id: live.id,
            height: page.height,
            references: page.references.to_vec(),
            plaintext: opened.chunk(live.ordinal.into()).expect("the page was opened from it").to_vec(),
            replaces: page.replaces,
        })))
    }

    /// Opens a block unless it is open; returns its position in `open`.
    fn open(&mut self, block: &SparseBlock) -> Result<usize, CopyError> {
        let key = (block.pack, block.offset);
        if let Some(at) = self.open.iter().position(|(other, _)| *other == key) {
            // Least recently used first.
            let used = self.open.remove(at).expect("it is there");
            self.open.push_back(used);
            return Ok(self.open.len() - 1);
        }
        let opened = match self.reader.open_at(&location(block), kind(block), &mut self.tools) {
            Ok(opened) => Ok(opened),
            Err(CopyError::Damaged(why)) => Err(why),
            Err(error) => return Err(error),
        };
        if self.open.len() >= OPEN {
            self.open.pop_front();
        }
        self.open.push_back((key, opened));
        Ok(self.open.len() - 1)
    }
}

fn kind(block: &SparseBlock) -> BlockKind {
    match block.kind {
        PackKind::Data => BlockKind::Data,
        PackKind::Tree => BlockKind::Tree,
    }
}

fn location(block: &SparseBlock) -> Location {
    Location {
        pack: block.pack,
        place: block.place,
        pack_length: block.pack_length,
        table_length: 0,
        offset: block.offset,
        length: block.length,
        items: 0,
        ordinal: 0,
        is_page: block.kind == PackKind::Tree,
        height: 0,
    }
}

/// Blocks that stay open, each of about 1 MiB.
const OPEN: usize = 32;
