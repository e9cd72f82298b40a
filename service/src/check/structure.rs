//! Structure: that the newest root names only what is there and whole, that the index says what the tables say, and that
//! every reference of a page that is present resolves or is known to be lost.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_engine::id::{ChunkId, DomainId, PackId, PackTag};
use copal_engine::index::{Bits, Location, Segment};
use copal_engine::layout;
use copal_engine::mark::{InventoryBuilder, PackItem};
use copal_engine::pack::{BlockRow, PackTable};
use copal_engine::state::{PackRecord, SnapshotState};
use copal_store::StoreError;

use super::{Harm, Kind, Report};
use crate::error::JobError;
use crate::host::Host;
use crate::objects::{self, Call};
use crate::view::View;

/// Checks what the root names, one domain after another.
pub(super) async fn check(host: &Host<'_>, view: &View, report: &mut Report, harm: &mut Harm) -> Result<(), JobError> {
    check_segments(host, view, report).await?;
    let of_packs = view.state.packs.values().map(|record| record.domain);
    let domains: BTreeSet<DomainId> = view.indexes.keys().copied().chain(of_packs).collect();
    for domain in domains {
        let inventory = inventory(host, view, domain, harm, Some(report)).await?;
        check_closure(view, domain, &inventory, report);
    }
    Ok(())
}

async fn check_segments(host: &Host<'_>, view: &View, report: &mut Report) -> Result<(), JobError> {
    for domain in view.indexes.keys() {
        for (hash, segment) in view.segments_of(*domain) {
            let name = layout::segment(hash);
            match objects::read_hashed(host.store, &name, hash).await {
                Ok(Some(_)) => {}
                Ok(None) => report.add(Kind::Missing, &name, "it is not there"),
                Err(JobError::Damaged { why, .. }) => report.add(Kind::Damaged, &name, why),
                Err(error) => return Err(error),
            }
            if let Err(error) = segment.verify() {
                report.add(Kind::Damaged, &name, error);
            }
            if segment.domain() != *domain {
                report.add(Kind::Damaged, &name, "it is of another domain than the state says");
            }
        }
    }
    Ok(())
}

/// What a domain holds. What is wrong with its packs is added to what is known of harm, and reported if that is asked for;
/// an entry that its pack's table does not confirm is reported once for each pack.
pub(super) async fn inventory(
    host: &Host<'_>,
    view: &View,
    domain: DomainId,
    harm: &mut Harm,
    mut report: Option<&mut Report>,
) -> Result<Inventory, JobError> {
    let segments: Vec<Segment<Bytes>> = view.segments_of(domain).map(|(_, segment)| segment.clone()).collect();
    let mut unconfirmed: BTreeMap<PackId, u64> = BTreeMap::new();
    if report.is_some() {
        for entry in segments.iter().flat_map(Segment::entries) {
            *unconfirmed.entry(entry.location.pack).or_default() += 1;
        }
    }
    let mut inventory = InventoryBuilder::new(segments.clone())?;
    let of_domain = view.state.packs.iter().filter(|(_, record)| record.domain == domain);
    let packs: Vec<(&PackId, &PackRecord)> = of_domain.collect();
    for some in packs.chunks(TABLES) {
        let calls = some.iter().map(|(id, record)| -> Call<'_, _> { Box::pin(read_table(host, **id, record)) });
        let read = objects::together(calls).await?;
        for ((id, record), read) in some.iter().zip(read) {
            let table = match read {
                Ok(table) => {
                    if record.is_missing {
                        harm.returned.insert(**id);
                    }
                    Some(table)
                }
                Err((kind, why)) => {
                    let harmed = if kind == Kind::Missing { &mut harm.missing } else { &mut harm.damaged };
                    harmed.insert(**id);
                    if let Some(report) = &mut report {
                        report.add_pack(kind, layout::pack(record.place, **id), **id, why);
                    }
                    // What cannot be confirmed is reported already.
                    unconfirmed.remove(id);
                    None
                }
            };
            if let (Some(table), Some(entries)) = (&table, unconfirmed.get_mut(id)) {
                *entries = entries.saturating_sub(confirmed(&segments, **id, table));
            }
            let item = PackItem {
                id: **id,
                place: record.place,
                kind: record.kind,
                length: record.length,
                is_healthy: !harm.hits(id),
                accepted: record.accepted,
            };
            inventory.add_pack(item, table.as_ref())?;
        }
    }
    if let Some(report) = report {
        for (pack, entries) in unconfirmed.into_iter().filter(|(_, entries)| *entries > 0) {
            let why = format!("the index names {entries} entries that are not in its table");
            report.add_pack(Kind::Damaged, pack.to_string(), pack, why);
        }
    }
    Ok(inventory.finish())
}

/// Everything a domain holds, over mapped segments.
pub(super) type Inventory = copal_engine::mark::Inventory<Bytes>;

/// The table of a pack, or what is wrong with the pack.
async fn read_table(
    host: &Host<'_>,
    id: PackId,
    record: &PackRecord,
) -> Result<Result<PackTable, (Kind, String)>, JobError> {
    let name = layout::pack(record.place, id);
    let missing = || Ok(Err((Kind::Missing, "it is not there".to_owned())));
    let Some(stat) = host.store.stat(&objects::key(&name)).await? else { return missing() };
    if stat.length != record.length {
        let why = format!("it has {} bytes and should have {}", stat.length, record.length);
        return Ok(Err((Kind::Damaged, why)));
    }
    match objects::read_table(host.store, record.place, id, record.length).await {
        Ok(table) if table.domain == record.domain && table.kind == record.kind => Ok(Ok(table)),
        Ok(_) => Ok(Err((Kind::Damaged, "its table is of another domain or kind".into()))),
        Err(JobError::Damaged { why, .. }) => Ok(Err((Kind::Damaged, why))),
        Err(JobError::Store(StoreError::NotFound { .. })) => missing(),
        Err(error) => Err(error),
    }
}

/// How many entries of the index say what a pack's table says.
fn confirmed(segments: &[Segment<Bytes>], pack: PackId, table: &PackTable) -> u64 {
    let ids = |row: &BlockRow| (row.offset, table.block_ids(row).iter().enumerate());
    let rows = table.blocks.iter().map(ids).flat_map(|(offset, ids)| ids.map(move |(at, id)| (*id, offset, at)));
    let mut said: Vec<(ChunkId, u32, usize)> = rows.collect();
    said.sort_unstable();
    let mut entries = 0;
    // Each id is looked for once, however often the table has it.
    for copies in said.chunk_by(|a, b| a.0 == b.0) {
        let id = copies[0].0;
        let is_said = |place: &Location| {
            place.pack == pack && copies.binary_search(&(id, place.offset, usize::from(place.ordinal))).is_ok()
        };
        entries += segments.iter().map(|segment| segment.find(&id).filter(is_said).count() as u64).sum::<u64>();
    }
    entries
}

fn check_closure(view: &View, domain: DomainId, inventory: &Inventory, report: &mut Report) {
    let kept = view.state.snapshots.values();
    let kept = kept.filter(|snapshot| snapshot.domain == domain && snapshot.state == SnapshotState::Kept);
    let graph = &inventory.graph;
    let mut unresolved = graph.reach_from((0..graph.count()).filter(|&id| graph.is_page(id))).unresolved;
    unresolved.extend(kept.map(|snapshot| snapshot.root).filter(|root| graph.number(root).is_none()));
    unresolved.sort_unstable();
    unresolved.dedup();
    let is_lost = |id: &ChunkId| {
        view.index(domain).is_some_and(|index| index.overlay().bits(id, PackTag::NONE).contains(Bits::LOST))
    };
    for id in unresolved {
        let why = if is_lost(&id) {
            "it is lost: no pack holds it any more"
        } else {
            "a page that is present refers to it, and no pack holds it"
        };
        report.add(Kind::Dangling, id.to_string(), why);
    }
}

/// Tables that are read at the same time.
const TABLES: usize = 256;
