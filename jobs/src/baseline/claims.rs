//! Claims: the manifests since the baseline that their clients have signed.

use std::collections::{BTreeMap, BTreeSet};

use copal_engine::ingest::snapshot_of;
use copal_format::client::{ClientRecord, Role};
use copal_format::id::{ClientId, DomainId, ObjectHash, PackId, SnapshotId};
use copal_format::layout;
use copal_format::limits::CHAIN_LEAP;
use copal_format::manifest::Manifest;
use copal_format::number::reached;
use copal_format::receipt::{Outcome, Receipt};
use copal_format::state::{ClientHead, SnapshotRecord};
use copal_format::time::Time;
use copal_store::Listed;

use crate::clients;
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;
use crate::view::View;

#[derive(Default)]
pub(super) struct Claims {
    /// Manifests that the state has decided, except rejected ones.
    pub(super) decided: BTreeMap<(ClientId, u64), Claim>,
    /// Unreadable manifests that the client's next manifest names.
    pub(super) lost: BTreeMap<(ClientId, u64), Lost>,
    /// Packs of undecided manifests.
    pub(super) waiting: BTreeSet<PackId>,
    /// Packs that the owner has proven.
    pub(super) proven: BTreeSet<PackId>,
}

/// What is known of a manifest that cannot be read.
pub(super) struct Lost {
    /// The snapshot it may commit.
    pub(super) snapshot: SnapshotId,
    pub(super) domain: DomainId,
    pub(super) by_full_client: bool,
}

/// A manifest that was accepted, or may have been.
pub(super) struct Claim {
    pub(super) domain: DomainId,
    /// Its packs with their lengths.
    pub(super) packs: Vec<(PackId, u64)>,
    /// Those of its packs that the owner has proven.
    proven: BTreeSet<PackId>,
    /// The snapshot that it commits, with the store's time of the manifest as its accept time.
    pub(super) snapshot: Option<SnapshotRecord>,
    pub(super) by_full_client: bool,
    /// The store's time of the manifest.
    pub(super) stored: Time,
    /// The hash of the manifest before it.
    previous: ObjectHash,
    /// Whether it does not count.
    is_rejected: bool,
    /// Whether a receipt or the state says that it was accepted.
    pub(super) is_told: bool,
}

impl Claims {
    /// All claims since a state, including undecided ones.
    pub(super) async fn since(job: &JobContext<'_>, before: &View, view: &View) -> Result<Self, JobError> {
        let clients = clients::below_behind(job.store, "manifests/", &before.state.heads).await?;
        Self::of(job, before, view, clients).await
    }

    /// The claims since `before` of the clients whose heads differ in `view`.
    pub(super) async fn decided_since(job: &JobContext<'_>, before: &View, view: &View) -> Result<Self, JobError> {
        let heads = view.state.heads.iter().filter(|(client, head)| before.state.heads.get(client) != Some(head));
        Self::of(job, before, view, heads.map(|(client, _)| *client).collect()).await
    }

    async fn of(job: &JobContext<'_>, before: &View, view: &View, clients: Vec<ClientId>) -> Result<Self, JobError> {
        let calls = clients.into_iter().map(|client| {
            let from = before.state.heads.get(&client).map_or(0, |head| head.number);
            let chain = Chain { job, client, from, head: view.state.heads.get(&client), root: view.number() };
            async move { chain.claims().await.map(|claims| (client, claims)) }
        });
        let mut all = Self::default();
        for (client, claims) in objects::join(calls).await? {
            let head = view.state.heads.get(&client).map_or(0, |head| head.number);
            let from = before.state.heads.get(&client).map_or(0, |head| head.number);
            let there: BTreeSet<u64> = claims.iter().map(|(number, _)| *number).collect();
            for (number, claim) in claims {
                if number > from + 1 && !there.contains(&(number - 1)) {
                    let Claim { domain, by_full_client, .. } = claim;
                    let lost = Lost { snapshot: claim.previous.snapshot(), domain, by_full_client };
                    all.lost.insert((client, number - 1), lost);
                }
                if claim.is_rejected {
                    continue;
                }
                if number > head {
                    all.waiting.extend(claim.packs.into_iter().map(|(id, _)| id));
                    continue;
                }
                all.proven.extend(&claim.proven);
                all.decided.insert((client, number), claim);
            }
        }
        Ok(all)
    }
}

/// The manifests of one client behind the baseline.
struct Chain<'a> {
    job: &'a JobContext<'a>,
    client: ClientId,
    /// The last number that the baseline has decided.
    from: u64,
    /// How far the state has decided the client's manifests.
    head: Option<&'a ClientHead>,
    /// The number of the state's root.
    root: u64,
}

impl Chain<'_> {
    /// Reads and verifies the manifests. Without a client record no manifest was accepted.
    async fn claims(&self) -> Result<Vec<(u64, Claim)>, JobError> {
        let record = match clients::admitted(self.job, self.client).await {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(Vec::new()),
            Err(error) => return error.blame().map(|_| Vec::new()),
        };
        let first = objects::key(layout::manifest(self.client, self.from));
        let listed = objects::list_after(self.job.store, &format!("manifests/{}/", self.client), Some(&first)).await?;
        let number = |listed: &Listed| layout::trailing_number(listed.key.as_str());
        let numbered = listed.iter().filter_map(|listed| Some((number(listed)?, Time(listed.stat.created.0))));
        let numbered: Vec<(u64, Time)> = numbered.collect();
        let last = reached(self.from, CHAIN_LEAP, numbered.iter().map(|(number, _)| *number));
        // A client's manifests after its revocation are not read: there may be many, and no job deletes them.
        let head = self.head.map_or(0, |head| head.number);
        let last = record.revoked.map_or(last, |(good, _)| last.min(good.max(head)));
        let calls = numbered.into_iter().filter(|(number, _)| *number <= last).map(|(number, stored)| {
            let record = &record;
            async move { Ok(self.claim(record, number, stored).await?.map(|claim| (number, claim))) }
        });
        Ok(objects::join_few(FEW, calls).await?.into_iter().flatten().collect())
    }

    /// One manifest; none if it cannot be read, or its client has not signed it.
    async fn claim(&self, record: &ClientRecord, number: u64, stored: Time) -> Result<Option<Claim>, JobError> {
        let Some(keys) = &record.keys else { return Ok(None) };
        let names = [layout::manifest(self.client, number), layout::receipt(self.client, number)];
        let read = async |name: &str| match objects::read(self.job.store, name).await.map_err(JobError::from) {
            Ok(read) => Ok(read),
            Err(error) => error.blame().map(|_| None),
        };
        let (bytes, receipt) = futures::try_join!(read(&names[0]), read(&names[1]))?;
        let Some(bytes) = bytes else { return Ok(None) };
        let verified = Manifest::verify(self.job.repository, &keys.manifest, self.client, number, &bytes);
        let Ok(verified) = verified else { return Ok(None) };
        let receipt = receipt.and_then(|bytes| Receipt::decode(self.client, number, &bytes).ok());
        let told = receipt.filter(|receipt| receipt.manifest == verified.hash);
        let is_told = told.as_ref().is_some_and(|told| told.outcome == Outcome::Accepted && told.root <= self.root);
        let outcome = told.map(|told| told.outcome).or_else(|| self.decided(number, verified.hash));
        let is_told = is_told || self.decided(number, verified.hash) == Some(Outcome::Accepted);
        let is_revoked = number > self.head.map_or(0, |head| head.number) && !record.accepts(number, verified.hash);
        let is_rejected = outcome == Some(Outcome::Rejected) || is_revoked;
        let by_full_client = record.role == Role::Full;
        let proven = verified.manifest.proven_packs(self.job.repository, &self.job.owner_key);
        let snapshot = snapshot_of(&verified, by_full_client, stored, stored);
        let Manifest { domain, packs, previous, .. } = verified.manifest;
        Ok(Some(Claim { domain, packs, proven, snapshot, by_full_client, stored, previous, is_rejected, is_told }))
    }

    /// The state's decision about a manifest; none if the state has dropped the decision because its receipt exists.
    fn decided(&self, number: u64, hash: ObjectHash) -> Option<Outcome> {
        let mut decisions = self.head?.decisions.iter();
        decisions.find(|decision| (decision.number, decision.hash) == (number, hash)).map(|decision| decision.outcome)
    }
}

/// Fails if the state has decided fewer manifests of a client than the baseline, or other ones.
pub(super) fn compare_heads(before: &View, view: &View) -> Result<(), String> {
    for (client, head) in &before.state.heads {
        let follows = view
            .state
            .heads
            .get(client)
            .is_some_and(|now| now.number > head.number || (now.number, now.hash) == (head.number, head.hash));
        if !follows {
            return Err(format!("it has decided less about client {client} than before"));
        }
    }
    Ok(())
}

/// Manifests of one client read at the same time; other clients are read at the same time too.
const FEW: usize = 4;
