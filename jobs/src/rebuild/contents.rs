//! Contents: what the packs in the store hold, by their tables.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use copal_format::id::{ChunkId, DomainId, ObjectHash, PackId};
use copal_format::layout::{self, Place, Prunable};
use copal_format::manifest::VerifiedManifest;
use copal_format::pack::{PackKind, PackTable};
use copal_format::state::{PackClaim, PackRecord};
use copal_format::time::Time;

use super::Report;
use super::chains::{Chain, Standing};
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// A pack that exists and counts.
pub(super) struct Found {
    pub(super) record: PackRecord,
    pub(super) table: PackTable,
}

/// What manifests say about a pack.
pub(super) struct Named {
    /// The domains of the manifests that name it.
    pub(super) domains: BTreeSet<DomainId>,
    /// The manifest that was accepted first, and when.
    claim: PackClaim,
    accepted: Time,
    /// Whether one of the manifests carries the owner's proof for it.
    is_proven: bool,
}

/// The packs that manifests name.
pub(super) fn named_by(job: &JobContext<'_>, chains: &[Chain]) -> HashMap<PackId, Named> {
    let mut named: HashMap<PackId, Named> = HashMap::new();
    for (chain, (link, verified)) in chains.iter().flat_map(|chain| chain.claims().map(move |of| (chain, of))) {
        let manifest = &verified.manifest;
        let proven = manifest.proven_packs(job.repository, &job.owner_key);
        let accepted = match link.standing {
            Standing::Accepted(_, time) => time,
            _ => link.stored,
        };
        let claim = PackClaim { client: manifest.client, number: manifest.number, by_full_client: chain.is_full };
        for (pack, _) in &manifest.packs {
            let new = || Named { domains: BTreeSet::new(), claim, accepted, is_proven: false };
            let of = named.entry(*pack).or_insert_with(new);
            of.domains.insert(manifest.domain);
            of.is_proven |= proven.contains(pack);
            if accepted < of.accepted {
                (of.claim, of.accepted) = (claim, accepted);
            }
        }
    }
    named
}

/// The packs that count: those in `moved/`, those named by a manifest of their domain, and the `genuine` ones. Any
/// other unnamed pack may claim anything. Also returns the unreadable packs, whose content nobody knows.
pub(super) async fn read_packs(
    job: &JobContext<'_>,
    deleted: &BTreeSet<Prunable>,
    named: &HashMap<PackId, Named>,
    genuine: &BTreeSet<PackId>,
    now: Time,
    report: &mut Report,
) -> Result<(BTreeMap<PackId, Found>, BTreeSet<PackId>), JobError> {
    let mut found = BTreeMap::new();
    let mut unread = BTreeSet::new();
    for prefix in ["packs/", "moved/"] {
        for listed in objects::list(job.store, prefix).await? {
            let name = listed.key.as_str();
            if Prunable::parse(name).is_some_and(|name| deleted.contains(&name)) {
                report.packs_recorded += 1;
                continue;
            }
            let Some((place, id)) = layout::pack_of(name) else { continue };
            let mut leave_out = |why: &str| report.packs_left_out.push((name.to_owned(), why.to_owned()));
            let table = match objects::read_table(job.store, place, id, listed.stat.length).await {
                Ok(table) => table,
                // An unreadable pack must not stop the others, even if the medium is at fault.
                Err(error) => {
                    leave_out(&error.blame()?.1);
                    // A pack that has its hash but no valid table was never one that anybody relied on.
                    if !is_whole(job, name, (id, listed.stat.length)).await? {
                        unread.insert(id);
                    }
                    continue;
                }
            };
            match named.get(&id) {
                _ if place == Place::Moved => {}
                Some(named) if named.domains.contains(&table.domain) => {}
                Some(_) => {
                    leave_out("it is of another domain than the manifest that names it");
                    continue;
                }
                None if genuine.contains(&id) => {}
                None => {
                    leave_out("no manifest names it");
                    continue;
                }
            }
            let of = named.get(&id).filter(|_| place == Place::Packs);
            let accepted = of.map_or(now, |of| of.accepted.min(now));
            let record = PackRecord {
                domain: table.domain,
                kind: table.kind,
                length: listed.stat.length,
                place,
                is_missing: false,
                is_damaged: false,
                read: Time(0),
                accepted,
                // Only the owner can call an unnamed pack genuine, so such a pack is proven.
                is_proven: of.is_none_or(|of| of.is_proven),
                claim: of.map(|of| of.claim),
            };
            found.insert(id, Found { record, table });
        }
    }
    Ok((found, unread))
}

/// Whether a pack can be read and has the hash of its name.
pub(super) async fn is_whole(job: &JobContext<'_>, name: &str, (id, length): (PackId, u64)) -> Result<bool, JobError> {
    match objects::hash(job.store, name, length).await.map_err(JobError::from) {
        Ok(hash) => Ok(hash == Some(ObjectHash(id.0))),
        Err(error) => error.blame().map(|_| false),
    }
}

/// The ids in the packs.
pub(super) struct Contents<'a> {
    packs: &'a BTreeMap<PackId, Found>,
    /// Recorded packs that were taken back after a refusal. A prune may have deleted other packs of the same snapshot.
    returned: &'a BTreeSet<PackId>,
    /// For each id of a domain, the tables and positions of its page copies; empty for chunks.
    ids: HashMap<(DomainId, ChunkId), Vec<(&'a PackTable, usize)>>,
}

impl<'a> Contents<'a> {
    pub(super) fn of(packs: &'a BTreeMap<PackId, Found>, returned: &'a BTreeSet<PackId>) -> Self {
        let mut ids: HashMap<_, Vec<_>> = HashMap::new();
        for found in packs.values() {
            for (at, id) in found.table.ids.iter().enumerate() {
                let pages = ids.entry((found.record.domain, *id)).or_default();
                if found.table.page(at).is_some() {
                    pages.push((&found.table, at));
                }
            }
        }
        Self { packs, returned, ids }
    }

    pub(super) fn has(&self, domain: DomainId, id: &ChunkId) -> bool {
        self.ids.contains_key(&(domain, *id))
    }

    /// Like [`has`](Self::has), without the packs that a prune was about to delete.
    pub(super) fn has_beyond_doubt(&self, domain: DomainId, id: &ChunkId) -> bool {
        let is_in = |(pack, found): (&PackId, &Found)| {
            found.record.domain == domain && !self.returned.contains(pack) && found.table.ids.contains(id)
        };
        self.has(domain, id) && (self.returned.is_empty() || self.packs.iter().any(is_in))
    }

    /// Whether everything that these pages refer to exists, directly or indirectly.
    pub(super) fn are_whole(&self, domain: DomainId, pages: impl IntoIterator<Item = ChunkId>) -> bool {
        let mut open: Vec<ChunkId> = pages.into_iter().collect();
        let mut seen: HashSet<ChunkId> = HashSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let Some(pages) = self.ids.get(&(domain, id)) else { return false };
            open.extend(pages.iter().filter_map(|(table, at)| table.page(*at)).flat_map(|page| page.references));
        }
        true
    }

    /// Whether everything that a manifest claims is there, so that it could be accepted now.
    pub(super) fn has_all_of(&self, verified: &VerifiedManifest) -> bool {
        let manifest = &verified.manifest;
        match &manifest.snapshot {
            Some(claim) => self.are_whole(manifest.domain, [claim.root]),
            None => manifest.packs.iter().all(|(pack, _)| {
                let found = self.packs.get(pack).filter(|found| found.table.kind == PackKind::Tree);
                let pages = found.into_iter().flat_map(|found| found.table.ids.iter().copied());
                self.packs.contains_key(pack) && self.are_whole(manifest.domain, pages)
            }),
        }
    }
}
