//! Accepting: what a manifest that was accepted changes in the state.

use bytes::Bytes;
use copal_engine::client::{ClientRecord, Role};
use copal_engine::id::{ChunkId, ClientId, DomainId, ObjectHash, PackId, PackTag};
use copal_engine::index::{Bits, Mark, NewSegment, Segment, SegmentWriter, merge};
use copal_engine::ingest::Finding;
use copal_engine::layout::{self, Place};
use copal_engine::manifest::VerifiedManifest;
use copal_engine::state::{Decision, DoomedRecord, DoomedState, PackRecord, SnapshotRecord, SnapshotState};
use copal_engine::time::Time;

use super::Pass;
use crate::commit::Proposal;
use crate::error::JobError;

impl Pass<'_> {
    /// Adds what an accepted manifest brings.
    pub(super) fn accept(
        &mut self,
        verified: &VerifiedManifest,
        record: &ClientRecord,
        findings: Vec<(PackId, Finding)>,
    ) -> Result<(), JobError> {
        let manifest = &verified.manifest;
        let domain = manifest.domain;
        for ((id, finding), (_, length)) in findings.into_iter().zip(&manifest.packs) {
            let Finding::Sound(table) = finding else { continue };
            let heights = table.ids.iter().enumerate().map(|(at, id)| (*id, table.height(at)));
            self.added.entry(domain).or_default().extend(heights);
            let random = self.host.random();
            let writer = self.writers.entry(domain).or_insert_with(|| SegmentWriter::new(domain, random));
            writer.add_pack(id, Place::Packs, &table)?;
            let pack = PackRecord {
                domain,
                kind: table.kind,
                length: *length,
                place: Place::Packs,
                is_missing: false,
                is_damaged: false,
                read: Time(0),
                accepted: self.now,
            };
            self.proposal.delta.packs.insert(id, Some(pack));
            self.clear_lost(domain, id, &table.ids);
        }
        if let Some(claim) = &manifest.snapshot {
            let snapshot = SnapshotRecord {
                id: verified.hash.snapshot(),
                domain,
                root: claim.root,
                partial: claim.partial,
                client_time: claim.client_time,
                accepted: self.now,
                source: claim.source,
                tags: claim.tags.clone(),
                state: SnapshotState::Kept,
                pinned: false,
                state_time: self.now,
                by_full_client: record.role == Role::Full,
                extent: manifest.extent(),
                released: false,
            };
            self.proposal.delta.snapshots.insert((manifest.client, manifest.number), Some(snapshot));
        }
        Ok(())
    }

    /// Ids that had no copy left have one again, and a pack that was lost and came back is lost no more.
    fn clear_lost(&mut self, domain: DomainId, pack: PackId, ids: &[ChunkId]) {
        let Some(index) = self.view.index(domain) else { return };
        for id in ids {
            for tag in [PackTag::NONE, pack.tag()] {
                let old = index.overlay().mark(id, tag);
                let bits = old.bits.without(Bits::LOST | Bits::WANTED);
                if old.bits.contains(Bits::LOST) {
                    let records = self.proposal.overlay.entry(domain).or_default();
                    records.insert((*id, tag), Mark { bits, ..old });
                }
            }
        }
    }

    /// Folds the new entries with smaller segments and gives everything to commit.
    pub(super) fn finish(&mut self) -> Result<(Proposal, Vec<(ClientId, Decision)>), JobError> {
        for (domain, writer) in std::mem::take(&mut self.writers) {
            let Some(fresh) = writer.finish() else { continue };
            let parsed = Segment::parse(Bytes::from(fresh.bytes.clone()));
            let parsed = parsed.map_err(|error| JobError::damaged(layout::segment(fresh.hash), error))?;
            let mut total = parsed.len();
            let mut parts = vec![&parsed];
            for (old, segment) in self.view.segments_by_size(domain) {
                if segment.len() > total || total + segment.len() >= FOLD_ENTRIES {
                    break;
                }
                // Damage is not spread.
                if ObjectHash::of(segment.bytes()) != old {
                    continue;
                }
                total += segment.len();
                parts.push(segment);
                self.proposal.delta.segments.insert((domain, old), None);
                let doomed = DoomedRecord { state: DoomedState::Doomed, time: self.now, root: self.view.number() + 1 };
                self.proposal.delta.doomed.insert(layout::segment(old), Some(doomed));
            }
            let NewSegment { hash, record, bytes } = match parts.len() {
                1 => fresh,
                _ => merge(domain, self.host.random(), &parts, |_| true)?.unwrap_or(fresh),
            };
            self.proposal.delta.segments.insert((domain, hash), Some(record));
            self.proposal.segments.push((hash, bytes));
        }
        Ok((std::mem::take(&mut self.proposal), std::mem::take(&mut self.decided)))
    }
}

/// Entries up to which ingest folds segments; `compact` merges larger ones.
const FOLD_ENTRIES: usize = 1_000_000;
