//! Hostile: thieves of a write-only client's and of a full client's signing keys. Each client lives honestly until its
//! key is stolen at some moment; then the thief claims what it must not, over and over, among sound claims. What is a lie
//! whenever it is decided is never accepted, and nothing that was restorable before is lost.

use std::time::Duration;

use bytes::Bytes;
use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::{ChunkId, DomainId, ObjectHash, PackId, SnapshotId, SourceId};
use copal_format::layout;
use copal_format::limits::NUMBER;
use copal_format::manifest::{Manifest, SnapshotClaim};
use copal_format::policy::Floor;
use copal_format::receipt::{Outcome, Receipt};
use copal_format::repository::IngestBy;
use copal_jobs::check::{Finding, Kind};
use copal_jobs::error::JobError;
use copal_jobs::ingest::{Scope, ingest};
use copal_jobs::policy;
use copal_jobs::view::{self, View};
use copal_store::{Created, StoreError};
use copal_tests::kit::craft::claim;
use copal_tests::kit::repository::key;
use copal_tests::kit::{Client, How, Tree, guarded, guarded_with};

use super::actors::Scene;
use super::lie::{LIES, Lie};
use super::tasks::pause;
use super::watch::Watch;

/// A manifest in the making.
pub(super) struct Claim {
    pub(super) domain: DomainId,
    pub(super) packs: Vec<(PackId, u64)>,
    pub(super) root: Option<ChunkId>,
}

/// Whether a finding is of what a thief has done to no one but those who deduplicate against it. It writes several pages
/// under one id, and a rebuild, which takes in the packs of what it does not believe, may find that one of them has no
/// sound references. Behind a manifest whose signature is wrong a rebuild has nothing to compare the next one with; and
/// if nobody was told of that manifest yet, a rebuild leaves it undecided.
pub(super) fn is_thiefs_harm(watch: &Watch, finding: &Finding) -> bool {
    let seen = watch.seen();
    let known =
        |id: &SnapshotId| seen.live.iter().flat_map(|live| live.state.snapshots.values()).find(|of| of.id == *id);
    let may_harm = |id: &SnapshotId| known(id).is_some_and(|snapshot| seen.thefts.may_harm(snapshot));
    let is_dangling = finding.kind == Kind::Dangling;
    // What harms no snapshot is what pages of the thief's refer to, which stay while a snapshot might come back.
    let mut domains = seen.live.iter().flat_map(|live| live.state.snapshots.values()).map(|of| of.domain);
    let is_nobodys = finding.snapshots.is_empty() && domains.any(|domain| seen.thefts.is_robbed(domain));
    let is_of_chain = ["manifests/", "receipts/"].iter().any(|folder| finding.object.starts_with(folder))
        && layout::client_of(&finding.object).is_some_and(|client| seen.thefts.is_stolen(client));
    is_of_chain
        || (is_dangling && (is_nobodys || !finding.snapshots.is_empty() && finding.snapshots.iter().all(may_harm)))
}

impl Scene<'_> {
    /// Lives honestly until the key is stolen; then claims one thing after the other. The key stays stolen, whoever dies.
    pub(super) async fn deceive(mut self, client: &Client) {
        let mut tree = Tree::new();
        while !self.watch.seen().thefts.is_stolen(client.id) {
            match client.role {
                Role::WriteOnly => self.save(client, &mut tree, false, 0).await,
                // Others have saved what its thief may harm.
                Role::Full => {
                    for _ in 0..self.random.below(300) {
                        pause().await;
                    }
                }
            }
            let is_early = self.habits.is_lasting && self.watch.seen().law.policy.is_none();
            if !is_early {
                self.watch.steal(client, self.habits.has_passphrase);
            }
        }
        loop {
            if let Err(error) = self.lie(client).await {
                self.allow("a thief", &error);
            }
        }
    }

    async fn lie(&mut self, client: &Client) -> Result<(), JobError> {
        let view = view::read(self.job.store).await?;
        if client.role == Role::Full && self.habits.has_passphrase && self.random.chance(100) {
            let weaker = self.weaker_policy(&view).await?;
            return self.hand_in(client, &view, &weaker, false).await;
        }
        let lie = *self.random.pick(&LIES);
        let Some(made) = self.make(client, &view, lie).await? else { return Ok(()) };
        let (number, bytes) = self.sign(client, &view, &made, lie).await?;
        let hash = ObjectHash::of(&bytes);
        self.watch.note(|| format!("a thief claims {lie:?} as manifest {number} of {}", client.id));
        if self.job.store.create(&key(&layout::manifest(client.id, number)), bytes).await? != Created::New {
            return Ok(());
        }
        for _ in 0..self.random.below(PATIENCE) {
            match self.job.store.read(&key(&layout::receipt(client.id, number))).await {
                Ok(bytes) => {
                    let receipt = Receipt::decode(client.id, number, &bytes);
                    let is_accepted = receipt.is_ok_and(|of| of.outcome == Outcome::Accepted && of.manifest == hash);
                    if is_accepted && !lie.may_pass(client.role) {
                        self.watch.broken(format!("manifest {number} of {} lies ({lie:?}) and is accepted", client.id));
                    }
                    return Ok(());
                }
                Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The policy that a thief with the passphrase signs. It has neither floor nor hold, or it keeps both and has no grace
    /// period, so that a later one may end them sooner.
    async fn weaker_policy(&mut self, view: &View) -> Result<Operation, JobError> {
        let in_force = policy::current(&self.job, view).await?;
        Ok(match in_force.filter(|_| self.random.chance(500)) {
            Some((_, policy)) => {
                self.watch.note(|| "a thief with the passphrase ends the grace period".into());
                guarded_with(Duration::ZERO, 1, policy.floor(), policy.hold())
            }
            None => {
                self.watch.note(|| "a thief with the passphrase ends floor and hold".into());
                guarded(1, Floor::default(), None)
            }
        })
    }

    /// The manifest, for the next free number of the chain.
    async fn sign(&mut self, client: &Client, view: &View, made: &Claim, lie: Lie) -> Result<(u64, Bytes), JobError> {
        let head = view.state.heads.get(&client.id).map_or((0, ObjectHash::NONE), |head| (head.number, head.hash));
        let (mut number, mut previous) = (head.0 + 1, head.1);
        while let Some(stored) = self.stored(&layout::manifest(client.id, number)).await? {
            (number, previous) = (number + 1, ObjectHash::of(&stored));
        }
        if lie == Lie::Chain {
            previous = ObjectHash([0xee; 32]);
        }
        let root_seen = (lie == Lie::RootSeen).then(|| (*self.random.pick(&FAR), ObjectHash([7; 32])));
        let source = match view.state.snapshots.values().find(|_| self.random.chance(300)) {
            Some(other) if lie == Lie::Series => other.source,
            _ => SourceId([5; 16]),
        };
        let snapshot = made.root.map(|root| SnapshotClaim { source, ..claim(root, self.random.chance(200)) });
        let plain = Manifest::new(client.id, number, previous, made.domain);
        let mut manifest = Manifest { root_seen, packs: made.packs.clone(), snapshot, ..plain };
        if self.habits.has_passphrase && client.role == Role::Full && self.random.chance(500) {
            manifest.prove(&self.repository.owner, |_| true);
        }
        let key = match lie {
            Lie::Signature => client.keys.request_key(),
            _ => client.keys.manifest_key(),
        };
        Ok((manifest.number, Bytes::from(manifest.sign(self.job.repository, &key))))
    }

    /// What a thief hands in after the owner has revoked the client is not believed.
    pub(super) async fn lie_in_vain(&self, client: &Client) -> Result<(), String> {
        let text = |error: JobError| error.to_string();
        let view = view::read(self.job.store).await.map_err(text)?;
        let written = client.write_manifest(&self.job, &view, &[], None, &How::default()).await;
        let number = written.map_err(|error| error.to_string())?.number;
        ingest(&self.job, IngestBy::Service, Scope::Client(client.id), &|_| false).await.map_err(text)?;
        let bytes = self.stored(&layout::receipt(client.id, number)).await.map_err(text)?;
        let receipt = bytes.and_then(|bytes| Receipt::decode(client.id, number, &bytes).ok());
        match receipt.map(|receipt| receipt.outcome) {
            Some(Outcome::Rejected) => Ok(()),
            other => Err(format!("manifest {number} of {}, who is revoked, is answered {other:?}", client.id)),
        }
    }

    async fn stored(&self, name: &str) -> Result<Option<Bytes>, JobError> {
        match self.job.store.read(&key(name)).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Numbers of roots that nobody can have seen.
const FAR: [u64; 4] = [u64::MAX, NUMBER, 1 << 63, 1 << 41];
/// A thief looks for an answer less often than this.
const PATIENCE: usize = 40;
