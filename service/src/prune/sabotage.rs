//! Sabotage: what planted mistakes make of a plan. Nothing, unless a test plants one.

use std::collections::BTreeSet;

use copal_engine::id::ChunkId;
use copal_engine::mark::Inventory;
use copal_engine::plan::{Plan, Rules};

use crate::faults::{Fault, is_planted};

/// The plan with the planted mistake.
pub(super) fn sabotage(mut plan: Plan, inventory: &Inventory, roots: &[ChunkId], rules: &Rules) -> Plan {
    if is_planted(Fault::SecondMarkDropped) && plan.unread.is_empty() {
        let kept = inventory.reach(roots.iter().copied());
        let is_due = |copy: &u32| {
            let flagged = plan.marks.get(copy).and_then(|mark| mark.flagged);
            flagged.is_some_and(|since| rules.now.since(since) >= rules.grace)
                && !kept.reached.has(inventory.copies[*copy as usize].id)
        };
        let due: Vec<u32> = plan.marks.keys().copied().filter(is_due).collect();
        plan.marks.retain(|copy, _| !due.contains(copy));
        plan.removed.extend(due);
        plan.rewritten.clear();
    }
    if is_planted(Fault::RemovedById) {
        let removed: BTreeSet<u32> = plan.removed.iter().copied().collect();
        let whole = |copy: &u32| {
            let copies = inventory.copies_of(inventory.copies[*copy as usize].id);
            copies.into_iter().all(|copy| removed.contains(&(copy as u32)))
        };
        plan.removed.retain(whole);
        plan.dead_packs.retain(|pack| {
            let in_pack = |copy: &u32| inventory.blocks[inventory.copies[*copy as usize].block as usize].pack == *pack;
            let left = (0..inventory.copies.len() as u32).filter(in_pack);
            left.into_iter().all(|copy| plan.removed.contains(&copy))
        });
    }
    plan
}
