//! Plan: what a prune does to one domain. A pure function of the inventory, the overlay and a time, so that it can be
//! shown, repeated on a newer root, and searched for mistakes.
//!
//! The rule of deletion: a copy leaves the index only after it was flagged for the grace period, and only if it is not
//! reachable from any page that stays, or another healthy copy stays that is proven or older. So in every root a page
//! that is present has all its references present, and no forged copy ends a true one (decision 0013).

mod copies;
mod packs;
mod sparse;

use crate::id::ChunkId;
use crate::mark::{Bits, BlockItem, CopyItem, Inventory, Mark, Marks, Trust};
use crate::room::{Column, Scratch};
use crate::time::Time;
use copies::Choice;
use core::time::Duration;
use packs::plan_packs;
pub use sparse::sparse_blocks;

/// What a prune is asked to do.
#[derive(Clone, Debug)]
pub struct Rules {
    /// How long a copy stays flagged before it is removed.
    pub grace: Duration,
    /// How long a copy that a better one displaces stays at least, and a pack where it lies: the time there is to find
    /// out that the better one was a thief's.
    pub floor: Duration,
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
    /// Of each id that is reached the copy that counts.
    pub best: Bits,
    /// Copies that leave the index.
    pub removed: Bits,
    /// Copies in packs that nobody has proven, of ids that have another copy.
    pub unproven_copies: u64,
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
        // Whoever has the data does not rely on what a reader of the domain should have vouched for and has not.
        let is_doubtful = choice.stays(copy) && pack.trust <= Trust::Doubted;
        let is_wanted = is_doubtful || choice.best.has(copy) && (is_trapped || !pack.is_healthy);
        plan.marks.set(copy, Mark { flagged: flagged(copy), wanted: is_wanted });
    }
    plan.unproven_copies = choice.unproven;
    plan.best = choice.best;
    plan
}

/// Of the copies about to be removed, though something that stays refers to their id, keeps what must stay: none if
/// another healthy copy stays that is proven, or no younger than these; else the best healthy one; else all. Those about
/// to be removed ascend.
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
    let replaces = |copy: &u32| {
        let pack = pack(copy);
        let is_older = pack.trust > Trust::Excluded && oldest.is_none_or(|oldest| pack.accepted <= oldest);
        pack.is_healthy && (pack.trust == Trust::Proven || is_older)
    };
    if inventory.copies_of(id).filter(stays).any(|copy| replaces(&copy)) {
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
