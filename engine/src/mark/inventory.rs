//! Inventory: everything that a domain holds, as numbers.

use core::fmt;

use super::merged::Placed;
use super::{Bits, BlockItem, CopyItem, Graph, PackItem};
use copal_format::id::ChunkId;
use copal_format::room::{Column, List};

/// Everything that a domain holds. A copy's number is its position among all entries of the segments, so a copy takes
/// six bytes and two bits of scratch storage.
pub struct Inventory<'a, B> {
    /// The ids and references.
    pub graph: Graph<'a, B>,
    /// All packs.
    pub packs: Vec<PackItem>,
    pub(super) blocks: List<BlockItem>,
    /// For each copy, its block, and its position in the block.
    pub(super) block_of: Column<u32>,
    pub(super) ordinals: Column<u16>,
    /// The entries that count as copies. Entries in unknown packs and repeated entries do not.
    pub(super) is_copy: Bits,
}

impl<B: AsRef<[u8]>> Inventory<'_, B> {
    /// The number of ids.
    pub fn ids(&self) -> u32 {
        self.graph.count()
    }

    /// The number of entries. The numbers of copies are less.
    pub fn entries(&self) -> usize {
        self.block_of.len()
    }

    pub(crate) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The block of a number.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn block(&self, number: u32) -> BlockItem {
        self.blocks.get(number as usize)
    }

    /// All blocks, with their numbers.
    pub fn blocks(&self) -> impl Iterator<Item = (u32, BlockItem)> + '_ {
        (0..).zip(self.blocks.iter())
    }

    /// The copy with this number.
    pub fn copy(&self, copy: u32) -> CopyItem {
        let id = self.graph.starts().rank(copy + 1) - 1;
        CopyItem { id, block: self.block_of.get(copy as usize), ordinal: self.ordinals.get(copy as usize) }
    }

    /// All copies, ascending by id.
    pub fn copies(&self) -> impl Iterator<Item = (u32, CopyItem)> + '_ {
        let mut id = 0;
        (0..self.block_of.len() as u32).filter_map(move |copy| {
            id += u32::from(self.graph.starts().has(copy));
            let (block, ordinal) = (self.block_of.get(copy as usize), self.ordinals.get(copy as usize));
            self.is_copy.has(copy).then_some((copy, CopyItem { id: id - 1, block, ordinal }))
        })
    }

    /// All copies with their ids, in the order of the segments.
    pub fn copies_with_ids(&self) -> impl Iterator<Item = (u32, ChunkId, CopyItem)> + '_ {
        let mut id = 0;
        self.graph.merged().walk(0).filter_map(move |Placed { place, entry, .. }| {
            id += u32::from(self.graph.starts().has(place));
            let (block, ordinal) = (self.block_of.get(place as usize), self.ordinals.get(place as usize));
            self.is_copy.has(place).then_some((place, entry.id, CopyItem { id: id - 1, block, ordinal }))
        })
    }

    /// The copies of an id.
    pub fn copies_of(&self, id: u32) -> impl Iterator<Item = u32> + Clone + '_ {
        let start = self.graph.starts().select(id);
        let end = start.map(|_| self.graph.starts().select(id + 1).unwrap_or(self.block_of.len() as u32));
        (start.unwrap_or(0)..end.unwrap_or(0)).filter(|copy| self.is_copy.has(*copy))
    }

    /// The packs that hold a copy of an id with several copies.
    pub fn packs_with_shared_ids(&self) -> Bits {
        let mut shared = Bits::new(self.graph.scratch(), self.packs.len());
        let mut last: Option<CopyItem> = None;
        for (_, item) in self.copies() {
            if let Some(before) = last.replace(item).filter(|before| before.id == item.id) {
                [before, item].iter().for_each(|item| shared.set(self.block(item.block).pack));
            }
        }
        shared
    }

    /// The pack that holds a copy.
    pub fn pack_of(&self, copy: &CopyItem) -> &PackItem {
        &self.packs[self.block(copy.block).pack as usize]
    }
}

impl<B> fmt::Debug for Inventory<'_, B> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "Inventory({} packs, {} blocks, {} entries)",
            self.packs.len(),
            self.blocks.len(),
            self.block_of.len()
        )
    }
}
