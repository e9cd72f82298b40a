//! Builder: makes an inventory. Packs are added one after another, so that only one table is in memory at a time.

use std::collections::HashSet;

use super::blocks::{Blocks, NOWHERE};
use super::merged::Placed;
use super::{Bits, Graph, Inventory, InventoryLimit, PackItem};
use copal_format::index::Segment;
use copal_format::pack::{PackKind, PackTable};
use copal_format::room::{Column, Scratch};

/// Makes an inventory from packs, added one after another.
pub struct InventoryBuilder<'a, B> {
    graph: Graph<'a, B>,
    packs: Vec<PackItem>,
    /// For each pack, whether the references of its pages are known.
    is_read: Vec<bool>,
}

impl<'a, B: AsRef<[u8]>> InventoryBuilder<'a, B> {
    /// Begins with the entries of these segments.
    pub fn new(segments: Vec<Segment<B>>, scratch: &'a dyn Scratch) -> Result<Self, InventoryLimit> {
        let graph = Graph::new(segments, scratch)?;
        Ok(Self { graph, packs: Vec::new(), is_read: Vec::new() })
    }

    /// Adds a pack of the domain, in ascending order of ids. A data pack needs no `table`: the segments tell enough. A
    /// tree pack's `table` is none if it cannot be read.
    pub fn add_pack(&mut self, item: PackItem, table: Option<&PackTable>) -> Result<(), InventoryLimit> {
        debug_assert!(self.packs.last().is_none_or(|last| last.id < item.id), "packs are added in order");
        let pack = self.packs.len() as u32;
        self.is_read.push(table.is_some() || item.kind == PackKind::Data);
        self.packs.push(item);
        let Some(table) = table else { return Ok(()) };
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
        let blocks = Blocks::of(merged.segments(), &mut self.packs, scratch)?;
        let (mut block_of, mut ordinals) = (Column::new(scratch, count), Column::new(scratch, count));
        let mut is_copy = Bits::new(scratch, count);
        let mut first = 0;
        let mut many: (usize, HashSet<(u32, u16)>) = (usize::MAX, HashSet::new());
        for Placed { place, segment, entry } in merged.walk(0) {
            let at = place as usize;
            if self.graph.starts().has(place) {
                first = at;
            }
            let block = blocks.number(segment, entry.block);
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
            }
            block_of.set(at, block);
            ordinals.set(at, entry.ordinal);
        }
        let (packs, blocks, graph) = (self.packs, blocks.blocks, self.graph);
        let mut inventory = Inventory { packs, blocks, block_of, ordinals, is_copy, graph };
        if self.is_read.contains(&false) {
            doubt_pages(&mut inventory, |pack| self.is_read[pack as usize]);
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

/// The most copies of one id that are compared one by one; from there on, a set is used.
const FEW: usize = 16;
