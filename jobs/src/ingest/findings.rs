//! Findings: what the store holds of a manifest's packs. Only facts: a failing store is an error, not a finding.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use copal_engine::ingest::Finding;
use copal_format::id::PackId;
use copal_format::layout::{self, Place};
use copal_format::limits::{MANIFEST_TABLES, PACK_BYTES};
use copal_format::manifest::Manifest;
use copal_store::{Stat, StoreError};

use super::Pass;
use crate::error::JobError;
use crate::faults::{Mistake, is_planted};
use crate::objects::{self, Ends};

pub(super) type Findings = Vec<(PackId, Finding)>;

/// The facts known about a pack before its table is read.
enum Seen {
    /// Nothing is wrong so far.
    Sound(Stat),
    Wrong(Finding),
}

impl Pass<'_> {
    /// Examines every pack of a manifest. Reads headers and tables only up to what one manifest may bring.
    pub(super) async fn find_packs(&self, manifest: &Manifest) -> Result<Findings, JobError> {
        let seen = self.see_all(manifest).await?;
        let found = self.find_up_to(MANIFEST_TABLES, manifest, seen).await?;
        Ok(found.into_iter().map(|(id, found)| (id, found.unwrap_or_else(|sum| Finding::Tables { sum }))).collect())
    }

    /// Like [`Self::find_packs`], before the manifest's turn and for many manifests at once. None if there is too much
    /// to read.
    pub(super) async fn find_small_packs(&self, manifest: &Manifest) -> Result<Option<Findings>, JobError> {
        let length: u64 = manifest.packs.iter().fold(0, |sum, (_, length)| sum.saturating_add(*length));
        if manifest.packs.len() > FEW_PACKS || length > SMALL_PACKS {
            return Ok(None);
        }
        let seen = self.see_all(manifest).await?;
        if length > SMALL_HASHED && manifest.packs.iter().zip(&seen).any(|((id, _), seen)| self.is_hashed(id, seen)) {
            return Ok(None);
        }
        let found = self.find_up_to(SMALL_TABLES, manifest, seen).await?;
        Ok(found.into_iter().map(|(id, found)| Some((id, found.ok()?))).collect())
    }

    async fn see_all(&self, manifest: &Manifest) -> Result<Vec<Seen>, JobError> {
        let calls = manifest.packs.iter().map(|(id, length)| self.see(*id, *length));
        objects::join(calls).await
    }

    /// The finding for each pack. Once headers and tables sum to more than `most`, the sum instead of the finding.
    async fn find_up_to(
        &self,
        most: u64,
        manifest: &Manifest,
        seen: Vec<Seen>,
    ) -> Result<Vec<(PackId, Result<Finding, u64>)>, JobError> {
        let packs = manifest.packs.iter().zip(seen);
        let calls = packs.map(|((id, length), seen)| self.hash(*id, *length, seen));
        let hashed = objects::join_few(HASHED, calls).await?;
        let packs = manifest.packs.iter().zip(hashed);
        let calls = packs.map(|((id, length), wrong)| async move {
            match wrong {
                Some(wrong) => Ok(Err(wrong)),
                None => finding_of(Ends::read(self.job.store, Place::Packs, *id, *length).await),
            }
        });
        let ends = objects::join(calls).await?;
        let mut sum = 0_u64;
        let calls = ends.into_iter().map(|ends| {
            if let Ok(ends) = &ends {
                sum = sum.saturating_add(ends.clear_length());
            }
            let sum = sum;
            async move {
                match ends {
                    Err(wrong) => Ok(Ok(wrong)),
                    Ok(_) if sum > most => Ok(Err(sum)),
                    Ok(ends) => {
                        let table = finding_of(ends.table(self.job.store).await)?;
                        Ok(Ok(table.map_or_else(|wrong| wrong, Finding::Sound)))
                    }
                }
            }
        });
        let found = objects::join(calls).await?;
        Ok(manifest.packs.iter().map(|(id, _)| *id).zip(found).collect())
    }

    async fn see(&self, id: PackId, claimed: u64) -> Result<Seen, JobError> {
        if self.view.is_doomed(id) && !is_planted(Mistake::DoomedAccepted) {
            return Ok(Seen::Wrong(Finding::Doomed));
        }
        let name = objects::key(layout::pack(Place::Packs, id));
        let wrong = match self.job.store.stat(&name).await? {
            None => Finding::Missing,
            Some(stat) if stat.length > PACK_BYTES => Finding::Oversize { actual: stat.length },
            Some(stat) if stat.length != claimed => Finding::Length { actual: stat.length },
            Some(stat) if stat.sha256.is_some_and(|hash| hash != id.0) => Finding::Hash,
            Some(stat) => return Ok(Seen::Sound(stat)),
        };
        Ok(Seen::Wrong(wrong))
    }

    /// Whether the bytes of a pack have to be read, because nobody attests their hash.
    fn is_hashed(&self, id: &PackId, seen: &Seen) -> bool {
        matches!(seen, Seen::Sound(stat) if stat.sha256.is_none())
            && !(self.is_attested)(id)
            && self.hashed().get(id).is_none_or(|has_its_hash| !has_its_hash)
    }

    fn hashed(&self) -> MutexGuard<'_, BTreeMap<PackId, bool>> {
        self.hashed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks a pack's bytes; none if they are sound.
    async fn hash(&self, id: PackId, claimed: u64, seen: Seen) -> Result<Option<Finding>, JobError> {
        let is_hashed = self.is_hashed(&id, &seen);
        match seen {
            Seen::Wrong(wrong) => return Ok(Some(wrong)),
            Seen::Sound(_) if !is_hashed => return Ok(None),
            Seen::Sound(_) => {}
        }
        if self.hashed().get(&id) == Some(&false) {
            return Ok(Some(Finding::Hash));
        }
        self.bytes_hashed.fetch_add(claimed, Ordering::Relaxed);
        let hash = objects::hash(self.job.store, &layout::pack(Place::Packs, id), claimed).await?;
        let Some(hash) = hash else { return Ok(Some(Finding::Missing)) };
        let has_its_hash = hash.0 == id.0;
        let mut hashed = self.hashed();
        if hashed.len() < REMEMBERED {
            hashed.insert(id, has_its_hash);
        }
        Ok((!has_its_hash).then_some(Finding::Hash))
    }
}

/// Separates findings about the pack from other errors.
fn finding_of<T>(read: Result<T, JobError>) -> Result<Result<T, Finding>, JobError> {
    match read {
        Ok(read) => Ok(Ok(read)),
        Err(JobError::Damaged { why, .. }) => Ok(Err(Finding::Table(why))),
        Err(JobError::Store(StoreError::NotFound { .. })) => Ok(Err(Finding::Missing)),
        Err(error) => Err(error),
    }
}

/// Packs of which a job remembers whether they have their hash.
const REMEMBERED: usize = 1 << 16;
/// Packs hashed at the same time.
const HASHED: usize = 4;
/// Limits for packs examined before the manifest's turn: their number, and their bytes, because the first read at a
/// pack's end is a share of its length.
const FEW_PACKS: usize = 4;
const SMALL_PACKS: u64 = 64 << 20;
/// Bytes of packs hashed before the turn, and bytes of headers and tables read.
const SMALL_HASHED: u64 = 1 << 20;
const SMALL_TABLES: u64 = 256 << 10;
