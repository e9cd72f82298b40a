//! Sabotage: applies planted faults to a plan. Changes nothing unless a test plants one.

use std::collections::{BTreeMap, BTreeSet};

use copal_engine::mark::{CopyItem, Mark, Trust};
use copal_engine::plan::{Plan, Rules};
use copal_format::id::ChunkId;

use super::inventory::Inventory;
use crate::faults::{Mistake, is_planted};

/// The plan with the planted fault.
pub(super) fn sabotage(mut plan: Plan, inventory: &Inventory<'_>, roots: &[ChunkId], rules: &Rules) -> Plan {
    if is_planted(Mistake::SecondMarkDropped) && plan.unread.is_empty() {
        let kept = inventory.graph.reach(roots.iter().copied());
        for (copy, item) in inventory.copies() {
            let flagged = plan.marks.get(copy).flagged;
            let is_due = flagged.is_some_and(|since| rules.now.since(since) >= rules.grace);
            if is_due && !kept.reached.has(item.id) {
                plan.marks.set(copy, Mark::default());
                plan.removed.set(copy);
            }
        }
        plan.rewritten.clear();
    }
    if is_planted(Mistake::RemovedById) {
        let is_kept = |copy: &u32| {
            let id = inventory.copy(*copy).id;
            !inventory.copies_of(id).all(|copy| plan.removed.has(copy))
        };
        let kept: Vec<u32> = plan.removed.iter().filter(is_kept).collect();
        kept.into_iter().for_each(|copy| plan.removed.unset(copy));
        let in_pack = |item: &CopyItem| inventory.block(item.block).pack;
        let left: BTreeSet<u32> =
            inventory.copies().filter(|(copy, _)| !plan.removed.has(*copy)).map(|(_, item)| in_pack(&item)).collect();
        plan.dead_packs.retain(|pack| !left.contains(pack));
    }
    if is_planted(Mistake::UnprovenMoved) && plan.unread.is_empty() {
        let mut blocks: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (_, item) in inventory.copies().filter(|(copy, _)| !plan.removed.has(*copy)) {
            blocks.entry(inventory.block(item.block).pack).or_default().insert(item.block);
        }
        let moved: BTreeSet<u32> = plan.rewritten.iter().map(|(pack, _)| *pack).collect();
        for (pack, blocks) in blocks.into_iter().filter(|(pack, _)| !moved.contains(pack)) {
            let of = &inventory.packs[pack as usize];
            if of.is_healthy && of.trust < Trust::Proven {
                plan.rewritten.push((pack, blocks.into_iter().collect()));
            }
        }
        plan.rewritten.sort_unstable();
    }
    plan
}
