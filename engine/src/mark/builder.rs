//! Builder: makes an inventory. Packs are added one after another, so that only one table is in memory at a time.

use std::collections::{BTreeMap, HashSet};

use super::merged::Placed;
use super::{Bits, BlockItem, Graph, Inventory, InventoryLimit, PackItem};
use copal_format::index::Segment;
use copal_format::pack::{PackKind, PackTable};
use copal_format::room::{Column, List, Scratch};

/// Makes an inventory from packs, added one after another.
pub struct InventoryBuilder<'a, B> {
    graph: Graph<'a, B>,
    packs: Vec<PackItem>,
    /// For each pack, its first block, and whether its table was read.
    rows: Vec<(u32, bool)>,
    blocks: List<BlockItem>,
}

impl<'a, B: AsRef<[u8]>> InventoryBuilder<'a, B> {
    /// Begins with the entries of these segments.
    pub fn new(segments: Vec<Segment<B>>, scratch: &'a dyn Scratch) -> Result<Self, InventoryLimit> {
        let graph = Graph::new(segments, scratch)?;
        Ok(Self { graph, packs: Vec::new(), rows: Vec::new(), blocks: List::default() })
    }

    /// Adds a pack of the domain, in ascending order of ids. `table` is none if it cannot be read.
    pub fn add_pack(&mut self, item: PackItem, table: Option<&PackTable>) -> Result<(), InventoryLimit> {
        debug_assert!(self.packs.last().is_none_or(|last| last.id < item.id), "packs are added in order");
        self.rows.push((self.blocks.len() as u32, table.is_some()));
        let pack = self.packs.len() as u32;
        self.packs.push(item);
        let Some(table) = table else { return Ok(()) };
        if self.blocks.len() + table.blocks.len() >= NOWHERE as usize {
            return Err(InventoryLimit { what: "blocks" });
        }
        for row in &table.blocks {
            let entries = row.entries.len() as u32;
            let block = BlockItem { pack, offset: row.offset, length: row.length, entries };
            self.blocks.push(self.graph.scratch(), block);
        }
        if table.kind == PackKind::Tree {
            self.graph.add_table(pack, table)?;
        }
        Ok(())
    }

    /// Makes the inventory.
    pub fn finish(mut self) -> Result<Inventory<'a, B>, InventoryLimit> {
        self.graph.finish()?;
        let (merged, scratch) = (self.graph.merged(), self.graph.scratch());
        let count = merged.count() as usize;
        let table_end = self.blocks.len();
        let mut finds =
            Finds { packs: &self.packs, rows: &self.rows, blocks: self.blocks, table_end, extra: BTreeMap::new() };
        let maps: Vec<Column<u32>> = merged.segments().iter().map(|segment| finds.map(segment, scratch)).collect();
        let mut blocks = finds.blocks;
        let (mut block_of, mut ordinals) = (Column::new(scratch, count), Column::new(scratch, count));
        let mut is_copy = Bits::new(scratch, count);
        let mut first = 0;
        let mut many: (usize, HashSet<(u32, u16)>) = (usize::MAX, HashSet::new());
        for Placed { place, segment, entry } in merged.walk(0) {
            let at = place as usize;
            if self.graph.starts().has(place) {
                first = at;
            }
            let named = entry.block as usize;
            let block = if named < maps[segment].len() { maps[segment].get(named) } else { NOWHERE };
            // Two segments may list the same copy. Counted twice, it would seem to have a healthy second copy. A client
            // may give all its chunks the same id, so comparing each copy with all others could take for ever.
            let copy = |at: usize| (block_of.get(at), ordinals.get(at));
            let is_known = if at - first < FEW {
                (first..at).any(|other| copy(other) == (block, entry.ordinal))
            } else {
                if many.0 != first {
                    many = (first, (first..at).map(copy).collect());
                }
                !many.1.insert((block, entry.ordinal))
            };
            if block != NOWHERE && !is_known {
                is_copy.set(place);
                let item = blocks.get(block as usize);
                if !self.rows[item.pack as usize].1 {
                    blocks.set(block as usize, BlockItem { entries: item.entries + 1, ..item });
                }
            }
            block_of.set(at, block);
            ordinals.set(at, entry.ordinal);
        }
        let mut inventory = Inventory { packs: self.packs, blocks, block_of, ordinals, is_copy, graph: self.graph };
        if self.rows.iter().any(|(_, is_read)| !is_read) {
            doubt_pages(&mut inventory, |pack| self.rows[pack as usize].1);
        }
        Ok(inventory)
    }
}

/// Marks a page as unread if the most trusted pack that holds it has no readable table. A thief may have written the
/// tables of less trusted packs, and the page in the trusted pack may yet be healed, so its references must stay.
fn doubt_pages<B: AsRef<[u8]>>(inventory: &mut Inventory<'_, B>, is_read: impl Fn(u32) -> bool) {
    let mut doubted = Vec::new();
    let pages = inventory.copies().filter(|(_, item)| inventory.graph.is_page(item.id));
    let mut pages = pages.map(|(_, item)| (item.id, inventory.block(item.block).pack)).peekable();
    while let Some((id, first)) = pages.next() {
        let (mut readable, mut unreadable) = (None, None);
        let mut next = Some(first);
        while let Some(pack) = next {
            let of = &inventory.packs[pack as usize];
            let best = if is_read(pack) { &mut readable } else { &mut unreadable };
            *best = (*best).max(Some(of.trust));
            next = pages.next_if(|(of, _)| *of == id).map(|(_, pack)| pack);
        }
        if unreadable > readable {
            doubted.push(id);
        }
    }
    drop(pages);
    doubted.into_iter().for_each(|id| inventory.graph.is_read.unset(id));
}

/// Finds the blocks that segments name.
struct Finds<'a> {
    packs: &'a [PackItem],
    rows: &'a [(u32, bool)],
    blocks: List<BlockItem>,
    /// The number of blocks that tables list.
    table_end: usize,
    /// Blocks that no table lists, as the index describes them.
    extra: BTreeMap<(u32, u32), u32>,
}

impl Finds<'_> {
    /// The number of each block of a segment; [`NOWHERE`] for blocks of unknown packs.
    fn map<B: AsRef<[u8]>>(&mut self, segment: &Segment<B>, scratch: &dyn Scratch) -> Column<u32> {
        let number = |at| self.packs.binary_search_by_key(&segment.pack(at)?.id, |pack| pack.id).ok();
        let packs: Vec<Option<usize>> = (0..segment.pack_count()).map(number).collect();
        let mut numbers = Column::new(scratch, segment.block_count() as usize);
        for (at, block) in segment.blocks().enumerate() {
            let Some(Some(pack)) = packs.get(block.pack as usize).copied() else {
                numbers.set(at, NOWHERE);
                continue;
            };
            let number = self.at(pack, block.offset).unwrap_or_else(|| {
                *self.extra.entry((pack as u32, block.offset)).or_insert_with(|| {
                    let item = BlockItem { pack: pack as u32, offset: block.offset, length: block.length, entries: 0 };
                    self.blocks.push(scratch, item);
                    self.blocks.len() as u32 - 1
                })
            });
            numbers.set(at, number);
        }
        numbers
    }

    /// The number of the pack's block that begins at `offset`.
    fn at(&self, pack: usize, offset: u32) -> Option<u32> {
        let mut low = self.rows[pack].0 as usize;
        let mut high = self.rows.get(pack + 1).map_or(self.table_end, |(next, _)| *next as usize);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.blocks.get(middle).offset.cmp(&offset) {
                core::cmp::Ordering::Less => low = middle + 1,
                core::cmp::Ordering::Equal => return Some(middle as u32),
                core::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }
}

/// The block of an entry in an unknown pack.
const NOWHERE: u32 = u32::MAX;
/// The most copies of one id that are compared one by one; from there on, a set is used.
const FEW: usize = 16;
