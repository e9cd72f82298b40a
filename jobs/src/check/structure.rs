//! Structure: checks three things. The newest root names only objects that exist and are whole. The index agrees with
//! the tables. Every reference of a present page resolves or is known to be lost.
//!
//! A listing tells which packs are there. Every table of a tree pack is read. Of data packs, a check with a budget reads
//! the tables of one share, so that it does not cost a read for every pack of a petabyte.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_engine::mark::{InventoryBuilder, PackItem, Trust};
use copal_format::id::{ChunkId, DomainId, ObjectHash, PackId, PackTag};
use copal_format::index::{Bits, Segment};
use copal_format::layout;
use copal_format::pack::{PackKind, PackTable};
use copal_format::state::PackRecord;
use copal_store::{Stat, StoreError};

use super::{Harm, Kind, Needed, Report};
use crate::budget::Budget;
use crate::context::JobContext;
use crate::error::JobError;
use crate::objects;
use crate::progress;
use crate::stored::{self, Stored};
use crate::view::{self, Parts, View};
use crate::witness::denial;

/// How far the structure check came.
pub(super) struct Looked {
    /// The last examined domain, if the budget was over before all were.
    pub(super) after: Option<DomainId>,
    /// Whether the index of every examined domain was readable.
    pub(super) is_readable: bool,
}

/// Checks the domains after `after` one by one until the budget is over, but at least one. `tables` are the data packs
/// whose tables are read; none for all.
pub(super) async fn check(
    job: &JobContext<'_>,
    view: &mut View,
    (after, budget): (Option<DomainId>, &Budget),
    tables: Option<&BTreeSet<PackId>>,
    report: &mut Report,
    harm: &mut Harm,
) -> Result<Looked, JobError> {
    let of_packs = view.state.packs.values().map(|record| record.domain);
    let all: BTreeSet<DomainId> = view.domains().into_iter().chain(of_packs).collect();
    let due = progress::behind(all.into_iter().collect(), after);
    let needed = Needed::of(job, view).await?;
    // A directory that holds something else in the place of an object cannot be listed. Then each pack is looked up.
    let stored = match Stored::list(job, stored::PACKS).await {
        Err(error) => error.blame().map(|_| Stored::default())?,
        Ok(stored) => stored,
    };
    let mut is_readable = true;
    for (at, domain) in due.iter().enumerate() {
        if at > 0 && budget.is_over() {
            report.domains_left = (due.len() - at) as u64;
            return Ok(Looked { after: Some(due[at - 1]), is_readable });
        }
        if let Some(Unreadable { object, why }) = turn_to(job, view, &due[at..]).await? {
            report.add_once(Kind::Damaged, object, why);
            is_readable = false;
            continue;
        }
        check_segments(view, *domain, report);
        let look = Look { stored: &stored, tables, report };
        let inventory = inventory(job, view, *domain, harm, Some(look)).await?;
        check_closure(view, *domain, (&inventory, &needed), report);
        harm.seen.insert(*domain);
    }
    Ok(Looked { after: None, is_readable })
}

/// An unreadable part of an index.
pub(super) struct Unreadable {
    object: String,
    why: String,
}

/// Reads the index of the first of these domains; returns the part that cannot be read, if there is one. If a part is
/// gone because a newer root does not need it, continues with that root.
pub(super) async fn turn_to(
    job: &JobContext<'_>,
    view: &mut View,
    domains: &[DomainId],
) -> Result<Option<Unreadable>, JobError> {
    loop {
        match view.turn_along(job.store, domains).await {
            Err(JobError::StateLost { .. }) if view::is_superseded(job.store, view).await? => {
                *view = view::read_parts(job.store, &Parts::RECORDS).await?;
            }
            Err(error) => {
                let (object, why) = error.blame()?;
                return Ok(Some(Unreadable { object, why }));
            }
            Ok(()) => return Ok(None),
        }
    }
}

fn check_segments(view: &View, domain: DomainId, report: &mut Report) {
    for (hash, segment) in view.segments_of(domain) {
        let name = layout::segment(hash);
        if ObjectHash::of(segment.bytes()) != hash {
            report.add(Kind::Damaged, &name, "its bytes do not have the hash it is named by");
        }
        if let Err(error) = segment.verify() {
            report.add(Kind::Damaged, &name, error);
        }
    }
}

/// How packs are looked at.
pub(super) struct Look<'a> {
    stored: &'a Stored,
    tables: Option<&'a BTreeSet<PackId>>,
    report: &'a mut Report,
}

impl Look<'_> {
    fn reads(&self, pack: &PackId, record: &PackRecord) -> bool {
        record.kind == PackKind::Tree || self.tables.is_none_or(|packs| packs.contains(pack))
    }

    /// What is wrong if a pack is missing or has another length than recorded. A pack that is not in the listing is
    /// looked up, because it may be newer than the listing. So is a pack that the state calls missing: another job may
    /// have looked for it after the listing.
    async fn absence(
        &self,
        job: &JobContext<'_>,
        id: PackId,
        record: &PackRecord,
    ) -> Result<Option<Trouble>, JobError> {
        let is_listed = self.stored.length(&layout::pack(record.place, id)) == Some(record.length);
        match is_listed && !record.is_missing {
            true => Ok(None),
            false => absence(job, id, record).await,
        }
    }
}

/// What is wrong if a pack is missing or has another length than recorded.
pub(super) async fn absence(
    job: &JobContext<'_>,
    id: PackId,
    record: &PackRecord,
) -> Result<Option<Trouble>, JobError> {
    Ok(match job.store.stat(&objects::key(layout::pack(record.place, id))).await {
        Ok(None) => Some(Trouble::Missing),
        Ok(Some(Stat { length, .. })) if length == record.length => None,
        Ok(Some(Stat { length, .. })) => {
            Some(Trouble::Damaged(format!("it has {length} bytes and should have {}", record.length)))
        }
        Err(error) => Some(Trouble::of(error.into())?),
    })
}

/// What a domain holds. Adds what is wrong with its packs to `harm` and to the report of a look. Entries that a pack's
/// table does not confirm are reported once for each pack. Without a look, only the tables of tree packs are read.
pub(super) async fn inventory<'a>(
    job: &JobContext<'a>,
    view: &View,
    domain: DomainId,
    harm: &mut Harm,
    mut look: Option<Look<'_>>,
) -> Result<Inventory<'a>, JobError> {
    let segments: Vec<Segment<Bytes>> = view.segments_of(domain).map(|(_, segment)| segment.clone()).collect();
    let is_unread = |id: &PackId, look: &Look<'_>| view.state.packs.get(id).is_some_and(|of| !look.reads(id, of));
    let mut unconfirmed: BTreeMap<PackId, u64> = BTreeMap::new();
    if let Some(look) = &look {
        for pack in segments.iter().flat_map(Segment::entries).map(|entry| entry.location.pack) {
            if !is_unread(&pack, look) {
                *unconfirmed.entry(pack).or_default() += 1;
            }
        }
    }
    let mut inventory = InventoryBuilder::new(segments.clone(), job.scratch)?;
    let packs: Vec<(&PackId, &PackRecord)> = view.packs_of(domain).collect();
    for some in packs.chunks(TABLES) {
        let look_at = &look;
        let calls = some.iter().map(|(id, record)| async move {
            let reads = look_at.as_ref().map_or(record.kind == PackKind::Tree, |look| look.reads(id, record));
            let trouble = match look_at {
                Some(look) => look.absence(job, **id, record).await?,
                None => None,
            };
            let read = match trouble {
                Some(trouble) => Err(trouble),
                None if reads => read_table(job, **id, record).await?.map(Some),
                None => Ok(None),
            };
            Ok((**id, read))
        });
        let read = objects::join(calls).await?;
        if look.is_some() {
            count_down(&mut unconfirmed, &segments, &read);
        }
        for ((id, record), (_, read)) in some.iter().zip(read) {
            let table = match read {
                Ok(table) => {
                    if record.is_missing && look.is_some() {
                        harm.returned.insert(**id);
                    }
                    table
                }
                Err(trouble) => {
                    let is_known = harm.is_told(id);
                    let (kind, why) = trouble.note(harm, **id, record);
                    if let Some(look) = look.as_mut().filter(|_| !is_known) {
                        look.report.add_pack(kind, layout::pack(record.place, **id), **id, why);
                    }
                    // The pack's trouble is reported already.
                    unconfirmed.remove(id);
                    None
                }
            };
            // Only a plan uses trust.
            let item = PackItem::of(**id, record, !harm.is_told(id), Trust::Claimed);
            inventory.add_pack(item, table.as_ref())?;
        }
    }
    if let Some(Look { report, .. }) = look {
        for (pack, entries) in unconfirmed.into_iter().filter(|(_, entries)| *entries > 0) {
            let why = format!("the index names {entries} entries that are not in its table");
            report.add_pack(Kind::Damaged, pack.to_string(), pack, why);
        }
    }
    Ok(inventory.finish()?)
}

/// Everything a domain holds, over mapped segments.
pub(super) type Inventory<'a> = copal_engine::mark::Inventory<'a, Bytes>;

/// What is wrong with a pack, and why.
pub(super) enum Trouble {
    Missing,
    Damaged(String),
    /// It may not be read, and may be whole.
    Forbidden(String),
}

impl Trouble {
    /// Turns an error into a finding about a pack. Fails with the error itself if it is not about the pack.
    pub(super) fn of(error: JobError) -> Result<Self, JobError> {
        if let JobError::Store(error) = &error
            && let Some(why) = denial(error)
        {
            return Ok(Self::Forbidden(why));
        }
        Ok(Self::Damaged(error.blame()?.1))
    }

    /// Records this trouble of a pack in `harm`. Returns the finding's kind and reason. `record` is the pack's state before
    /// the reading.
    pub(super) fn note(self, harm: &mut Harm, pack: PackId, record: &PackRecord) -> (Kind, String) {
        match self {
            Self::Missing => {
                harm.missing.insert(pack);
                (Kind::Missing, "it is not there".to_owned())
            }
            Self::Damaged(why) => {
                harm.add_damaged(pack, record);
                (Kind::Damaged, why)
            }
            Self::Forbidden(why) => {
                harm.forbidden.insert(pack);
                (Kind::Damaged, why)
            }
        }
    }
}

/// The table of a pack with its recorded length, or what is wrong with the pack.
pub(super) async fn read_table(
    job: &JobContext<'_>,
    id: PackId,
    record: &PackRecord,
) -> Result<Result<PackTable, Trouble>, JobError> {
    Ok(match objects::read_table(job.store, record.place, id, record.length).await {
        Ok(table) if table.domain == record.domain && table.kind == record.kind => Ok(table),
        Ok(_) => Err(Trouble::Damaged("its table is of another domain or kind".to_owned())),
        Err(JobError::Store(StoreError::NotFound { .. })) => Err(Trouble::Missing),
        Err(error) => Err(Trouble::of(error)?),
    })
}

/// Subtracts the index entries that these tables confirm from the unconfirmed counts.
fn count_down(
    unconfirmed: &mut BTreeMap<PackId, u64>,
    segments: &[Segment<Bytes>],
    tables: &[(PackId, Result<Option<PackTable>, Trouble>)],
) {
    let tables = tables.iter().filter_map(|(pack, table)| Some((*pack, table.as_ref().ok()?.as_ref()?)));
    let tables: Vec<(PackId, &PackTable)> = tables.collect();
    let mut said: Vec<Said> = Vec::new();
    for (number, (_, table)) in tables.iter().enumerate() {
        for row in &table.blocks {
            let ids = table.block_ids(row).iter().zip(0..);
            said.extend(ids.map(|(id, ordinal)| (*id, number, row.offset, ordinal)));
        }
    }
    said.sort_unstable();
    // Searches each id once, however often the tables have it.
    let mut ids: Vec<ChunkId> = said.iter().map(|(id, ..)| *id).collect();
    ids.dedup();
    for segment in segments {
        segment.find_many(&ids, |at, place| {
            // The packs are in ascending order.
            let Ok(number) = tables.binary_search_by_key(&place.pack, |(pack, _)| *pack) else { return };
            let is_said = said.binary_search(&(ids[at], number, place.offset, place.ordinal)).is_ok();
            if let Some(entries) = unconfirmed.get_mut(&place.pack).filter(|_| is_said) {
                *entries = entries.saturating_sub(1);
            }
        });
    }
}

/// What a table says of an entry: id, number of the table, offset of the block, position in the block.
type Said = (ChunkId, usize, u32, u16);

fn check_closure(view: &View, domain: DomainId, (inventory, needed): (&Inventory, &Needed), report: &mut Report) {
    let needed = view.snapshots_of(domain).map(|(_, snapshot)| snapshot).filter(|snapshot| needed.has(snapshot));
    let graph = &inventory.graph;
    let mut unresolved: Vec<ChunkId> = graph.absent_ids().copied().collect();
    unresolved.extend(needed.map(|snapshot| snapshot.root).filter(|root| graph.number(root).is_none()));
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

/// Tables read at the same time.
const TABLES: usize = 256;
