//! Repack: copies live blocks, still sealed, into new packs in `moved/`. Needs no key: a sealed block names no pack.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bytes::Bytes;
use copal_engine::plan::Plan;
use copal_format::id::{ChunkId, DomainId, ObjectHash, PackId};
use copal_format::index::{NewSegment, Segment, SegmentWriter, merge};
use copal_format::layout::{self, Place};
use copal_format::limits::PACK_SESSIONS;
use copal_format::pack::{self, PackKind, PackLimit, PackTable, PackWriter, PageRow};
use copal_store::StoreError;

use super::inventory::Inventory;
use super::new_packs::{BlockPlace, NewPacks};
use super::part::{Part, Work};
use crate::commit::put;
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;

/// What was copied, and where to.
#[derive(Default)]
pub(super) struct Moved {
    /// The packs that hold the copies.
    pub(super) packs: BTreeSet<PackId>,
    /// The place of each copied block's copy, by the block's number in the inventory.
    pub(super) blocks: BTreeMap<u32, BlockPlace>,
    /// Packs whose live blocks were all copied.
    pub(super) emptied: Vec<u32>,
    /// Packs that were found damaged while reading.
    pub(super) damaged: Vec<u32>,
    /// Bytes of the copied blocks.
    pub(super) bytes: u64,
    /// Whether the disk was full.
    pub(super) is_full: bool,
}

impl Moved {
    /// A segment with the entries of the new packs; none without new packs. A copied block keeps exactly the entries
    /// that were present in its original.
    pub(super) fn segment(
        &self,
        part: &Part<'_>,
        inventory: &Inventory<'_>,
        plan: &Plan,
        new_packs: &NewPacks,
    ) -> Result<Option<NewSegment>, JobError> {
        if self.packs.is_empty() {
            return Ok(None);
        }
        let mut writer = SegmentWriter::new(part.domain, part.job.random());
        for id in &self.packs {
            writer.add_pack(*id, Place::Moved, &new_packs.packs()[id].table)?;
        }
        let Some(all) = writer.finish() else { return Ok(None) };
        let staying = inventory.copies().filter(|(copy, _)| !plan.removed.has(*copy));
        let staying: HashSet<(PackId, u32, u16)> = staying
            .filter_map(|(_, item)| {
                let (pack, offset) = self.blocks.get(&item.block)?;
                Some((*pack, *offset, item.ordinal))
            })
            .collect();
        let segment = Segment::parse(all.bytes).map_err(|error| JobError::damaged(layout::segment(all.hash), error))?;
        Ok(merge(part.domain, part.job.random(), &[&segment], |entry| {
            let place = &entry.location;
            staying.contains(&(place.pack, place.offset, place.ordinal))
        })?)
    }
}

/// Copies the live blocks of the packs that a plan rewrites, except blocks copied before. A pack whose bytes do not
/// have its hash stays where it is, so that damage does not spread.
pub(super) async fn move_blocks(
    part: &Part<'_>,
    inventory: &Inventory<'_>,
    work: &mut Work<'_>,
    plan: &Plan,
) -> Result<Moved, JobError> {
    let mut moved = Moved::default();
    for kind in [PackKind::Data, PackKind::Tree] {
        let mut open = Open::new(part, kind);
        for (number, live) in plan.rewritten.iter().filter(|(number, _)| inventory.packs[*number as usize].kind == kind)
        {
            let pack = &inventory.packs[*number as usize];
            let place = |block: &u32| (pack.id, inventory.block(*block).offset);
            let missing: Vec<BlockPlace> =
                live.iter().map(place).filter(|block| work.new_packs.of(*block).is_none()).collect();
            if !missing.is_empty() {
                let name = layout::pack(pack.place, pack.id);
                let bytes = match objects::read_hashed(part.job.store, &name, ObjectHash(pack.id.0)).await {
                    Ok(Some(bytes)) => bytes,
                    Ok(None) | Err(JobError::Damaged { .. }) => {
                        moved.damaged.push(*number);
                        continue;
                    }
                    Err(error) => return Err(error),
                };
                let table = pack::parse(&bytes).ok();
                let found = table.as_ref().and_then(|table| rows(table, &missing));
                let (Some(table), Some(rows)) = (table, found) else {
                    moved.damaged.push(*number);
                    continue;
                };
                for (block, row) in missing.iter().zip(rows) {
                    open.add(*block, &table, row, &bytes, work.new_packs).await?;
                }
            }
            moved.emptied.push(*number);
            if open.is_full {
                break;
            }
        }
        open.close(work.new_packs).await?;
        moved.bytes += open.copied;
        moved.is_full |= open.is_full;
    }
    *work.copied += moved.bytes;
    if moved.is_full {
        return Ok(moved);
    }
    for (number, live) in plan.rewritten.iter().filter(|(number, _)| !moved.damaged.contains(number)) {
        let pack = inventory.packs[*number as usize].id;
        for block in live {
            if let Some(place) = work.new_packs.of((pack, inventory.block(*block).offset)) {
                moved.packs.insert(place.0);
                moved.blocks.insert(*block, place);
            }
        }
    }
    Ok(moved)
}

/// The table row of each block; none if the table lacks one of them.
fn rows(table: &PackTable, blocks: &[BlockPlace]) -> Option<Vec<usize>> {
    let row = |(_, offset): &BlockPlace| table.blocks.binary_search_by_key(offset, |row| row.offset).ok();
    blocks.iter().map(row).collect()
}

/// The pack into which blocks are copied.
struct Open<'a> {
    job: &'a JobContext<'a>,
    domain: DomainId,
    kind: PackKind,
    target: u64,
    sessions: Vec<Vec<u8>>,
    blocks: Vec<Copied>,
    bytes: u64,
    /// Bytes of the blocks in stored packs.
    copied: u64,
    /// Whether a pack could not be stored because the disk is full.
    is_full: bool,
}

struct Copied {
    source: BlockPlace,
    session: u16,
    counter: u64,
    ids: Vec<ChunkId>,
    pages: Vec<PageRow>,
    stored: Bytes,
}

impl Copied {
    fn add_to(&self, writer: &mut PackWriter) -> Result<(), PackLimit> {
        let pages = self.pages.iter().map(PageRow::view);
        writer.add_block(&self.stored, self.session, self.counter, self.ids.iter().copied(), pages)
    }
}

impl<'a> Open<'a> {
    fn new(part: &Part<'a>, kind: PackKind) -> Self {
        Self {
            job: part.job,
            domain: part.domain,
            kind,
            target: part.options.pack_target[kind as usize],
            sessions: Vec::new(),
            blocks: Vec::new(),
            bytes: 0,
            copied: 0,
            is_full: false,
        }
    }

    async fn add(
        &mut self,
        source: BlockPlace,
        table: &PackTable,
        at: usize,
        bytes: &Bytes,
        new_packs: &mut NewPacks,
    ) -> Result<(), JobError> {
        let row = &table.blocks[at];
        let record = &table.sessions[row.session as usize];
        if !self.sessions.contains(record) && self.sessions.len() == PACK_SESSIONS as usize {
            self.close(new_packs).await?;
        }
        let session = self.sessions.iter().position(|known| known == record).unwrap_or_else(|| {
            self.sessions.push(record.clone());
            self.sessions.len() - 1
        });
        let stored = bytes.slice(row.offset as usize..row.offset as usize + row.length as usize);
        self.bytes += u64::from(row.length);
        let ids = table.block_ids(row).to_vec();
        let pages = row.entries.clone().filter_map(|at| table.page(at as usize));
        let pages = pages.map(|page| PageRow {
            replaces: page.replaces,
            height: page.height,
            references: page.references.to_vec(),
        });
        let pages = pages.collect();
        self.blocks.push(Copied { source, session: session as u16, counter: row.counter, ids, pages, stored });
        if self.bytes >= self.target {
            self.close(new_packs).await?;
        }
        Ok(())
    }

    /// Stores the collected blocks as one pack, or as several: a pack's size is not its only limit.
    async fn close(&mut self, new_packs: &mut NewPacks) -> Result<(), JobError> {
        let (sessions, blocks) = (std::mem::take(&mut self.sessions), std::mem::take(&mut self.blocks));
        self.bytes = 0;
        let mut left = blocks.as_slice();
        while let Some((first, others)) = left.split_first().filter(|_| !self.is_full) {
            let mut writer = PackWriter::new(self.kind, self.domain, self.job.random(), sessions.clone())?;
            first.add_to(&mut writer)?;
            // A block that no pack takes fails as the next `first`.
            let fitting = others.iter().take_while(|block| block.add_to(&mut writer).is_ok()).count();
            let (within, rest) = left.split_at(1 + fitting);
            self.store(writer, within, new_packs).await?;
            left = rest;
        }
        Ok(())
    }

    async fn store(&mut self, writer: PackWriter, blocks: &[Copied], new_packs: &mut NewPacks) -> Result<(), JobError> {
        let mut pack = writer.finish();
        let bytes = std::mem::take(&mut pack.bytes);
        let length = bytes.len() as u64;
        match put(self.job.store, layout::pack(Place::Moved, pack.id), bytes).await {
            Err(JobError::Store(StoreError::Full { .. })) => self.is_full = true,
            stored => {
                stored?;
                self.copied += blocks.iter().map(|block| block.stored.len() as u64).sum::<u64>();
                new_packs.add(pack.id, length, pack.table, blocks.iter().map(|block| block.source));
            }
        }
        Ok(())
    }
}
