//! Packs: decides which packs die and which are repacked, and how much that frees.

use std::collections::BTreeMap;

use super::{Plan, Rules, live_bytes};
use crate::mark::{Inventory, Trust};
use copal_format::pack::PackKind;
use copal_format::room::Column;

/// Completes the plan with the packs that die, the packs to repack, and the bytes that this frees.
pub(super) fn plan_packs<B: AsRef<[u8]>>(
    inventory: &Inventory<'_, B>,
    staying: &Column<u32>,
    useful: &Column<u32>,
    is_copied: impl Fn(u32) -> bool,
    rules: &Rules,
    plan: &mut Plan,
) {
    let mut of_packs: Vec<Tally> = vec![Tally::default(); inventory.packs.len()];
    for ((_, block), (staying, useful)) in inventory.blocks().zip(staying.iter().zip(useful.iter())) {
        let tally = &mut of_packs[block.pack as usize];
        let stored = u64::from(block.length);
        tally.has_live |= staying > 0;
        if staying == 0 {
            tally.dead += stored;
            plan.dead_bytes += stored;
        } else {
            tally.live += stored;
            plan.trapped_bytes += stored - live_bytes(&block, useful.min(block.entries)).min(stored);
        }
    }
    let mut partly_dead: Vec<Candidate> = Vec::new();
    let mut small: [Vec<Candidate>; 2] = Default::default();
    let (mut live_whole, mut dead_whole) = (0, 0);
    for (number, pack) in inventory.packs.iter().enumerate() {
        // Header and table do not count as dead: otherwise a small pack of live blocks would be copied again and again.
        let Tally { live, mut dead, has_live } = of_packs[number];
        dead += pack.unlisted;
        plan.dead_bytes += pack.unlisted;
        let candidate = Candidate { pack: number as u32, live, dead };
        let kind = matches!(pack.kind, PackKind::Tree) as usize;
        if !has_live {
            plan.dead_packs.push(number as u32);
            plan.freed_bytes += pack.length;
            continue;
        }
        live_whole += live;
        let is_settled = rules.now.since(pack.accepted) >= rules.floor;
        if !pack.is_healthy || pack.trust < Trust::Proven || !is_settled {
            // Damaged blocks cannot be copied. Other packs are copied only once they are proven and a theft would have
            // been noticed, because a copy below `moved/` no longer tells which client claimed it.
        } else if dead > live {
            partly_dead.push(candidate);
        } else if pack.length < rules.pack_target[kind] / 4 {
            small[kind].push(candidate);
        } else if dead > 0 {
            dead_whole += dead;
            partly_dead.push(candidate);
        }
    }
    // Packs that free most per copied byte come first: all mostly dead ones, then others until few dead bytes remain.
    partly_dead.sort_by_key(|of| (of.live << 16) / (of.live + of.dead).max(1));
    let dead_most = live_whole * u64::from(rules.dead_most) / 100;
    let mut chosen: Vec<Candidate> = Vec::new();
    for candidate in partly_dead {
        if candidate.dead <= candidate.live {
            if dead_whole <= dead_most {
                break;
            }
            dead_whole -= candidate.dead;
        }
        chosen.push(candidate);
    }
    // Copying a single small pack gains nothing; several become one.
    chosen.extend(small.into_iter().filter(|packs| packs.len() >= SMALL_PACKS).flatten());
    let mut blocks_of: BTreeMap<u32, Vec<u32>> = chosen.iter().map(|candidate| (candidate.pack, Vec::new())).collect();
    for (number, block) in inventory.blocks().filter(|(number, _)| staying.get(*number as usize) > 0) {
        if let Some(blocks) = blocks_of.get_mut(&block.pack) {
            blocks.push(number);
        }
    }
    let (mut left, mut entries) = (rules.rewrite_most, 0);
    for Candidate { pack, dead, .. } in chosen {
        let blocks = blocks_of.remove(&pack).unwrap_or_default();
        let missing = blocks.iter().filter(|&&block| !is_copied(block));
        let bytes: u64 = missing.map(|&block| u64::from(inventory.block(block).length)).sum();
        if bytes > left || entries >= rules.rewrite_entries {
            plan.postponed_bytes += bytes;
            continue;
        }
        left -= bytes;
        entries += blocks.iter().map(|&block| u64::from(inventory.block(block).entries)).sum::<u64>();
        plan.copied_bytes += bytes;
        plan.freed_bytes += dead;
        plan.rewritten.push((pack, blocks));
    }
    plan.rewritten.sort_unstable();
}

/// The live and dead bytes in the blocks of a pack.
#[derive(Clone, Default)]
struct Tally {
    live: u64,
    dead: u64,
    has_live: bool,
}

struct Candidate {
    pack: u32,
    /// Bytes of blocks that stay.
    live: u64,
    /// Bytes of the other blocks, which repacking frees.
    dead: u64,
}

/// The least number of small packs of one kind that are merged.
const SMALL_PACKS: usize = 8;
