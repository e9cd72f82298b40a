//! Index: makes the segments and the overlay of a domain from the tables of its packs.

use std::collections::BTreeSet;

use copal_engine::mark::{Inventory, InventoryBuilder, PackItem, Trust};
use copal_format::id::{ChunkId, DomainId, PackId, PackTag, SnapshotId};
use copal_format::index::{Bits, Mark, NewSegment, Segment, SegmentWriter, merge};
use copal_format::layout;
use copal_format::limits::SEGMENT_ENTRIES;
use copal_format::room::Scratch;
use copal_format::state::{SnapshotRecord, SnapshotState};
use copal_format::time::Time;

use super::Report;
use super::contents::Found;
use crate::commit::Proposal;
use crate::compact;
use crate::context::JobContext;
use crate::error::JobError;

/// Writes the index of a domain: everything its packs hold, except pages that nothing kept needs and below which
/// something is missing. Entries that no kept snapshot reaches are flagged from now on.
pub(super) fn index_domain(
    job: &JobContext<'_>,
    (domain, guarded): (DomainId, &BTreeSet<SnapshotId>),
    (packs, snapshots): (&[(&PackId, &Found)], &[SnapshotRecord]),
    now: Time,
    proposal: &mut Proposal,
    report: &mut Report,
) -> Result<(), JobError> {
    let all = segments_of(job, domain, packs)?;
    let stays = |record: &SnapshotRecord| record.state == SnapshotState::Forgotten && guarded.contains(&record.id);
    let roots: Vec<ChunkId> = snapshots
        .iter()
        .filter(|record| record.state == SnapshotState::Kept || stays(record))
        .map(|record| record.root)
        .collect();
    if all.is_empty() {
        let overlay = proposal.overlay.entry(domain).or_default();
        for id in &roots {
            overlay.insert((*id, PackTag::NONE), Mark { time: now, bits: Bits::LOST | Bits::WANTED });
        }
        report.lost += roots.len() as u64;
        return Ok(());
    }
    let segments = all.iter().map(|new| {
        let segment = Segment::parse(new.bytes.as_slice());
        segment.map_err(|error| JobError::damaged(layout::segment(new.hash), error))
    });
    let segments: Vec<Segment<&[u8]>> = segments.collect::<Result<_, JobError>>()?;
    let inventory = inventory_of(&segments, packs, job.scratch)?;
    let reach = inventory.graph.reach(roots);
    // Pages that nothing kept reaches and below which something is missing.
    let removed = inventory.graph.above(|reference| reference.is_none(), |page| reach.reached.has(page));
    for segment in &segments {
        let kept = merge(domain, job.random(), &[segment], |entry| {
            inventory.graph.number(&entry.id).is_some_and(|number| !removed.has(number))
        })?;
        if let Some(kept) = kept {
            report.entries += kept.record.entries;
            proposal.delta.segments.insert((domain, kept.hash), Some(kept.record));
            proposal.segments.push((kept.hash, kept.bytes));
        }
    }
    // A pack without any entry left would be named forever. Left out, it becomes an orphan, which prune deletes.
    let needed = inventory.copies().filter(|(_, copy)| !removed.has(copy.id));
    let needed: BTreeSet<PackId> = needed.map(|(_, copy)| inventory.pack_of(&copy).id).collect();
    for (id, pack) in packs.iter().filter(|(id, _)| !needed.contains(id)) {
        proposal.delta.packs.remove(id);
        let why = "no kept snapshot needs its pages, and what they refer to is not there";
        report.packs_left_out.push((layout::pack(pack.record.place, **id), why.into()));
    }
    let overlay = proposal.overlay.entry(domain).or_default();
    for (_, id, copy) in inventory.copies_with_ids() {
        if removed.has(copy.id) {
            continue;
        }
        let pack = inventory.pack_of(&copy);
        let flagged = if reach.reached.has(copy.id) { Bits::NONE } else { Bits::FLAGGED };
        let lost = if pack.is_healthy { Bits::NONE } else { Bits::LOST | Bits::WANTED };
        let bits = flagged | lost;
        if !bits.is_empty() {
            overlay.insert((id, pack.id.tag()), Mark { time: now, bits });
        }
    }
    for id in &reach.unresolved {
        overlay.insert((*id, PackTag::NONE), Mark { time: now, bits: Bits::LOST | Bits::WANTED });
    }
    report.lost += reach.unresolved.len() as u64;
    Ok(())
}

/// Everything that the packs hold. A domain with more entries than a segment may have gets several segments.
fn segments_of(
    job: &JobContext<'_>,
    domain: DomainId,
    packs: &[(&PackId, &Found)],
) -> Result<Vec<NewSegment>, JobError> {
    let most = compact::entries_most(job.store, SEGMENT_ENTRIES);
    let mut segments = Vec::new();
    let mut writer = SegmentWriter::new(domain, job.random());
    for (id, pack) in packs {
        if !writer.is_empty() && (writer.len() + pack.table.ids.len()) as u64 > most {
            let full = core::mem::replace(&mut writer, SegmentWriter::new(domain, job.random()));
            segments.extend(full.finish());
        }
        writer.add_pack(**id, pack.record.place, &pack.table)?;
    }
    segments.extend(writer.finish());
    Ok(segments)
}

fn inventory_of<'a>(
    segments: &[Segment<&'a [u8]>],
    packs: &[(&PackId, &Found)],
    scratch: &'a dyn Scratch,
) -> Result<Inventory<'a, &'a [u8]>, JobError> {
    let mut inventory = InventoryBuilder::new(segments.to_vec(), scratch)?;
    for (id, pack) in packs {
        // Only a plan uses trust.
        let item = PackItem::of(**id, &pack.record, !pack.record.is_damaged, Trust::Claimed);
        inventory.add_pack(item, Some(&pack.table))?;
    }
    Ok(inventory.finish()?)
}
