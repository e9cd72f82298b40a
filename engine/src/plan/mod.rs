//! Plan: decides what prune does to one domain. A pure function of the inventory, the overlay and a time, so that a
//! plan can be shown, repeated on a newer root, and tested.
//!
//! The rule of deletion: a copy leaves the index only after it was flagged for the grace period. In addition, its id
//! must not be reachable from any page that stays, or another healthy copy must stay that is proven or older. So in
//! every root, all references of a present page are present, and no forged copy displaces a true one (decision 0013).

mod copies;
mod packs;
mod sparse;

use crate::mark::{Bits, BlockItem, CopyItem, Inventory, Mark, Marks, PackItem, Trust};
use copal_format::id::ChunkId;
use copal_format::room::{Column, Scratch};
use copal_format::time::Time;
use copies::Choice;
use core::time::Duration;
use packs::plan_packs;
pub use sparse::sparse_blocks;

/// The settings of a prune.
#[derive(Clone, Debug)]
pub struct Rules {
    /// How long a copy stays flagged before it is removed.
    pub grace: Duration,
    /// How long a displaced copy stays flagged at least, and how old an accepted pack must be to be repacked. During
    /// that time a theft of keys can be noticed.
    pub floor: Duration,
    /// Copies flagged at or before this time are not removed.
    pub spared: Option<Time>,
    /// The store's time.
    pub now: Time,
    /// The most dead bytes in blocks without a present copy, in percent of live bytes. Beyond it, packs are repacked.
    pub dead_most: u32,
    /// The same for trapped bytes: dead bytes in blocks with live copies. Beyond it, the live copies are marked as
    /// wanted.
    pub trapped_most: u32,
    /// The target size of packs, by kind. Packs shorter than a quarter of it are merged.
    pub pack_target: [u64; 2],
    /// The most bytes to copy.
    pub rewrite_most: u64,
    /// No further pack is copied after this many entries, because each entry takes memory until a root names its copy.
    pub rewrite_entries: u64,
}

/// The actions that prune takes. Copies, packs and blocks are numbers of the inventory.
#[derive(Debug)]
pub struct Plan {
    /// The new mark of every copy that stays.
    pub marks: Marks,
    /// For each reached id, the copy that counts.
    pub best: Bits,
    /// Copies that leave the index.
    pub removed: Bits,
    /// Copies in unproven packs, of ids for which another copy counts.
    pub unproven_copies: u64,
    /// Packs without a present copy, to be doomed.
    pub dead_packs: Vec<u32>,
    /// Packs to repack, with the live blocks to copy from each.
    pub rewritten: Vec<(u32, Vec<u32>)>,
    /// Ids without a copy that kept snapshots refer to.
    pub lost: Vec<ChunkId>,
    /// Ids without a copy that present pages refer to: all of `lost`, and those needed only outside of kept snapshots.
    pub absent: Vec<ChunkId>,
    /// Pages with unreadable references. If there are any, nothing is removed.
    pub unread: Vec<ChunkId>,
    /// Stored bytes of the blocks to copy.
    pub copied_bytes: u64,
    /// Stored bytes of blocks that the limits keep from being copied now.
    pub postponed_bytes: u64,
    /// Stored bytes that the plan frees, less those of new copies.
    pub freed_bytes: u64,
    /// Stored bytes of blocks without a present copy.
    pub dead_bytes: u64,
    /// Stored bytes of dead copies in blocks with live copies, in proportion to their number.
    pub trapped_bytes: u64,
}

impl Plan {
    fn nothing(scratch: &dyn Scratch, copies: usize) -> Self {
        Self {
            marks: Marks::new(scratch, copies),
            best: Bits::new(scratch, copies),
            removed: Bits::new(scratch, copies),
            unproven_copies: 0,
            dead_packs: Vec::new(),
            rewritten: Vec::new(),
            lost: Vec::new(),
            absent: Vec::new(),
            unread: Vec::new(),
            copied_bytes: 0,
            postponed_bytes: 0,
            freed_bytes: 0,
            dead_bytes: 0,
            trapped_bytes: 0,
        }
    }
}

/// Makes the plan. `roots` are the root pages of kept snapshots and open checkpoints, `old` are the marks of the
/// overlay. `is_copied` says whether a block already has a copy that no root names yet.
pub fn plan<B: AsRef<[u8]>>(
    inventory: &Inventory<'_, B>,
    roots: &[ChunkId],
    old: &Marks,
    is_copied: impl Fn(u32) -> bool,
    rules: &Rules,
) -> Plan {
    let graph = &inventory.graph;
    let scratch = graph.scratch();
    let kept = graph.reach(roots.iter().copied());
    let mut plan = Plan { unread: kept.unread, ..Plan::nothing(scratch, inventory.entries()) };
    plan.absent.extend(graph.absent_ids());
    plan.absent.extend(&kept.unresolved);
    plan.absent.sort_unstable();
    plan.absent.dedup();
    plan.lost = kept.unresolved;
    if !plan.unread.is_empty() {
        // Pages below an unreadable page cannot be told from garbage.
        old.iter().for_each(|(copy, mark)| plan.marks.set(copy, mark));
        return plan;
    }
    let live = live_copies(inventory, |_, id| kept.reached.has(id));
    let choice = Choice::of(inventory, &live, old, &kept.reached, rules);
    let flagged = |copy: u32| (!choice.stays(copy)).then(|| old.get(copy).flagged.unwrap_or(rules.now));
    let is_due = |copy: u32, since: Time| {
        let wait = if choice.displaced.has(copy) { rules.grace.max(rules.floor) } else { rules.grace };
        rules.now.since(since) >= wait && since <= rules.now
    };
    let is_candidate = |copy: u32| flagged(copy).is_some_and(|since| is_due(copy, since) && rules.spared < Some(since));

    let mut staying_pages = Bits::new(scratch, graph.count() as usize);
    for (copy, item) in inventory.copies().filter(|(_, item)| graph.is_page(item.id)) {
        if !is_candidate(copy) {
            staying_pages.set(item.id);
        }
    }
    let still = graph.reach_from(staying_pages.iter());
    if !still.unread.is_empty() {
        plan.unread = still.unread;
    }
    if plan.unread.is_empty() {
        let mut candidates = inventory.copies().filter(|(copy, _)| is_candidate(*copy)).peekable();
        while let Some((first, CopyItem { id, .. })) = candidates.next() {
            let mut removed = vec![first];
            while let Some((copy, _)) = candidates.next_if(|(_, item)| item.id == id) {
                removed.push(copy);
            }
            let removed = if still.reached.has(id) { spare_one(inventory, flagged, id, removed) } else { removed };
            removed.into_iter().for_each(|copy| plan.removed.set(copy));
        }
    }

    let staying = live_copies(inventory, |copy, _| !plan.removed.has(copy));
    plan_packs(inventory, &staying, &choice.useful, is_copied, rules, &mut plan);
    for (copy, item) in inventory.copies() {
        if plan.removed.has(copy) {
            continue;
        }
        let pack = inventory.pack_of(&item);
        let is_trapped = choice.sparse.has(item.block) && !choice.has_heir.has(copy);
        // Clients should upload again what lies in packs that are excluded, or that a full client did not prove.
        let is_doubtful = choice.stays(copy) && pack.trust <= Trust::Doubted;
        let is_wanted = is_doubtful || choice.best.has(copy) && (is_trapped || !pack.is_healthy);
        plan.marks.set(copy, Mark { flagged: flagged(copy), wanted: is_wanted });
    }
    plan.unproven_copies = choice.unproven;
    plan.best = choice.best;
    plan
}

/// Whether a copy in this pack may replace others of its id. `oldest` is the time when the oldest healthy one of these
/// was accepted. True if the pack is healthy, and either proven, or not excluded and no younger. So no forged copy
/// displaces a true one.
pub fn replaces(pack: &PackItem, oldest: Option<Time>) -> bool {
    let is_older = pack.trust > Trust::Excluded && oldest.is_none_or(|oldest| pack.accepted <= oldest);
    pack.is_healthy && (pack.trust == Trust::Proven || is_older)
}

/// Selects which copies of an id to remove, although staying pages refer to the id. Removes all if a healthy copy stays
/// that is proven, or that is not excluded and no younger than these. Otherwise it spares the best healthy one. If none
/// is healthy, it removes nothing. `removed` ascends.
fn spare_one<B: AsRef<[u8]>>(
    inventory: &Inventory<'_, B>,
    flagged: impl Fn(u32) -> Option<Time>,
    id: u32,
    removed: Vec<u32>,
) -> Vec<u32> {
    let pack = |copy: &u32| inventory.pack_of(&inventory.copy(*copy));
    let is_healthy = |copy: &u32| pack(copy).is_healthy;
    let stays = |copy: &u32| removed.binary_search(copy).is_err();
    let oldest = removed.iter().filter(|copy| is_healthy(copy)).map(|copy| pack(copy).accepted).min();
    if inventory.copies_of(id).filter(stays).any(|copy| replaces(pack(&copy), oldest)) {
        return removed;
    }
    let age = |copy: &u32| core::cmp::Reverse(pack(copy).accepted);
    let spared = removed.iter().copied().filter(is_healthy);
    let spared = spared.max_by_key(|copy| (pack(copy).trust, flagged(*copy), age(copy), *copy));
    match spared {
        Some(spared) => removed.into_iter().filter(|&copy| copy != spared).collect(),
        None => Vec::new(),
    }
}

fn live_bytes(block: &BlockItem, live: u32) -> u64 {
    u64::from(block.length) * u64::from(live) / u64::from(block.entries.max(1))
}

/// The share of a block's entries that is live, in units of 2^-16.
fn live_share(block: &BlockItem, live: u32) -> u64 {
    (u64::from(live) << 16) / u64::from(block.entries.max(1))
}

/// For each block, the number of copies that pass `is_live`.
fn live_copies<B: AsRef<[u8]>>(inventory: &Inventory<'_, B>, is_live: impl Fn(u32, u32) -> bool) -> Column<u32> {
    let mut live = Column::new(inventory.graph.scratch(), inventory.block_count());
    for (copy, item) in inventory.copies() {
        if is_live(copy, item.id) {
            let block = item.block as usize;
            live.set(block, live.get(block) + 1);
        }
    }
    live
}

#[cfg(test)]
mod tests;
