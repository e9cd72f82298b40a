//! Run: one session of a client, through which files go into packs.

use std::collections::BTreeSet;

use bytes::Bytes;
use copal_engine::backup::content::FileContent;
use copal_engine::backup::session::{Action, ListedPack, Session, SessionStart};
use copal_format::block::{BlockBuilder, SealTools};
use copal_format::chunk::{ChunkSizes, Chunker};
use copal_format::compress;
use copal_format::id::{ChunkId, ObjectHash, PackId};
use copal_format::keys::secret::Secret;
use copal_format::keys::session::{SessionKey, SessionRecord};
use copal_format::layout::{self, Place};
use copal_format::manifest::SnapshotClaim;
use copal_format::path::TreePath;
use copal_format::seal::{BlockKind, SessionCipher};
use copal_format::snapshot::SnapshotInfo;
use copal_format::time::Time;
use copal_format::tree::{Content, Entry, EntryKind, ListBuilder, Mode, Piece, TreeParams};
use copal_jobs::context::JobContext;
use copal_store::Store;

use super::Tree;
use super::client::{Client, Failure};
use super::repository::key;

/// One session and everything around it.
pub struct Run<'a> {
    client: &'a Client,
    pub(super) session: Session,
    cipher: SessionCipher,
    record: SessionRecord,
    tools: SealTools,
    /// Packs this process has stored.
    pub made: BTreeSet<PackId>,
}

impl Run<'_> {
    /// Takes a file: as it was remembered if it has not changed and everything in it may be referred to, else anew.
    pub(super) fn take_file(
        &mut self,
        path: &TreePath,
        content: &[u8],
        is_good: &impl Fn(&ChunkId) -> bool,
    ) -> Result<Remembered, Failure> {
        let mtime = version(content);
        let memory = self.client.memory.lock().expect("nothing panics while it holds the map").get(path).cloned();
        let unchanged = memory.filter(|known| known.entry.mtime == mtime && known.entry.size == content.len() as u64);
        let remembered = match unchanged.filter(|known| known.ids.iter().all(is_good)) {
            Some(known) => known,
            None => self.read_file(path, content, mtime, is_good)?,
        };
        self.session.add_entry(&remembered.entry, is_good)?;
        Ok(remembered)
    }

    /// Cuts a file and gives its chunks to the session.
    fn read_file(
        &mut self,
        path: &TreePath,
        content: &[u8],
        mtime: Time,
        is_good: &impl Fn(&ChunkId) -> bool,
    ) -> Result<Remembered, Failure> {
        let p = &self.client.parameters;
        let mut ids = Vec::new();
        let stored = if content.len() <= p.inline_max as usize {
            if content.is_empty() { Content::None } else { Content::Inline(content.to_vec().into()) }
        } else {
            let sizes = ChunkSizes::new(p.chunk_min.into(), p.chunk_average.into(), p.chunk_max.into());
            let chunker = Chunker::new(sizes.expect("the kit's sizes are sound"), self.client.domain_keys.cuts());
            let mut pieces = Vec::new();
            for range in chunker.cuts(content) {
                let id = self.client.domain_keys.chunk_id(&content[range.clone()]);
                self.session.add_chunk(id, &content[range.clone()], is_good)?;
                pieces.push(Piece { id, length: range.len() as u32 });
                ids.push(id);
            }
            ids.extend(self.client.list_pages(&pieces));
            let mut file = FileContent::default();
            for piece in pieces {
                self.session.add_piece(&mut file, piece, is_good)?;
            }
            self.session.content_of(file, is_good)?
        };
        Ok(Remembered { entry: entry(path, content, mtime, stored), ids })
    }

    /// Takes the next part of a file that goes on after it, cut on its own.
    pub fn take_part(
        &mut self,
        file: &mut FileContent,
        part: &[u8],
        is_good: &impl Fn(&ChunkId) -> bool,
    ) -> Result<(), Failure> {
        for bytes in part.chunks(PART) {
            let id = self.client.domain_keys.chunk_id(bytes);
            self.session.add_chunk(id, bytes, is_good)?;
            self.session.add_piece(file, Piece { id, length: bytes.len() as u32 }, is_good)?;
        }
        Ok(())
    }

    /// Closes the tree as far as it has come, in the middle of a file; gives its packs, which are stored, and its root page.
    pub async fn stop_within(
        &mut self,
        job: &JobContext<'_>,
        (path, file): (&TreePath, &FileContent),
        is_good: &impl Fn(&ChunkId) -> bool,
    ) -> Result<(Vec<(PackId, u64)>, ChunkId), Failure> {
        let tree = self.session.checkpoint(Some((path, file)), is_good)?.expect("something of the file was taken");
        Ok((self.close(job.store).await?, tree.root))
    }

    /// Ends the tree with this file; gives its packs, which are stored, and its root page.
    pub async fn end_with(
        &mut self,
        job: &JobContext<'_>,
        (path, file, content): (&TreePath, FileContent, &[u8]),
        is_good: &impl Fn(&ChunkId) -> bool,
    ) -> Result<(Vec<(PackId, u64)>, ChunkId), Failure> {
        let stored = self.session.content_of(file, is_good)?;
        self.session.add_entry(&entry(path, content, version(content), stored), is_good)?;
        let finished = self.session.finish_tree(is_good)?;
        Ok((self.close(job.store).await?, finished.root))
    }

    /// Takes a whole tree as if the repository held nothing; gives its packs, which are stored, and its root page.
    pub async fn take_all(
        &mut self,
        job: &JobContext<'_>,
        tree: &Tree,
    ) -> Result<(Vec<(PackId, u64)>, ChunkId), Failure> {
        let is_good = |_: &ChunkId| false;
        for (path, content) in tree {
            self.take_file(path, content, &is_good)?;
        }
        let finished = self.session.finish_tree(is_good)?;
        Ok((self.close(job.store).await?, finished.root))
    }

    /// Takes one chunk, and entries that may refer to it, whatever they say; gives its packs, which are stored, and its
    /// root page.
    pub async fn take_entries(
        &mut self,
        job: &JobContext<'_>,
        chunk: &[u8],
        entries: impl FnOnce(ChunkId) -> Vec<Entry>,
    ) -> Result<(Vec<(PackId, u64)>, ChunkId), Failure> {
        let is_good = |_: &ChunkId| false;
        let id = self.client.domain_keys.chunk_id(chunk);
        self.session.add_chunk(id, chunk, is_good)?;
        for entry in entries(id) {
            self.session.add_entry(&entry, is_good)?;
        }
        let finished = self.session.finish_tree(is_good)?;
        Ok((self.close(job.store).await?, finished.root))
    }

    /// Runs what the session asks for.
    pub(super) async fn work(&mut self, store: &dyn Store) -> Result<(), Failure> {
        while let Some(action) = self.session.poll() {
            match action {
                Action::Seal(job) => {
                    let sealed = job.run(&mut self.tools, &self.cipher).expect("this machine seals what it is told");
                    self.session.sealed(sealed)?;
                }
                Action::Store(pack) => {
                    let id = pack.id();
                    assert!(self.session.named(pack.number, id), "a pack is named once");
                    store.create(&key(&layout::pack(Place::Packs, id)), Bytes::from(pack.bytes)).await?;
                    self.made.insert(id);
                }
            }
        }
        Ok(())
    }

    /// Closes and stores everything that is open; gives the packs that wait for a manifest.
    pub async fn close(&mut self, store: &dyn Store) -> Result<Vec<(PackId, u64)>, Failure> {
        self.session.flush()?;
        self.work(store).await?;
        assert!(self.session.close_packs_if_idle(), "every block is sealed by now");
        self.work(store).await?;
        Ok(self.session.take_listing().into_iter().map(ListedPack::named).collect())
    }

    pub(super) async fn claim(
        &mut self,
        job: &JobContext<'_>,
        root: ChunkId,
        partial: bool,
    ) -> Result<SnapshotClaim, Failure> {
        let counter = self.session.take_counter()?;
        let number = counter.get();
        let Client { host, metadata, .. } = self.client;
        let info = SnapshotInfo { host: host.clone(), metadata: *metadata, ..SnapshotInfo::default() }.encode();
        let mut block = BlockBuilder::new(BlockKind::Info, 1);
        block.push(self.client.domain_keys.chunk_id(&info), &info, None);
        let sealing = block.take(counter).expect("one chunk was added");
        let sealed = sealing.run(&mut self.tools, &self.cipher).expect("this machine seals what it is told");
        Ok(SnapshotClaim {
            root,
            partial,
            client_time: job.now().await?,
            source: self.client.source,
            tags: Vec::new(),
            session_record: self.record.bytes().to_vec(),
            counter: number,
            info: sealed.bytes,
            extent: None,
        })
    }
}

impl Client {
    pub fn begin(&self, job: &JobContext<'_>) -> Result<Run<'_>, Failure> {
        let secret = || Secret::new([job.random(), job.random()].concat().try_into().expect("twice 16 bytes"));
        let session_key = SessionKey::new(secret());
        let mut wrap = [0; 64];
        job.entropy.fill(&mut wrap);
        let record = session_key.record(self.repository, self.domain, &[(&self.owner, wrap)]);
        let cipher = SessionCipher::new(&session_key, self.repository, record.id(self.repository));
        let session = Session::begin(SessionStart {
            parameters: self.parameters.clone(),
            domain: self.domain,
            keys: self.domain_keys.clone(),
            record: record.clone(),
            seed: secret(),
        })?;
        let tools = SealTools::new(compress::Parameters::of_level(self.parameters.zstd_level));
        Ok(Run { client: self, session, cipher, record, tools, made: BTreeSet::new() })
    }

    /// The pages of a file's content list, if it has one.
    fn list_pages(&self, pieces: &[Piece]) -> Vec<ChunkId> {
        if pieces.len() <= copal_format::tree::LIST_AFTER {
            return Vec::new();
        }
        let p = &self.parameters;
        let params = TreeParams::new(p.leaf_fanout, p.inner_fanout, p.page_min, p.page_max);
        let mut list = ListBuilder::new(params.expect("the kit's sizes are sound"), self.domain_keys.clone());
        pieces.iter().for_each(|piece| list.push(*piece).expect("the chunker makes sound pieces"));
        let finished = list.finish().expect("a file of a test is not too large");
        finished.pages.iter().map(|page| page.id).collect()
    }
}

/// A file as the last run saw it.
#[derive(Clone)]
pub(super) struct Remembered {
    entry: Entry,
    /// Everything its content refers to, directly or not.
    ids: Vec<ChunkId>,
}

/// Bytes of the chunks of a file that comes in parts.
const PART: usize = 64;

/// Stands for the time a file was changed: equal for equal contents only.
fn version(content: &[u8]) -> Time {
    let hash = ObjectHash::of(content);
    Time(i64::from_le_bytes(hash.0[..8].try_into().expect("8 of 32 bytes")) >> 2)
}

fn entry(path: &TreePath, content: &[u8], mtime: Time, stored: Content) -> Entry {
    let (size, plain) = (content.len() as u64, Entry::new(path.clone(), Mode::new(EntryKind::File, 0o644)));
    Entry { mtime, ctime: mtime, inode: 1, size, content: stored, ..plain }
}
