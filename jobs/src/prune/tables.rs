//! Tables: pack tables kept from one root to the next, because tables never change, and which of them are in doubt.

use std::collections::{BTreeMap, BTreeSet};

use copal_format::id::PackId;
use copal_format::pack::PackTable;

/// A bounded cache of pack tables. Others are read again.
#[derive(Default)]
pub(super) struct Tables {
    tables: BTreeMap<PackId, PackTable>,
    /// The ids and references in all cached tables.
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
            self.ids -= weight(&table);
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
        if self.ids + weight(&table) <= IDS && self.tables.len() < TABLES {
            self.ids += weight(&table);
            self.tables.insert(pack, table);
        }
    }
}

/// How many ids and references a table has.
fn weight(table: &PackTable) -> usize {
    let pages = (0..table.ids.len()).filter_map(|at| table.page(at));
    table.ids.len() + pages.map(|page| page.references.len()).sum::<usize>()
}

/// Ids and references cached at most, 24 bytes each.
const IDS: usize = 1 << 18;
/// Tables cached at most, however short they are.
const TABLES: usize = 4_096;

#[cfg(test)]
mod tests {
    use copal_format::id::{ChunkId, DomainId};
    use copal_format::pack::{PackKind, PackWriter};

    use super::*;

    /// A table with so many ids.
    fn table(ids: usize) -> PackTable {
        let mut writer = PackWriter::new(PackKind::Data, DomainId([1; 16]), [1; 16], vec![vec![1]]).unwrap();
        writer.add_block(&[0; 100], 0, 0, [ChunkId([1; 24])], []).unwrap();
        PackTable { ids: vec![ChunkId([1; 24]); ids], ..writer.finish().table }
    }

    fn pack(number: u32) -> PackId {
        let mut id = [0; 32];
        id[..4].copy_from_slice(&number.to_le_bytes());
        PackId(id)
    }

    #[test]
    fn tables_are_kept_as_long_as_together_they_do_not_have_too_many_ids() {
        let mut tables = Tables::default();
        for (number, ids) in [(1, IDS - 10), (2, 11), (3, 10), (4, 1), (5, 0)] {
            tables.keep(pack(number), table(ids));
        }
        let kept = |tables: &Tables| (1..7).filter(|number| tables.get(&pack(*number)).is_some()).collect::<Vec<u32>>();
        assert_eq!(kept(&tables), [1, 3, 5]);
        // A table in doubt makes room for another one.
        tables.doubt(pack(1));
        tables.keep(pack(2), table(11));
        tables.keep(pack(6), table(IDS - 20));
        assert_eq!(kept(&tables), [2, 3, 5]);
        tables.keep(pack(6), table(IDS - 21));
        assert_eq!(kept(&tables), [2, 3, 5, 6]);
    }

    #[test]
    fn so_many_tables_are_kept_however_short_they_are() {
        let mut tables = Tables::default();
        (0..=TABLES as u32).for_each(|number| tables.keep(pack(number), table(0)));
        assert!(tables.get(&pack(TABLES as u32 - 1)).is_some());
        assert!(tables.get(&pack(TABLES as u32)).is_none());
    }

    #[test]
    fn a_doubted_table_is_refused_only_once_its_pack_was_found_to_have_another_hash() {
        let mut tables = Tables::default();
        assert!(!tables.doubts(&pack(1)) && !tables.has_refused(&pack(1)));
        tables.doubt(pack(1));
        assert!(tables.doubts(&pack(1)) && !tables.has_refused(&pack(1)) && !tables.doubts(&pack(2)));
        tables.refuse(pack(1));
        assert!(tables.has_refused(&pack(1)) && !tables.has_refused(&pack(2)));
    }
}
