//! Copies: packs that a run has written below `moved/` and that no root names yet. Whoever wins the next root, what was
//! copied once is not copied again: the next decision uses it or dooms it.

use std::collections::BTreeMap;

use copal_engine::id::{DomainId, PackId};
use copal_engine::layout::{self, Place, Prunable};
use copal_engine::pack::PackTable;
use copal_engine::state::PackRecord;
use copal_engine::time::Time;

use super::garbage::Stored;
use crate::view::View;

/// Where a block lies: its pack, and where it starts in it.
pub(super) type BlockPlace = (PackId, u32);

/// Packs that a run has written.
#[derive(Default)]
pub(super) struct Copies {
    packs: BTreeMap<PackId, NewPack>,
    /// Where the copy of a block lies.
    blocks: BTreeMap<BlockPlace, BlockPlace>,
}

/// A pack that was written.
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

impl Copies {
    /// Whether the run has written nothing that still counts.
    pub(super) fn is_empty(&self) -> bool {
        self.packs.is_empty()
    }

    /// The packs.
    pub(super) fn packs(&self) -> &BTreeMap<PackId, NewPack> {
        &self.packs
    }

    /// Where the copy of a block lies, if there is one.
    pub(super) fn of(&self, block: BlockPlace) -> Option<BlockPlace> {
        self.blocks.get(&block).copied()
    }

    /// Notes a pack; `sources` are the blocks it holds copies of, in order.
    pub(super) fn add(&mut self, id: PackId, length: u64, table: PackTable, sources: impl Iterator<Item = BlockPlace>) {
        for (source, row) in sources.zip(&table.blocks) {
            self.blocks.insert(source, (id, row.offset));
        }
        self.packs.insert(id, NewPack { length, table });
    }

    /// Forgets packs that are not this run's own any more: a run that slept for long may find its copies doomed as
    /// orphans, deleted, or taken up by a rebuild.
    pub(super) fn keep_own(&mut self, view: &View, stored: &Stored) {
        self.packs.retain(|id, pack| {
            stored.length(&layout::pack(Place::Moved, *id)) == Some(pack.length)
                && !view.state.packs.contains_key(id)
                && !view.state.doomed.contains_key(&Prunable::Pack(Place::Moved, *id))
        });
        let packs = &self.packs;
        self.blocks.retain(|_, (pack, _)| packs.contains_key(pack));
    }

    /// Forgets all: a root has decided about them.
    pub(super) fn clear(&mut self) {
        self.packs.clear();
        self.blocks.clear();
    }
}
