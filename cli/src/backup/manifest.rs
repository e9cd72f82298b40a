//! Manifest: the end of the client's chain, and what is added to it. Nothing counts before this.

use std::collections::HashSet;
use std::time::Duration;

use copal_engine::id::{ObjectHash, PackId};
use copal_engine::layout;
use copal_engine::manifest::{Manifest, SnapshotClaim};
use copal_engine::receipt::{Outcome, Receipt};
use copal_engine::repository::IngestBy;
use copal_service::error::JobError;
use copal_service::ingest::{Scope, ingest};
use copal_service::objects;
use copal_service::view::View;

use super::output::create;
use crate::repository::{LocalClient, Repository};
use crate::wait::wait;

/// The end of a client's chain.
pub(super) struct Chain<'a> {
    repository: &'a Repository,
    client: &'a LocalClient,
    ingest_by: IngestBy,
    root_seen: Option<(u64, ObjectHash)>,
    number: u64,
    hash: ObjectHash,
}

impl<'a> Chain<'a> {
    /// Finds the end: from what the state has decided through whatever was written since.
    pub(super) fn find(
        repository: &'a Repository,
        client: &'a LocalClient,
        ingest_by: IngestBy,
        view: &View,
    ) -> Result<Self, JobError> {
        let head = view.state.heads.get(&client.id);
        let (number, hash) = head.map_or((0, ObjectHash::NONE), |head| (head.number, head.hash));
        let mut chain = Self { repository, client, ingest_by, root_seen: view.base(), number, hash };
        while let Some(next) = chain.read(chain.number + 1)? {
            chain.number += 1;
            chain.hash = next;
        }
        Ok(chain)
    }

    /// Adds a manifest and has it decided; gives the answer. `own` are the packs that this process stored itself.
    pub(super) fn add(
        &mut self,
        packs: Vec<(PackId, u64)>,
        snapshot: Option<SnapshotClaim>,
        own: &HashSet<PackId>,
    ) -> Result<(ObjectHash, Receipt), JobError> {
        let mut manifest = Manifest {
            client: self.client.id,
            number: 0,
            previous: self.hash,
            domain: self.client.domain,
            root_seen: self.root_seen,
            packs,
            snapshot,
        };
        let hash = self.append(&mut manifest)?;
        wait(ingest(&self.repository.host(), self.ingest_by, Scope::Client(self.client.id), &|pack| {
            own.contains(pack)
        }))?;
        let name = layout::receipt(self.client.id, manifest.number);
        let bytes = wait(objects::read(self.repository.store().as_ref(), &name))?;
        let bytes = bytes.ok_or_else(|| JobError::damaged(&name, "it is not there after ingest"))?;
        let receipt = Receipt::decode(self.client.id, manifest.number, &bytes);
        let receipt = receipt.map_err(|error| JobError::damaged(&name, error))?;
        if receipt.manifest != hash {
            return Err(JobError::damaged(&name, "it answers another manifest"));
        }
        Ok((hash, receipt))
    }

    /// Creates the manifest under the next number that is free. A number that another run of this client took is linked
    /// into the chain, and the next one is tried.
    fn append(&mut self, manifest: &mut Manifest) -> Result<ObjectHash, JobError> {
        loop {
            manifest.number = self.number + 1;
            manifest.previous = self.hash;
            let bytes = manifest.sign(self.repository.id(), &self.client.keys.manifest_key());
            let hash = ObjectHash::of(&bytes);
            let name = layout::manifest(self.client.id, manifest.number);
            let is_new = wait(create(self.repository.store().as_ref(), name, bytes))?;
            let stored = if is_new { Some(hash) } else { self.read(manifest.number)? };
            let Some(stored) = stored else { continue };
            self.number = manifest.number;
            self.hash = stored;
            if stored == hash {
                return Ok(hash);
            }
        }
    }

    fn read(&self, number: u64) -> Result<Option<ObjectHash>, JobError> {
        let name = layout::manifest(self.client.id, number);
        let bytes = wait(objects::read(self.repository.store().as_ref(), &name))?;
        Ok(bytes.map(|bytes| ObjectHash::of(&bytes)))
    }
}

/// Why a manifest was rejected, in words; none if it was accepted.
pub(super) fn refusal(receipt: &Receipt) -> Option<String> {
    if receipt.outcome == Outcome::Accepted {
        return None;
    }
    let reasons: Vec<String> =
        receipt.reasons.iter().map(|(reason, text)| format!("{} ({text})", reason.text())).collect();
    Some(reasons.join("; "))
}

/// How long what is stored may wait for a manifest.
pub(super) const MANIFEST_EVERY: Duration = Duration::from_secs(120);
