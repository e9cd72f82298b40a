//! Changes: applies a plan to one domain's segments, packs and marks.

use core::iter::Peekable;
use std::collections::{BTreeMap, BTreeSet, btree_map};

use bytes::Bytes;
use copal_engine::mark::PackItem;
use copal_engine::plan::Plan;
use copal_format::id::{ChunkId, ObjectHash, PackId, PackTag};
use copal_format::index::{Bits, Copied, Mark, NewMarks, Segment, merge};
use copal_format::layout::{self, Prunable};
use copal_format::room::Scratch;

use super::inventory::Inventory;
use super::new_packs::NewPacks;
use super::part::Part;
use super::repack::Moved;
use super::replay::{Replay, Written};
use crate::commit::{Proposal, put};
use crate::error::JobError;

impl Part<'_> {
    /// Rewrites the segments that hold leaving entries, and writes the entries of new packs.
    pub(super) async fn write_segments(
        &self,
        inventory: &Inventory<'_>,
        plan: &Plan,
        moved: &Moved,
        new_packs: &NewPacks,
        replay: &mut Replay<'_>,
    ) -> Result<(), JobError> {
        let leaving = &replay.leaving;
        if leaving.is_empty() {
            return Ok(());
        }
        replay.fresh = moved.segment(self, inventory, plan, new_packs)?;
        let fresh = replay.fresh.as_ref().map(|fresh| Segment::parse(Bytes::copy_from_slice(&fresh.bytes)));
        let damaged = |error| JobError::damaged("index/", error);
        let fresh = fresh.transpose().map_err(damaged)?;
        let mut parts: Vec<(Option<ObjectHash>, &Segment<Bytes>)> = fresh.iter().map(|fresh| (None, fresh)).collect();
        parts.extend(self.view.segments_by_size(self.domain).into_iter().map(|(hash, segment)| (Some(hash), segment)));
        for group in groups(&parts, self.options.segment_most) {
            // A large segment that loses nothing stays.
            if let [(Some(_), segment)] = group
                && !segment.entries().any(|entry| leaving.has(&entry))
            {
                continue;
            }
            let segments: Vec<&Segment<Bytes>> = group.iter().map(|(_, segment)| *segment).collect();
            let merged = merge(self.domain, self.job.random(), &segments, |entry| !leaving.has(entry))?;
            let output = merged.as_ref().map(|merged| (merged.hash, merged.record.clone()));
            if let Some(merged) = merged {
                // Stored at once: all segments of a domain do not fit into memory. If no root names it, the run dooms
                // it.
                put(self.job.store, layout::segment(merged.hash), merged.bytes).await?;
            }
            let inputs: Vec<ObjectHash> = group.iter().filter_map(|(hash, _)| *hash).collect();
            let has_fresh = inputs.len() < group.len();
            replay.written.push(Written { inputs, output, has_fresh });
        }
        Ok(())
    }

    /// Dooms packs without present entries, and records the new packs. Returns the doomed ones.
    pub(super) fn change_packs(
        &self,
        inventory: &Inventory<'_>,
        plan: &Plan,
        moved: &Moved,
        new_packs: &NewPacks,
        proposal: &mut Proposal,
    ) -> BTreeSet<PackId> {
        let dead = plan.dead_packs.iter().copied().chain(moved.emptied.iter().copied());
        let dead: Vec<&PackItem> = dead.map(|number| &inventory.packs[number as usize]).collect();
        for pack in &dead {
            proposal.delta.packs.insert(pack.id, None);
            proposal.doom(self.view, Prunable::Pack(pack.place, pack.id), self.now);
        }
        for id in &moved.packs {
            let record = new_packs.packs()[id].record(self.domain, self.now);
            proposal.delta.packs.insert(*id, Some(record));
        }
        dead.iter().map(|pack| pack.id).collect()
    }

    /// The marks that change. Copies of one id in one pack share a mark, with only the bits that all of them have.
    pub(super) fn new_marks<'s>(
        &self,
        inventory: &Inventory<'_>,
        plan: &Plan,
        moved: &Moved,
        scratch: &'s dyn Scratch,
    ) -> NewMarks<'s> {
        let mut changes = Changes {
            marks: NewMarks::new(scratch),
            beside: self.marks_without_copies(inventory, plan).into_iter().peekable(),
        };
        let mut noted = self.view.indexes[&self.domain].overlay().marks().peekable();
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
            // A copy that leaves a pack removes its mark there, unless another copy of the id stays in the pack.
            if is_gone || new_tag != tag {
                left.push(tag);
            }
            if copies.peek().is_none_or(|(_, next, _)| *next != id) {
                for tag in left.drain(..) {
                    if of_id.iter().all(|(of, _)| *of != tag) {
                        of_id.push((tag, Mark::default()));
                    }
                }
                of_id.sort_unstable_by_key(|(tag, _)| *tag);
                while noted.next_if(|((of, _), _)| *of < id).is_some() {}
                let old: Vec<(PackTag, Mark)> = core::iter::from_fn(|| noted.next_if(|((of, _), _)| *of == id))
                    .map(|((_, tag), of)| (tag, of))
                    .collect();
                for (tag, record) in of_id.drain(..) {
                    let old = old.iter().find(|(of, _)| *of == tag).map_or(Mark::default(), |(_, mark)| *mark);
                    if is_other(&old, &record) {
                        changes.push((id, tag), record);
                    }
                }
            }
        }
        changes.finish()
    }

    /// The changed marks of ids without copies, or that had none before.
    fn marks_without_copies(&self, inventory: &Inventory<'_>, plan: &Plan) -> BTreeMap<Copied, Mark> {
        let overlay = self.view.indexes[&self.domain].overlay();
        let mut changed = BTreeMap::new();
        // Drops lost marks of ids that are not needed or are back. Below an unreadable page nobody knows what is
        // needed.
        let is_absent = |id: &ChunkId| plan.absent.binary_search(id).is_ok();
        for ((id, tag), _) in overlay.marks().filter(|((id, tag), _)| *tag == PackTag::NONE && !is_absent(id)) {
            if plan.unread.is_empty() || inventory.graph.number(&id).is_some() {
                changed.insert((id, tag), Mark::default());
            }
        }
        // An id that is marked already keeps the time of its loss.
        let bits = Bits::LOST | Bits::WANTED;
        for id in plan.absent.iter().filter(|id| overlay.bits(id, PackTag::NONE) != bits) {
            changed.insert((*id, PackTag::NONE), Mark { time: self.now, bits });
        }
        changed
    }
}

/// Merges new marks from two ascending sources.
struct Changes<'a> {
    marks: NewMarks<'a>,
    beside: Peekable<btree_map::IntoIter<Copied, Mark>>,
}

impl<'a> Changes<'a> {
    fn push(&mut self, copy: Copied, mark: Mark) {
        while let Some((before, mark)) = self.beside.next_if(|(of, _)| *of < copy) {
            self.marks.push(before, mark);
        }
        self.marks.push(copy, mark);
    }

    fn finish(mut self) -> NewMarks<'a> {
        self.beside.for_each(|(copy, mark)| self.marks.push(copy, mark));
        self.marks
    }
}

fn is_other(old: &Mark, new: &Mark) -> bool {
    old.bits != new.bits || (!new.bits.is_empty() && old.time != new.time)
}

/// Adds the mark of a copy to those of its id.
fn take(records: &mut Vec<(PackTag, Mark)>, tag: PackTag, record: Mark) {
    match records.iter_mut().find(|(of, _)| *of == tag) {
        Some((_, shared)) => {
            shared.bits = shared.bits.without(shared.bits.without(record.bits));
            shared.time = shared.time.max(record.time);
        }
        None => records.push((tag, record)),
    }
}

/// Groups neighbouring segments, the smallest first, up to `most` entries per group. Each group is merged into one.
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

/// The mark of a copy that stays. Whether it is lost depends on its pack alone.
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

#[cfg(test)]
mod tests {
    use copal_format::id::DomainId;
    use copal_format::index::SegmentWriter;
    use copal_format::layout::Place;
    use copal_format::pack::{PackKind, PackWriter};
    use copal_format::room::Memory;
    use copal_format::time::Time;

    use super::*;

    const DOMAIN: DomainId = DomainId([1; 16]);

    /// A segment with so many entries.
    fn segment(entries: u8) -> Segment<Bytes> {
        let mut pack = PackWriter::new(PackKind::Data, DOMAIN, [1; 16], vec![vec![1]]).unwrap();
        pack.add_block(&[0; 100], 0, 0, (0..entries).map(|at| ChunkId([at; 24])), []).unwrap();
        let pack = pack.finish();
        let mut segment = SegmentWriter::new(DOMAIN, [1; 16]);
        segment.add_pack(pack.id, Place::Packs, &pack.table).unwrap();
        Segment::parse(Bytes::from(segment.finish().unwrap().bytes)).unwrap()
    }

    #[test]
    fn neighbouring_segments_are_merged_as_long_as_together_they_are_not_too_large() {
        let segments = [2, 3, 5, 4, 9, 1].map(segment);
        let parts: Vec<_> = segments.iter().map(|segment| (None, segment)).collect();
        let sizes = |most| -> Vec<Vec<usize>> {
            groups(&parts, most).iter().map(|group| group.iter().map(|(_, of)| of.len()).collect()).collect()
        };
        assert_eq!(sizes(10), [vec![2, 3, 5], vec![4], vec![9, 1]]);
        assert_eq!(sizes(0), [2, 3, 5, 4, 9, 1].map(|size| vec![size]));
        assert_eq!(sizes(100), [vec![2, 3, 5, 4, 9, 1]]);
        assert!(groups(&[], 10).is_empty());
    }

    #[test]
    fn marks_beside_those_of_copies_are_written_in_the_order_of_their_ids() {
        let copy = |number: u8| (ChunkId([number; 24]), PackTag::NONE);
        let beside = BTreeMap::from([1, 2, 5, 8].map(|number| (copy(number), Mark::default())));
        let mut changes = Changes { marks: NewMarks::new(&Memory), beside: beside.into_iter().peekable() };
        // `NewMarks` accepts no other order.
        [3, 4, 7].into_iter().for_each(|number| changes.push(copy(number), Mark::default()));
        assert_eq!(changes.finish().len(), 7);
    }

    #[test]
    fn copies_of_an_id_in_one_pack_share_the_bits_that_all_have_and_the_latest_time() {
        let mark = |time, bits| Mark { time: Time(time), bits };
        let tag = |number| PackId([number; 32]).tag();
        let mut records = Vec::new();
        take(&mut records, tag(1), mark(1, Bits::FLAGGED | Bits::WANTED));
        take(&mut records, tag(2), mark(9, Bits::LOST));
        take(&mut records, tag(1), mark(2, Bits::FLAGGED | Bits::LOST));
        take(&mut records, tag(1), mark(0, Bits::FLAGGED));
        assert_eq!(records, [(tag(1), mark(2, Bits::FLAGGED)), (tag(2), mark(9, Bits::LOST))]);
    }

    #[test]
    fn a_mark_is_another_one_if_it_has_other_bits_or_the_same_since_another_time() {
        let mark = |time, bits| Mark { time: Time(time), bits };
        assert!(is_other(&mark(1, Bits::FLAGGED), &mark(1, Bits::WANTED)));
        assert!(is_other(&mark(1, Bits::FLAGGED), &mark(2, Bits::FLAGGED)));
        assert!(!is_other(&mark(1, Bits::FLAGGED), &mark(1, Bits::FLAGGED)));
        assert!(!is_other(&mark(1, Bits::NONE), &mark(2, Bits::NONE)), "no mark has no time");
    }
}
