//! Manifest: appends manifests to the client's chain and reads their receipts. Nothing counts before its receipt.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use copal_format::id::{ChunkId, ObjectHash, PackId};
use copal_format::layout::{self, Place};
use copal_format::manifest::{Manifest, SnapshotClaim};
use copal_format::receipt::{IngestBy, Outcome, Reason, Receipt};
use copal_format::wire::chain::Chain;
use copal_jobs::error::JobError;
use copal_jobs::ingest::{Scope, ingest_on};
use copal_jobs::objects;
use copal_jobs::view::{self, View};
use copal_store::StoreError;

use super::BackupError;
use crate::chain::{append, follow_to_end};
use crate::repository::{Access, LocalClient};
use crate::wait::{Patience, wait};

/// The end of a client's chain of manifests.
pub(super) struct ManifestChain<'a> {
    access: Access<'a>,
    client: &'a LocalClient,
    root_seen: Option<(u64, ObjectHash)>,
    end: Chain,
    /// The last number that the state has decided about.
    decided: u64,
    /// Receipts from this process's last ingest.
    answers: Vec<Receipt>,
}

/// A manifest that was added to the chain.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Claimed {
    pub(super) number: u64,
    pub(super) hash: ObjectHash,
}

impl<'a> ManifestChain<'a> {
    /// Finds the end of the chain: starts at the state's head and follows all manifests written since.
    pub(super) fn find(access: Access<'a>, client: &'a LocalClient, view: &View) -> Result<Self, JobError> {
        let head = view.state.heads.get(&client.id);
        let mut end = head.map_or_else(Chain::new, |head| Chain::after(head.number, head.hash));
        let decided = end.number();
        follow_to_end(access.store().as_ref(), &mut end, |number| layout::manifest(client.id, number))?;
        Ok(Self { access, client, root_seen: view.base(), end, decided, answers: Vec::new() })
    }

    /// Ids in the packs of manifests without a receipt. They need not be stored again, because any later manifest is
    /// decided after these. What cannot be read is stored again.
    pub(super) fn unanswered(&self) -> Result<HashSet<ChunkId>, JobError> {
        let mut ids = HashSet::new();
        let store = self.access.store().as_ref();
        let public = self.client.keys.manifest_public();
        for number in self.decided + 1..=self.end.number() {
            let Some(bytes) = wait(objects::read(store, &layout::manifest(self.client.id, number)))? else { continue };
            let verified = Manifest::verify(self.access.id(), &public, self.client.id, number, &bytes);
            let Ok(verified) = verified else { continue };
            for (id, length) in verified.manifest.packs {
                match wait(objects::read_table(store, Place::Packs, id, length)) {
                    Ok(table) => ids.extend(table.ids.iter().copied()),
                    Err(JobError::Damaged { .. }) => {}
                    // A gateway does not let a write-only client read packs.
                    Err(JobError::Store(StoreError::NotFound { .. } | StoreError::Denied { .. })) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(ids)
    }

    /// Adds a manifest. With the owner secret it proves the packs in `own`: this process made them and read them back.
    pub(super) fn add(
        &mut self,
        packs: Vec<(PackId, u64)>,
        snapshot: Option<SnapshotClaim>,
        own: &HashSet<PackId>,
    ) -> Result<Claimed, JobError> {
        let plain = Manifest::new(self.client.id, 0, ObjectHash::NONE, self.client.domain);
        let mut manifest = Manifest { root_seen: self.root_seen, packs, snapshot, ..plain };
        if let Access::Owner(repository) = self.access {
            manifest.prove(&repository.owner, |pack| own.contains(pack));
        }
        let (repository, client) = (self.access.id(), self.client);
        let name = |number| layout::manifest(client.id, number);
        append(self.access.store().as_ref(), &mut self.end, name, |end| {
            (manifest.number, manifest.previous) = (end.due(), end.hash());
            manifest.sign(repository, &client.keys.manifest_key())
        })?;
        Ok(Claimed { number: self.end.number(), hash: self.end.hash() })
    }

    /// Decides about the manifests added, if this process ingests. `own` are the packs that it stored itself; `view` is
    /// the state that was read before.
    pub(super) fn decide(&mut self, view: &View, own: &HashSet<PackId>) -> Result<(), JobError> {
        if self.access.decides() {
            let is_own = |pack: &PackId| own.contains(pack);
            let scope = Scope::Client(self.client.id);
            self.answers = wait(ingest_on(view, &self.access.job(), IngestBy::Client, scope, &is_own))?;
        }
        Ok(())
    }

    /// The receipt of a manifest. A process that ingests has it at once, and others wait; none if patience runs out.
    pub(super) fn answer(
        &self,
        claimed: Claimed,
        patience: &mut Patience,
        interrupted: &AtomicBool,
    ) -> Result<Option<Receipt>, BackupError> {
        loop {
            if let Some(receipt) = self.receipt(claimed)? {
                return Ok(Some(receipt));
            }
            if self.access.decides() {
                let name = layout::receipt(self.client.id, claimed.number);
                return Err(JobError::damaged(&name, "it is not there after ingest").into());
            }
            if interrupted.load(Ordering::Relaxed) {
                return Err(BackupError::Interrupted);
            }
            if !patience.pause(|| interrupted.load(Ordering::Relaxed)) {
                return Ok(None);
            }
        }
    }

    fn receipt(&self, claimed: Claimed) -> Result<Option<Receipt>, JobError> {
        let is_it = |answer: &&Receipt| (answer.number, answer.manifest) == (claimed.number, claimed.hash);
        if let Some(receipt) = self.answers.iter().find(is_it) {
            return Ok(Some(receipt.clone()));
        }
        let name = layout::receipt(self.client.id, claimed.number);
        let Some(bytes) = wait(objects::read(self.access.store().as_ref(), &name))? else { return Ok(None) };
        let receipt = Receipt::decode(self.client.id, claimed.number, &bytes);
        let receipt = receipt.map_err(|error| JobError::damaged(&name, error))?;
        if receipt.manifest != claimed.hash {
            return Err(JobError::damaged(&name, "it answers another manifest"));
        }
        Ok(Some(receipt))
    }
}

/// The state in which a service has decided about all manifests of a client. Until then nobody knows which snapshots an
/// earlier run of the client has made.
pub fn answered(
    access: Access<'_>,
    client: &LocalClient,
    most: Duration,
    interrupted: &AtomicBool,
) -> Result<View, BackupError> {
    let mut patience = Patience::of(most);
    loop {
        let view = wait(view::read(access.store().as_ref()))?;
        let chain = ManifestChain::find(access, client, &view)?;
        let number = chain.end.number();
        if number == chain.decided {
            return Ok(view);
        }
        if interrupted.load(Ordering::Relaxed) {
            return Err(BackupError::Interrupted);
        }
        if !patience.pause(|| interrupted.load(Ordering::Relaxed)) {
            return Err(BackupError::Unanswered { number });
        }
    }
}

/// Why a manifest was rejected, as text; none if it was accepted. Fails if another attempt would be rejected too.
pub(super) fn refusal(receipt: &Receipt) -> Result<Option<String>, BackupError> {
    if receipt.outcome == Outcome::Accepted {
        return Ok(None);
    }
    let reasons: Vec<String> =
        receipt.reasons.iter().map(|(reason, text)| format!("{} ({text})", reason.text())).collect();
    let words = reasons.join("; ");
    let is_barred = |(reason, _): &(Reason, String)| {
        use Reason::*;
        matches!(reason, UnknownClient | Revoked | BadSignature | Domain)
    };
    if receipt.reasons.iter().any(is_barred) { Err(BackupError::Barred(words)) } else { Ok(Some(words)) }
}

/// How long stored packs may wait for a manifest.
pub(super) const MANIFEST_EVERY: Duration = Duration::from_secs(120);
