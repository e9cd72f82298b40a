//! Changes: what a plan makes of one domain's part of the state: its segments, packs and marks.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use copal_engine::id::{ChunkId, ObjectHash, PackId, PackTag};
use copal_engine::index::{Bits, Entry, Mark, Segment, merge};
use copal_engine::layout;
use copal_engine::plan::Plan;

use super::copies::Copies;
use super::deletion;
use super::domain::{Inventory, Part};
use super::repack::Moved;
use crate::commit::{Proposal, put};
use crate::error::JobError;
use crate::view;

impl Part<'_> {
    /// Replaces the segments that hold something removed or moved.
    pub(super) async fn change_segments(
        &self,
        inventory: &Inventory,
        plan: &Plan,
        moved: &Moved,
        copies: &Copies,
        proposal: &mut Proposal,
    ) -> Result<(), JobError> {
        if plan.removed.iter().next().is_none() && moved.blocks.is_empty() {
            return Ok(());
        }
        // A copied block keeps exactly the entries that were present in it.
        let staying: HashSet<(PackId, u32, u16)> = inventory
            .copies()
            .filter(|(copy, _)| !moved.blocks.is_empty() && !plan.removed.has(*copy))
            .filter_map(|(_, item)| {
                let (pack, offset) = moved.blocks.get(&item.block)?;
                Some((*pack, *offset, item.ordinal))
            })
            .collect();
        let fresh = moved.segment(self.host, self.domain, copies)?;
        let stays = |entry: &Entry| {
            let place = &entry.location;
            if moved.packs.contains(&place.pack) {
                return staying.contains(&(place.pack, place.offset, place.ordinal));
            }
            let copy = inventory.copy_at(&entry.id, place);
            copy.is_none_or(|copy| !plan.removed.has(copy) && !moved.blocks.contains_key(&inventory.copy(copy).block))
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
                // At once: all of a domain do not fit into memory. If no root names it, the run dooms it.
                if !view::is_newest(self.host.store, &layout::root(self.view.number())).await? {
                    let evidence = format!("{} is not the newest any more", layout::root(self.view.number()));
                    return Err(JobError::StateLost { evidence });
                }
                put(self.host.store, layout::segment(merged.hash), merged.bytes).await?;
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
        let overlay = self.view.indexes[&self.domain].overlay();
        let mut changed: BTreeMap<(ChunkId, PackTag), Mark> = BTreeMap::new();
        let mut note = |id: ChunkId, tag: PackTag, record: Mark| {
            let old = overlay.mark(&id, tag);
            if old.bits != record.bits || (!record.bits.is_empty() && old.time != record.time) {
                changed.insert((id, tag), record);
            }
        };
        let (mut of_id, mut left): (Vec<(PackTag, Mark)>, Vec<PackTag>) = Default::default();
        let mut copies = inventory.copies_with_ids().peekable();
        while let Some((copy, id, item)) = copies.next() {
            let tag = inventory.pack_of(&item).id.tag();
            let new_tag = moved.blocks.get(&item.block).map_or(tag, |(pack, _)| pack.tag());
            let is_gone = plan.removed.has(copy);
            if !is_gone {
                let record = record_of(plan.marks.get(copy), inventory.pack_of(&item).is_healthy);
                take(&mut of_id, new_tag, record);
            }
            // What leaves a pack leaves its mark behind, unless another copy of the id in it stays.
            if is_gone || new_tag != tag {
                left.push(tag);
            }
            if copies.peek().is_none_or(|(_, next, _)| *next != id) {
                for tag in left.drain(..).filter(|tag| of_id.iter().all(|(of, _)| of != tag)) {
                    note(id, tag, Mark::default());
                }
                of_id.drain(..).for_each(|(tag, record)| note(id, tag, record));
            }
        }
        // What was lost and is not needed any more, or is there again, is forgotten; but below a page that cannot be
        // read nobody knows what is needed.
        let is_absent = |id: &ChunkId| plan.absent.binary_search(id).is_ok();
        for ((id, tag), _) in overlay.marks().filter(|((id, tag), _)| *tag == PackTag::NONE && !is_absent(id)) {
            if plan.unread.is_empty() || inventory.graph.number(&id).is_some() {
                note(id, tag, Mark::default());
            }
        }
        // What is lost since long is lost since then.
        for id in &plan.absent {
            let bits = Bits::LOST | Bits::WANTED;
            let old = overlay.mark(id, PackTag::NONE);
            note(*id, PackTag::NONE, if old.bits == bits { old } else { Mark { time: self.now, bits } });
        }
        if !changed.is_empty() {
            proposal.overlay.entry(self.domain).or_default().extend(changed);
        }
    }
}

/// Adds the record of a copy to those of its id.
fn take(records: &mut Vec<(PackTag, Mark)>, tag: PackTag, record: Mark) {
    match records.iter_mut().find(|(of, _)| *of == tag) {
        Some((_, shared)) => {
            shared.bits = shared.bits.without(shared.bits.without(record.bits));
            shared.time = shared.time.max(record.time);
        }
        None => records.push((tag, record)),
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
fn record_of(mark: copal_engine::mark::Mark, is_healthy: bool) -> Mark {
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
