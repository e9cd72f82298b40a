//! Repack: live blocks copied, as ciphertext, into new packs below `moved/`. No key is needed: a sealed block does not
//! say which pack it lies in.

use std::collections::BTreeMap;

use bytes::Bytes;
use copal_engine::id::{ChunkId, DomainId, ObjectHash, PackId};
use copal_engine::index::{Segment, SegmentWriter};
use copal_engine::layout::{self, Place};
use copal_engine::limits::PACK_SESSIONS;
use copal_engine::mark::Inventory;
use copal_engine::pack::{Pack, PackKind, PackTable, PackWriter, PageRow};
use copal_engine::plan::Plan;
use copal_engine::state::PackRecord;
use copal_engine::time::Time;

use super::Options;
use crate::commit::put;
use crate::error::JobError;
use crate::host::Host;
use crate::objects;

/// What was copied, and where to.
#[derive(Default)]
pub(super) struct Moved {
    /// The new packs.
    pub(super) packs: Vec<NewPack>,
    /// Where each copied block lies now, by its number in the inventory.
    pub(super) blocks: BTreeMap<u32, (PackId, u32)>,
    /// Packs all of whose live blocks were copied.
    pub(super) emptied: Vec<u32>,
    /// Packs that were found damaged while reading.
    pub(super) damaged: Vec<u32>,
    /// Bytes of the new packs.
    pub(super) bytes: u64,
}

/// A pack that was written.
pub(super) struct NewPack {
    pub(super) id: PackId,
    length: u64,
    table: PackTable,
}

impl NewPack {
    pub(super) fn record(&self, domain: DomainId, now: Time) -> PackRecord {
        PackRecord {
            domain,
            kind: self.table.kind,
            length: self.length,
            place: Place::Moved,
            is_missing: false,
            is_damaged: false,
            read: Time(0),
            accepted: now,
        }
    }
}

impl Moved {
    /// A segment of all entries of the new packs; none if there are none.
    pub(super) fn segment(&self, host: &Host<'_>, domain: DomainId) -> Result<Option<Segment<Bytes>>, JobError> {
        if self.packs.is_empty() {
            return Ok(None);
        }
        let mut writer = SegmentWriter::new(domain, host.random());
        for pack in &self.packs {
            writer.add_pack(pack.id, Place::Moved, &pack.table)?;
        }
        let Some(segment) = writer.finish() else { return Ok(None) };
        let hash = segment.hash;
        let segment = Segment::parse(Bytes::from(segment.bytes));
        segment.map(Some).map_err(|error| JobError::damaged(layout::segment(hash), error))
    }
}

/// Copies the live blocks of the packs that a plan rewrites. A pack whose bytes do not have its hash any more is left
/// where it is: damage is not spread.
pub(super) async fn move_blocks(
    host: &Host<'_>,
    domain: DomainId,
    inventory: &Inventory,
    tables: &BTreeMap<PackId, PackTable>,
    plan: &Plan,
    options: &Options,
) -> Result<Moved, JobError> {
    let mut moved = Moved::default();
    for kind in [PackKind::Data, PackKind::Tree] {
        let mut open = Open::new(domain, kind, options.pack_target[kind as usize]);
        for (number, live) in plan.rewritten.iter().filter(|(number, _)| inventory.packs[*number as usize].kind == kind)
        {
            let pack = &inventory.packs[*number as usize];
            let name = layout::pack(pack.place, pack.id);
            let hash = ObjectHash(pack.id.0);
            let bytes = match objects::read_hashed(host.store, &name, hash).await {
                Ok(Some(bytes)) => bytes,
                Ok(None) | Err(JobError::Damaged { .. }) => {
                    moved.damaged.push(*number);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let Some(rows) = tables.get(&pack.id).and_then(|table| rows(inventory, table, live)) else {
                moved.damaged.push(*number);
                continue;
            };
            for (block, row) in live.iter().zip(rows) {
                open.add(host, *block, &tables[&pack.id], row, &bytes, &mut moved).await?;
            }
            moved.emptied.push(*number);
        }
        open.close(host, &mut moved).await?;
    }
    Ok(moved)
}

/// Where the table tells of each of the blocks; none if it does not know one of them.
fn rows(inventory: &Inventory, table: &PackTable, blocks: &[u32]) -> Option<Vec<usize>> {
    let row = |block: &u32| {
        let offset = inventory.blocks[*block as usize].offset;
        table.blocks.iter().position(|row| row.offset == offset)
    };
    blocks.iter().map(row).collect()
}

/// The pack that blocks are copied into.
struct Open {
    domain: DomainId,
    kind: PackKind,
    target: u64,
    sessions: Vec<Vec<u8>>,
    blocks: Vec<Copied>,
    bytes: u64,
}

struct Copied {
    number: u32,
    session: u16,
    counter: u64,
    ids: Vec<ChunkId>,
    pages: Vec<PageRow>,
    stored: Bytes,
}

impl Open {
    fn new(domain: DomainId, kind: PackKind, target: u64) -> Self {
        Self { domain, kind, target, sessions: Vec::new(), blocks: Vec::new(), bytes: 0 }
    }

    async fn add(
        &mut self,
        host: &Host<'_>,
        number: u32,
        table: &PackTable,
        at: usize,
        bytes: &Bytes,
        moved: &mut Moved,
    ) -> Result<(), JobError> {
        let row = &table.blocks[at];
        let record = &table.sessions[row.session as usize];
        if !self.sessions.contains(record) && self.sessions.len() == PACK_SESSIONS as usize {
            self.close(host, moved).await?;
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
        self.blocks.push(Copied { number, session: session as u16, counter: row.counter, ids, pages, stored });
        if self.bytes >= self.target {
            self.close(host, moved).await?;
        }
        Ok(())
    }

    async fn close(&mut self, host: &Host<'_>, moved: &mut Moved) -> Result<(), JobError> {
        if self.blocks.is_empty() {
            return Ok(());
        }
        let sessions = std::mem::take(&mut self.sessions);
        let mut writer = PackWriter::new(self.kind, self.domain, host.random(), sessions)?;
        let blocks = std::mem::take(&mut self.blocks);
        for block in &blocks {
            let pages = block.pages.iter().map(PageRow::view);
            writer.add_block(&block.stored, block.session, block.counter, block.ids.iter().copied(), pages)?;
        }
        self.bytes = 0;
        let Pack { id, bytes, table } = writer.finish();
        let length = bytes.len() as u64;
        for (block, row) in blocks.iter().zip(&table.blocks) {
            moved.blocks.insert(block.number, (id, row.offset));
        }
        put(host.store, layout::pack(Place::Moved, id), bytes).await?;
        moved.bytes += length;
        moved.packs.push(NewPack { id, length, table });
        Ok(())
    }
}
