//! Tables: pack tables kept from one root to the next, because tables never change, and which of them are in doubt.

use std::collections::{BTreeMap, BTreeSet};

use copal_engine::id::PackId;
use copal_engine::pack::PackTable;

/// A bounded cache of pack tables. Others are read again.
#[derive(Default)]
pub(super) struct Tables {
    tables: BTreeMap<PackId, PackTable>,
    /// Number of ids in all cached tables.
    ids: usize,
    /// Packs whose tables are believed only if the whole pack has the hash it is named by.
    doubted: BTreeSet<PackId>,
    /// Doubted packs that do not have that hash.
    refused: BTreeSet<PackId>,
}

impl Tables {
    /// The table of a pack, if it is cached.
    pub(super) fn get(&self, pack: &PackId) -> Option<&PackTable> {
        self.tables.get(pack)
    }

    /// Stops believing the cached table of a pack.
    pub(super) fn doubt(&mut self, pack: PackId) {
        if self.doubted.insert(pack)
            && let Some(table) = self.tables.remove(&pack)
        {
            self.ids -= table.ids.len();
        }
    }

    /// Whether a pack's table is believed only with the hash of the whole pack.
    pub(super) fn doubts(&self, pack: &PackId) -> bool {
        self.doubted.contains(pack)
    }

    /// Notes that a doubted pack does not have its hash.
    pub(super) fn refuse(&mut self, pack: PackId) {
        self.refused.insert(pack);
    }

    /// Whether a doubted pack does not have its hash.
    pub(super) fn has_refused(&self, pack: &PackId) -> bool {
        self.refused.contains(pack)
    }

    /// Caches a table, if there is room.
    pub(super) fn keep(&mut self, pack: PackId, table: PackTable) {
        if self.ids + table.ids.len() <= IDS && self.tables.len() < TABLES {
            self.ids += table.ids.len();
            self.tables.insert(pack, table);
        }
    }
}

/// Ids cached at most, 24 bytes each, and about as many references of pages.
const IDS: usize = 1 << 18;
/// Tables cached at most, however short they are.
const TABLES: usize = 4_096;
