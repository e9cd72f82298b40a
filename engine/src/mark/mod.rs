//! Mark: which ids are reached from which pages, over an inventory of one domain held as numbers instead of ids.

mod bits;
mod graph;
mod marks;
mod merged;

use std::collections::{BTreeMap, HashSet};

pub use bits::Bits;
pub use graph::{Graph, Reach};
pub use marks::{Mark, Marks};
pub use merged::InventoryLimit;

use crate::id::{ChunkId, PackId};
use crate::index::{Location, Segment};
use crate::layout::Place;
use crate::pack::{PackKind, PackTable};
use crate::time::Time;
use merged::Placed;

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
    /// The id, as a number in the inventory.
    pub id: u32,
    /// Its block, as a number in [`Inventory::blocks`].
    pub block: u32,
    /// Its position in the block.
    pub ordinal: u16,
}

/// Everything one domain holds. A copy's number is its place among all entries of the segments, so that a copy costs six
/// bytes and two bits.
#[derive(Clone, Debug)]
pub struct Inventory<B> {
    /// Ids and references.
    pub graph: Graph<B>,
    /// All packs.
    pub packs: Vec<PackItem>,
    /// The blocks of all packs.
    pub blocks: Vec<BlockItem>,
    /// The block of each copy, and its position in that.
    block_of: Vec<u32>,
    ordinals: Vec<u16>,
    /// Entries that are copies: not those in packs that nobody knows, nor those that two segments list.
    is_copy: Bits,
    /// The copies of ids that have many, by the first entry of the id, in the order in which they lie in packs.
    crowds: BTreeMap<u32, Vec<u32>>,
}

/// Makes an inventory: packs come one after another, so that no more than one table is needed at a time.
#[derive(Debug)]
pub struct InventoryBuilder<B> {
    graph: Graph<B>,
    packs: Vec<PackItem>,
    /// For each pack where its blocks begin, and whether its table was read.
    rows: Vec<(u32, bool)>,
    blocks: Vec<BlockItem>,
}

impl<B: AsRef<[u8]>> InventoryBuilder<B> {
    /// Begins with the entries present in the index.
    pub fn new(segments: Vec<Segment<B>>) -> Result<Self, InventoryLimit> {
        Ok(Self { graph: Graph::new(segments)?, packs: Vec::new(), rows: Vec::new(), blocks: Vec::new() })
    }

    /// Adds a pack of the domain and its table; none where it cannot be read. Ids of packs ascend.
    pub fn add_pack(&mut self, item: PackItem, table: Option<&PackTable>) -> Result<(), InventoryLimit> {
        debug_assert!(self.packs.last().is_none_or(|last| last.id < item.id), "packs are added in order");
        self.rows.push((self.blocks.len() as u32, table.is_some()));
        let pack = self.packs.len() as u32;
        self.packs.push(item);
        let Some(table) = table else { return Ok(()) };
        self.blocks.extend(table.blocks.iter().map(|row| BlockItem {
            pack,
            offset: row.offset,
            length: row.length,
            entries: row.entries.len() as u32,
        }));
        if table.kind == PackKind::Tree {
            self.graph.add_table(table)?;
        }
        Ok(())
    }

    /// The inventory.
    pub fn finish(mut self) -> Inventory<B> {
        self.graph.finish();
        let merged = self.graph.merged();
        let count = merged.count() as usize;
        let mut inventory = Finds { packs: &self.packs, rows: &self.rows, blocks: self.blocks, extra: BTreeMap::new() };
        let maps: Vec<Vec<u32>> = merged.segments().iter().map(|segment| inventory.map(segment)).collect();
        let (mut block_of, mut ordinals) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut is_copy = Bits::new(count);
        let mut first = 0;
        let mut many: (usize, HashSet<(u32, u16)>) = (usize::MAX, HashSet::new());
        let mut crowds = BTreeMap::new();
        for Placed { place, segment, entry } in merged.walk(0) {
            if self.graph.starts().has(place) {
                first = place as usize;
            }
            let block = maps[segment].get(entry.block as usize).copied().unwrap_or(NOWHERE);
            // Two segments may list the same copy: counted twice, it would seem to have a healthy twin. A client can
            // give one id to all of its chunks, so that looking at each copy before would never end.
            let before = &block_of[first..];
            let is_known = if before.len() < FEW {
                before.iter().zip(&ordinals[first..]).any(|other| other == (&block, &entry.ordinal))
            } else {
                if many.0 != first {
                    many = (first, before.iter().copied().zip(ordinals[first..].iter().copied()).collect());
                    crowds.insert(first as u32, Vec::new());
                }
                !many.1.insert((block, entry.ordinal))
            };
            if block != NOWHERE && !is_known {
                is_copy.set(place);
                if !self.rows[inventory.blocks[block as usize].pack as usize].1 {
                    inventory.blocks[block as usize].entries += 1;
                }
            }
            block_of.push(block);
            ordinals.push(entry.ordinal);
        }
        let blocks = inventory.blocks;
        let mut inventory =
            Inventory { packs: self.packs, blocks, block_of, ordinals, is_copy, graph: self.graph, crowds };
        let mut crowds = core::mem::take(&mut inventory.crowds);
        for (first, copies) in &mut crowds {
            let id = inventory.graph.starts().rank(first + 1) - 1;
            copies.extend(inventory.copies_of(id));
            copies.sort_unstable_by_key(|copy| inventory.lies_at(*copy));
        }
        inventory.crowds = crowds;
        inventory
    }
}

/// Finds the blocks that segments name.
struct Finds<'a> {
    packs: &'a [PackItem],
    rows: &'a [(u32, bool)],
    blocks: Vec<BlockItem>,
    /// Blocks that no table knows: what the index says of them must do.
    extra: BTreeMap<(u32, u32), u32>,
}

impl Finds<'_> {
    /// The number of each block of a segment; nowhere, if nobody knows its pack.
    fn map<B: AsRef<[u8]>>(&mut self, segment: &Segment<B>) -> Vec<u32> {
        let number = |at| self.packs.binary_search_by_key(&segment.pack(at)?.id, |pack| pack.id).ok();
        let packs: Vec<Option<usize>> = (0..segment.pack_count()).map(number).collect();
        let of_blocks = segment.blocks().map(|block| {
            let Some(Some(pack)) = packs.get(block.pack as usize).copied() else { return NOWHERE };
            let start = self.rows[pack].0 as usize;
            let end = self.rows.get(pack + 1).map_or(self.table_end(), |(next, _)| *next as usize);
            match self.blocks[start..end].binary_search_by_key(&block.offset, |row| row.offset) {
                Ok(at) => (start + at) as u32,
                Err(_) => *self.extra.entry((pack as u32, block.offset)).or_insert_with(|| {
                    let item = BlockItem { pack: pack as u32, offset: block.offset, length: block.length, entries: 0 };
                    self.blocks.push(item);
                    self.blocks.len() as u32 - 1
                }),
            }
        });
        of_blocks.collect()
    }

    fn table_end(&self) -> usize {
        self.blocks.len() - self.extra.len()
    }
}

impl<B: AsRef<[u8]>> Inventory<B> {
    /// How many ids there are.
    pub fn ids(&self) -> u32 {
        self.graph.count()
    }

    /// How many entries there are: the numbers of copies are below.
    pub fn entries(&self) -> usize {
        self.block_of.len()
    }

    /// A copy. What is no copy is not asked about.
    pub fn copy(&self, copy: u32) -> CopyItem {
        let id = self.graph.starts().rank(copy + 1) - 1;
        CopyItem { id, block: self.block_of[copy as usize], ordinal: self.ordinals[copy as usize] }
    }

    /// All copies, ascending by id.
    pub fn copies(&self) -> impl Iterator<Item = (u32, CopyItem)> + '_ {
        let mut id = 0;
        (0..self.block_of.len() as u32).filter_map(move |copy| {
            id += u32::from(self.graph.starts().has(copy));
            let item =
                CopyItem { id: id - 1, block: self.block_of[copy as usize], ordinal: self.ordinals[copy as usize] };
            self.is_copy.has(copy).then_some((copy, item))
        })
    }

    /// All copies with their ids, read as they lie in the segments.
    pub fn copies_with_ids(&self) -> impl Iterator<Item = (u32, ChunkId, CopyItem)> + '_ {
        let mut id = 0;
        self.graph.merged().walk(0).filter_map(move |Placed { place, entry, .. }| {
            id += u32::from(self.graph.starts().has(place));
            let (block, ordinal) = (self.block_of[place as usize], self.ordinals[place as usize]);
            self.is_copy.has(place).then_some((place, entry.id, CopyItem { id: id - 1, block, ordinal }))
        })
    }

    /// The copies of an id.
    pub fn copies_of(&self, id: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        let start = self.graph.starts().select(id);
        let end = start.map(|_| self.graph.starts().select(id + 1).unwrap_or(self.block_of.len() as u32));
        (start.unwrap_or(0)..end.unwrap_or(0)).filter(|copy| self.is_copy.has(*copy))
    }

    /// The copy of an id that lies there; none if the inventory does not know it.
    pub fn copy_at(&self, id: &ChunkId, place: &Location) -> Option<u32> {
        let wanted = (place.pack, place.offset, place.ordinal);
        let number = self.graph.number(id)?;
        match self.graph.starts().select(number).and_then(|first| self.crowds.get(&first)) {
            Some(crowd) => crowd.binary_search_by_key(&wanted, |copy| self.lies_at(*copy)).ok().map(|at| crowd[at]),
            None => self.copies_of(number).find(|copy| self.lies_at(*copy) == wanted),
        }
    }

    /// Where a copy lies.
    fn lies_at(&self, copy: u32) -> (PackId, u32, u16) {
        let block = &self.blocks[self.block_of[copy as usize] as usize];
        (self.packs[block.pack as usize].id, block.offset, self.ordinals[copy as usize])
    }

    /// The pack that holds a copy.
    pub fn pack_of(&self, copy: &CopyItem) -> &PackItem {
        &self.packs[self.blocks[copy.block as usize].pack as usize]
    }
}

/// The block of an entry in a pack that nobody knows.
const NOWHERE: u32 = u32::MAX;
/// So many copies of one id are compared with each other; more are looked up.
const FEW: usize = 16;
