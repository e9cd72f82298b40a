//! Tables: those that were read for one root and serve the next as well, and which of them are in doubt. They never change.

use std::collections::{BTreeMap, BTreeSet};

use copal_engine::id::PackId;
use copal_engine::pack::PackTable;

/// Tables of packs, as many as are worth their memory: others are read again.
#[derive(Default)]
pub(super) struct Tables {
    tables: BTreeMap<PackId, PackTable>,
    /// Ids in all of them.
    ids: usize,
    /// Packs whose tables are believed only if all of the pack has the hash it is named by.
    doubted: BTreeSet<PackId>,
    /// Those of them that have not.
    refused: BTreeSet<PackId>,
}

impl Tables {
    /// The table of a pack, if it is kept.
    pub(super) fn get(&self, pack: &PackId) -> Option<&PackTable> {
        self.tables.get(pack)
    }

    /// No longer believes the table of a pack as it was read.
    pub(super) fn doubt(&mut self, pack: PackId) {
        if self.doubted.insert(pack)
            && let Some(table) = self.tables.remove(&pack)
        {
            self.ids -= table.ids.len();
        }
    }

    /// Whether the whole pack has to vouch for its table.
    pub(super) fn doubts(&self, pack: &PackId) -> bool {
        self.doubted.contains(pack)
    }

    /// Takes note that a pack does not vouch for its table.
    pub(super) fn refuse(&mut self, pack: PackId) {
        self.refused.insert(pack);
    }

    /// Whether a pack does not.
    pub(super) fn has_refused(&self, pack: &PackId) -> bool {
        self.refused.contains(pack)
    }

    /// Keeps a table, if there is room.
    pub(super) fn keep(&mut self, pack: PackId, table: PackTable) {
        if self.ids + table.ids.len() <= IDS && self.tables.len() < TABLES {
            self.ids += table.ids.len();
            self.tables.insert(pack, table);
        }
    }
}

/// Ids that are kept, of 24 bytes each, and references of pages about as many.
const IDS: usize = 1 << 18;
/// Tables that are kept, however short they are.
const TABLES: usize = 4_096;
