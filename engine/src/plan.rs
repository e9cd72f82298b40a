//! Plan: what a prune does to one domain. A pure function of the inventory, the overlay and a time, so that it can be
//! shown, repeated on a newer root, and searched for mistakes.
//!
//! The rule of deletion: a copy leaves the index only after it was flagged for the grace period, and only if it is not
//! reachable from any page that stays, or another healthy copy stays. So in every root a page that is present has all
//! its references present.

use core::time::Duration;
use std::collections::BTreeMap;

use crate::id::ChunkId;
use crate::mark::{BlockItem, Inventory};
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

/// A copy's overlay, as far as prune needs it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Since when it is flagged, if it is.
    pub flagged: Option<Time>,
    /// Whether somebody who has the data shall upload it again.
    pub wanted: bool,
}

/// What to do; copies, packs and blocks are numbers in the inventory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The overlay of every copy that stays, where it is not empty.
    pub marks: BTreeMap<u32, Mark>,
    /// Copies that leave the index.
    pub removed: Vec<u32>,
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

/// Decides. `roots` are the root pages of kept snapshots and open checkpoints; `mark` gives the overlay of a copy;
/// `is_copied` tells of blocks of which a copy is at hand that no root names yet.
pub fn plan(
    inventory: &Inventory,
    roots: &[ChunkId],
    mark: impl Fn(u32) -> Mark,
    is_copied: impl Fn(u32) -> bool,
    rules: &Rules,
) -> Plan {
    let kept = inventory.reach(roots.iter().copied());
    let mut plan = Plan { unread: kept.unread.clone(), ..Plan::default() };
    let all_pages = (0..inventory.ids.len() as u32).filter(|&id| inventory.is_page(id));
    let present = inventory.reach(all_pages.map(|id| inventory.ids[id as usize]));
    plan.absent = present.unresolved;
    plan.absent.extend(&kept.unresolved);
    plan.absent.sort_unstable();
    plan.absent.dedup();
    plan.lost = kept.unresolved;
    let copies = inventory.copies.len();
    let old: Vec<Mark> = (0..copies as u32).map(mark).collect();
    if !plan.unread.is_empty() {
        // What lies below an unreadable page cannot be told from garbage.
        plan.marks = (0..copies as u32).zip(old).filter(|(_, mark)| *mark != Mark::default()).collect();
        return plan;
    }
    let live = live_entries(inventory, |id| kept.reached.has(id));
    let best = best_copies(inventory, &live, &old, |id| kept.reached.has(id));
    let flagged: Vec<Option<Time>> = (0..copies)
        .map(|copy| if best.has(copy as u32) { None } else { Some(old[copy].flagged.unwrap_or(rules.now)) })
        .collect();
    let is_candidate =
        |copy: usize| flagged[copy].is_some_and(|since| rules.now.since(since) >= rules.grace && since <= rules.now);

    let staying_pages = inventory.copies.iter().enumerate();
    let staying_pages = staying_pages.filter(|(copy, item)| !is_candidate(*copy) && inventory.is_page(item.id));
    let still = inventory.reach(staying_pages.map(|(_, item)| inventory.ids[item.id as usize]));
    if !still.unread.is_empty() {
        plan.unread = still.unread;
    }

    let mut at = 0;
    while at < copies {
        let range = inventory.copies_of(inventory.copies[at].id);
        at = range.end;
        let id = inventory.copies[range.start].id;
        let removed: Vec<usize> = if plan.unread.is_empty() {
            range.clone().filter(|&copy| is_candidate(copy)).collect()
        } else {
            Vec::new()
        };
        let removed =
            if still.reached.has(id) { spare_one(inventory, &flagged, range.clone(), removed) } else { removed };
        plan.removed.extend(removed.into_iter().map(|copy| copy as u32));
    }
    let mut is_removed = vec![false; copies];
    plan.removed.iter().for_each(|&copy| is_removed[copy as usize] = true);

    let staying = live_copies(inventory, |copy| !is_removed[copy as usize]);
    let useful = live_copies(inventory, |copy| flagged[copy as usize].is_none());
    plan_packs(inventory, &staying, &useful, is_copied, rules, &mut plan);
    let sparse = choose_sparse(inventory, &useful, rules.trapped_most, u64::MAX);
    for copy in (0..copies).filter(|&copy| !is_removed[copy]) {
        let block = inventory.copies[copy].block;
        let is_sparse = flagged[copy].is_none() && sparse.has(block);
        let is_harmed = flagged[copy].is_none() && !inventory.pack_of(&inventory.copies[copy]).is_healthy;
        let mark = Mark { flagged: flagged[copy], wanted: is_sparse || is_harmed };
        if mark != Mark::default() {
            plan.marks.insert(copy as u32, mark);
        }
    }
    plan
}

/// Of the copies about to be removed, though something that stays refers to their id, keeps what must stay: none if
/// another healthy copy stays, else the healthy one flagged last, else all.
fn spare_one(
    inventory: &Inventory,
    flagged: &[Option<Time>],
    copies: core::ops::Range<usize>,
    removed: Vec<usize>,
) -> Vec<usize> {
    let is_healthy = |copy: &usize| inventory.pack_of(&inventory.copies[*copy]).is_healthy;
    let other_stays = copies.filter(|copy| !removed.contains(copy)).any(|copy| is_healthy(&copy));
    if other_stays {
        return removed;
    }
    let spared = removed.iter().copied().filter(is_healthy).max_by_key(|&copy| (flagged[copy], copy));
    match spared {
        Some(spared) => removed.into_iter().filter(|&copy| copy != spared).collect(),
        None => Vec::new(),
    }
}

/// For each reached id the copy that is kept: a healthy one before any other, then one that is not flagged (what was
/// decided once stands, or two copies could take turns for ever), then the one in the block with the largest live share
/// (what was asked for again and came must win, or the sparse block would never die), then the newer.
fn best_copies(
    inventory: &Inventory,
    live: &[u32],
    old: &[Mark],
    is_reached: impl Fn(u32) -> bool,
) -> crate::mark::Bits {
    let mut best = crate::mark::Bits::new(inventory.copies.len());
    let mut at = 0;
    while at < inventory.copies.len() {
        let id = inventory.copies[at].id;
        let end = at + inventory.copies[at..].partition_point(|copy| copy.id == id);
        if is_reached(id) {
            let rank = |copy: &usize| {
                let item = &inventory.copies[*copy];
                let block = &inventory.blocks[item.block as usize];
                let pack = inventory.pack_of(item);
                let share = live_share(block, live[item.block as usize]);
                (pack.is_healthy, old[*copy].flagged.is_none(), share, pack.accepted, pack.id, item.ordinal)
            };
            let kept = (at..end).max_by_key(rank).expect("at least one copy");
            best.set(kept as u32);
        }
        at = end;
    }
    best
}

fn live_bytes(block: &BlockItem, live: u32) -> u64 {
    u64::from(block.length) * u64::from(live) / u64::from(block.entries.max(1))
}

/// The live share of a block, in 2^-16ths.
fn live_share(block: &BlockItem, live: u32) -> u64 {
    (u64::from(live) << 16) / u64::from(block.entries.max(1))
}

fn live_entries(inventory: &Inventory, is_live: impl Fn(u32) -> bool) -> Vec<u32> {
    live_copies(inventory, |copy| is_live(inventory.copies[copy as usize].id))
}

/// How many copies of each block are wanted by a test.
fn live_copies(inventory: &Inventory, is_live: impl Fn(u32) -> bool) -> Vec<u32> {
    let mut live = vec![0; inventory.blocks.len()];
    for (copy, item) in inventory.copies.iter().enumerate() {
        if is_live(copy as u32) {
            live[item.block as usize] += 1;
        }
    }
    live
}

/// Which packs die, which are rewritten, and what that frees.
fn plan_packs(
    inventory: &Inventory,
    staying: &[u32],
    useful: &[u32],
    is_copied: impl Fn(u32) -> bool,
    rules: &Rules,
    plan: &mut Plan,
) {
    let mut blocks_of: Vec<Vec<u32>> = vec![Vec::new(); inventory.packs.len()];
    for (number, block) in inventory.blocks.iter().enumerate() {
        blocks_of[block.pack as usize].push(number as u32);
        let stored = u64::from(block.length);
        if staying[number] == 0 {
            plan.dead_bytes += stored;
        } else {
            plan.trapped_bytes += stored - live_bytes(block, useful[number].min(block.entries)).min(stored);
        }
    }
    let stored =
        |blocks: &[u32]| -> u64 { blocks.iter().map(|&at| u64::from(inventory.blocks[at as usize].length)).sum() };
    let mut partly_dead: Vec<Candidate> = Vec::new();
    let mut small: [Vec<Candidate>; 2] = Default::default();
    let (mut live_whole, mut dead_whole) = (0, 0);
    for (number, pack) in inventory.packs.iter().enumerate() {
        let blocks: Vec<u32> = blocks_of[number].iter().copied().filter(|&block| staying[block as usize] > 0).collect();
        // Without header and table: a small pack that is live as a whole would be copied again and again for them.
        let live = stored(&blocks);
        let dead = stored(&blocks_of[number]) - live;
        let candidate = Candidate { pack: number as u32, blocks, live, dead };
        let kind = matches!(pack.kind, PackKind::Tree) as usize;
        if candidate.blocks.is_empty() {
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
    let mut left = rules.rewrite_most;
    for Candidate { pack, blocks, dead, .. } in chosen {
        let missing: Vec<u32> = blocks.iter().copied().filter(|&block| !is_copied(block)).collect();
        let bytes = stored(&missing);
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
pub fn sparse_blocks(inventory: &Inventory, plan: &Plan, trapped_most: u32, most: u64) -> BTreeMap<u32, Vec<u32>> {
    let mut is_useful = vec![true; inventory.copies.len()];
    let flagged = plan.marks.iter().filter(|(_, mark)| mark.flagged.is_some()).map(|(copy, _)| copy);
    flagged.chain(&plan.removed).for_each(|&copy| is_useful[copy as usize] = false);
    let useful = live_copies(inventory, |copy| is_useful[copy as usize]);
    let chosen = choose_sparse(inventory, &useful, trapped_most, most);
    let mut blocks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (copy, item) in inventory.copies.iter().enumerate().filter(|(copy, _)| is_useful[*copy]) {
        if chosen.has(item.block) {
            blocks.entry(item.block).or_default().push(copy as u32);
        }
    }
    blocks
}

/// Blocks of which most is dead, and then those with the least live share, until few enough dead bytes are left in blocks
/// that live on. `useful` tells how many entries of each block are needed.
fn choose_sparse(inventory: &Inventory, useful: &[u32], trapped_most: u32, most: u64) -> crate::mark::Bits {
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
    let mut chosen = crate::mark::Bits::new(inventory.blocks.len());
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

/// A pack that may be rewritten.
struct Candidate {
    pack: u32,
    /// Blocks that stay.
    blocks: Vec<u32>,
    /// Their bytes.
    live: u64,
    /// Bytes of the others, which rewriting frees.
    dead: u64,
}

/// So many small packs of one kind are merged into larger ones.
const SMALL_PACKS: usize = 8;
