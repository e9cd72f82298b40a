//! Copies: decides which of several copies of an id counts, and which others it displaces.
//!
//! A pack's table is only a claim by someone with a client's signing key. So a copy displaces an older one only if its
//! pack is proven. An unproven copy displaces only excluded copies that are no older.

use super::sparse::choose_sparse;
use super::{Rules, live_copies, live_share};
use crate::mark::{Bits, CopyItem, Inventory, Marks, Trust};
use copal_format::room::Column;

/// The choice among the copies of reached ids.
pub(super) struct Choice {
    /// For each id, the copy that counts.
    pub(super) best: Bits,
    /// Copies no longer needed: the copy that counts is proven, or it is no younger and these are excluded.
    pub(super) displaced: Bits,
    /// Other copies: they may yet be proven, or nothing can replace them.
    waiting: Bits,
    /// Copies that count, of ids with another healthy copy that may yet be proven (an heir).
    pub(super) has_heir: Bits,
    /// Sparse blocks: so little of them is needed that it is wanted again.
    pub(super) sparse: Bits,
    /// For each block, the number of copies that count.
    pub(super) useful: Column<u32>,
    /// Copies that do not count, in unproven packs.
    pub(super) unproven: u64,
}

impl Choice {
    /// Makes the choice. `live` has the number of reached entries of each block.
    pub(super) fn of<B: AsRef<[u8]>>(
        inventory: &Inventory<'_, B>,
        live: &Column<u32>,
        old: &Marks,
        reached: &Bits,
        rules: &Rules,
    ) -> Self {
        let bits = || Bits::new(inventory.graph.scratch(), inventory.entries());
        let mut best = bits();
        each_id(inventory, reached, |copies| {
            let counts = copies.iter().max_by_key(|(copy, item)| rank(inventory, live, old, *copy, item));
            best.set(counts.expect("an id has a copy").0);
        });
        let useful = live_copies(inventory, |copy, _| best.has(copy));
        let sparse = choose_sparse(inventory, &useful, rules.trapped_most, u64::MAX);
        let (mut displaced, mut waiting, mut has_heir, mut unproven) = (bits(), bits(), bits(), 0);
        each_id(inventory, reached, |copies| {
            let (first, of) = *copies.iter().find(|(copy, _)| best.has(*copy)).expect("one of them counts");
            for (copy, item) in copies.iter().filter(|(copy, _)| *copy != first) {
                let (pack, counts) = (inventory.pack_of(item), inventory.pack_of(&of));
                let is_heir = pack.is_healthy && pack.trust == Trust::Claimed;
                let is_excluded = pack.trust == Trust::Excluded && counts.trust > Trust::Excluded;
                let replaces = match counts.trust {
                    // The heir was uploaded because the sparse block is wanted, and it is not proven yet: keep it.
                    Trust::Proven => !(is_heir && sparse.has(of.block)),
                    _ => is_excluded && counts.accepted <= pack.accepted,
                };
                unproven += u64::from(pack.trust < Trust::Proven);
                if counts.is_healthy && replaces {
                    displaced.set(*copy);
                } else {
                    waiting.set(*copy);
                    if is_heir {
                        has_heir.set(first);
                    }
                }
            }
        });
        Self { best, displaced, waiting, has_heir, sparse, useful, unproven }
    }

    /// Whether a copy is needed, or may be needed.
    pub(super) fn stays(&self, copy: u32) -> bool {
        self.best.has(copy) || self.waiting.has(copy)
    }
}

/// Calls `take` with all copies of each reached id.
fn each_id<B: AsRef<[u8]>>(inventory: &Inventory<'_, B>, reached: &Bits, mut take: impl FnMut(&[(u32, CopyItem)])) {
    let mut copies = inventory.copies().filter(|(_, item)| reached.has(item.id)).peekable();
    let mut of_id = Vec::new();
    while let Some((copy, item)) = copies.next() {
        of_id.push((copy, item));
        if copies.peek().is_none_or(|(_, next)| next.id != item.id) {
            take(&of_id);
            of_id.clear();
        }
    }
}

/// The copy with the greatest rank counts: healthy before damaged, then more trusted before less. Among unproven ones,
/// the first accepted. Among proven ones, an unflagged one (or two could alternate for ever), then the one in the block
/// with the largest live share (a wanted upload must win, or the sparse block would never die), then the newest.
fn rank<B: AsRef<[u8]>>(
    inventory: &Inventory<'_, B>,
    live: &Column<u32>,
    old: &Marks,
    copy: u32,
    item: &CopyItem,
) -> impl Ord + use<B> {
    let block = inventory.block(item.block);
    let pack = &inventory.packs[block.pack as usize];
    let order = match pack.trust {
        Trust::Proven => {
            let share = live_share(&block, live.get(item.block as usize));
            (old.get(copy).flagged.is_none(), share, pack.accepted.0)
        }
        _ => (true, 0, pack.accepted.0.saturating_neg()),
    };
    (pack.is_healthy, pack.trust, order, pack.id, item.ordinal)
}
