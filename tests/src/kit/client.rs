//! Client: backs up a tree of a few files through the engine's session, step by step as a real host does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use bytes::Bytes;
use copal_engine::backup::content::FileContent;
use copal_engine::backup::session::{Action, Session, SessionError, SessionStart};
use copal_engine::block::{BlockBuilder, SealTools};
use copal_engine::chunk::{ChunkSizes, Chunker};
use copal_engine::client::Role;
use copal_engine::compress;
use copal_engine::id::{ChunkId, ClientId, DomainId, ObjectHash, PackId, RepositoryId, SnapshotId, SourceId};
use copal_engine::keys::client::ClientKeys;
use copal_engine::keys::domain::DomainKeys;
use copal_engine::keys::owner::KemPublic;
use copal_engine::keys::secret::Secret;
use copal_engine::keys::session::{SessionKey, SessionRecord};
use copal_engine::layout::{self, Place};
use copal_engine::limits::MANIFEST_PACKS;
use copal_engine::manifest::{Manifest, SnapshotClaim};
use copal_engine::path::TreePath;
use copal_engine::receipt::{Outcome, Receipt};
use copal_engine::repository::{IngestBy, Parameters};
use copal_engine::seal::{BlockKind, SessionCipher};
use copal_engine::snapshot::SnapshotInfo;
use copal_engine::time::Time;
use copal_engine::tree::{Content, Entry, EntryKind, Extras, ListBuilder, Mode, Owner, Piece, TreeParams};
use copal_service::error::JobError;
use copal_service::host::Host;
use copal_service::ingest::{Scope, ingest};
use copal_service::view::{self, View};
use copal_store::{Created, Store, StoreError};

use super::Tree;
use super::repository::{Repository, key};

/// A registered device. What it remembers between runs dies with it.
pub struct Client {
    /// Its id.
    pub id: ClientId,
    /// What it may do.
    pub role: Role,
    /// Where it writes.
    pub domain: DomainId,
    /// Its signing keys.
    pub keys: ClientKeys,
    /// Its source.
    pub source: SourceId,
    repository: RepositoryId,
    parameters: Parameters,
    domain_keys: DomainKeys,
    owner: KemPublic,
    memory: Mutex<BTreeMap<TreePath, Remembered>>,
}

/// A file as the last run saw it.
#[derive(Clone)]
struct Remembered {
    entry: Entry,
    /// Everything its content refers to, directly or not.
    ids: Vec<ChunkId>,
}

/// How a backup goes about it.
#[derive(Clone)]
pub struct How<'a> {
    /// Whether the client decides about its manifests itself.
    pub ingests: bool,
    /// After how many files an intermediate manifest is written.
    pub split: Option<usize>,
    /// Whether the snapshot is a checkpoint of a run that goes on.
    pub partial: bool,
    /// Is told of every snapshot that the client signs, before it is stored.
    pub claims: Option<&'a dyn Claims>,
    /// How often it looks for an answer that others have to give, and how often it tries again.
    pub patience: u32,
}

impl Default for How<'_> {
    fn default() -> Self {
        Self { ingests: true, split: None, partial: false, claims: None, patience: 12 }
    }
}

/// Keeps what snapshots must hold.
pub trait Claims {
    /// A manifest that claims this snapshot of this tree is about to be stored.
    fn claimed(&self, snapshot: SnapshotId, tree: &Tree);
}

/// A backup that was not acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A job that the client needs has failed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The session cannot go on.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// Every attempt was rejected, or nobody answered.
    #[error("not acknowledged after many attempts; last answer: {last:?}")]
    Patience {
        /// The last answer, if there was one.
        last: Option<Box<Receipt>>,
    },
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::Job(error.into())
    }
}

/// A manifest that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: ObjectHash,
}

/// One session and everything around it.
pub struct Run<'a> {
    client: &'a Client,
    session: Session,
    cipher: SessionCipher,
    record: SessionRecord,
    tools: SealTools,
    /// Packs this process has stored.
    pub made: BTreeSet<PackId>,
}

impl Client {
    pub(super) fn new(repository: &Repository, id: ClientId, keys: ClientKeys, role: Role, domain: DomainId) -> Self {
        let domain_keys = DomainKeys::new(&repository.owner.domain_key(domain));
        let source = domain_keys.source_id("host", &[id.0.to_vec()], "");
        Self {
            id,
            role,
            domain,
            keys,
            source,
            repository: repository.owner.repository(),
            parameters: repository.parameters.clone(),
            domain_keys,
            owner: repository.owner.kem_public(),
            memory: Mutex::default(),
        }
    }

    /// Forgets what earlier runs saw: the next one reads every file.
    pub fn forget_memory(&self) {
        self.memory.lock().expect("nothing panics while it holds the map").clear();
    }

    /// Backs up a tree until a receipt accepts it; gives the snapshot.
    pub async fn back_up(&self, host: &Host<'_>, tree: &Tree, how: &How<'_>) -> Result<SnapshotId, Failure> {
        let mut refused: BTreeSet<ChunkId> = BTreeSet::new();
        let mut last = None;
        for _ in 0..how.patience {
            let view = view::read(host.store).await?;
            match self.attempt(host, &view, tree, &refused, how).await? {
                Ok(snapshot) => return Ok(snapshot),
                Err(Some(receipt)) => {
                    refused.extend(&receipt.missing);
                    last = Some(receipt);
                }
                Err(None) => break,
            }
        }
        Err(Failure::Patience { last })
    }

    /// One session, on one view; an error is the answer that rejects it, if there was any.
    async fn attempt(
        &self,
        host: &Host<'_>,
        view: &View,
        tree: &Tree,
        refused: &BTreeSet<ChunkId>,
        how: &How<'_>,
    ) -> Result<Result<SnapshotId, Option<Box<Receipt>>>, Failure> {
        let is_good = |id: &ChunkId| {
            !refused.contains(id) && view.index(self.domain).is_some_and(|index| index.status(id).may_deduplicate())
        };
        let mut run = self.begin(host)?;
        let mut memory = BTreeMap::new();
        for (at, (path, content)) in tree.iter().enumerate() {
            let remembered = run.take_file(path, content, &is_good)?;
            memory.insert(path.clone(), remembered);
            run.work(host.store).await?;
            if how.split.is_some_and(|split| at % split == split - 1) {
                let packs = run.close(host.store).await?;
                if let Err(answer) = self.commit(host, view, &run, packs, None, how).await? {
                    return Ok(Err(answer));
                }
            }
        }
        let finished = run.session.finish_tree(is_good)?;
        let packs = run.close(host.store).await?;
        let claim = run.claim(host, finished.root, how.partial).await?;
        match self.commit(host, view, &run, packs, Some((claim, tree)), how).await? {
            Ok(written) => {
                *self.memory.lock().expect("nothing panics while it holds the map") = memory;
                Ok(Ok(written.hash.snapshot()))
            }
            Err(answer) => Ok(Err(answer)),
        }
    }

    /// Begins a session with fresh keys.
    pub fn begin(&self, host: &Host<'_>) -> Result<Run<'_>, Failure> {
        let secret = || Secret::new([host.random(), host.random()].concat().try_into().expect("twice 16 bytes"));
        let session_key = SessionKey::new(secret());
        let mut wrap = [0; 64];
        host.entropy.fill(&mut wrap);
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

    /// Commits what a run has stored as a snapshot, deciding about it alone.
    pub async fn commit_run(
        &self,
        host: &Host<'_>,
        view: &View,
        run: &mut Run<'_>,
        (packs, root): (Vec<(PackId, u64)>, ChunkId),
    ) -> Result<SnapshotId, Failure> {
        let claim = run.claim(host, root, false).await?;
        let answer = self.commit(host, view, run, packs, Some((claim, &Tree::new())), &How::default()).await?;
        answer.map(|written| written.hash.snapshot()).map_err(|last| Failure::Patience { last })
    }

    /// Writes manifests that claim the packs and, with the last of them, the snapshot; waits for every answer.
    async fn commit(
        &self,
        host: &Host<'_>,
        view: &View,
        run: &Run<'_>,
        packs: Vec<(PackId, u64)>,
        snapshot: Option<(SnapshotClaim, &Tree)>,
        how: &How<'_>,
    ) -> Result<Result<Written, Option<Box<Receipt>>>, Failure> {
        let mut parts: Vec<&[(PackId, u64)]> = packs.chunks(MANIFEST_PACKS).collect();
        if parts.is_empty() {
            parts.push(&[]);
        }
        let count = parts.len();
        let mut written = Written { number: 0, hash: ObjectHash::NONE };
        for (at, part) in parts.into_iter().enumerate() {
            let claim = snapshot.as_ref().filter(|_| at + 1 == count);
            written = self.write_manifest(host, view, part, claim, how).await?;
            let receipt = self.answer(host, written, run, how).await?;
            match receipt {
                Some(receipt) if receipt.outcome == Outcome::Accepted => {}
                other => return Ok(Err(other.map(Box::new))),
            }
        }
        Ok(Ok(written))
    }

    /// Stores a manifest under the next free number of the client's chain.
    pub async fn write_manifest(
        &self,
        host: &Host<'_>,
        view: &View,
        packs: &[(PackId, u64)],
        snapshot: Option<&(SnapshotClaim, &Tree)>,
        how: &How<'_>,
    ) -> Result<Written, Failure> {
        let head = view.state.heads.get(&self.id).map_or((0, ObjectHash::NONE), |head| (head.number, head.hash));
        let (mut number, mut previous) = (head.0 + 1, head.1);
        loop {
            let manifest = Manifest {
                client: self.id,
                number,
                previous,
                domain: self.domain,
                root_seen: view.base(),
                packs: packs.to_vec(),
                snapshot: snapshot.map(|(claim, _)| claim.clone()),
            };
            let bytes = manifest.sign(self.repository, &self.keys.manifest_key());
            let hash = ObjectHash::of(&bytes);
            if let (Some(claims), Some((_, tree))) = (how.claims, snapshot) {
                claims.claimed(hash.snapshot(), tree);
            }
            let name = key(&layout::manifest(self.id, number));
            if host.store.create(&name, Bytes::from(bytes)).await? == Created::New {
                return Ok(Written { number, hash });
            }
            let stored = ObjectHash::of(&host.store.read(&name).await?);
            if stored == hash {
                return Ok(Written { number, hash });
            }
            // Another run of this client was faster: follow it.
            (number, previous) = (number + 1, stored);
        }
    }

    async fn answer(
        &self,
        host: &Host<'_>,
        written: Written,
        run: &Run<'_>,
        how: &How<'_>,
    ) -> Result<Option<Receipt>, Failure> {
        let name = layout::receipt(self.id, written.number);
        for _ in 0..how.patience * 4 {
            if how.ingests {
                ingest(host, IngestBy::Client, Scope::Client(self.id), &|pack| run.made.contains(pack)).await?;
            }
            match host.store.read(&key(&name)).await {
                Ok(bytes) => {
                    let receipt = Receipt::decode(self.id, written.number, &bytes);
                    let receipt = receipt.map_err(|error| JobError::damaged(&name, error))?;
                    if receipt.manifest != written.hash {
                        return Err(JobError::damaged(&name, "it answers another manifest").into());
                    }
                    return Ok(Some(receipt));
                }
                Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }
}

impl Run<'_> {
    /// Takes a file: as it was remembered if it has not changed and everything in it may be referred to, else anew.
    fn take_file(
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
        self.session.add_entry(remembered.entry.clone(), is_good)?;
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
            if content.is_empty() { Content::None } else { Content::Inline(content.to_vec()) }
        } else {
            let sizes = ChunkSizes::new(p.chunk_min.into(), p.chunk_average.into(), p.chunk_max.into());
            let chunker = Chunker::new(sizes.expect("the kit's sizes are sound"), self.client.domain_keys.gear());
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

    /// Takes a whole tree as if the repository held nothing; gives its packs, which are stored, and its root page.
    pub async fn take_all(&mut self, host: &Host<'_>, tree: &Tree) -> Result<(Vec<(PackId, u64)>, ChunkId), Failure> {
        let is_good = |_: &ChunkId| false;
        for (path, content) in tree {
            self.take_file(path, content, &is_good)?;
        }
        let finished = self.session.finish_tree(is_good)?;
        Ok((self.close(host.store).await?, finished.root))
    }

    /// Runs what the session asks for.
    async fn work(&mut self, store: &dyn Store) -> Result<(), Failure> {
        while let Some(action) = self.session.poll() {
            match action {
                Action::Seal(job) => {
                    let sealed = job.run(&mut self.tools, &self.cipher).expect("this machine seals what it is told");
                    self.session.sealed(sealed)?;
                }
                Action::Store(pack) => {
                    let name = key(&layout::pack(Place::Packs, pack.id));
                    store.create(&name, Bytes::from(pack.bytes)).await?;
                    self.made.insert(pack.id);
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
        Ok(self.session.take_listing().packs)
    }

    async fn claim(&mut self, host: &Host<'_>, root: ChunkId, partial: bool) -> Result<SnapshotClaim, Failure> {
        let counter = self.session.take_counter()?;
        let number = counter.get();
        let info = SnapshotInfo { host: "host".into(), ..SnapshotInfo::default() }.encode();
        let mut block = BlockBuilder::new(BlockKind::Info, 1);
        block.push(self.client.domain_keys.chunk_id(&info), &info, None);
        let job = block.take(counter).expect("one chunk was added");
        let sealed = job.run(&mut self.tools, &self.cipher).expect("this machine seals what it is told");
        Ok(SnapshotClaim {
            root,
            partial,
            client_time: host.now().await?,
            source: self.client.source,
            tags: Vec::new(),
            session_record: self.record.bytes().to_vec(),
            counter: number,
            info: sealed.bytes,
        })
    }
}

impl Client {
    /// The pages of a file's content list, if it has one.
    fn list_pages(&self, pieces: &[Piece]) -> Vec<ChunkId> {
        if pieces.len() <= copal_engine::tree::LIST_AFTER {
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

/// Stands for the time a file was changed: equal for equal contents only.
fn version(content: &[u8]) -> Time {
    let hash = ObjectHash::of(content);
    Time(i64::from_le_bytes(hash.0[..8].try_into().expect("8 of 32 bytes")) >> 2)
}

fn entry(path: &TreePath, content: &[u8], mtime: Time, stored: Content) -> Entry {
    Entry {
        path: path.clone(),
        mode: Mode::new(EntryKind::File, 0o644),
        owner: Owner::default().into(),
        mtime,
        ctime: mtime,
        birth: None,
        inode: 1,
        size: content.len() as u64,
        content: stored,
        extras: Extras::default(),
    }
}
