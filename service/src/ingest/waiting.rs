//! Waiting: what clients have claimed and nobody has decided yet, looked at for many of them at the same time.

use bytes::Bytes;
use copal_engine::client::ClientRecord;
use copal_engine::id::{ClientId, DomainId, ObjectHash};
use copal_engine::ingest::judge_client;
use copal_engine::layout;
use copal_engine::limits::RECORD_BYTES;
use copal_engine::manifest::Manifest;

use super::Pass;
use super::findings::Findings;
use crate::clients;
use crate::error::JobError;
use crate::objects::{self, Call};

/// What waits of a client, as it was found before anything was decided.
pub(super) struct Waiting {
    pub(super) client: ClientId,
    pub(super) manifest: Glimpse,
    /// The client's record; an error if it cannot be believed.
    pub(super) record: Result<Option<ClientRecord>, JobError>,
    /// What of it is stored once only.
    pub(super) missing: Vec<clients::Copy>,
    /// The domain that the manifest names and the client may write to, if it is what it seems to be.
    pub(super) domain: Option<DomainId>,
    /// What was found of its packs, if these are few and their tables small.
    pub(super) findings: Option<Findings>,
    /// The manifest after it.
    pub(super) next: Glimpse,
    /// Whether the manifest has an answer, though the root has not decided it.
    pub(super) is_answered: bool,
}

/// What was seen of a manifest before it is its turn: so much is held of many at once.
pub(super) enum Glimpse {
    Absent,
    Read(Claimed),
    /// It is read when it is its turn.
    Large,
}

/// A manifest as it lies in the store.
pub(super) struct Claimed {
    pub(super) hash: ObjectHash,
    /// Nothing of one that is longer than any manifest.
    pub(super) bytes: Option<Bytes>,
}

impl Pass<'_> {
    /// Looks at the same time what waits of several clients.
    pub(super) async fn look(&self, clients: &[ClientId]) -> Result<Vec<Waiting>, JobError> {
        let calls = clients.iter().map(|client| -> Call<'_, _> { Box::pin(self.look_at(*client)) });
        Ok(objects::together(calls).await?.into_iter().flatten().collect())
    }

    async fn look_at(&self, client: ClientId) -> Result<Option<Waiting>, JobError> {
        let number = self.view.state.heads.get(&client).map_or(0, |head| head.number) + 1;
        let (manifest, next) = (self.glimpse(client, number), self.glimpse(client, number + 1));
        let record = async {
            match clients::know(self.host, client).await {
                Err(error @ JobError::Store(_)) => Err(error),
                Err(error) => Ok((Err(error), Vec::new())),
                Ok(known) => Ok((Ok(known.record), known.missing)),
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
            && let Ok(verified) = Manifest::verify(self.host.repository, &keys.manifest, client, number, bytes)
            && judge_client(&verified, record).is_accepted()
        {
            waiting.domain = Some(verified.manifest.domain);
            waiting.findings = self.find_small_packs(&verified.manifest).await?;
        }
        Ok(Some(waiting))
    }

    /// Whether there is an answer to a manifest.
    pub(super) async fn is_answered(&self, client: ClientId, number: u64) -> Result<bool, JobError> {
        Ok(self.host.store.stat(&objects::key(layout::receipt(client, number))).await?.is_some())
    }

    async fn glimpse(&self, client: ClientId, number: u64) -> Result<Glimpse, JobError> {
        let name = layout::manifest(client, number);
        let Some(stat) = self.host.store.stat(&objects::key(&name)).await? else { return Ok(Glimpse::Absent) };
        if stat.length > SMALL {
            return Ok(Glimpse::Large);
        }
        Ok(self.read_claimed(&name, stat.length).await?.map_or(Glimpse::Absent, Glimpse::Read))
    }

    /// A manifest of which that much was seen; none if there is none.
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

    /// Reads a manifest; none if there is none.
    async fn read_manifest(&self, client: ClientId, number: u64) -> Result<Option<Claimed>, JobError> {
        let name = layout::manifest(client, number);
        let Some(stat) = self.host.store.stat(&objects::key(&name)).await? else { return Ok(None) };
        self.read_claimed(&name, stat.length).await
    }

    /// Reads what was claimed; of what is longer than any manifest only the hash, piece by piece.
    async fn read_claimed(&self, name: &str, length: u64) -> Result<Option<Claimed>, JobError> {
        if length > MANIFEST_BYTES {
            let hash = objects::hash(self.host.store, name, length).await?;
            return Ok(hash.map(|hash| Claimed { hash, bytes: None }));
        }
        let bytes = objects::read(self.host.store, name).await?;
        Ok(bytes.map(|bytes| Claimed { hash: ObjectHash::of(&bytes), bytes: Some(bytes) }))
    }
}

/// No manifest is longer: a record and what surrounds it.
const MANIFEST_BYTES: u64 = (RECORD_BYTES + (64 << 10)) as u64;
/// Bytes of a manifest that is read before it is its turn.
const SMALL: u64 = 64 << 10;
