//! Inventory: what a domain holds, by its index, its packs' tables and its overlay.

use std::collections::BTreeMap;

use bytes::Bytes;
use copal_engine::mark::{InventoryBuilder, Mark, Marks, PackItem};
use copal_format::id::{ChunkId, ObjectHash, PackId, PackTag};
use copal_format::index::Bits;
use copal_format::layout;
use copal_format::pack::{PackKind, PackTable};
use copal_format::state::PackRecord;
use copal_store::StoreError;

use super::part::Part;
use super::tables::Tables;
use crate::commit::Proposal;
use crate::error::JobError;
use crate::faults::{Mistake, is_planted};
use crate::objects;

impl Part<'_> {
    /// Verifies the hashes of the segments, and that their rows are in order. A flipped bit in an id would look like
    /// garbage and like a loss at once. So would rows out of order, because an inventory would miss some.
    pub(super) fn verify_segments(&self) -> Result<(), JobError> {
        for (hash, segment) in self.view.segments_of(self.domain) {
            if ObjectHash::of(segment.bytes()) != hash {
                return Err(JobError::damaged(layout::segment(hash), "its bytes do not have the hash it is named by"));
            }
            segment.verify().map_err(|error| JobError::damaged(layout::segment(hash), error))?;
        }
        Ok(())
    }

    /// Everything the domain holds: its packs, the tables of tree packs, and the present entries. Packs that are gone,
    /// or whose table cannot be believed, are noted in the proposal. Fails if a pack is there and the listing lacks it.
    ///
    /// The index tells what a data pack holds, so its table is read only if it shares an id with another pack: a copy
    /// that displaces another lies in a pack that can be read.
    ///
    /// Tables carry no hash, and one lost reference makes garbage of everything below it. So a table needs the hash of
    /// the whole pack in two cases: the pack is known to be damaged, or one of its pages refers to an id that is
    /// neither present nor known to be lost, which no root allows.
    pub(super) async fn inventory(
        &self,
        tables: &mut Tables,
        proposal: &mut Proposal,
    ) -> Result<Inventory<'_>, JobError> {
        let is_doubtful = |record: &PackRecord| record.kind == PackKind::Tree && record.is_damaged;
        let of_domain = self.view.packs_of(self.domain);
        of_domain.filter(|(_, record)| is_doubtful(record)).for_each(|(id, _)| tables.doubt(*id));
        let overlay = self.view.indexes[&self.domain].overlay();
        let is_unexplained = |id: &ChunkId| !overlay.bits(id, PackTag::NONE).contains(Bits::LOST);
        loop {
            let (mut inventory, mut changed) = self.read_inventory(tables).await?;
            let lacking = inventory.graph.packs_lacking(is_unexplained).into_iter();
            let lacking = lacking.map(|number| inventory.packs[number as usize].id);
            let doubted: Vec<PackId> = lacking.filter(|id| !tables.doubts(id)).collect();
            if doubted.is_empty() {
                self.look_at_shared(&mut inventory, &mut changed).await?;
                proposal.delta.packs.extend(changed);
                return Ok(inventory);
            }
            doubted.into_iter().for_each(|id| tables.doubt(id));
        }
    }

    /// The inventory with the tables believed now, and the changed pack records.
    async fn read_inventory(&self, tables: &mut Tables) -> Result<(Inventory<'_>, Changed), JobError> {
        let segments = self.view.segments_of(self.domain).map(|(_, segment)| segment.clone()).collect();
        let mut inventory = InventoryBuilder::new(segments, self.job.scratch)?;
        let mut changed = Changed::new();
        let packs: Vec<(&PackId, &PackRecord)> = self.view.packs_of(self.domain).collect();
        for some in packs.chunks(TABLES) {
            let known: &Tables = tables;
            let calls = some.iter().map(|(id, record)| async move {
                let (name, mut is_refused) = (layout::pack(record.place, **id), false);
                if self.stored.length(&name).is_none() && !record.is_missing {
                    match objects::prove_absent(self.job.store, &name).await {
                        // A check knows already that the store does not give it.
                        Err(error) if record.is_damaged => is_refused = error.blame().map(|_| true)?,
                        absent => absent?,
                    }
                }
                let is_known = known.get(id).is_some() || known.has_refused(id);
                let is_needed = record.kind == PackKind::Tree && !is_known;
                let table = if is_needed { self.read_table(**id, record, known.doubts(id)).await? } else { None };
                Ok((table, is_refused))
            });
            let read = objects::join(calls).await?;
            for ((id, record), (read, is_refused)) in some.iter().zip(read) {
                let stored = self.stored.length(&layout::pack(record.place, **id));
                let is_there = stored == Some(record.length);
                let table = read.as_ref().or_else(|| tables.get(id)).filter(|_| is_there);
                let is_readable = is_there && (table.is_some() || record.kind == PackKind::Data);
                let is_missing = stored.is_none() && !is_refused;
                let is_damaged = record.is_damaged || (!is_missing && !is_readable);
                if is_missing != record.is_missing || is_damaged != record.is_damaged {
                    changed.insert(**id, Some(PackRecord { is_missing, is_damaged, ..(*record).clone() }));
                }
                let is_healthy = (is_readable && !record.is_damaged) || is_planted(Mistake::LostPreferred);
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

    /// Reads the tables of healthy data packs that share an id with others. A pack whose table cannot be read is
    /// damaged.
    async fn look_at_shared(&self, inventory: &mut Inventory<'_>, changed: &mut Changed) -> Result<(), JobError> {
        let shared = inventory.packs_with_shared_ids();
        let is_open = |pack: &PackItem| pack.kind == PackKind::Data && pack.is_healthy;
        let open: Vec<u32> = shared.iter().filter(|number| is_open(&inventory.packs[*number as usize])).collect();
        for some in open.chunks(TABLES) {
            let calls = some.iter().map(|number| {
                let id = inventory.packs[*number as usize].id;
                let record = &self.view.state.packs[&id];
                async move { Ok((id, record, self.read_table(id, record, false).await?.is_some())) }
            });
            let read = objects::join(calls).await?;
            for (number, (id, record, _)) in some.iter().zip(read).filter(|(_, (.., is_readable))| !is_readable) {
                inventory.packs[*number as usize].is_healthy = is_planted(Mistake::LostPreferred);
                changed.insert(id, Some(PackRecord { is_damaged: true, ..record.clone() }));
            }
        }
        Ok(())
    }

    /// The table of a pack. None if the pack is not there with its recorded length, if the table cannot be read, or if
    /// a doubted pack does not have its hash.
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
            true => objects::read_table_hashed(self.job.store, record.place, id, record.length).await,
            false => objects::read_table(self.job.store, record.place, id, record.length).await,
        };
        match read {
            Ok(table) => Ok(Some(table).filter(|of| (of.domain, of.kind) == (record.domain, record.kind))),
            Err(JobError::Damaged { .. }) => Ok(None),
            // Gone after the listing. If another prune has deleted it, this prune has already lost to that one.
            Err(JobError::Store(StoreError::NotFound { .. })) => Ok(None),
            // A check has already found that the pack is at fault, not the store.
            Err(error) if record.is_damaged => error.blame().map(|_| None),
            Err(error) => Err(error),
        }
    }

    /// The overlay's mark of each copy.
    pub(super) fn marks(&self, inventory: &Inventory) -> Marks {
        let mut marks = Marks::new(self.job.scratch, inventory.entries());
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

/// Changed pack records.
type Changed = BTreeMap<PackId, Option<PackRecord>>;

/// Everything a domain holds, over mapped segments.
pub(super) type Inventory<'a> = copal_engine::mark::Inventory<'a, Bytes>;

/// Tables read at the same time.
const TABLES: usize = 256;
