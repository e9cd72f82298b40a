//! Tables: those that were read for one root and serve the next as well. They never change.

use std::collections::BTreeMap;

use copal_engine::id::PackId;
use copal_engine::pack::PackTable;

/// Tables of packs, as many as are worth their memory: others are read again.
#[derive(Default)]
pub(super) struct Tables {
    tables: BTreeMap<PackId, PackTable>,
    /// Ids in all of them.
    ids: usize,
}

impl Tables {
    /// The table of a pack, if it is kept.
    pub(super) fn get(&self, pack: &PackId) -> Option<&PackTable> {
        self.tables.get(pack)
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
