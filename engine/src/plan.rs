//! Plan: what a prune does to one domain. A pure function of the inventory, the overlay and a time, so that it can be
//! shown, repeated on a newer root, and searched for mistakes.
//!
//! The rule of deletion: a copy leaves the index only after it was flagged for the grace period, and only if it is not
//! reachable from any page that stays, or another healthy copy stays. So in every root a page that is present has all
//! its references present.

use core::time::Duration;
use std::collections::BTreeMap;

use crate::id::ChunkId;
use crate::mark::{Bits, BlockItem, CopyItem, Inventory, Mark, Marks};
use crate::pack::PackKind;
use crate::time::Time;

/// What a prune is asked to do.
#[derive(Clone, Debug)]
pub struct Rules {
    /// How long a copy stays flagged before it is removed.
    pub grace: Duration,
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
}

/// What to do; copies, packs and blocks are numbers in the inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    fn nothing(copies: usize) -> Self {
        Self {
            marks: Marks::new(copies),
            removed: Bits::new(copies),
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
    inventory: &Inventory<B>,
    roots: &[ChunkId],
    old: &Marks,
    is_copied: impl Fn(u32) -> bool,
    rules: &Rules,
) -> Plan {
    let graph = &inventory.graph;
    let kept = graph.reach(roots.iter().copied());
    let mut plan = Plan { unread: kept.unread.clone(), ..Plan::nothing(inventory.entries()) };
    let present = graph.reach_from((0..graph.count()).filter(|&id| graph.is_page(id)));
    plan.absent = present.unresolved;
    plan.absent.extend(&kept.unresolved);
    plan.absent.sort_unstable();
    plan.absent.dedup();
    plan.lost = kept.unresolved;
    if !plan.unread.is_empty() {
        // What lies below an unreadable page cannot be told from garbage.
        plan.marks = old.clone();
        return plan;
    }
    let live = live_copies(inventory, |_, id| kept.reached.has(id));
    let best = best_copies(inventory, &live, old, &kept.reached);
    let flagged = |copy: u32| (!best.has(copy)).then(|| old.get(copy).flagged.unwrap_or(rules.now));
    let is_candidate =
        |copy: u32| flagged(copy).is_some_and(|since| rules.now.since(since) >= rules.grace && since <= rules.now);

    let mut staying_pages = Bits::new(graph.count() as usize);
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
    inventory: &Inventory<B>,
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
fn best_copies<B: AsRef<[u8]>>(inventory: &Inventory<B>, live: &[u32], old: &Marks, reached: &Bits) -> Bits {
    let mut best = Bits::new(inventory.entries());
    let rank = |copy: u32, item: &CopyItem| {
        let block = &inventory.blocks[item.block as usize];
        let pack = inventory.pack_of(item);
        let share = live_share(block, live[item.block as usize]);
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
fn live_copies<B: AsRef<[u8]>>(inventory: &Inventory<B>, is_live: impl Fn(u32, u32) -> bool) -> Vec<u32> {
    let mut live = vec![0; inventory.blocks.len()];
    for (copy, item) in inventory.copies() {
        if is_live(copy, item.id) {
            live[item.block as usize] += 1;
        }
    }
    live
}

/// Which packs die, which are rewritten, and what that frees.
fn plan_packs<B: AsRef<[u8]>>(
    inventory: &Inventory<B>,
    staying: &[u32],
    useful: &[u32],
    is_copied: impl Fn(u32) -> bool,
    rules: &Rules,
    plan: &mut Plan,
) {
    // The blocks of a pack are neighbours, but for those that no table knows; these are the last.
    let mut of_packs: Vec<Tally> = vec![Tally::default(); inventory.packs.len()];
    for (number, block) in inventory.blocks.iter().enumerate() {
        let tally = &mut of_packs[block.pack as usize];
        let bytes = if staying[number] > 0 { &mut tally.live } else { &mut tally.dead };
        *bytes += u64::from(block.length);
        tally.has_live |= staying[number] > 0;
        let stored = u64::from(block.length);
        if staying[number] == 0 {
            plan.dead_bytes += stored;
        } else {
            plan.trapped_bytes += stored - live_bytes(block, useful[number].min(block.entries)).min(stored);
        }
    }
    let mut partly_dead: Vec<Candidate> = Vec::new();
    let mut small: [Vec<Candidate>; 2] = Default::default();
    let (mut live_whole, mut dead_whole) = (0, 0);
    for (number, pack) in inventory.packs.iter().enumerate() {
        // Without header and table: a small pack that is live as a whole would be copied again and again for them.
        let Tally { live, dead, has_live } = of_packs[number];
        let candidate = Candidate { pack: number as u32, live, dead };
        let kind = matches!(pack.kind, PackKind::Tree) as usize;
        if !has_live {
            plan.dead_packs.push(number as u32);
            plan.freed_bytes += pack.length;
            continue;
        }
        live_whole += live;
        if !pack.is_healthy {
            // Its blocks cannot be copied; the next backup of a source that has the data uploads them again.
        } else if dead > live {
            partly_dead.push(candidate);
        } else if pack.length < rules.pack_target[kind] / 4 {
            small[kind].push(candidate);
        } else if dead > 0 {
            dead_whole += dead;
            partly_dead.push(candidate);
        }
    }
    // What frees most for each byte copied goes first: what is mostly dead, then as much as it takes.
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
    // One small pack alone would only be copied; several become one.
    chosen.extend(small.into_iter().filter(|packs| packs.len() >= SMALL_PACKS).flatten());
    let mut blocks_of: BTreeMap<u32, Vec<u32>> = chosen.iter().map(|candidate| (candidate.pack, Vec::new())).collect();
    for (number, block) in inventory.blocks.iter().enumerate().filter(|(number, _)| staying[*number] > 0) {
        if let Some(blocks) = blocks_of.get_mut(&block.pack) {
            blocks.push(number as u32);
        }
    }
    let mut left = rules.rewrite_most;
    for Candidate { pack, dead, .. } in chosen {
        let blocks = blocks_of.remove(&pack).unwrap_or_default();
        let missing = blocks.iter().filter(|&&block| !is_copied(block));
        let bytes: u64 = missing.map(|&block| u64::from(inventory.blocks[block as usize].length)).sum();
        if bytes > left {
            plan.postponed_bytes += bytes;
            continue;
        }
        left -= bytes;
        plan.copied_bytes += bytes;
        plan.freed_bytes += dead;
        plan.rewritten.push((pack, blocks));
    }
    plan.rewritten.sort_unstable();
}

/// The blocks whose live part somebody with the key shall write anew, so that at most `trapped_most` percent of what is
/// live is dead bytes in blocks that live on. The stored bytes of the live parts are at most `most` in all. Gives live
/// copies by block.
pub fn sparse_blocks<B: AsRef<[u8]>>(
    inventory: &Inventory<B>,
    plan: &Plan,
    trapped_most: u32,
    most: u64,
) -> BTreeMap<u32, Vec<u32>> {
    let is_useful = |copy: u32| !plan.removed.has(copy) && plan.marks.get(copy).flagged.is_none();
    let useful = live_copies(inventory, |copy, _| is_useful(copy));
    let chosen = choose_sparse(inventory, &useful, trapped_most, most);
    let mut blocks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (copy, item) in inventory.copies().filter(|(copy, item)| chosen.has(item.block) && is_useful(*copy)) {
        blocks.entry(item.block).or_default().push(copy);
    }
    blocks
}

/// Blocks of which most is dead, and then those with the least live share, until few enough dead bytes are left in blocks
/// that live on. `useful` tells how many entries of each block are needed.
fn choose_sparse<B: AsRef<[u8]>>(inventory: &Inventory<B>, useful: &[u32], trapped_most: u32, most: u64) -> Bits {
    let bytes = |number: usize| {
        let block = &inventory.blocks[number];
        let live = live_bytes(block, useful[number].min(block.entries)).min(block.length.into());
        (live, u64::from(block.length) - live)
    };
    let (mut live_whole, mut trapped) = (0, 0);
    let mut sparse: Vec<usize> = Vec::new();
    for (number, block) in inventory.blocks.iter().enumerate().filter(|(number, _)| useful[*number] > 0) {
        let (live, dead) = bytes(number);
        live_whole += live;
        if dead > 0 && inventory.packs[block.pack as usize].is_healthy {
            trapped += dead;
            sparse.push(number);
        }
    }
    let share = |number: usize| live_share(&inventory.blocks[number], useful[number]);
    sparse.sort_by_key(|&number| (share(number), number));
    let mut chosen = Bits::new(inventory.blocks.len());
    let (mut left, mut last) = (most, None);
    for number in sparse {
        let (live, dead) = bytes(number);
        // Of blocks with the same share all are chosen or none: how they are numbered changes when they are moved.
        let is_enough = trapped <= live_whole * u64::from(trapped_most) / 100 && last != Some(share(number));
        if (dead <= live && is_enough) || live > left {
            break;
        }
        trapped -= dead;
        left -= live;
        last = Some(share(number));
        chosen.set(number as u32);
    }
    chosen
}

/// What the blocks of a pack hold.
#[derive(Clone, Default)]
struct Tally {
    live: u64,
    dead: u64,
    has_live: bool,
}

/// A pack that may be rewritten.
struct Candidate {
    pack: u32,
    /// Bytes of the blocks that stay.
    live: u64,
    /// Bytes of the others, which rewriting frees.
    dead: u64,
}

/// So many small packs of one kind are merged into larger ones.
const SMALL_PACKS: usize = 8;
