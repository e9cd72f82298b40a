//! Session: one run of a client. Takes chunks and entries in path order; returns blocks to seal and packs to store.
//!
//! The session decides; the host executes. Sealing a block is a value ([`SealJob`](copal_format::block::SealJob)) that any
//! thread may run, and results may come back in any order. Blocks are numbered when they are made and packed by number,
//! so that the stored bytes depend only on the order of the input.

use std::collections::{BTreeMap, VecDeque};

use super::content::FileContent;
use super::given::Given;
use super::seen::Seen;
use super::stream::{OpenBlock, Stream};
use copal_format::block::{BlockBuilder, PageClear, SealedBlock};
use copal_format::id::{ChunkId, DomainId, PackId};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::secret::Secret;
use copal_format::keys::session::SessionRecord;
use copal_format::noise::is_noise;
use copal_format::pack::{PackKind, PackWriter};
use copal_format::path::TreePath;
use copal_format::seal::{BlockKind, Counter, Counters};
use copal_format::tree::{Content, Entry, ListBuilder, Page, Passed, Piece, TreeBuilder, TreeParams};

pub use super::given::{GivenPack, ListedPack};
pub use super::terms::{Action, FinishedTree, SessionError, SessionStart, Tally};

/// The state of one run of a client.
pub struct Session {
    tree_params: TreeParams,
    domain: DomainId,
    keys: DomainKeys,
    record: SessionRecord,
    seed: Secret,
    packs_begun: u64,
    counters: Counters,
    data: Stream,
    tree: Stream,
    builder: TreeBuilder,
    seen: Seen,
    actions: VecDeque<Action>,
    next_sealed: u64,
    /// Sealed blocks that wait for a block with a lower number. `None`: no block with this number will be packed.
    early: BTreeMap<u64, Option<SealedBlock>>,
    jobs_out: u64,
    given: Given,
    tally: Tally,
    /// A copy of the tree's pages, if [`Session::keep_pages`] was called.
    kept: Option<Vec<Page>>,
}

impl Session {
    /// Begins a session with nothing stored.
    pub fn begin(start: SessionStart) -> Result<Self, SessionError> {
        let p = &start.parameters;
        let tree = TreeParams::new(p.leaf_fanout, p.inner_fanout, p.page_min, p.page_max)?;
        Ok(Self {
            tree_params: tree,
            data: Stream::new(BlockKind::Data, p.block_target, p.pack_target),
            tree: Stream::new(BlockKind::Tree, p.tree_block_target, p.tree_pack_target),
            builder: TreeBuilder::new(tree, start.keys.clone()),
            domain: start.domain,
            keys: start.keys,
            record: start.record,
            seed: start.seed,
            packs_begun: 0,
            counters: Counters::new(),
            seen: Seen::default(),
            actions: VecDeque::new(),
            next_sealed: 0,
            early: BTreeMap::new(),
            jobs_out: 0,
            given: Given::default(),
            tally: Tally::default(),
            kept: None,
        })
    }

    /// Keeps a copy of every page made from now on, including pages that the repository already has. For write-only
    /// clients: they cannot open what they stored and compare with this copy. See [`Session::take_kept`].
    pub fn keep_pages(&mut self) {
        self.kept.get_or_insert_default();
    }

    /// The pages made since the last call, as they are stored; empty without [`Session::keep_pages`].
    pub fn take_kept(&mut self) -> Vec<Page> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Sets the name of a pack; false if no unnamed pack has this number.
    pub fn named(&mut self, number: u64, id: PackId) -> bool {
        self.given.name(number, id)
    }

    /// Whether every pack given out has its name.
    pub fn is_named(&self) -> bool {
        self.given.is_named()
    }

    /// Notes that a pack is stored, for [`Session::take_stored`]; false if no named pack that waits for a claim has this
    /// number.
    pub fn stored(&mut self, number: u64) -> bool {
        self.given.stored(number)
    }

    /// Sets the target size of data packs in bytes, after the connection has become slower or faster.
    pub fn aim(&mut self, pack_target: u32) {
        self.data.aim(pack_target);
    }

    /// Adds a chunk, unless it was added before. `is_known` says whether the repository has a copy to refer to.
    pub fn add_chunk(
        &mut self,
        id: ChunkId,
        bytes: &[u8],
        is_known: impl FnOnce(&ChunkId) -> bool,
    ) -> Result<(), SessionError> {
        if self.seen.contains(&id) || is_known(&id) {
            return Ok(());
        }
        let which = if is_noise(bytes) { OpenBlock::Noise } else { OpenBlock::Data };
        self.make_room(which, &id, bytes.len())?;
        self.block(which).push(id, bytes, None);
        self.close_if_full(which)
    }

    /// Adds a chunk whose bytes the host keeps until its block is sealed; false if the chunk was added before.
    pub fn add_chunk_elsewhere(&mut self, id: ChunkId, length: u32) -> Result<bool, SessionError> {
        if self.seen.contains(&id) {
            return Ok(false);
        }
        self.make_room(OpenBlock::Data, &id, length as usize)?;
        self.block(OpenBlock::Data).push_elsewhere(id, length);
        self.close_if_full(OpenBlock::Data)?;
        Ok(true)
    }

    /// Adds the next piece of a file. The caller has added the piece's chunk.
    pub fn add_piece(
        &mut self,
        file: &mut FileContent,
        piece: Piece,
        is_known: impl Fn(&ChunkId) -> bool,
    ) -> Result<(), SessionError> {
        let pages = file.push(piece, || ListBuilder::new(self.tree_params, self.keys.clone()))?;
        self.add_pages(pages, &is_known)
    }

    /// Ends a file and returns its content for the entry.
    pub fn content_of(
        &mut self,
        file: FileContent,
        is_known: impl Fn(&ChunkId) -> bool,
    ) -> Result<Content, SessionError> {
        let (content, pages) = file.finish()?;
        self.add_pages(pages, &is_known)?;
        Ok(content)
    }

    /// Adds the next entry, in path order. Every chunk its content refers to must have been added or be known.
    pub fn add_entry(&mut self, entry: &Entry, is_known: impl Fn(&ChunkId) -> bool) -> Result<(), SessionError> {
        self.builder.push(entry)?;
        let pages = self.builder.take_pages();
        self.add_pages(pages, &is_known)
    }

    /// Takes over a page of an earlier tree, with everything below it, instead of its entries. `height` is the page's.
    /// Returns false and takes nothing if the entries have to be added instead: see [`TreeBuilder::take_over`].
    pub fn take_over(
        &mut self,
        page: &Passed,
        height: u8,
        is_known: impl Fn(&ChunkId) -> bool,
    ) -> Result<bool, SessionError> {
        if self.kept.is_some() || !is_known(&page.child.id) || !self.builder.take_over(page, height)? {
            return Ok(false);
        }
        let pages = self.builder.take_pages();
        self.add_pages(pages, &is_known).map(|()| true)
    }

    /// Closes a copy of the tree so far as a checkpoint that a later run can continue from; none while the tree has no
    /// entry. The session continues. `open` is the file being read and its path: the checkpoint holds its beginning as
    /// an unfinished entry ([`is_unfinished`](super::content::is_unfinished)), because prune would remove unreferenced
    /// chunks before the file's end arrives.
    pub fn checkpoint(
        &mut self,
        open: Option<(&TreePath, &FileContent)>,
        is_known: impl Fn(&ChunkId) -> bool,
    ) -> Result<Option<FinishedTree>, SessionError> {
        let mut builder = self.builder.clone();
        if let Some((path, file)) = open
            && let Some((entry, pages)) = file.so_far(path)?
        {
            self.add_pages(pages, &is_known)?;
            // If the tree refuses the entry, `add_entry` reports the error once the file is complete.
            if builder.push(&entry).is_err() {
                builder = self.builder.clone();
            }
        }
        let finished = builder.finish()?;
        if finished.entries == 0 {
            return Ok(None);
        }
        self.add_pages(finished.pages, &is_known)?;
        Ok(Some(FinishedTree { root: finished.root, entries: finished.entries, bytes: finished.bytes }))
    }

    /// Forgets the ids it has given out. Call it after a flush whose manifest was accepted: the repository has them
    /// then.
    pub fn forget_seen(&mut self) {
        self.seen = Seen::default();
    }

    /// Writes an existing page again. Every chunk and page it refers to must be known.
    pub fn add_page(&mut self, page: Page) -> Result<(), SessionError> {
        self.add_pages(vec![page], &|_: &ChunkId| false)
    }

    /// Closes the tree. After this, the session may only be flushed.
    pub fn finish_tree(&mut self, is_known: impl Fn(&ChunkId) -> bool) -> Result<FinishedTree, SessionError> {
        let fresh = TreeBuilder::new(self.tree_params, self.keys.clone());
        let finished = std::mem::replace(&mut self.builder, fresh).finish()?;
        self.add_pages(finished.pages, &is_known)?;
        Ok(FinishedTree { root: finished.root, entries: finished.entries, bytes: finished.bytes })
    }

    /// Closes the open blocks. Packs are closed when all blocks are sealed: see [`Session::close_packs_if_idle`].
    pub fn flush(&mut self) -> Result<(), SessionError> {
        self.data.join();
        for which in [OpenBlock::Noise, OpenBlock::Data, OpenBlock::Tree] {
            self.close(which)?;
        }
        self.close_packs_if_idle();
        Ok(())
    }

    /// Takes the number of one more block, for the snapshot's sealed info.
    pub fn take_counter(&mut self) -> Result<Counter, SessionError> {
        let counter = self.counters.next().ok_or(SessionError::Exhausted)?;
        self.early.insert(counter.get(), None);
        self.pack_in_order()?;
        Ok(counter)
    }

    /// The host's next action, if any.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Accepts a sealed block, in any order.
    pub fn sealed(&mut self, block: SealedBlock) -> Result<(), SessionError> {
        self.jobs_out -= 1;
        self.early.insert(block.counter, Some(block));
        self.pack_in_order()
    }

    /// Closes the open packs after a flush; false while blocks are still being sealed.
    pub fn close_packs_if_idle(&mut self) -> bool {
        if self.jobs_out > 0 {
            return false;
        }
        for kind in [PackKind::Data, PackKind::Tree] {
            if let Some(pack) = self.stream(kind).pack.take() {
                self.give_out(pack);
            }
        }
        true
    }

    /// Takes the packs that a manifest may now claim. Call it after a flush, once every pack given out is stored: this
    /// checks only that each has its name. No pack refers to a later one.
    ///
    /// # Panics
    /// If a pack has no name yet.
    pub fn take_listing(&mut self) -> Vec<ListedPack> {
        self.given.take()
    }

    /// Takes the data packs that the host has reported as stored, for a manifest without a tree. The others stay
    /// listed.
    pub fn take_stored(&mut self) -> Vec<ListedPack> {
        self.given.take_stored()
    }

    /// The number of packs that no manifest has claimed.
    pub fn packs_unlisted(&self) -> usize {
        self.given.len()
    }

    /// Totals of the session so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    fn add_pages(&mut self, pages: Vec<Page>, is_known: &impl Fn(&ChunkId) -> bool) -> Result<(), SessionError> {
        for page in pages {
            if !self.seen.contains(&page.id) && !is_known(&page.id) {
                self.store_page(&page)?;
            }
            if let Some(kept) = &mut self.kept {
                kept.push(page);
            }
        }
        Ok(())
    }

    fn store_page(&mut self, page: &Page) -> Result<(), SessionError> {
        self.seen.insert(&page.id);
        self.tally.pages_new += 1;
        let clear = PageClear { height: page.height, references: page.references.clone(), replaces: page.replaces };
        if !self.block(OpenBlock::Tree).wants(page.plaintext.len(), Some(&clear)) {
            self.close(OpenBlock::Tree)?;
        }
        self.block(OpenBlock::Tree).push(page.id, &page.plaintext, Some(clear));
        self.close_if_full(OpenBlock::Tree)
    }

    /// Counts a new chunk, and closes the open block if the chunk does not fit.
    fn make_room(&mut self, which: OpenBlock, id: &ChunkId, length: usize) -> Result<(), SessionError> {
        self.seen.insert(id);
        self.tally.chunks_new += 1;
        self.tally.bytes_new += length as u64;
        if self.block(which).wants(length, None) { Ok(()) } else { self.close(which) }
    }

    fn close_if_full(&mut self, which: OpenBlock) -> Result<(), SessionError> {
        if self.block(which).is_full() { self.close(which) } else { Ok(()) }
    }

    fn close(&mut self, which: OpenBlock) -> Result<(), SessionError> {
        if self.block(which).is_empty() {
            return Ok(());
        }
        let counter = self.counters.next().ok_or(SessionError::Exhausted)?;
        if let Some(job) = self.block(which).take(counter) {
            self.jobs_out += 1;
            let buffer = self.stream(which.pack()).take_buffer();
            self.actions.push_back(Action::Seal(job.into_buffer(buffer)));
        }
        Ok(())
    }

    fn block(&mut self, which: OpenBlock) -> &mut BlockBuilder {
        self.stream(which.pack()).block(which)
    }

    fn pack_in_order(&mut self) -> Result<(), SessionError> {
        while let Some(block) = self.early.remove(&self.next_sealed) {
            self.next_sealed += 1;
            if let Some(block) = block {
                self.pack(block)?;
            }
        }
        Ok(())
    }

    fn pack(&mut self, block: SealedBlock) -> Result<(), SessionError> {
        let kind = match block.kind {
            BlockKind::Tree => PackKind::Tree,
            BlockKind::Data | BlockKind::Info => PackKind::Data,
        };
        if !self.stream(kind).add(&block)? {
            if let Some(full) = self.stream(kind).pack.take() {
                self.give_out(full);
            }
            let random = self.pack_random();
            let writer = PackWriter::new(kind, self.domain, random, vec![self.record.bytes().to_vec()])?;
            self.stream(kind).begin(writer, &block)?;
        }
        self.stream(kind).keep_buffer(block.bytes);
        if let Some(writer) = self.stream(kind).take_full() {
            self.give_out(writer);
        }
        Ok(())
    }

    fn give_out(&mut self, writer: PackWriter) {
        let pack = self.given.add(writer);
        self.tally.bytes_stored += pack.bytes.len() as u64;
        self.actions.push_back(Action::Store(pack));
    }

    fn pack_random(&mut self) -> [u8; 16] {
        let digest = self.seed.digest(&[b"pack", &self.packs_begun.to_le_bytes()]);
        self.packs_begun += 1;
        digest[..16].try_into().expect("16 of 32 bytes")
    }

    fn stream(&mut self, kind: PackKind) -> &mut Stream {
        match kind {
            PackKind::Data => &mut self.data,
            PackKind::Tree => &mut self.tree,
        }
    }
}

#[cfg(test)]
mod tests;
