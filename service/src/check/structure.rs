//! Structure: that the newest root names only what is there and whole, that the index says what the tables say, and that
//! every reference of a page that is present resolves or is known to be lost.

use std::collections::{BTreeMap, HashMap};

use copal_engine::id::{ChunkId, DomainId, PackId, PackTag};
use copal_engine::index::Bits;
use copal_engine::layout;
use copal_engine::mark::{Inventory, PackItem, Present};
use copal_engine::pack::PackTable;
use copal_engine::state::SnapshotState;
use copal_store::StoreError;

use super::{Harm, Kind, Report};
use crate::error::JobError;
use crate::host::Host;
use crate::objects;
use crate::view::View;

/// Checks what the root names; gives the inventories, for locating harm.
pub(super) async fn check(
    host: &Host<'_>,
    view: &View,
    report: &mut Report,
    harm: &mut Harm,
) -> Result<BTreeMap<DomainId, Inventory>, JobError> {
    check_segments(host, view, report).await?;
    let tables = read_tables(host, view, report, harm).await?;
    let mut inventories = BTreeMap::new();
    for domain in view.indexes.keys() {
        let inventory = inventory(view, *domain, &tables, harm, report);
        check_closure(view, *domain, &inventory, report);
        inventories.insert(*domain, inventory);
    }
    Ok(inventories)
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

async fn read_tables(
    host: &Host<'_>,
    view: &View,
    report: &mut Report,
    harm: &mut Harm,
) -> Result<HashMap<PackId, PackTable>, JobError> {
    let mut tables = HashMap::new();
    for (id, record) in &view.state.packs {
        let name = layout::pack(record.place, *id);
        let Some(stat) = host.store.stat(&objects::key(&name)).await? else {
            report.add_pack(Kind::Missing, name, *id, "it is not there");
            harm.missing.insert(*id);
            continue;
        };
        if stat.length != record.length {
            let why = format!("it has {} bytes and should have {}", stat.length, record.length);
            report.add_pack(Kind::Damaged, name, *id, why);
            harm.damaged.insert(*id);
            continue;
        }
        match objects::read_table(host.store, record.place, *id, record.length).await {
            Ok(table) if table.domain == record.domain && table.kind == record.kind => {
                tables.insert(*id, table);
            }
            Ok(_) => {
                report.add_pack(Kind::Damaged, name, *id, "its table is of another domain or kind");
                harm.damaged.insert(*id);
            }
            Err(JobError::Damaged { why, .. }) => {
                report.add_pack(Kind::Damaged, name, *id, why);
                harm.damaged.insert(*id);
            }
            Err(JobError::Store(StoreError::NotFound { .. })) => {
                report.add_pack(Kind::Missing, name, *id, "it is not there");
                harm.missing.insert(*id);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(tables)
}

/// The domain's inventory. An entry that its pack's table does not confirm is reported once for each pack.
fn inventory(
    view: &View,
    domain: DomainId,
    tables: &HashMap<PackId, PackTable>,
    harm: &mut Harm,
    report: &mut Report,
) -> Inventory {
    let mut present = Vec::new();
    let mut wrong: BTreeMap<PackId, u64> = BTreeMap::new();
    for (_, segment) in view.segments_of(domain) {
        for entry in segment.entries() {
            let is_confirmed = match tables.get(&entry.location.pack) {
                Some(table) => id_at(table, entry.location.offset, entry.location.ordinal) == Some(entry.id),
                // A pack without a readable table is reported already; one the state does not know is not.
                None => view.state.packs.contains_key(&entry.location.pack),
            };
            if !is_confirmed {
                *wrong.entry(entry.location.pack).or_default() += 1;
            }
            present.push(Present {
                id: entry.id,
                pack: entry.location.pack,
                offset: entry.location.offset,
                length: entry.location.length,
                ordinal: entry.location.ordinal,
                is_page: entry.location.is_page,
            });
        }
    }
    for (pack, entries) in wrong {
        let why = format!("the index names {entries} entries that are not in its table");
        report.add_pack(Kind::Damaged, pack.to_string(), pack, why);
    }
    let packs = view.state.packs.iter().filter(|(_, record)| record.domain == domain).map(|(id, record)| {
        let item = PackItem {
            id: *id,
            place: record.place,
            kind: record.kind,
            length: record.length,
            is_healthy: !harm.hits(id),
            accepted: record.accepted,
        };
        (item, tables.get(id).cloned())
    });
    Inventory::new(packs.collect(), &present)
}

fn check_closure(view: &View, domain: DomainId, inventory: &Inventory, report: &mut Report) {
    let index = &view.indexes[&domain];
    let pages = (0..inventory.ids.len() as u32).filter(|&id| inventory.is_page(id));
    let kept = view.state.snapshots.values();
    let kept = kept.filter(|snapshot| snapshot.domain == domain && snapshot.state == SnapshotState::Kept);
    let roots = kept.map(|snapshot| snapshot.root);
    let reach = inventory.reach(pages.map(|id| inventory.ids[id as usize]).chain(roots));
    for id in reach.unresolved {
        let why = if index.overlay().bits(&id, PackTag::NONE).contains(Bits::LOST) {
            "it is lost: no pack holds it any more"
        } else {
            "a page that is present refers to it, and no pack holds it"
        };
        report.add(Kind::Dangling, id.to_string(), why);
    }
}

/// The id that a table has at a position of a block.
fn id_at(table: &PackTable, offset: u32, ordinal: u16) -> Option<ChunkId> {
    let row = table.blocks.binary_search_by_key(&offset, |row| row.offset).ok()?;
    table.block_ids(&table.blocks[row]).get(usize::from(ordinal)).copied()
}
