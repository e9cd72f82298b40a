//! Inventory: what a domain holds, as the index, the packs' tables and the overlay say.

use std::collections::BTreeMap;

use bytes::Bytes;
use copal_engine::id::{ChunkId, ObjectHash, PackId, PackTag};
use copal_engine::index::Bits;
use copal_engine::layout;
use copal_engine::mark::{InventoryBuilder, Mark, Marks, PackItem};
use copal_engine::pack::{PackKind, PackTable};
use copal_engine::state::PackRecord;
use copal_store::StoreError;

use super::domain::Part;
use super::tables::Tables;
use crate::commit::Proposal;
use crate::error::JobError;
use crate::faults::{Fault, is_planted};
use crate::objects::{self, Call};

impl Part<'_> {
    /// Whether the segments are what their names say. A flipped bit in an id would look like garbage and a loss at once.
    pub(super) fn verify_segments(&self) -> Result<(), JobError> {
        let mut segments = self.view.segments_of(self.domain);
        match segments.find(|(hash, segment)| ObjectHash::of(segment.bytes()) != *hash) {
            Some((hash, _)) => {
                Err(JobError::damaged(layout::segment(hash), "its bytes do not have the hash it is named by"))
            }
            None => Ok(()),
        }
    }

    /// Everything the domain holds: packs with their tables, and the entries present. A pack that is gone or whose table
    /// cannot be believed is noted in the proposal.
    ///
    /// Tables carry no hash, and a reference that one of them has lost makes garbage of all below it. So the whole pack
    /// vouches for a table if the pack is known to be damaged, or if what a page refers to is neither there nor known to
    /// be lost: no root lets that happen.
    pub(super) async fn inventory(
        &self,
        tables: &mut Tables,
        proposal: &mut Proposal,
    ) -> Result<Inventory<'_>, JobError> {
        let of_domain = self.view.state.packs.iter().filter(|(_, record)| record.domain == self.domain);
        let is_doubtful = |record: &PackRecord| record.kind == PackKind::Tree && record.is_damaged;
        of_domain.filter(|(_, record)| is_doubtful(record)).for_each(|(id, _)| tables.doubt(*id));
        let overlay = self.view.indexes[&self.domain].overlay();
        let is_unexplained = |id: &ChunkId| !overlay.bits(id, PackTag::NONE).contains(Bits::LOST);
        loop {
            let (inventory, changed) = self.read_inventory(tables).await?;
            let lacking = inventory.graph.packs_lacking(is_unexplained).into_iter();
            let lacking = lacking.map(|number| inventory.packs[number as usize].id);
            let doubted: Vec<PackId> = lacking.filter(|id| !tables.doubts(id)).collect();
            if doubted.is_empty() {
                proposal.delta.packs.extend(changed);
                return Ok(inventory);
            }
            doubted.into_iter().for_each(|id| tables.doubt(id));
        }
    }

    /// The inventory as far as tables are believed now, and what is to be noted of packs.
    async fn read_inventory(&self, tables: &mut Tables) -> Result<(Inventory<'_>, Changed), JobError> {
        let segments = self.view.segments_of(self.domain).map(|(_, segment)| segment.clone()).collect();
        let mut inventory = InventoryBuilder::new(segments, self.host.scratch)?;
        let mut changed = Changed::new();
        let of_domain = self.view.state.packs.iter().filter(|(_, record)| record.domain == self.domain);
        let packs: Vec<(&PackId, &PackRecord)> = of_domain.collect();
        for some in packs.chunks(TABLES) {
            let known: &Tables = tables;
            let calls = some.iter().map(|(id, record)| -> Call<'_, _> {
                Box::pin(async move {
                    let is_known = known.get(id).is_some() || known.has_refused(id);
                    if is_known { Ok(None) } else { self.read_table(**id, record, known.doubts(id)).await }
                })
            });
            let read = objects::together(calls).await?;
            for ((id, record), read) in some.iter().zip(read) {
                let stored = self.stored.length(&layout::pack(record.place, **id));
                let is_there = stored == Some(record.length);
                let table = read.as_ref().or_else(|| tables.get(id)).filter(|_| is_there);
                let is_missing = stored.is_none();
                let is_damaged = record.is_damaged || (!is_missing && table.is_none());
                if is_missing != record.is_missing || is_damaged != record.is_damaged {
                    changed.insert(**id, Some(PackRecord { is_missing, is_damaged, ..(*record).clone() }));
                }
                let is_healthy = (table.is_some() && !record.is_damaged) || is_planted(Fault::LostPreferred);
                inventory.add_pack(PackItem::of(**id, record, is_healthy, self.standings.trust(record)), table)?;
                match read {
                    Some(table) => tables.keep(**id, table),
                    None if tables.doubts(id) && tables.get(id).is_none() => tables.refuse(**id),
                    None => {}
                }
            }
        }
        Ok((inventory.finish()?, changed))
    }

    /// The table of a pack; none if it is not there as the state knows it, or cannot be read, or if the pack is to vouch
    /// for it and does not.
    async fn read_table(
        &self,
        id: PackId,
        record: &PackRecord,
        is_doubted: bool,
    ) -> Result<Option<PackTable>, JobError> {
        if self.stored.length(&layout::pack(record.place, id)) != Some(record.length) {
            return Ok(None);
        }
        let read = match is_doubted {
            true => objects::read_table_hashed(self.host.store, record.place, id, record.length).await,
            false => objects::read_table(self.host.store, record.place, id, record.length).await,
        };
        match read {
            Ok(table) => Ok(Some(table).filter(|of| (of.domain, of.kind) == (record.domain, record.kind))),
            Err(JobError::Damaged { .. }) => Ok(None),
            // Gone since it was listed: if another prune has deleted it, this one has lost to it already.
            Err(JobError::Store(StoreError::NotFound { .. })) => Ok(None),
            // A check has found out that it is the pack that is at fault, and not the store.
            Err(error) if record.is_damaged => error.blame().map(|_| None),
            Err(error) => Err(error),
        }
    }

    /// What the overlay says of each copy.
    pub(super) fn marks(&self, inventory: &Inventory) -> Marks {
        let mut marks = Marks::new(self.host.scratch, inventory.entries());
        let mut noted = self.view.indexes[&self.domain].overlay().marks().peekable();
        for (copy, id, item) in inventory.copies_with_ids() {
            while noted.next_if(|((of, _), _)| *of < id).is_some() {}
            if noted.peek().is_none_or(|((of, _), _)| *of != id) {
                continue;
            }
            let record = self.view.indexes[&self.domain].overlay().mark(&id, inventory.pack_of(&item).id.tag());
            let flagged = record.bits.contains(Bits::FLAGGED).then_some(record.time);
            marks.set(copy, Mark { flagged, wanted: record.bits.contains(Bits::WANTED) });
        }
        marks
    }
}

/// What is to be noted of packs.
type Changed = BTreeMap<PackId, Option<PackRecord>>;

/// Everything a domain holds, over mapped segments.
pub(super) type Inventory<'a> = copal_engine::mark::Inventory<'a, Bytes>;

/// Tables that are read at the same time.
const TABLES: usize = 256;
