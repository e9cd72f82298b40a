//! Pages: reads and checks tree pages, and streams the entries of a tree in constant memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use copal_engine::read;
use copal_format::block::{OpenBlock, OpenTools};
use copal_format::id::{ChunkId, PackId};
use copal_format::index::{Index, Location};
use copal_format::keys::domain::DomainKeys;
use copal_format::layout;
use copal_format::path::TreePath;
use copal_format::seal::BlockKind;
use copal_format::tree::{Entry, ListStep, ListWalk, LostRange, Piece, Step, TreeWalk, VerifiedPage, WalkError};
use copal_jobs::view::View;
use copal_store::StoreError;

use super::blocks::{BlockReader, CopyError, ReadError};
use super::newest::NewestIndex;

/// A source of checked pages.
pub trait Pages: Send + Sync {
    /// Reads a page; its height, references and plaintext have the id asked for.
    fn page(&self, id: &ChunkId) -> Result<VerifiedPage, ReadError>;
}

/// Reads pages of one domain.
pub struct PageReader {
    blocks: Arc<BlockReader>,
    index: NewestIndex,
    keys: DomainKeys,
    recent: Mutex<Recent>,
}

/// The blocks opened last: a walk reads the pages of a block one after another.
#[derive(Default)]
struct Recent {
    tools: OpenTools,
    blocks: Vec<((PackId, u32), Arc<OpenBlock>)>,
}

/// Why a tree cannot be read further.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum TreeError {
    #[error("a page of the tree cannot be read")]
    Read(#[from] ReadError),
    #[error("the pages of the tree do not fit together")]
    Walk(#[from] WalkError),
}

impl PageReader {
    /// Reads pages that a view, or a newer state, lists.
    pub fn new(blocks: Arc<BlockReader>, view: &View, keys: DomainKeys) -> Self {
        let index = NewestIndex::of(view, blocks.domain);
        Self { blocks, index, keys, recent: Mutex::default() }
    }

    /// The block reader below.
    pub fn blocks(&self) -> &Arc<BlockReader> {
        &self.blocks
    }

    /// The newest index that was needed so far.
    pub fn index(&self) -> Arc<Index<Bytes>> {
        self.index.get()
    }

    /// An index newer than `than`, if there is one: a prune may have moved the copies that `than` lists.
    pub fn newer_index(&self, than: &Arc<Index<Bytes>>) -> Result<Option<Arc<Index<Bytes>>>, StoreError> {
        self.index.newer(than, self.blocks.store().as_ref())
    }

    /// Tries the copies of an id, the best first. If none is sound, tries those of a newer index. If the store failed
    /// for a copy but answers now, tries all once more.
    pub(crate) fn try_copies<T>(
        &self,
        id: &ChunkId,
        mut read: impl FnMut(&Location) -> Result<T, CopyError>,
    ) -> Result<T, ReadError> {
        let mut index = self.index();
        let (mut may_pass, mut is_again) = (false, false);
        loop {
            let mut last = ReadError::Absent { id: *id };
            for location in index.best_copies(id) {
                match read(&location) {
                    Ok(read) => return Ok(read),
                    Err(error) => {
                        may_pass |= matches!(error, CopyError::Store(_));
                        let object = layout::pack(location.place, location.pack);
                        last = ReadError::Damaged { id: *id, object, why: error.words() };
                    }
                }
            }
            index = match self.newer_index(&index)? {
                Some(newer) => newer,
                None if may_pass && !is_again => {
                    is_again = true;
                    index
                }
                None => return Err(last),
            };
        }
    }

    /// The domain's keys.
    pub fn keys(&self) -> &DomainKeys {
        &self.keys
    }

    /// Reads a page; its height, references and plaintext have the id asked for. Tries all copies.
    pub fn page(&self, id: &ChunkId) -> Result<VerifiedPage, ReadError> {
        self.try_copies(id, |location| self.page_at(id, location))
    }

    fn page_at(&self, id: &ChunkId, location: &Location) -> Result<VerifiedPage, CopyError> {
        let block = self.open(location)?;
        let table = self.blocks.table(location.place, location.pack, location.pack_length)?;
        Ok(read::page(&self.keys, id, location, &table, &block)?)
    }

    fn open(&self, location: &Location) -> Result<Arc<OpenBlock>, CopyError> {
        let key = (location.pack, location.offset);
        let mut recent = self.recent.lock().expect("no reader panics");
        if let Some((_, block)) = recent.blocks.iter().find(|(other, _)| *other == key) {
            return Ok(block.clone());
        }
        let block = Arc::new(self.blocks.open_at(location, BlockKind::Tree, &mut recent.tools)?);
        if recent.blocks.len() >= RECENT {
            recent.blocks.remove(0);
        }
        recent.blocks.push((key, block.clone()));
        Ok(block)
    }

    /// The entries of a tree.
    pub fn entries(&self, root: ChunkId) -> EntryStream<'_> {
        EntryStream::new(self, root)
    }

    /// All pieces of an entry's content, in the entry or in list pages, with their offsets in the content.
    pub fn pieces(&self, entry: &Entry, take: impl FnMut(u64, Piece)) -> Result<(), TreeError> {
        pieces(self, entry, take)
    }
}

impl Pages for PageReader {
    fn page(&self, id: &ChunkId) -> Result<VerifiedPage, ReadError> {
        PageReader::page(self, id)
    }
}

/// Keeps the first pages that are read, for a reader that comes to the same ones again.
pub(crate) struct Remembered {
    pages: Arc<dyn Pages>,
    kept: Mutex<HashMap<ChunkId, VerifiedPage>>,
}

impl Remembered {
    pub(crate) fn new(pages: Arc<dyn Pages>) -> Self {
        Self { pages, kept: Mutex::default() }
    }
}

impl Pages for Remembered {
    fn page(&self, id: &ChunkId) -> Result<VerifiedPage, ReadError> {
        if let Some(page) = self.kept.lock().expect("no reader panics").get(id) {
            return Ok(page.clone());
        }
        let page = self.pages.page(id)?;
        let mut kept = self.kept.lock().expect("no reader panics");
        if kept.len() < REMEMBERED {
            kept.insert(*id, page.clone());
        }
        Ok(page)
    }
}

/// All pieces of an entry's content, in the entry or in list pages, with their offsets in the content.
pub fn pieces(pages: &dyn Pages, entry: &Entry, mut take: impl FnMut(u64, Piece)) -> Result<(), TreeError> {
    let mut walk = ListWalk::of(entry);
    loop {
        match walk.step() {
            ListStep::Piece { offset, piece } => take(offset, piece),
            ListStep::Need(id) => walk.supply(pages.page(&id)?)?,
            ListStep::Done => return Ok(()),
        }
    }
}

/// The entries of a tree, in order.
pub struct EntryStream<'a> {
    pages: &'a dyn Pages,
    walk: TreeWalk,
    lost: Vec<(LostRange, ReadError)>,
}

impl<'a> EntryStream<'a> {
    /// The entries of the tree below a root page.
    pub fn new(pages: &'a dyn Pages, root: ChunkId) -> Self {
        Self { pages, walk: TreeWalk::new(root), lost: Vec::new() }
    }

    /// Continues at a path; skips everything before it without reading it.
    pub fn seek(&mut self, path: TreePath) {
        self.walk.seek(path);
    }

    /// The next entry. A page that cannot be read ends the stream with an error.
    #[expect(clippy::should_implement_trait, reason = "reading can fail, and then the stream has not ended")]
    pub fn next(&mut self) -> Result<Option<Entry>, TreeError> {
        loop {
            match self.walk.step() {
                Step::Entry(entry) => return Ok(Some(entry)),
                Step::Need(id) => self.walk.supply(self.pages.page(&id)?)?,
                Step::Done => return Ok(None),
            }
        }
    }

    /// The next readable entry. [`EntryStream::lost`] lists what was skipped.
    pub fn next_readable(&mut self) -> Result<Option<Entry>, TreeError> {
        loop {
            match self.walk.step() {
                Step::Entry(entry) => return Ok(Some(entry)),
                Step::Need(id) => match self.pages.page(&id) {
                    Ok(page) => {
                        if let Err(error) = self.walk.supply(page) {
                            let object = "a page".to_owned();
                            self.pass(id, ReadError::Damaged { id, object, why: error.to_string() });
                        }
                    }
                    Err(ReadError::Store(error)) => return Err(ReadError::Store(error).into()),
                    Err(error) => self.pass(id, error),
                },
                Step::Done => return Ok(None),
            }
        }
    }

    fn pass(&mut self, id: ChunkId, error: ReadError) {
        if let Some(range) = self.walk.skip(id) {
            self.lost.push((range, error));
        }
    }

    /// The ranges of paths that could not be read, and why.
    pub fn lost(&self) -> &[(LostRange, ReadError)] {
        &self.lost
    }

    /// Like [`EntryStream::lost`], at the end of the stream.
    pub fn into_lost(self) -> Vec<(LostRange, ReadError)> {
        self.lost
    }
}

/// Opened blocks that are held in memory.
const RECENT: usize = 8;
/// Pages that [`Remembered`] keeps: 10 to 25 MB once they are decoded.
const REMEMBERED: usize = 256;
