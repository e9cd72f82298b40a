//! Changes: what a plan makes of one domain's part of the state: its segments, packs and marks.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bytes::Bytes;
use copal_engine::id::{ChunkId, ObjectHash, PackId, PackTag};
use copal_engine::index::{Bits, Entry, Mark, Segment, merge};
use copal_engine::layout;
use copal_engine::mark::Inventory;
use copal_engine::plan::{self, Plan};

use super::copies::Copies;
use super::deletion;
use super::domain::Part;
use super::repack::Moved;
use crate::commit::Proposal;
use crate::error::JobError;

impl Part<'_> {
    /// Replaces the segments that hold something removed or moved.
    pub(super) fn change_segments(
        &self,
        inventory: &Inventory,
        plan: &Plan,
        moved: &Moved,
        copies: &Copies,
        proposal: &mut Proposal,
    ) -> Result<(), JobError> {
        let mut leaving: HashSet<(PackId, u32, u16)> = HashSet::new();
        let place = |copy: u32| {
            let item = &inventory.copies[copy as usize];
            let block = &inventory.blocks[item.block as usize];
            (inventory.packs[block.pack as usize].id, block.offset, item.ordinal)
        };
        leaving.extend(plan.removed.iter().map(|&copy| place(copy)));
        let gone: HashSet<u32> = plan.removed.iter().copied().collect();
        for range in ids_of(inventory) {
            if range.clone().all(|copy| gone.contains(&copy)) {
                let id = inventory.ids[inventory.copies[range.start as usize].id as usize];
                proposal.removed_ids.insert((self.domain, id));
            }
        }
        for copy in 0..inventory.copies.len() as u32 {
            if moved.blocks.contains_key(&inventory.copies[copy as usize].block) {
                leaving.insert(place(copy));
            }
        }
        if leaving.is_empty() {
            return Ok(());
        }
        // A copied block keeps exactly the entries that were present in it.
        let staying: HashSet<(PackId, u32, u16)> = (0..inventory.copies.len() as u32)
            .filter(|copy| !gone.contains(copy))
            .filter_map(|copy| {
                let item = &inventory.copies[copy as usize];
                let (pack, offset) = moved.blocks.get(&item.block)?;
                Some((*pack, *offset, item.ordinal))
            })
            .collect();
        let fresh = moved.segment(self.host, self.domain, copies)?;
        let stays = |entry: &Entry| {
            let place = (entry.location.pack, entry.location.offset, entry.location.ordinal);
            if moved.packs.contains(&entry.location.pack) {
                staying.contains(&place)
            } else {
                !leaving.contains(&place)
            }
        };
        let mut parts: Vec<(Option<ObjectHash>, &Segment<Bytes>)> = fresh.iter().map(|fresh| (None, fresh)).collect();
        parts.extend(self.view.segments_by_size(self.domain).into_iter().map(|(hash, segment)| (Some(hash), segment)));
        for group in groups(&parts, self.options.segment_most) {
            // A large segment of which nothing leaves stays.
            if let [(Some(_), segment)] = group
                && segment.entries().all(|entry| stays(&entry))
            {
                continue;
            }
            let segments: Vec<&Segment<Bytes>> = group.iter().map(|(_, segment)| *segment).collect();
            let merged = merge(self.domain, self.host.random(), &segments, |entry| stays(entry))?;
            for hash in group.iter().filter_map(|(hash, _)| *hash) {
                proposal.delta.segments.insert((self.domain, hash), None);
                deletion::doom(self.view, layout::segment(hash), self.now, proposal);
            }
            if let Some(merged) = merged {
                proposal.delta.segments.insert((self.domain, merged.hash), Some(merged.record));
                proposal.segments.push((merged.hash, merged.bytes));
            }
        }
        Ok(())
    }

    /// Dooms packs that nothing present lies in any more, and records the new ones.
    pub(super) fn change_packs(
        &self,
        inventory: &Inventory,
        plan: &Plan,
        moved: &Moved,
        copies: &Copies,
        proposal: &mut Proposal,
    ) {
        let dead = plan.dead_packs.iter().copied().chain(moved.emptied.iter().copied());
        for pack in dead.map(|number| &inventory.packs[number as usize]) {
            proposal.delta.packs.insert(pack.id, None);
            deletion::doom(self.view, layout::pack(pack.place, pack.id), self.now, proposal);
        }
        for id in &moved.packs {
            let record = copies.packs()[id].record(self.domain, self.now);
            proposal.delta.packs.insert(*id, Some(record));
        }
    }

    /// Writes what changed in the overlay. Copies of one id in one pack share a record: the mildest stands.
    pub(super) fn change_overlay(&self, inventory: &Inventory, plan: &Plan, moved: &Moved, proposal: &mut Proposal) {
        let gone: BTreeSet<u32> = plan.removed.iter().copied().collect();
        let mut new: BTreeMap<(ChunkId, PackTag), Mark> = BTreeMap::new();
        let mut emptied = Vec::new();
        for copy in 0..inventory.copies.len() as u32 {
            let item = &inventory.copies[copy as usize];
            let id = inventory.ids[item.id as usize];
            let tag = inventory.pack_of(item).id.tag();
            let new_tag = moved.blocks.get(&item.block).map_or(tag, |(pack, _)| pack.tag());
            if gone.contains(&copy) || new_tag != tag {
                emptied.push((id, tag));
            }
            if !gone.contains(&copy) {
                let record = record_of(plan.marks.get(&copy), inventory.pack_of(item).is_healthy);
                let shared = new.entry((id, new_tag)).or_insert(record);
                shared.bits = shared.bits.without(shared.bits.without(record.bits));
                shared.time = shared.time.max(record.time);
            }
        }
        for key in emptied {
            new.entry(key).or_default();
        }
        // What was lost and is not needed any more, or is there again, is forgotten; but below a page that cannot be
        // read nobody knows what is needed.
        let noted = self.view.indexes[&self.domain].overlay().marks();
        for (key, _) in noted.filter(|((id, tag), _)| {
            *tag == PackTag::NONE && (plan.unread.is_empty() || inventory.number(id).is_some())
        }) {
            new.insert(key, Mark::default());
        }
        for id in &plan.absent {
            new.insert((*id, PackTag::NONE), Mark { time: self.now, bits: Bits::LOST | Bits::WANTED });
        }
        let index = &self.view.indexes[&self.domain];
        let changed = new.into_iter().filter(|((id, tag), record)| {
            let old = index.overlay().mark(id, *tag);
            old.bits != record.bits || (!record.bits.is_empty() && old.time != record.time)
        });
        proposal.overlay.entry(self.domain).or_default().extend(changed);
        if proposal.overlay[&self.domain].is_empty() {
            proposal.overlay.remove(&self.domain);
        }
    }
}

/// Segments that are merged into one each: neighbours, the smallest first, as long as they have few enough entries
/// together.
fn groups<'a, 'b>(
    parts: &'a [(Option<ObjectHash>, &'b Segment<Bytes>)],
    most: u64,
) -> Vec<&'a [(Option<ObjectHash>, &'b Segment<Bytes>)]> {
    let mut groups = Vec::new();
    let (mut start, mut total) = (0, 0);
    for (at, (_, segment)) in parts.iter().enumerate() {
        let entries = segment.len() as u64;
        if at > start && total + entries > most {
            groups.push(&parts[start..at]);
            (start, total) = (at, 0);
        }
        total += entries;
    }
    if start < parts.len() {
        groups.push(&parts[start..]);
    }
    groups
}

/// What the overlay says of a copy that stays. Whether it is lost follows from its pack alone.
fn record_of(mark: Option<&plan::Mark>, is_healthy: bool) -> Mark {
    let mark = mark.copied().unwrap_or_default();
    let mut bits = Bits::NONE;
    if mark.flagged.is_some() {
        bits |= Bits::FLAGGED;
    }
    if mark.wanted {
        bits |= Bits::WANTED;
    }
    if !is_healthy {
        bits |= Bits::LOST | Bits::WANTED;
    }
    Mark { time: mark.flagged.unwrap_or_default(), bits }
}

/// The ranges of copies that share an id.
fn ids_of(inventory: &Inventory) -> impl Iterator<Item = core::ops::Range<u32>> {
    let mut at = 0;
    core::iter::from_fn(move || {
        let first = inventory.copies.get(at as usize)?;
        let range = inventory.copies_of(first.id);
        at = range.end as u32;
        Some(range.start as u32..range.end as u32)
    })
}
