//! Copies: which of several copies of an id counts, and which of the others it displaces.
//!
//! A table is a claim of whoever has a client's signing key. So a copy counts before an older one only if its pack is
//! proven, and displaces another one only then.

use super::sparse::choose_sparse;
use super::{Rules, live_copies, live_share};
use crate::mark::{Bits, CopyItem, Inventory, Marks, Trust};
use crate::room::Column;

/// The copies of ids that something kept refers to.
pub(super) struct Choice {
    /// The copy of each id that counts.
    pub(super) best: Bits,
    /// Copies that are needed no more, since the one that counts is proven or older.
    pub(super) displaced: Bits,
    /// Copies that may yet be proven, or that nothing can replace.
    waiting: Bits,
    /// Copies that count, of ids that have another one which may yet be proven.
    pub(super) has_heir: Bits,
    /// Blocks of which so little is needed that it is wanted anew.
    pub(super) sparse: Bits,
    /// How many copies that count each block has.
    pub(super) useful: Column<u32>,
    /// Copies beside the ones that count, in packs that nobody has proven.
    pub(super) unproven: u64,
}

impl Choice {
    /// Chooses. `live` tells how many entries of each block are reached.
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
                    // Whoever was asked for a copy from a sparse block has sent it, and nobody has looked at it yet.
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

    /// Whether a copy is needed, or may be.
    pub(super) fn stays(&self, copy: u32) -> bool {
        self.best.has(copy) || self.waiting.has(copy)
    }
}

/// Hands over the copies of each id that is reached.
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

/// The greatest counts: a healthy copy, then the more trusted. Of unproven ones the one that was accepted first. Of
/// proven ones one that is not flagged (or two could take turns for ever), then the one in the block with the largest
/// live share (what was asked for again must win, or the sparse block would never die), then the newer.
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
