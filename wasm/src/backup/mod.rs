//! Backup: one run of a client. Owns the session; takes compared and read files in tree order, and returns blocks to
//! compress and seal, packs to store, and manifests to write.

mod claim;
mod compare;
mod files;
mod sealing;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use copal_engine::backup::kept::{KEPT_LEVEL, KeptTree, KeptWriter};
use copal_engine::backup::reuse::RewriteBudget;
use copal_engine::backup::session::{FinishedTree, GivenPack, Session, SessionStart};
use copal_format::block::PendingBlock;
use copal_format::compress::Compress;
use copal_format::id::{ChunkId, DomainId, SourceId};
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::secret::Secret;
use copal_format::keys::session::{SessionKey, SessionRecord};
use copal_format::path::TreePath;
use copal_format::repository::{Descriptor, Parameters};
use copal_format::seal::SessionCipher;
use copal_format::snapshot::{Counts, SnapshotInfo, Summary};
use copal_format::time::Time;
use copal_format::wire::chain::Chain;
use zeroize::Zeroizing;

use crate::client::Client;
use crate::fault::{Code, Fault};
use crate::sealer::{BlockFacts, Sealer};
use crate::view::View;

pub use claim::{Claim, Claimed};
pub use compare::Verdict;
pub use compare::{FileFacts, FileKind};

/// The inputs of a backup. The host provides all random numbers and the time.
pub struct Start {
    /// Random bytes for the session's key, its wrapping, and the packs' names.
    pub random: [u8; Start::RANDOM],
    /// The random salt of the kept tree.
    pub kept_salt: [u8; 16],
    /// The start time.
    pub now: Time,
    /// What is backed up and by whom. Counts and summary are filled in at the end.
    pub info: SnapshotInfo,
    /// Target size of packs in bytes.
    pub pack_target: u32,
}

impl Start {
    /// The number of random bytes for the session.
    pub const RANDOM: usize = 32 + 64 + 32;
}

/// Work for the host.
#[derive(Debug)]
pub enum Action {
    /// Compress these bytes, then seal the block.
    Seal {
        /// What a sealer needs to know about the block.
        block: BlockFacts,
        /// The bytes of pages. The host has kept the bytes of chunks.
        raw: Vec<u8>,
    },
    /// Compute the pack's SHA-256, pass it to [`Backup::named`], and store the pack before the next manifest.
    Store(GivenPack),
}

/// The numbers of a run so far.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// What the snapshot holds.
    pub counts: Counts,
    /// How it differs from the parent snapshot.
    pub summary: Summary,
    /// Bytes of files that were not read.
    pub bytes_unchanged: u64,
    /// Bytes of chunks that the repository or this run had.
    pub bytes_known: u64,
    /// Bytes of chunks that were new.
    pub bytes_new: u64,
    /// Chunks that were new.
    pub chunks_new: u64,
    /// Bytes of packs, sealed as they are stored.
    pub bytes_stored: u64,
}

/// Returns a compressor of this level, or of the nearest one available. The session itself compresses little: browsers
/// load it long before a backup, without Zstandard's compressor.
pub type CompressorOf = Box<dyn Fn(i32) -> Box<dyn Compress>>;

/// One run of a client.
pub struct Backup {
    client: Client,
    view: Rc<RefCell<View>>,
    keys: DomainKeys,
    key: SessionKey,
    cipher: SessionCipher,
    record: SessionRecord,
    session: Session,
    parameters: Parameters,
    info: SnapshotInfo,
    now: Time,
    /// The end of the client's chain of manifests.
    chain: Chain,
    /// The last number that the state has decided about.
    decided: u64,
    is_end_found: bool,
    cursors: Vec<compare::TreeCursor>,
    kept_before: Vec<KeptTree<Vec<u8>>>,
    kept: KeptWriter<Box<dyn Compress>>,
    compressor_of: CompressorOf,
    rewrite_budget: RewriteBudget,
    /// Compared files that were not taken yet, in order.
    compared: VecDeque<compare::Compared>,
    last_compared: Option<TreePath>,
    directories: Vec<TreePath>,
    open: Option<files::Open>,
    pending: BTreeMap<u64, PendingBlock>,
    stage: Stage,
    claims: VecDeque<claim::Draft>,
    /// Bytes of the packs claimed since the last snapshot or checkpoint.
    claimed_bytes: u64,
    tally: Tally,
}

/// The stage of the run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// It takes entries.
    Taking,
    /// It claims what it took, with the tree so far.
    Claiming { tree: Option<FinishedTree>, is_final: bool },
    /// The snapshot is claimed.
    Done,
}

impl Backup {
    /// Begins a backup. The view must be complete and include the client's domain.
    pub fn begin(
        client: Client,
        descriptor: &Descriptor,
        view: Rc<RefCell<View>>,
        start: &Start,
        compressor_of: CompressorOf,
    ) -> Result<Self, Fault> {
        let owner = descriptor.kem_of(descriptor.repository, client.owner())?;
        if descriptor.repository != client.repository() {
            return Err(Fault::new(Code::OtherOwner, "the client belongs to another repository"));
        }
        if !view.borrow().is_complete() {
            return Err(Fault::misuse("a backup begins with a complete view"));
        }
        let parameters = Parameters { pack_target: start.pack_target, ..descriptor.parameters.clone() };
        parameters.check().map_err(|error| Fault::of(Code::Misuse, &error))?;
        start.info.check().map_err(|error| Fault::of(Code::BadEntry, &error))?;
        let secret = |at: usize| Secret::new(start.random[at..at + 32].try_into().expect("32 bytes"));
        let (repository, domain) = (client.repository(), client.domain());
        let key = SessionKey::new(secret(0));
        let wrapping = start.random[32..96].try_into().expect("64 bytes");
        let record = key.record(repository, domain, &[(&owner, wrapping)]);
        let cipher = SessionCipher::new(&key, repository, record.id(repository));
        let keys = DomainKeys::new(client.domain_key());
        let mut session = Session::begin(SessionStart {
            parameters: parameters.clone(),
            domain,
            keys: keys.clone(),
            record: record.clone(),
            seed: secret(96),
        })?;
        session.keep_pages();
        let head = view.borrow().state().and_then(|state| state.heads.get(&client.id()).cloned());
        let chain = head.map_or_else(Chain::new, |head| Chain::after(head.number, head.hash));
        Ok(Self {
            kept: KeptWriter::begin_with(&client.tree_key(), repository, start.kept_salt, compressor_of(KEPT_LEVEL)),
            compressor_of,
            client,
            view,
            keys,
            key,
            cipher,
            record,
            session,
            parameters,
            info: start.info.clone(),
            now: start.now,
            decided: chain.number(),
            chain,
            is_end_found: false,
            cursors: Vec::new(),
            kept_before: Vec::new(),
            rewrite_budget: RewriteBudget(0),
            compared: VecDeque::new(),
            last_compared: None,
            directories: Vec::new(),
            open: None,
            pending: BTreeMap::new(),
            stage: Stage::Taking,
            claims: VecDeque::new(),
            claimed_bytes: 0,
            tally: Tally::default(),
        })
    }

    /// The source of the snapshot's series.
    pub fn source(&self) -> SourceId {
        self.keys.source_id(&self.info.host, &self.info.paths, &self.info.label)
    }

    /// Takes a kept tree of this source, best first; returns whether it can be used.
    pub fn parent(&mut self, kept: Vec<u8>) -> bool {
        let tree = KeptTree::open(&self.client.tree_key(), self.client.repository(), kept);
        let Some(tree) = tree.filter(|_| self.last_compared.is_none()) else { return false };
        self.rewrite_budget = self.rewrite_budget.max(RewriteBudget(tree.snapshot.bytes / REWRITE_PART));
        self.cursors.push(compare::TreeCursor::new(&tree));
        self.kept_before.push(tree);
        true
    }

    /// The size of all files of the newest kept tree, as an estimate of this run; zero without such a tree.
    pub fn expected_bytes(&self) -> u64 {
        self.kept_before.first().map_or(0, |tree| tree.snapshot.bytes)
    }

    /// The key of the session's blocks, for a cipher of the host.
    pub fn block_key(&self) -> Secret {
        self.key.block_key()
    }

    /// The key for [`Sealer`]s: it makes nonces.
    pub fn sealer_key(&self) -> Zeroizing<[u8; Sealer::KEY]> {
        let mut key = Zeroizing::new([0; Sealer::KEY]);
        let repository = self.client.repository();
        let (secret, rest) = key.split_at_mut(Secret::LEN);
        secret.copy_from_slice(self.key.nonce_key().expose());
        let (of_repository, of_session) = rest.split_at_mut(repository.as_bytes().len());
        of_repository.copy_from_slice(repository.as_bytes());
        of_session.copy_from_slice(self.record.id(repository).as_bytes());
        key
    }

    /// The numbers so far.
    pub fn tally(&self) -> Tally {
        let session = self.session.tally();
        Tally {
            bytes_new: session.bytes_new,
            chunks_new: session.chunks_new,
            bytes_stored: session.bytes_stored,
            ..self.tally
        }
    }

    fn domain(&self) -> DomainId {
        self.client.domain()
    }

    /// Whether the repository has a chunk or page, and it may be referred to again.
    fn known(&self) -> impl Fn(&ChunkId) -> bool + use<> {
        let (view, domain) = (self.view.clone(), self.domain());
        move |id| view.borrow().status(domain, id).may_deduplicate()
    }

    /// Adds the session's new pages to the kept tree.
    fn keep_pages(&mut self) -> Result<(), Fault> {
        let pages = self.session.take_kept();
        Ok(self.kept.add(&pages)?)
    }

    /// The bytes to append to the kept tree's file.
    pub fn take_kept(&mut self) -> Option<Vec<u8>> {
        self.kept.take()
    }
}

/// The rewrite budget: wanted data may be uploaded again up to one part in this many of the source.
const REWRITE_PART: u64 = 50;
