//! What the store holds where a manifest names packs. Facts only: a store that fails is an error, not a finding.

use copal_engine::id::PackId;
use copal_engine::ingest::Finding;
use copal_engine::layout::{self, Place};
use copal_engine::limits::PACK_BYTES;
use copal_engine::manifest::Manifest;
use copal_store::StoreError;

use super::Pass;
use crate::error::JobError;
use crate::faults::{Fault, is_planted};
use crate::objects::{self, Call};

impl Pass<'_> {
    /// Looks at every pack that a manifest names.
    pub(super) async fn find_packs(&self, manifest: &Manifest) -> Result<Vec<(PackId, Finding)>, JobError> {
        let calls = manifest.packs.iter().map(|(id, length)| -> Call<'_, _> {
            Box::pin(async move { Ok((*id, self.find_pack(*id, *length).await?)) })
        });
        objects::together(calls).await
    }

    async fn find_pack(&self, id: PackId, claimed: u64) -> Result<Finding, JobError> {
        if self.view.is_doomed(id) && !is_planted(Fault::DoomedAccepted) {
            return Ok(Finding::Doomed);
        }
        let name = layout::pack(Place::Packs, id);
        let Some(stat) = self.host.store.stat(&objects::key(&name)).await? else {
            return Ok(Finding::Missing);
        };
        if stat.length > PACK_BYTES {
            return Ok(Finding::Oversize { actual: stat.length });
        }
        if stat.length != claimed {
            return Ok(Finding::Length { actual: stat.length });
        }
        if stat.sha256.is_some_and(|hash| hash != id.0) {
            return Ok(Finding::Hash);
        }
        if stat.sha256.is_none() && !(self.is_attested)(&id) {
            match objects::hash(self.host.store, &name, claimed).await {
                Ok(Some(hash)) if hash.0 == id.0 => {}
                Ok(Some(_)) => return Ok(Finding::Hash),
                Ok(None) => return Ok(Finding::Missing),
                Err(error) => return Err(error.into()),
            }
        }
        match objects::read_table(self.host.store, Place::Packs, id, claimed).await {
            Ok(table) => Ok(Finding::Sound(table)),
            Err(JobError::Damaged { why, .. }) => Ok(Finding::Table(why)),
            Err(JobError::Store(StoreError::NotFound { .. })) => Ok(Finding::Missing),
            Err(error) => Err(error),
        }
    }
}
