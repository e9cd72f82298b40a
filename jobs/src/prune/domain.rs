//! One domain's part of a prune: the plan, and the report about it.

use core::time::Duration;
use std::collections::BTreeSet;

use copal_engine::mark::Marks;
use copal_engine::plan::{self, Plan, Rules, plan};
use copal_format::id::ChunkId;
use copal_format::pack::PackKind;
use copal_format::room::Scratch;
use copal_format::state::PackRecord;
use copal_format::time::Time;

use super::inventory::Inventory;
use super::leaving::Leaving;
use super::new_packs::NewPacks;
use super::part::{Part, Work};
use super::repack::move_blocks;
use super::replay::Replay;
use super::sabotage::sabotage;
use super::tables::Tables;
use super::{Live, Report, Sparse, SparseBlock};
use crate::commit::Proposal;
use crate::error::JobError;
use crate::faults::{Mistake, is_planted};

impl Part<'_> {
    /// Adds this domain's changes to the proposal, except those of its index: these are returned. None in a dry run.
    pub(super) async fn propose<'s>(
        &self,
        roots: &[ChunkId],
        work: &mut Work<'_>,
        scratch: &'s dyn Scratch,
        proposal: &mut Proposal,
        report: &mut Report,
    ) -> Result<Option<Replay<'s>>, JobError> {
        self.verify_segments()?;
        let mut inventory = self.inventory(work.tables, proposal).await?;
        let old = self.marks(&inventory);
        let mut rules = self.rules(work.allowance, work.entries);
        let (mut is_full, mut damaged) = (false, BTreeSet::new());
        let (plan, moved) = loop {
            let mut plan = self.plan(&inventory, &old, roots, work.new_packs, &rules);
            if self.options.is_dry_run {
                self.report(&inventory, &old, roots, &rules, &plan, report);
                return Ok(None);
            }
            let wanted = plan.copied_bytes + plan.postponed_bytes;
            if self.is_first && !plan.dead_packs.is_empty() && plan.copied_bytes > 0 {
                rules.rewrite_most = 0;
                work.has_put_off = true;
                plan = self.plan(&inventory, &old, roots, work.new_packs, &rules);
            }
            let moved = move_blocks(self, &inventory, work, &plan).await?;
            rules.rewrite_most = rules.rewrite_most.saturating_sub(moved.bytes);
            if moved.is_full {
                // Blocks copied before the disk was full may still be useful.
                (is_full, rules.rewrite_most) = (true, 0);
            } else if moved.damaged.is_empty() {
                work.wanted += wanted;
                break (plan, moved);
            }
            // The plan may rely on a damaged pack or its table: decide again without that pack.
            damaged.extend(moved.damaged.iter().map(|number| inventory.packs[*number as usize].id));
            if moved.damaged.iter().any(|number| inventory.packs[*number as usize].kind == PackKind::Tree) {
                damaged.iter().for_each(|id| work.tables.doubt(*id));
                inventory = self.inventory(work.tables, proposal).await?;
            }
            for item in inventory.packs.iter_mut().filter(|item| damaged.contains(&item.id)) {
                item.is_healthy = false;
                let record = &self.view.state.packs[&item.id];
                proposal.delta.packs.insert(item.id, Some(PackRecord { is_damaged: true, ..record.clone() }));
            }
        };
        work.used.extend(&moved.packs);
        work.allowance = rules.rewrite_most;
        let entries: u64 = moved.blocks.keys().map(|block| u64::from(inventory.block(*block).entries)).sum();
        work.entries = work.entries.saturating_sub(entries);
        report.is_full |= is_full;
        self.report(&inventory, &old, roots, &rules, &plan, report);
        self.bury_roots(&inventory, &plan, proposal);
        let leaving = Leaving::of(&inventory, &plan, &moved, scratch);
        let marks = self.new_marks(&inventory, &plan, &moved, scratch);
        let overlay = self.view.indexes[&self.domain].overlay().clone();
        let mut replay = Replay::new(self.domain, self.now, leaving, marks, overlay);
        self.write_segments(&inventory, &plan, &moved, work.new_packs, &mut replay).await?;
        replay.dead = self.change_packs(&inventory, &plan, &moved, work.new_packs, proposal);
        Ok(Some(replay))
    }

    /// The blocks that hold so little live data that it is worth writing that data anew.
    pub(super) async fn sparse(&self, roots: &[ChunkId], trapped_most: u32, most: u64) -> Result<Sparse, JobError> {
        self.verify_segments()?;
        let inventory = self.inventory(&mut Tables::default(), &mut Proposal::default()).await?;
        let old = self.marks(&inventory);
        let plan = self.plan(&inventory, &old, roots, &NewPacks::default(), &self.rules(0, 0));
        let mut sparse = Sparse::default();
        if !plan.unread.is_empty() {
            return Ok(sparse);
        }
        let order = inventory.graph.order(roots.iter().copied());
        let mut live = Vec::new();
        for (number, copies) in plan::sparse_blocks(&inventory, &plan, trapped_most, most) {
            let block = inventory.block(number);
            let pack = &inventory.packs[block.pack as usize];
            for item in copies.iter().map(|copy| inventory.copy(*copy)) {
                let Some(id) = inventory.graph.id(item.id) else { continue };
                live.push((
                    // Ids that the walk does not meet come last.
                    order.get(item.id as usize).wrapping_sub(1),
                    Live { block: sparse.blocks.len() as u32, ordinal: item.ordinal, id },
                ));
            }
            let bytes = u64::from(block.length) * copies.len() as u64 / u64::from(block.entries.max(1));
            sparse.live_bytes += bytes;
            sparse.dead_bytes += u64::from(block.length).saturating_sub(bytes);
            sparse.blocks.push(SparseBlock {
                pack: pack.id,
                place: pack.place,
                kind: pack.kind,
                pack_length: pack.length,
                offset: block.offset,
                length: block.length,
            });
        }
        live.sort_unstable_by_key(|(place, _)| *place);
        sparse.live = live.into_iter().map(|(_, live)| live).collect();
        Ok(sparse)
    }

    fn rules(&self, allowance: u64, entries: u64) -> Rules {
        Rules {
            grace: self.options.grace,
            floor: if is_planted(Mistake::FloorNotAwaited) { Duration::ZERO } else { self.floor },
            spared: self.rebuilt.map(|rebuilt| rebuilt.time),
            now: self.now,
            dead_most: self.options.dead_most,
            trapped_most: TRAPPED_MOST,
            pack_target: self.options.pack_target,
            rewrite_most: allowance,
            rewrite_entries: entries,
        }
    }

    fn plan(
        &self,
        inventory: &Inventory<'_>,
        old: &Marks,
        roots: &[ChunkId],
        new_packs: &NewPacks,
        rules: &Rules,
    ) -> Plan {
        let copied = |block: u32| {
            let block = inventory.block(block);
            new_packs.of((inventory.packs[block.pack as usize].id, block.offset)).is_some()
        };
        let plan = plan(inventory, roots, old, copied, rules);
        sabotage(plan, inventory, roots, rules)
    }

    /// Notes the snapshots whose root pages this plan removes.
    fn bury_roots(&self, inventory: &Inventory<'_>, plan: &Plan, proposal: &mut Proposal) {
        for root in self.view.snapshots_of(self.domain).map(|(_, snapshot)| snapshot.root) {
            let Some(number) = inventory.graph.number(&root) else { continue };
            let mut copies = inventory.copies_of(number).peekable();
            if copies.peek().is_some() && copies.all(|copy| plan.removed.has(copy)) {
                proposal.removed_ids.insert((self.domain, root));
            }
        }
    }

    fn report(
        &self,
        inventory: &Inventory<'_>,
        old: &Marks,
        roots: &[ChunkId],
        rules: &Rules,
        now: &Plan,
        report: &mut Report,
    ) {
        report.entries_removed += now.removed.count();
        report.packs_dead += now.dead_packs.len() as u64;
        report.packs_rewritten += now.rewritten.len() as u64;
        report.dead_bytes += now.dead_bytes;
        report.trapped_bytes += now.trapped_bytes;
        report.unproven_copies += now.unproven_copies;
        report.lost += now.lost.len() as u64;
        report.unread += now.unread.len() as u64;
        report.bytes_planned += now.freed_bytes;
        report.bytes_postponed += now.postponed_bytes;
        let mut first: Option<Time> = None;
        for (copy, mark) in now.marks.iter() {
            report.entries_wanted += u64::from(mark.wanted);
            let Some(since) = mark.flagged else { continue };
            report.entries_flagged += u64::from(old.get(copy).flagged.is_none());
            first = Some(first.map_or(since, |first| first.min(since)));
        }
        let (mut dead, mut freed, mut trapped) = (now.dead_bytes, now.freed_bytes, now.trapped_bytes);
        if let Some(first) = first {
            let grace = core::time::Duration::ZERO;
            let without_grace = Rules { grace, floor: grace, spared: None, rewrite_entries: u64::MAX, ..rules.clone() };
            let all = plan(inventory, roots, old, |_| false, &without_grace);
            report.bytes_pending += all.freed_bytes.saturating_sub(now.freed_bytes);
            let from = Time(first.0.saturating_add(rules.grace.as_nanos() as i64));
            let from = self.rebuilt.filter(|of| first <= of.time).map_or(from, |of| of.until.max(from));
            report.pending_from = Some(report.pending_from.map_or(from, |other| other.min(from)));
            (dead, freed, trapped) = (all.dead_bytes, all.freed_bytes, all.trapped_bytes);
        }
        report.dead_for_good += dead.saturating_sub(freed);
        report.trapped_for_good += trapped;
    }
}

/// How many dead bytes partly live blocks may hold, in percent of the live bytes. Not 0, because backups cannot be
/// asked to upload everything again.
const TRAPPED_MOST: u32 = 5;
