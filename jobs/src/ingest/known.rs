//! Known: searches the index of the base root, in pieces on a remote store, otherwise mapped.

use std::collections::BTreeSet;

use copal_engine::ingest::Finding;
use copal_format::id::{ChunkId, DomainId, PackId, PackTag};
use copal_format::index::{Bits, Mark};
use copal_format::pack::PackKind;

use super::Pass;
use super::added::height_in;
use super::findings::Findings;
use crate::error::JobError;
use crate::lookup::{self, Counted, FarIndex, LostMark};
use crate::objects;

impl Pass<'_> {
    /// Opens the indexes of these domains, all at the same time.
    pub(super) async fn open(&mut self, domains: BTreeSet<DomainId>) -> Result<(), JobError> {
        let store = self.job.store;
        if !store.is_remote() {
            return self.view.load_indexes(store, domains).await;
        }
        let (state, known) = (&self.view.state, &self.far);
        let missing = domains.into_iter().filter(|domain| !known.contains_key(domain));
        let calls = missing.map(|domain| async move { Ok((domain, FarIndex::open(store, state, domain).await?)) });
        let opened = objects::join(calls).await?;
        self.far.extend(opened);
        Ok(())
    }

    /// The height of each id, by a copy that is not lost; none if a new page may not refer to the id. The ids ascend.
    pub(super) async fn resolve(&mut self, domain: DomainId, ids: &[ChunkId]) -> Result<Vec<Option<u8>>, JobError> {
        if let Some(stale) = self.references {
            return Ok(ids.iter().map(|id| stale.resolve(domain, id)).collect());
        }
        self.open([domain].into()).await?;
        match self.far.get(&domain) {
            Some(far) => far.heights(self.job.store, ids, Counted::NotLost).await,
            None => Ok(ids.iter().map(|id| self.view.resolve(domain, id)).collect()),
        }
    }

    /// Whether a domain has a copy of an id, lost or not.
    pub(super) async fn has(&mut self, domain: DomainId, id: ChunkId) -> Result<bool, JobError> {
        self.open([domain].into()).await?;
        let is_there = match self.far.get(&domain) {
            Some(far) => far.heights(self.job.store, &[id], Counted::Any).await?.iter().any(Option::is_some),
            None => self.view.height(domain, &id).is_some(),
        };
        if !is_there {
            self.verify_segments(domain).await?;
        }
        Ok(is_there)
    }

    /// Whether the index may name one of these packs, which ascend. It names a pack as long as it has any entry of it.
    pub(super) async fn may_name(&mut self, domain: DomainId, packs: &[PackId]) -> Result<bool, JobError> {
        self.open([domain].into()).await?;
        if let Some(far) = self.far.get(&domain) {
            return far.may_name(self.job.store, packs).await;
        }
        let Some(index) = self.view.index(domain) else { return Ok(false) };
        let mut segments = index.segments().iter();
        Ok(segments.any(|segment| packs.iter().any(|pack| lookup::may_name(segment, pack))))
    }

    /// Verifies, once per pass, the hashes of a domain's segments. A flipped bit in an id makes it seem absent, and the
    /// decision about that is final.
    pub(super) async fn verify_segments(&mut self, domain: DomainId) -> Result<(), JobError> {
        if self.verified.insert(domain) {
            lookup::verify_segments(self.job.store, &self.view.state, domain).await?;
        }
        Ok(())
    }

    /// The lost marks of these copies, and of their ids without copies. The copies ascend.
    pub(super) async fn lost(
        &mut self,
        domain: DomainId,
        copies: &[(ChunkId, PackTag)],
    ) -> Result<Vec<LostMark>, JobError> {
        self.open([domain].into()).await?;
        if let Some(far) = self.far.get(&domain) {
            let mut ids: Vec<ChunkId> = copies.iter().map(|(id, _)| *id).collect();
            ids.dedup();
            return Ok(far.lost(&ids));
        }
        let Some(index) = self.view.index(domain) else { return Ok(Vec::new()) };
        let tags = copies.iter().flat_map(|(id, tag)| [(*id, PackTag::NONE), (*id, *tag)]);
        let marks = tags.map(|(id, tag)| (id, tag, index.overlay().mark(&id, tag)));
        Ok(marks.filter(|(.., Mark { bits, .. })| bits.contains(Bits::LOST)).collect())
    }
}

/// The ids, ascending, that pages of these packs and the snapshot's root refer to outside these packs.
pub(super) fn referred_to(findings: &Findings, own: &[(ChunkId, u8)], root: Option<ChunkId>) -> Vec<ChunkId> {
    let is_elsewhere = |id: &ChunkId| height_in(own, id).is_none();
    let mut ids: Vec<ChunkId> = root.into_iter().filter(is_elsewhere).collect();
    for (_, finding) in findings {
        let Finding::Sound(table) = finding else { continue };
        if table.kind == PackKind::Tree {
            ids.extend(table.pages.references().iter().filter(|id| is_elsewhere(id)));
        }
    }
    ids.sort_unstable();
    ids.dedup();
    ids
}
