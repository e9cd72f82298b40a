//! Accepting: applies an accepted manifest to the proposal for the next root.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_engine::ingest::{Finding, snapshot_of};
use copal_format::client::{ClientRecord, Role};
use copal_format::id::{ChunkId, ClientId, DomainId, ObjectHash, PackId, PackTag};
use copal_format::index::{Bits, Mark, NewSegment, Segment, SegmentWriter, merge};
use copal_format::layout::{self, Place, Prunable};
use copal_format::manifest::VerifiedManifest;
use copal_format::pack::PackTable;
use copal_format::state::{Decision, PackClaim, PackRecord};
use copal_format::time::Time;
use copal_store::StoreError;

use super::Pass;
use super::findings::Findings;
use crate::commit::Proposal;
use crate::error::JobError;
use crate::objects;

impl Pass<'_> {
    /// Adds the packs and the snapshot of an accepted manifest.
    pub(super) async fn accept(
        &mut self,
        verified: &VerifiedManifest,
        record: &ClientRecord,
        findings: Findings,
        proven: &BTreeSet<PackId>,
    ) -> Result<(), JobError> {
        let manifest = &verified.manifest;
        let domain = manifest.domain;
        let by_full_client = record.role == Role::Full;
        let claim = PackClaim { client: manifest.client, number: manifest.number, by_full_client };
        let before = self.named_before(domain, &findings).await?;
        self.clear_lost(domain, &findings, &before).await?;
        self.added.entry(domain).or_default().add(heights_of(&findings));
        for ((id, finding), (_, length)) in findings.into_iter().zip(&manifest.packs) {
            let Finding::Sound(table) = finding else { continue };
            let random = self.job.random();
            let writer = self.writers.entry(domain).or_insert_with(|| SegmentWriter::new(domain, random));
            // A pack named before keeps its place and its accept time, and what was found out about it stays true.
            let before = before.get(&id);
            let place = before.map_or(Place::Packs, |before| before.place);
            writer.add_pack(id, place, &table)?;
            let harmed = before.filter(|before| stays_harmed(before));
            let is_forged = harmed.is_some_and(PackRecord::is_forged);
            let is_proven = proven.contains(&id) || before.is_some_and(|before| before.is_proven);
            if before.is_none() && by_full_client && !is_proven {
                self.doubt(domain, id, &table);
            }
            let pack = PackRecord {
                domain,
                kind: table.kind,
                length: *length,
                place,
                is_missing: place == Place::Moved && harmed.is_some_and(|harmed| harmed.is_missing),
                is_damaged: harmed.is_some_and(|harmed| harmed.is_damaged),
                read: if is_forged { PackRecord::FORGED } else { Time(0) },
                is_proven,
                accepted: before.map_or(self.now, |before| before.accepted),
                claim: before.map_or(Some(claim), |before| before.claim),
            };
            self.proposal.delta.packs.insert(id, Some(pack));
        }
        if let Some(snapshot) = snapshot_of(verified, by_full_client, self.now, self.now) {
            self.proposal.delta.snapshots.insert((manifest.client, manifest.number), Some(snapshot));
        }
        Ok(())
    }

    /// The records of packs that an earlier root, or this pass, has already accepted.
    async fn named_before(
        &mut self,
        domain: DomainId,
        findings: &Findings,
    ) -> Result<BTreeMap<PackId, PackRecord>, JobError> {
        let mut before = BTreeMap::new();
        let mut unknown = Vec::new();
        for (id, _) in tables(findings) {
            match self.proposal.delta.packs.get(id).cloned().flatten() {
                Some(record) => drop(before.insert(*id, record)),
                None => unknown.push(*id),
            }
        }
        unknown.sort_unstable();
        // Loads all pack records only if one of these packs may be among them. The index tells: a pack without entries
        // there is doomed and has no record.
        if self.may_name(domain, &unknown).await? {
            let records = self.view.packs(self.job.store).await?;
            before.extend(unknown.iter().filter_map(|id| Some((*id, records.get(id)?.clone()))));
        }
        Ok(before)
    }

    /// Marks the ids of an unproven pack as wanted: its client should have proven it, so nobody relies on it.
    fn doubt(&mut self, domain: DomainId, pack: PackId, table: &PackTable) {
        let marks = self.proposal.overlay.entry(domain).or_default();
        for id in table.ids.iter() {
            let mark = marks.entry((*id, pack.tag())).or_default();
            mark.bits |= Bits::WANTED;
        }
    }

    /// Clears the lost marks of ids and packs that are back, except packs that stay harmed. Entries of such packs that a
    /// prune had removed come back as lost.
    async fn clear_lost(
        &mut self,
        domain: DomainId,
        findings: &Findings,
        before: &BTreeMap<PackId, PackRecord>,
    ) -> Result<(), JobError> {
        let copies = |is_meant: &dyn Fn(&PackId) -> bool| {
            let meant = tables(findings).filter(|(id, _)| is_meant(id));
            let mut copies: Vec<(ChunkId, PackTag)> =
                meant.flat_map(|(id, table)| table.ids.iter().map(|of| (*of, id.tag()))).collect();
            copies.sort_unstable();
            copies
        };
        let lost = self.lost(domain, &copies(&|_| true)).await?;
        let is_harmed = |id: &PackId| before.get(id).is_some_and(stays_harmed);
        let marked: BTreeSet<(ChunkId, PackTag)> = lost.iter().map(|(id, tag, _)| (*id, *tag)).collect();
        for copy in copies(&is_harmed).into_iter().filter(|copy| !marked.contains(copy)) {
            let mark = Mark { bits: Bits::LOST | Bits::WANTED, time: self.now };
            self.proposal.overlay.entry(domain).or_default().insert(copy, mark);
        }
        let whole = copies(&|id| !is_harmed(id));
        for (id, tag, old) in lost {
            let at = whole.partition_point(|copy| *copy < (id, tag));
            if whole.get(at).is_some_and(|copy| *copy == (id, tag) || (tag == PackTag::NONE && copy.0 == id)) {
                let bits = old.bits.without(Bits::LOST | Bits::WANTED);
                self.proposal.overlay.entry(domain).or_default().insert((id, tag), Mark { bits, ..old });
            }
        }
        Ok(())
    }

    /// Merges the new entries with smaller segments, and returns the proposal and the decisions.
    pub(super) async fn finish(&mut self) -> Result<(Proposal, Vec<(ClientId, Decision)>), JobError> {
        // From here on nothing is looked up.
        self.added.clear();
        for (domain, writer) in std::mem::take(&mut self.writers) {
            let Some(fresh) = writer.finish() else { continue };
            let olds = self.to_fold(domain, fresh.record.entries).await?;
            let NewSegment { hash, record, bytes } = if olds.is_empty() {
                fresh
            } else {
                let damaged = |error| JobError::damaged(layout::segment(fresh.hash), error);
                let parsed = Segment::parse(&fresh.bytes[..]).map_err(damaged)?;
                let mut parts = vec![parsed];
                for (old, bytes) in &olds {
                    parts.push(
                        Segment::parse(&bytes[..]).map_err(|error| JobError::damaged(layout::segment(*old), error))?,
                    );
                    self.proposal.delta.segments.insert((domain, *old), None);
                    self.proposal.doom(&self.view, Prunable::Segment(*old), self.now);
                }
                let parts: Vec<&Segment<&[u8]>> = parts.iter().collect();
                merge(domain, self.job.random(), &parts, |_| true)?
                    .expect("what is merged has entries, and all are kept")
            };
            self.proposal.delta.segments.insert((domain, hash), Some(record));
            self.proposal.segments.push((hash, bytes));
        }
        Ok((std::mem::take(&mut self.proposal), std::mem::take(&mut self.decided)))
    }

    /// The segments to merge with `fresh` new entries, read whole. The smallest come first, as long as each is no
    /// larger than the sum of all before it.
    async fn to_fold(&self, domain: DomainId, fresh: u64) -> Result<Vec<(ObjectHash, Bytes)>, JobError> {
        let of_domain = self.view.state.segments_of(domain);
        let mut sizes: Vec<(u64, ObjectHash)> = of_domain.map(|(hash, record)| (record.entries, hash)).collect();
        sizes.sort_unstable();
        let (mut total, mut folded) = (fresh, Vec::new());
        for (entries, hash) in sizes {
            if entries > total || total + entries >= FOLD_ENTRIES {
                break;
            }
            let name = layout::segment(hash);
            let bytes = match self.job.store.map(&objects::key(&name)).await {
                Ok(bytes) => bytes,
                Err(StoreError::NotFound { .. }) => {
                    let evidence = format!("{name}, which {} names, is gone", layout::root(self.view.number()));
                    return Err(JobError::StateLost { evidence });
                }
                Err(error) => return Err(error.into()),
            };
            // A damaged segment is not merged, so that damage does not spread.
            if ObjectHash::of(&bytes) == hash {
                total += entries;
                folded.push((hash, bytes));
            }
        }
        Ok(folded)
    }
}

/// Whether a pack stays harmed although it is named again. Only opening it acquits a forged pack. And nobody has looked
/// for a pack that a prune has made: ingest looks into `packs/`.
fn stays_harmed(record: &PackRecord) -> bool {
    record.is_forged() || (record.place == Place::Moved && (record.is_missing || record.is_damaged))
}

/// The sound packs and their tables.
fn tables(findings: &Findings) -> impl Iterator<Item = (&PackId, &PackTable)> {
    findings.iter().filter_map(|(id, finding)| match finding {
        Finding::Sound(table) => Some((id, table)),
        _ => None,
    })
}

/// The ids in the sound packs, with their heights.
pub(super) fn heights_of(findings: &Findings) -> Vec<(ChunkId, u8)> {
    let mut heights = Vec::with_capacity(tables(findings).map(|(_, table)| table.ids.len()).sum());
    for (_, table) in tables(findings) {
        heights.extend(table.ids.iter().enumerate().map(|(at, id)| (*id, table.height(at))));
    }
    heights
}

/// Ingest merges segments up to this sum of entries; `compact` merges larger ones.
const FOLD_ENTRIES: u64 = 1_000_000;
