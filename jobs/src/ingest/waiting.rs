//! Waiting: manifests that clients have written and no root has decided, examined for many clients at the same time.

use bytes::Bytes;
use copal_engine::ingest::judge_client;
use copal_format::client::ClientRecord;
use copal_format::id::{ClientId, DomainId, ObjectHash};
use copal_format::layout;
use copal_format::limits::RECORD_BYTES;
use copal_format::manifest::Manifest;

use super::Pass;
use super::findings::Findings;
use crate::clients;
use crate::error::JobError;
use crate::objects;

/// A client's undecided manifests, as found before anything is decided.
pub(super) struct Waiting {
    pub(super) client: ClientId,
    pub(super) manifest: Glimpse,
    /// The client's record; an error if it cannot be believed.
    pub(super) record: Result<Option<ClientRecord>, JobError>,
    /// Missing copies of that record.
    pub(super) missing: Vec<clients::Copy>,
    /// The domain that the manifest names, if its signature is valid and the client may write to the domain.
    pub(super) domain: Option<DomainId>,
    /// The findings about its packs, if these are few and their tables small.
    pub(super) findings: Option<Findings>,
    /// The manifest after it.
    pub(super) next: Glimpse,
    /// Whether the manifest has a receipt although the root has not decided it.
    pub(super) is_answered: bool,
}

/// What is read of a manifest before its turn. Kept small, because many are held at once.
pub(super) enum Glimpse {
    Absent,
    Read(Claimed),
    /// Not read yet; it is read at its turn.
    Large,
}

/// A manifest in the store.
pub(super) struct Claimed {
    pub(super) hash: ObjectHash,
    /// None if it is longer than any manifest may be.
    pub(super) bytes: Option<Bytes>,
}

impl Pass<'_> {
    /// Examines several clients at the same time; leaves out those without an undecided manifest.
    pub(super) async fn look(&self, clients: &[ClientId]) -> Result<Vec<Waiting>, JobError> {
        let calls = clients.iter().map(|client| self.look_at(*client));
        Ok(objects::join(calls).await?.into_iter().flatten().collect())
    }

    async fn look_at(&self, client: ClientId) -> Result<Option<Waiting>, JobError> {
        let number = self.view.state.heads.get(&client).map_or(0, |head| head.number) + 1;
        let (manifest, next) = (self.glimpse(client, number), self.glimpse(client, number + 1));
        let record = async {
            match clients::know(self.job, client).await {
                Err(error @ JobError::Store(_)) => Err(error),
                Err(error) => Ok((Err(error), Vec::new())),
                Ok(known) => Ok((Ok(known.record.filter(|_| !known.is_late)), known.missing)),
            }
        };
        let answered = self.is_answered(client, number);
        let (manifest, (record, missing), next, is_answered) = futures::try_join!(manifest, record, next, answered)?;
        if matches!(manifest, Glimpse::Absent) {
            return Ok(None);
        }
        let mut waiting =
            Waiting { client, manifest, record, missing, domain: None, findings: None, next, is_answered };
        if let Ok(Some(record)) = &waiting.record
            && let Some(keys) = &record.keys
            && let Glimpse::Read(Claimed { bytes: Some(bytes), .. }) = &waiting.manifest
            && let Ok(verified) = Manifest::verify(self.job.repository, &keys.manifest, client, number, bytes)
            && judge_client(&verified, record).is_accepted()
        {
            waiting.domain = Some(verified.manifest.domain);
            waiting.findings = self.find_small_packs(&verified.manifest).await?;
        }
        Ok(Some(waiting))
    }

    /// Whether a manifest has a receipt.
    pub(super) async fn is_answered(&self, client: ClientId, number: u64) -> Result<bool, JobError> {
        Ok(self.job.store.stat(&objects::key(layout::receipt(client, number))).await?.is_some())
    }

    async fn glimpse(&self, client: ClientId, number: u64) -> Result<Glimpse, JobError> {
        let name = layout::manifest(client, number);
        let Some(stat) = self.job.store.stat(&objects::key(&name)).await? else { return Ok(Glimpse::Absent) };
        if stat.length > SMALL {
            return Ok(Glimpse::Large);
        }
        Ok(self.read_claimed(&name, stat.length).await?.map_or(Glimpse::Absent, Glimpse::Read))
    }

    /// The manifest behind a glimpse, read now if it was too large before; none if it is absent.
    pub(super) async fn read_glimpsed(
        &self,
        client: ClientId,
        number: u64,
        glimpse: Glimpse,
    ) -> Result<Option<Claimed>, JobError> {
        match glimpse {
            Glimpse::Absent => Ok(None),
            Glimpse::Read(claimed) => Ok(Some(claimed)),
            Glimpse::Large => self.read_manifest(client, number).await,
        }
    }

    /// Reads a manifest; none if it does not exist.
    async fn read_manifest(&self, client: ClientId, number: u64) -> Result<Option<Claimed>, JobError> {
        let name = layout::manifest(client, number);
        let Some(stat) = self.job.store.stat(&objects::key(&name)).await? else { return Ok(None) };
        self.read_claimed(&name, stat.length).await
    }

    /// Reads a manifest. If it is longer than any manifest may be, only hashes it, piece by piece.
    async fn read_claimed(&self, name: &str, length: u64) -> Result<Option<Claimed>, JobError> {
        if length > MANIFEST_BYTES {
            let hash = objects::hash(self.job.store, name, length).await?;
            return Ok(hash.map(|hash| Claimed { hash, bytes: None }));
        }
        let bytes = objects::read(self.job.store, name).await?;
        Ok(bytes.map(|bytes| Claimed { hash: ObjectHash::of(&bytes), bytes: Some(bytes) }))
    }
}

/// No manifest is longer: the record limit, and room for what surrounds the record.
const MANIFEST_BYTES: u64 = (RECORD_BYTES + (64 << 10)) as u64;
/// Manifests up to this length are read before their turn.
const SMALL: u64 = 64 << 10;
