//! Sparse: finds blocks that hold little needed data.

use std::collections::BTreeMap;

use super::{Plan, live_bytes, live_copies, live_share};
use crate::mark::{Bits, BlockItem, Inventory};
use copal_format::room::Column;

/// The blocks whose live part a client with the key should rewrite, so that at most `trapped_most` percent of the live
/// bytes are trapped in such blocks. Selects at most `most` stored live bytes. Returns the live copies by block.
pub fn sparse_blocks<B: AsRef<[u8]>>(
    inventory: &Inventory<'_, B>,
    plan: &Plan,
    trapped_most: u32,
    most: u64,
) -> BTreeMap<u32, Vec<u32>> {
    let is_useful = |copy: u32| plan.best.has(copy);
    let useful = live_copies(inventory, |copy, _| is_useful(copy));
    let chosen = choose_sparse(inventory, &useful, trapped_most, most);
    let mut blocks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (copy, item) in inventory.copies().filter(|(copy, item)| chosen.has(item.block) && is_useful(*copy)) {
        blocks.entry(item.block).or_default().push(copy);
    }
    blocks
}

/// All blocks that are mostly dead, then those with the smallest live share, until few enough bytes are trapped.
/// `useful` has the number of needed entries of each block.
pub(super) fn choose_sparse<B: AsRef<[u8]>>(
    inventory: &Inventory<'_, B>,
    useful: &Column<u32>,
    trapped_most: u32,
    most: u64,
) -> Bits {
    let scratch = inventory.graph.scratch();
    let bytes = |number: u32, block: &BlockItem| {
        let live = live_bytes(block, useful.get(number as usize).min(block.entries)).min(block.length.into());
        (live, u64::from(block.length) - live)
    };
    let share =
        |number: u32, block: &BlockItem| live_share(block, useful.get(number as usize)).min(SHARES - 1) as usize;
    let is_sparse =
        |number: u32, block: &BlockItem| bytes(number, block).1 > 0 && inventory.packs[block.pack as usize].is_healthy;
    let needed = || inventory.blocks().filter(|(number, _)| useful.get(*number as usize) > 0);
    let (mut live_whole, mut trapped) = (0, 0);
    // Counting sort by share, then by number.
    let mut ends = vec![0usize; SHARES as usize];
    for (number, block) in needed() {
        let (live, dead) = bytes(number, &block);
        live_whole += live;
        if is_sparse(number, &block) {
            trapped += dead;
            ends[share(number, &block)] += 1;
        }
    }
    let mut count = 0;
    for end in &mut ends {
        count += std::mem::replace(end, count);
    }
    let mut sparse: Column<u32> = Column::new(scratch, count);
    for (number, block) in needed().filter(|(number, block)| is_sparse(*number, block)) {
        let place = &mut ends[share(number, &block)];
        sparse.set(*place, number);
        *place += 1;
    }
    let mut chosen = Bits::new(scratch, inventory.block_count());
    let (mut left, mut last) = (most, None);
    for number in sparse.iter() {
        let block = inventory.block(number);
        let (live, dead) = bytes(number, &block);
        // Of blocks with equal share, choose all or none: their numbers change when blocks are moved.
        let is_enough = trapped <= live_whole * u64::from(trapped_most) / 100 && last != Some(share(number, &block));
        if (dead <= live && is_enough) || live > left {
            break;
        }
        trapped -= dead;
        left -= live;
        last = Some(share(number, &block));
        chosen.set(number);
    }
    chosen
}

/// The number of distinct shares, in units of 2^-16; a larger share counts as the whole.
const SHARES: u64 = (1 << 16) + 1;
