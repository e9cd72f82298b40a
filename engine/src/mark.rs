//! Mark: which ids are reached from which pages, over an inventory of one domain held as numbers instead of ids.

use std::collections::BTreeMap;

use crate::id::{ChunkId, PackId};
use crate::layout::Place;
use crate::pack::{PackKind, PackTable};
use crate::time::Time;

/// A pack of the domain, as the store and the state know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackItem {
    /// Its name.
    pub id: PackId,
    /// Where it lies.
    pub place: Place,
    /// What it holds.
    pub kind: PackKind,
    /// Its length in the store.
    pub length: u64,
    /// Whether its bytes are there and not known to be damaged.
    pub is_healthy: bool,
    /// When it was accepted; of two equal copies the newer stays.
    pub accepted: Time,
}

/// A block of a pack.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct BlockItem {
    /// Its pack, as a number in [`Inventory::packs`].
    pub pack: u32,
    /// Where it starts.
    pub offset: u32,
    /// Its stored bytes.
    pub length: u32,
    /// Entries it was made with, present in the index or not.
    pub entries: u32,
}

/// One present copy of an id: an entry of the index.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CopyItem {
    /// The id, as a number in [`Inventory::ids`].
    pub id: u32,
    /// Its block, as a number in [`Inventory::blocks`].
    pub block: u32,
    /// Its position in the block.
    pub ordinal: u16,
}

/// Everything one domain holds.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// All ids, ascending.
    pub ids: Vec<ChunkId>,
    /// All packs.
    pub packs: Vec<PackItem>,
    /// The blocks of all packs.
    pub blocks: Vec<BlockItem>,
    /// All present copies, ascending by id.
    pub copies: Vec<CopyItem>,
    /// Whether a copy is a page, by id.
    is_page: Bits,
    /// Whether the references of a page are known, by id.
    is_read: Bits,
    /// Ranges of `references` by page; several where copies of a page disagree: then all are followed.
    ranges: BTreeMap<u32, Vec<core::ops::Range<usize>>>,
    references: Vec<ChunkId>,
}

/// One present entry, as it is put into an inventory.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// The chunk or page.
    pub id: ChunkId,
    /// Its pack.
    pub pack: PackId,
    /// Where its block starts.
    pub offset: u32,
    /// The stored length of its block.
    pub length: u32,
    /// Its position in the block.
    pub ordinal: u16,
    /// Whether it is a page.
    pub is_page: bool,
}

impl Inventory {
    /// Takes the packs of a domain, their tables (none where a table cannot be read) and the entries present in the index.
    pub fn new(packs: Vec<(PackItem, Option<PackTable>)>, present: &[Present]) -> Self {
        let mut ids: Vec<ChunkId> = present.iter().map(|entry| entry.id).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut inventory =
            Inventory { is_page: Bits::new(ids.len()), is_read: Bits::new(ids.len()), ids, ..Self::default() };
        let mut tables = Vec::with_capacity(packs.len());
        let mut by_pack = BTreeMap::new();
        for (number, (item, table)) in packs.into_iter().enumerate() {
            by_pack.insert(item.id, number as u32);
            inventory.packs.push(item);
            tables.push(table);
        }
        let mut by_place = BTreeMap::new();
        for (number, table) in tables.iter().enumerate() {
            for row in table.iter().flat_map(|table| &table.blocks) {
                by_place.insert((number as u32, row.offset), inventory.blocks.len() as u32);
                inventory.blocks.push(BlockItem {
                    pack: number as u32,
                    offset: row.offset,
                    length: row.length,
                    entries: row.entries.len() as u32,
                });
            }
        }
        for entry in present {
            let id = inventory.number(&entry.id).expect("collected above");
            if entry.is_page {
                inventory.is_page.set(id);
            }
            // A pack that nobody knows: a page in it counts as one that cannot be read.
            let Some(&pack) = by_pack.get(&entry.pack) else { continue };
            let block = *by_place.entry((pack, entry.offset)).or_insert_with(|| {
                // The table cannot be read: what the index says of the block must do.
                inventory.blocks.push(BlockItem { pack, offset: entry.offset, length: entry.length, entries: 0 });
                inventory.blocks.len() as u32 - 1
            });
            if tables[pack as usize].is_none() {
                inventory.blocks[block as usize].entries += 1;
            }
            inventory.copies.push(CopyItem { id, block, ordinal: entry.ordinal });
        }
        inventory.copies.sort_unstable_by_key(|copy| (copy.id, copy.block, copy.ordinal));
        // Two segments may list the same copy: counted twice, it would seem to have a healthy twin.
        inventory.copies.dedup();
        inventory.read_references(&tables);
        inventory
    }

    /// The number of an id.
    pub fn number(&self, id: &ChunkId) -> Option<u32> {
        self.ids.binary_search(id).ok().map(|at| at as u32)
    }

    /// The copies of an id, as a range of [`Inventory::copies`].
    pub fn copies_of(&self, id: u32) -> core::ops::Range<usize> {
        let start = self.copies.partition_point(|copy| copy.id < id);
        let count = self.copies[start..].partition_point(|copy| copy.id == id);
        start..start + count
    }

    /// The pack that holds a copy.
    pub fn pack_of(&self, copy: &CopyItem) -> &PackItem {
        &self.packs[self.blocks[copy.block as usize].pack as usize]
    }

    /// Whether an id is a page.
    pub fn is_page(&self, id: u32) -> bool {
        self.is_page.has(id)
    }

    /// The references of a page, of all its copies.
    pub fn references_of(&self, id: u32) -> impl Iterator<Item = ChunkId> {
        let ranges = self.ranges.get(&id).into_iter().flatten();
        ranges.flat_map(|range| self.references[range.clone()].iter().copied())
    }

    /// Follows references from `pages`; ids that the inventory lacks are gathered in [`Reach::unresolved`].
    pub fn reach(&self, pages: impl IntoIterator<Item = ChunkId>) -> Reach {
        let mut reach = Reach { reached: Bits::new(self.ids.len()), unresolved: Vec::new(), unread: Vec::new() };
        let mut open = Vec::new();
        for id in pages {
            self.visit(id, &mut reach, &mut open);
        }
        while let Some(page) = open.pop() {
            if !self.is_read.has(page) {
                reach.unread.push(self.ids[page as usize]);
            }
            for range in self.ranges.get(&page).into_iter().flatten() {
                for id in &self.references[range.clone()] {
                    self.visit(*id, &mut reach, &mut open);
                }
            }
        }
        reach.unresolved.sort_unstable();
        reach.unresolved.dedup();
        reach.unread.sort_unstable();
        reach
    }

    /// The order in which who reads the pages one after another, each with all below it, first meets each id: a place for
    /// each id of the inventory, the largest for those that are not met.
    pub fn order(&self, pages: impl IntoIterator<Item = ChunkId>) -> Vec<u32> {
        let mut order = vec![u32::MAX; self.ids.len()];
        let mut next = 0;
        for page in pages {
            let mut open = vec![page];
            while let Some(number) = open.pop().and_then(|id| self.number(&id)) {
                if order[number as usize] != u32::MAX {
                    continue;
                }
                order[number as usize] = next;
                next += 1;
                let below: Vec<ChunkId> = self.references_of(number).collect();
                open.extend(below.into_iter().rev().filter(|id| self.number(id).is_some()));
            }
        }
        order
    }

    fn visit(&self, id: ChunkId, reach: &mut Reach, open: &mut Vec<u32>) {
        match self.number(&id) {
            Some(number) if reach.reached.has(number) => {}
            Some(number) => {
                reach.reached.set(number);
                if self.is_page.has(number) {
                    open.push(number);
                }
            }
            None => reach.unresolved.push(id),
        }
    }

    /// Keeps the references of every page that has a present copy. Copies that claim different references (a client of
    /// the domain lied in a table) are all followed: a lie can only keep more.
    fn read_references(&mut self, tables: &[Option<PackTable>]) {
        for table in tables.iter().flatten().filter(|table| table.kind == PackKind::Tree) {
            for (at, id) in table.ids.iter().enumerate() {
                let Some(number) = self.number(id).filter(|&number| self.is_page.has(number)) else { continue };
                let Some(page) = table.page(at) else { continue };
                let claimed = page.references;
                let ranges = self.ranges.entry(number).or_default();
                self.is_read.set(number);
                if ranges.iter().any(|range| self.references[range.clone()] == *claimed) {
                    continue;
                }
                let start = self.references.len();
                self.references.extend_from_slice(claimed);
                ranges.push(start..self.references.len());
            }
        }
    }
}

/// What was reached.
#[derive(Clone, Debug)]
pub struct Reach {
    /// One bit for each id of the inventory.
    pub reached: Bits,
    /// Ids that were referred to and have no copy.
    pub unresolved: Vec<ChunkId>,
    /// Pages that were reached and whose references cannot be read: what lies below them is unknown.
    pub unread: Vec<ChunkId>,
}

/// A set of small numbers, one bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// An empty set of numbers below `count`.
    pub fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// Whether the number is in the set.
    pub fn has(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Adds a number.
    pub fn set(&mut self, number: u32) {
        self.0[number as usize / 64] |= 1 << (number % 64);
    }
}
