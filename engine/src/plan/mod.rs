//! Plan: what a prune does to one domain. A pure function of the inventory, the overlay and a time, so that it can be
//! shown, repeated on a newer root, and searched for mistakes.
//!
//! The rule of deletion: a copy leaves the index only after it was flagged for the grace period, and only if it is not
//! reachable from any page that stays, or another healthy copy stays. So in every root a page that is present has all
//! its references present.

mod packs;
mod sparse;

use crate::id::ChunkId;
use crate::mark::{Bits, BlockItem, CopyItem, Inventory, Mark, Marks};
use crate::room::{Column, Scratch};
use crate::time::Time;
use core::time::Duration;
use packs::plan_packs;
use sparse::choose_sparse;
pub use sparse::sparse_blocks;

/// What a prune is asked to do.
#[derive(Clone, Debug)]
pub struct Rules {
    /// How long a copy stays flagged before it is removed.
    pub grace: Duration,
    /// What was flagged no later stays, however long ago that was.
    pub spared: Option<Time>,
    /// The store's time.
    pub now: Time,
    /// So much of what is live may lie dead beside it, in blocks without a present copy, in percent: if there is more,
    /// packs are rewritten.
    pub dead_most: u32,
    /// The same for what lies dead in blocks that live on: if there is more, their live part is wanted.
    pub trapped_most: u32,
    /// Packs shorter than a quarter of this are merged, by kind.
    pub pack_target: [u64; 2],
    /// At most so many bytes are copied.
    pub rewrite_most: u64,
    /// No pack is copied after so many entries, however small they are: of each something is held until a root names it.
    pub rewrite_entries: u64,
}

/// What to do; copies, packs and blocks are numbers in the inventory.
#[derive(Debug)]
pub struct Plan {
    /// The overlay of every copy that stays.
    pub marks: Marks,
    /// Copies that leave the index.
    pub removed: Bits,
    /// Packs without a present copy: to be doomed.
    pub dead_packs: Vec<u32>,
    /// Packs of which the live blocks are copied elsewhere, and these blocks.
    pub rewritten: Vec<(u32, Vec<u32>)>,
    /// Ids that kept snapshots refer to and of which there is no copy.
    pub lost: Vec<ChunkId>,
    /// Ids that any page that stays refers to and of which there is no copy: all of `lost`, and what pages need that
    /// nothing kept reaches any more.
    pub absent: Vec<ChunkId>,
    /// Why nothing is flagged or removed: pages whose references cannot be read.
    pub unread: Vec<ChunkId>,
    /// Stored bytes of blocks that have to be copied.
    pub copied_bytes: u64,
    /// Stored bytes of blocks that would have to be, were more allowed.
    pub postponed_bytes: u64,
    /// Stored bytes of packs that this plan frees, copies written anew subtracted.
    pub freed_bytes: u64,
    /// Stored bytes of blocks without a present copy.
    pub dead_bytes: u64,
    /// Stored bytes of dead copies in blocks that live on, by share.
    pub trapped_bytes: u64,
}

impl Plan {
    fn nothing(scratch: &dyn Scratch, copies: usize) -> Self {
        Self {
            marks: Marks::new(scratch, copies),
            removed: Bits::new(scratch, copies),
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

/// Decides. `roots` are the root pages of kept snapshots and open checkpoints; `old` is the overlay; `is_copied` tells of
/// blocks of which a copy is at hand that no root names yet.
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
        // What lies below an unreadable page cannot be told from garbage.
        old.iter().for_each(|(copy, mark)| plan.marks.set(copy, mark));
        return plan;
    }
    let live = live_copies(inventory, |_, id| kept.reached.has(id));
    let best = best_copies(inventory, &live, old, &kept.reached);
    let flagged = |copy: u32| (!best.has(copy)).then(|| old.get(copy).flagged.unwrap_or(rules.now));
    let is_due = |since: Time| rules.now.since(since) >= rules.grace && since <= rules.now;
    let is_candidate = |copy: u32| flagged(copy).is_some_and(|since| is_due(since) && rules.spared < Some(since));

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
    let useful = live_copies(inventory, |copy, _| best.has(copy));
    plan_packs(inventory, &staying, &useful, is_copied, rules, &mut plan);
    let sparse = choose_sparse(inventory, &useful, rules.trapped_most, u64::MAX);
    for (copy, item) in inventory.copies() {
        if plan.removed.has(copy) {
            continue;
        }
        let is_needed = best.has(copy);
        let is_wanted = is_needed && (sparse.has(item.block) || !inventory.pack_of(&item).is_healthy);
        plan.marks.set(copy, Mark { flagged: flagged(copy), wanted: is_wanted });
    }
    plan
}

/// Of the copies about to be removed, though something that stays refers to their id, keeps what must stay: none if
/// another healthy copy stays, else the healthy one flagged last, else all. Those about to be removed ascend.
fn spare_one<B: AsRef<[u8]>>(
    inventory: &Inventory<'_, B>,
    flagged: impl Fn(u32) -> Option<Time>,
    id: u32,
    removed: Vec<u32>,
) -> Vec<u32> {
    let is_healthy = |copy: &u32| inventory.pack_of(&inventory.copy(*copy)).is_healthy;
    let stays = |copy: &u32| removed.binary_search(copy).is_err();
    let other_stays = inventory.copies_of(id).filter(stays).any(|copy| is_healthy(&copy));
    if other_stays {
        return removed;
    }
    let spared = removed.iter().copied().filter(is_healthy).max_by_key(|&copy| (flagged(copy), copy));
    match spared {
        Some(spared) => removed.into_iter().filter(|&copy| copy != spared).collect(),
        None => Vec::new(),
    }
}

/// For each reached id the copy that is kept: a healthy one before any other, then one that is not flagged (what was
/// decided once stands, or two copies could take turns for ever), then the one in the block with the largest live share
/// (what was asked for again and came must win, or the sparse block would never die), then the newer.
fn best_copies<B: AsRef<[u8]>>(inventory: &Inventory<'_, B>, live: &Column<u32>, old: &Marks, reached: &Bits) -> Bits {
    let mut best = Bits::new(inventory.graph.scratch(), inventory.entries());
    let rank = |copy: u32, item: &CopyItem| {
        let block = inventory.block(item.block);
        let pack = &inventory.packs[block.pack as usize];
        let share = live_share(&block, live.get(item.block as usize));
        (pack.is_healthy, old.get(copy).flagged.is_none(), share, pack.accepted, pack.id, item.ordinal)
    };
    let mut kept: Option<(u32, CopyItem)> = None;
    for (copy, item) in inventory.copies().filter(|(_, item)| reached.has(item.id)) {
        match kept {
            Some((other, of)) if of.id == item.id && rank(other, &of) > rank(copy, &item) => {}
            Some((_, of)) if of.id == item.id => kept = Some((copy, item)),
            before => {
                before.iter().for_each(|(copy, _)| best.set(*copy));
                kept = Some((copy, item));
            }
        }
    }
    kept.iter().for_each(|(copy, _)| best.set(*copy));
    best
}

fn live_bytes(block: &BlockItem, live: u32) -> u64 {
    u64::from(block.length) * u64::from(live) / u64::from(block.entries.max(1))
}

/// The live share of a block, in 2^-16ths.
fn live_share(block: &BlockItem, live: u32) -> u64 {
    (u64::from(live) << 16) / u64::from(block.entries.max(1))
}

/// How many copies of each block pass a test, which gets the copy and its id.
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
