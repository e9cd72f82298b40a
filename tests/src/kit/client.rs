//! Client: backs up a tree of a few files through the engine's session, step by step as a real host does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use bytes::Bytes;
use copal_engine::backup::session::SessionError;
use copal_format::client::Role;
use copal_format::extent::Extent;
use copal_format::id::{ChunkId, ClientId, DomainId, ObjectHash, PackId, RepositoryId, SnapshotId, SourceId};
use copal_format::index::Status;
use copal_format::keys::client::ClientKeys;
use copal_format::keys::domain::DomainKeys;
use copal_format::keys::owner::{KemPublic, OwnerSecret};
use copal_format::layout;
use copal_format::limits::MANIFEST_PACKS;
use copal_format::manifest::{Manifest, SnapshotClaim};
use copal_format::path::TreePath;
use copal_format::receipt::{Outcome, Receipt};
use copal_format::repository::{IngestBy, Parameters};
use copal_format::snapshot::MetadataSeen;
use copal_format::time::Time;
use copal_jobs::context::JobContext;
use copal_jobs::error::JobError;
use copal_jobs::ingest::{Scope, ingest_on};
use copal_jobs::view::{self, View};
use copal_store::{Created, StoreError};

use super::Tree;
use super::repository::{Repository, key};
use super::run::{Remembered, Run};

/// A registered device. What it remembers between runs dies with it.
pub struct Client {
    pub id: ClientId,
    pub role: Role,
    /// Where it writes.
    pub domain: DomainId,
    pub keys: ClientKeys,
    pub source: SourceId,
    /// The host that its snapshots claim.
    pub host: String,
    /// What of the metadata it says that it saw.
    pub metadata: MetadataSeen,
    pub(super) repository: RepositoryId,
    pub(super) parameters: Parameters,
    pub(super) domain_keys: DomainKeys,
    pub(super) owner: KemPublic,
    /// What proves its packs, if it is a full client.
    secret: Option<OwnerSecret>,
    pub(super) memory: Mutex<BTreeMap<TreePath, Remembered>>,
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
    /// Of what is wanted, the ids whose first byte is not above this are uploaded again: a budget that no order of the
    /// files changes.
    pub rewrites: u8,
    /// Is told of every snapshot that the client signs, before it is stored.
    pub claims: Option<&'a dyn Claims>,
    /// How often it looks for an answer that others have to give, and how often it tries again.
    pub patience: u32,
    /// By how many nanoseconds its clock is wrong.
    pub skew: i64,
}

impl Default for How<'_> {
    fn default() -> Self {
        Self { ingests: true, split: None, partial: false, rewrites: u8::MAX, claims: None, patience: 12, skew: 0 }
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
    Patience { last: Option<Box<Receipt>> },
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::Job(error.into())
    }
}

/// A manifest that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub number: u64,
    pub hash: ObjectHash,
}

impl Client {
    /// The client as a thief of its keys has it: without the owner's secret, and so without a way to prove packs.
    pub fn stolen(self) -> Self {
        Self { secret: None, ..self }
    }

    pub(super) fn new(repository: &Repository, id: ClientId, keys: ClientKeys, role: Role, domain: DomainId) -> Self {
        let domain_keys = DomainKeys::new(&repository.owner.domain_key(domain));
        let source = domain_keys.source_id("host", &[id.0.to_vec()], "");
        Self {
            id,
            role,
            domain,
            keys,
            source,
            host: "host".to_owned(),
            metadata: MetadataSeen::default(),
            repository: repository.owner.repository(),
            parameters: repository.parameters.clone(),
            domain_keys,
            owner: repository.owner.kem_public(),
            secret: (role == Role::Full).then(|| repository.owner.clone()),
            memory: Mutex::default(),
        }
    }

    /// The name under which the owner has registered it.
    pub fn name(&self) -> String {
        format!("client {}", self.id.0[0])
    }

    /// Forgets what earlier runs saw: the next one reads every file.
    pub fn forget_memory(&self) {
        self.memory.lock().expect("nothing panics while it holds the map").clear();
    }

    /// Backs up a tree until a receipt accepts it; gives the snapshot.
    pub async fn back_up(&self, job: &JobContext<'_>, tree: &Tree, how: &How<'_>) -> Result<SnapshotId, Failure> {
        let mut refused: BTreeSet<ChunkId> = BTreeSet::new();
        let mut last = None;
        for _ in 0..how.patience {
            let view = view::read(job.store).await?;
            match self.attempt(job, &view, tree, &refused, how).await? {
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
        job: &JobContext<'_>,
        view: &View,
        tree: &Tree,
        refused: &BTreeSet<ChunkId>,
        how: &How<'_>,
    ) -> Result<Result<SnapshotId, Option<Box<Receipt>>>, Failure> {
        let is_good = |id: &ChunkId| {
            let may_refer = |status| match status {
                // Beyond its budget a client refers to what the repository would rather have again.
                Status::Wanted => id.0[0] > how.rewrites,
                status => status.may_deduplicate(),
            };
            !refused.contains(id) && view.index(self.domain).is_some_and(|index| may_refer(index.status(id)))
        };
        let mut run = self.begin(job)?;
        let mut memory = BTreeMap::new();
        let mut stored = 0;
        for (at, (path, content)) in tree.iter().enumerate() {
            let remembered = run.take_file(path, content, &is_good)?;
            memory.insert(path.clone(), remembered);
            run.work(job.store).await?;
            if how.split.is_some_and(|split| at % split == split - 1) {
                let packs = run.close(job.store).await?;
                stored += bytes_of(&packs);
                if let Err(answer) = self.commit(job, view, &run, packs, None, how).await? {
                    return Ok(Err(answer));
                }
            }
        }
        let finished = run.session.finish_tree(is_good)?;
        let packs = run.close(job.store).await?;
        let mut claim = run.claim(job, finished.root, how.partial).await?;
        claim.client_time = Time(claim.client_time.0.saturating_add(how.skew));
        let bytes = tree.values().map(|content| content.len() as u64).sum();
        claim.extent = Some(Extent::about(tree.len() as u64, bytes, stored + bytes_of(&packs)));
        match self.commit(job, view, &run, packs, Some((claim, tree)), how).await? {
            Ok(written) => {
                *self.memory.lock().expect("nothing panics while it holds the map") = memory;
                Ok(Ok(written.hash.snapshot()))
            }
            Err(answer) => Ok(Err(answer)),
        }
    }

    /// Commits what a run has stored as a snapshot or checkpoint, deciding about it alone.
    pub async fn commit_run(
        &self,
        job: &JobContext<'_>,
        view: &View,
        run: &mut Run<'_>,
        (packs, root): (Vec<(PackId, u64)>, ChunkId),
        partial: bool,
    ) -> Result<SnapshotId, Failure> {
        let claim = run.claim(job, root, partial).await?;
        let answer = self.commit(job, view, run, packs, Some((claim, &Tree::new())), &How::default()).await?;
        answer.map(|written| written.hash.snapshot()).map_err(|last| Failure::Patience { last })
    }

    /// Writes manifests that claim the packs and, with the last of them, the snapshot; waits for every answer.
    async fn commit(
        &self,
        job: &JobContext<'_>,
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
            written = self.write_manifest(job, view, part, claim, how).await?;
            let receipt = self.answer(job, view, written, run, how).await?;
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
        job: &JobContext<'_>,
        view: &View,
        packs: &[(PackId, u64)],
        snapshot: Option<&(SnapshotClaim, &Tree)>,
        how: &How<'_>,
    ) -> Result<Written, Failure> {
        let head = view.state.heads.get(&self.id).map_or((0, ObjectHash::NONE), |head| (head.number, head.hash));
        let (mut number, mut previous) = (head.0 + 1, head.1);
        loop {
            let mut manifest = Manifest {
                root_seen: view.base(),
                packs: packs.to_vec(),
                snapshot: snapshot.map(|(claim, _)| claim.clone()),
                ..Manifest::new(self.id, number, previous, self.domain)
            };
            if let Some(owner) = &self.secret {
                manifest.prove(owner, |_| true);
            }
            let bytes = manifest.sign(self.repository, &self.keys.manifest_key());
            let hash = ObjectHash::of(&bytes);
            if let (Some(claims), Some((_, tree))) = (how.claims, snapshot) {
                claims.claimed(hash.snapshot(), tree);
            }
            let name = key(&layout::manifest(self.id, number));
            if job.store.create(&name, Bytes::from(bytes)).await? == Created::New {
                return Ok(Written { number, hash });
            }
            let stored = ObjectHash::of(&job.store.read(&name).await?);
            if stored == hash {
                return Ok(Written { number, hash });
            }
            // Another run of this client was faster: follow it.
            (number, previous) = (number + 1, stored);
        }
    }

    async fn answer(
        &self,
        job: &JobContext<'_>,
        view: &View,
        written: Written,
        run: &Run<'_>,
        how: &How<'_>,
    ) -> Result<Option<Receipt>, Failure> {
        let name = layout::receipt(self.id, written.number);
        for _ in 0..how.patience * 4 {
            if how.ingests {
                let (scope, is_own) = (Scope::Client(self.id), |pack: &PackId| run.made.contains(pack));
                ingest_on(view, job, IngestBy::Client, scope, &is_own).await?;
            }
            match job.store.read(&key(&name)).await {
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

fn bytes_of(packs: &[(PackId, u64)]) -> u64 {
    packs.iter().map(|(_, length)| length).sum()
}
