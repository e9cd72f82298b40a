//! New packs: what a run has written below `moved/` and no root names yet. If another writer wins the next
//! root, the next decision uses these copies or dooms them; nothing is copied twice.

use std::collections::BTreeMap;

use copal_format::id::{DomainId, PackId};
use copal_format::layout::{self, Place, Prunable};
use copal_format::pack::PackTable;
use copal_format::state::PackRecord;
use copal_format::time::Time;

use crate::stored::Stored;
use crate::view::View;

/// The place of a block: its pack, and its offset there.
pub(super) type BlockPlace = (PackId, u32);

/// Packs that a run has written.
#[derive(Default)]
pub(super) struct NewPacks {
    packs: BTreeMap<PackId, NewPack>,
    /// From each copied block to its copy.
    blocks: BTreeMap<BlockPlace, BlockPlace>,
}

pub(super) struct NewPack {
    length: u64,
    pub(super) table: PackTable,
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
            is_proven: true,
            claim: None,
        }
    }
}

impl NewPacks {
    /// Whether the run has no written pack that still counts.
    pub(super) fn is_empty(&self) -> bool {
        self.packs.is_empty()
    }

    pub(super) fn packs(&self) -> &BTreeMap<PackId, NewPack> {
        &self.packs
    }

    /// The place of a block's copy, if there is one.
    pub(super) fn of(&self, block: BlockPlace) -> Option<BlockPlace> {
        self.blocks.get(&block).copied()
    }

    /// Notes a written pack; `sources` are the blocks that it holds copies of, in order.
    pub(super) fn add(&mut self, id: PackId, length: u64, table: PackTable, sources: impl Iterator<Item = BlockPlace>) {
        for (source, row) in sources.zip(&table.blocks) {
            self.blocks.insert(source, (id, row.offset));
        }
        self.packs.insert(id, NewPack { length, table });
    }

    /// Drops packs that are not this run's any more: doomed as orphans, deleted, or taken by a rebuild while it slept.
    pub(super) fn keep_own(&mut self, view: &View, stored: &Stored) {
        self.packs.retain(|id, pack| {
            stored.length(&layout::pack(Place::Moved, *id)) == Some(pack.length)
                && !view.state.packs.contains_key(id)
                && !view.state.doomed.contains_key(&Prunable::Pack(Place::Moved, *id))
        });
        let packs = &self.packs;
        self.blocks.retain(|_, (pack, _)| packs.contains_key(pack));
    }
}
