//! Rebuild: folds the state again from what clients and prunes have left in the store, when roots, runs or segments are
//! lost. A repair by the operator: no other writer runs meanwhile.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use copal_engine::change::Operation;
use copal_engine::client::{ClientRecord, Role};
use copal_engine::id::{ChunkId, ClientId, DomainId, ObjectHash, PackId, PackTag, SnapshotId};
use copal_engine::index::{Bits, Mark, Segment, SegmentWriter, merge};
use copal_engine::layout::{self, Place};
use copal_engine::manifest::{Manifest, VerifiedManifest};
use copal_engine::mark::{Inventory, PackItem, Present};
use copal_engine::pack::PackTable;
use copal_engine::receipt::{Outcome, Receipt};
use copal_engine::root::Deletion;
use copal_engine::state::{ClientHead, DoomedRecord, DoomedState, PackRecord, SnapshotRecord, SnapshotState, State};
use copal_engine::time::Time;

use crate::clients;
use crate::commit::{Proposal, commit};
use crate::error::JobError;
use crate::host::Host;
use crate::objects;
use crate::view::View;

/// What a rebuild found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of the new root.
    pub root: u64,
    /// Snapshots kept.
    pub snapshots: u64,
    /// Packs taken into the index.
    pub packs: u64,
    /// Entries in the index.
    pub entries: u64,
    /// Packs that were left out, and why.
    pub packs_left_out: Vec<(String, String)>,
    /// Manifests that do not count, and why.
    pub manifests_left_out: Vec<(String, String)>,
    /// Ids that kept snapshots refer to and that have no copy.
    pub lost: u64,
}

/// Writes a root folded from everything else in the store, numbered far above any number ever seen.
pub async fn rebuild(host: &Host<'_>) -> Result<Report, JobError> {
    let mut report = Report::default();
    let now = host.now().await?;
    let deleted = read_deletions(host).await?;
    let mut newest = deleted.newest;
    for listed in objects::list(host.store, "roots/").await? {
        newest = newest.max(layout::root_number(listed.key.as_str()).unwrap_or(0));
    }
    let mut chains = Vec::new();
    for client in clients::below(host.store, "manifests/").await? {
        chains.push(read_chain(host, client, &mut newest, &mut report).await?);
    }
    let packs = read_packs(host, &deleted.names, &chains, now, &mut report).await?;
    let domains: BTreeSet<DomainId> = packs.values().map(|pack| pack.record.domain).collect();
    let ids: HashSet<(DomainId, ChunkId)> =
        packs.values().flat_map(|pack| pack.table.ids.iter().map(|id| (pack.record.domain, *id))).collect();

    let mut proposal = Proposal { rebuilt_as: Some(newest + ROOT_GAP), ..Proposal::default() };
    for chain in &chains {
        let head = ClientHead { number: chain.number, hash: chain.hash, time: now, decisions: Vec::new() };
        proposal.delta.heads.insert(chain.client, Some(head));
        for (verified, answered) in &chain.accepted {
            take_snapshot(chain, verified, *answered, &ids, now, &mut proposal, &mut report);
        }
    }
    fold_changes(host, &ids, now, &mut proposal).await?;
    for name in deleted.names {
        let spent = DoomedRecord { state: DoomedState::Spent, time: now, root: newest };
        proposal.delta.doomed.insert(name, Some(spent));
    }
    for (id, pack) in &packs {
        proposal.delta.packs.insert(*id, Some(pack.record.clone()));
    }
    report.packs = packs.len() as u64;
    for domain in domains {
        index_domain(host, domain, &packs, now, &mut proposal, &mut report)?;
    }
    let kept = |record: &SnapshotRecord| record.state == SnapshotState::Kept && !record.partial;
    report.snapshots = proposal.delta.snapshots.values().flatten().filter(|record| kept(record)).count() as u64;
    let nothing = View { root: None, state: State::default(), indexes: BTreeMap::new() };
    let committed = commit(host, &nothing, proposal).await?;
    let (root, _) = committed.ok_or(JobError::Contended { attempts: 1 })?;
    report.root = root.number;
    Ok(report)
}

struct Deleted {
    names: BTreeSet<String>,
    newest: u64,
}

/// Every name that a prune has recorded before it began to delete.
async fn read_deletions(host: &Host<'_>) -> Result<Deleted, JobError> {
    let mut deleted = Deleted { names: BTreeSet::new(), newest: 0 };
    for listed in objects::list(host.store, "deletions/").await? {
        let name = listed.key.as_str();
        let Some(bytes) = objects::read(host.store, name).await? else { continue };
        let deletion = Deletion::decode(&bytes).map_err(|error| JobError::damaged(name, error))?;
        deleted.newest = deleted.newest.max(deletion.root_number);
        deleted.names.extend(deletion.names);
    }
    Ok(deleted)
}

/// A client's manifests, as far as they are whole.
struct Chain {
    client: ClientId,
    record: ClientRecord,
    number: u64,
    hash: ObjectHash,
    /// Those that count, and when a receipt says they were accepted.
    accepted: Vec<(VerifiedManifest, Option<Time>)>,
}

async fn read_chain(
    host: &Host<'_>,
    client: ClientId,
    newest: &mut u64,
    report: &mut Report,
) -> Result<Chain, JobError> {
    let record = clients::read(host, client).await?;
    let keys = record.as_ref().and_then(|record| record.keys);
    let (Some(record), Some(keys)) = (record, keys) else {
        return Err(JobError::damaged(format!("clients/{client}"), "no sound record of the client is there"));
    };
    let mut chain = Chain { client, record, number: 0, hash: ObjectHash::NONE, accepted: Vec::new() };
    loop {
        let number = chain.number + 1;
        let name = layout::manifest(client, number);
        let Some(bytes) = objects::read(host.store, &name).await? else { return Ok(chain) };
        let receipt = match objects::read(host.store, &layout::receipt(client, number)).await? {
            Some(bytes) => Receipt::decode(client, number, &bytes).ok(),
            None => None,
        };
        *newest = (*newest).max(receipt.as_ref().map_or(0, |receipt| receipt.root));
        let verified = Manifest::verify(host.repository, &keys.manifest, client, number, &bytes);
        let is_rejected = receipt.as_ref().is_some_and(|receipt| receipt.outcome == Outcome::Rejected);
        match verified {
            _ if is_rejected => {}
            Ok(verified) if verified.manifest.previous != chain.hash => {
                report.manifests_left_out.push((name, "it does not name the manifest before it".into()));
            }
            Ok(verified) if !chain.record.accepts(number, verified.hash) => {
                report.manifests_left_out.push((name, "the client was revoked before".into()));
            }
            Ok(verified) => {
                *newest = (*newest).max(verified.manifest.root_seen.map_or(0, |(number, _)| number));
                chain.accepted.push((verified, receipt.map(|receipt| receipt.time)));
            }
            Err(error) => report.manifests_left_out.push((name, error.to_string())),
        }
        chain.number = number;
        chain.hash = ObjectHash::of(&bytes);
    }
}

struct Found {
    record: PackRecord,
    table: PackTable,
}

/// The packs whose entries count: those that a manifest names which counts, of that manifest's domain, and those that
/// prune has written. A pack nobody names may claim anything.
async fn read_packs(
    host: &Host<'_>,
    deleted: &BTreeSet<String>,
    chains: &[Chain],
    now: Time,
    report: &mut Report,
) -> Result<BTreeMap<PackId, Found>, JobError> {
    let mut named: HashMap<PackId, BTreeSet<DomainId>> = HashMap::new();
    for (verified, _) in chains.iter().flat_map(|chain| &chain.accepted) {
        for (pack, _) in &verified.manifest.packs {
            named.entry(*pack).or_default().insert(verified.manifest.domain);
        }
    }
    let mut found = BTreeMap::new();
    for prefix in ["packs/", "moved/"] {
        for listed in objects::list(host.store, prefix).await? {
            let name = listed.key.as_str();
            if deleted.contains(name) {
                continue;
            }
            let Some((place, id)) = layout::pack_of(name) else { continue };
            let mut leave_out = |why: &str| report.packs_left_out.push((name.to_owned(), why.to_owned()));
            let table = match objects::read_table(host.store, place, id, listed.stat.length).await {
                Ok(table) => table,
                Err(JobError::Damaged { why, .. }) => {
                    leave_out(&why);
                    continue;
                }
                Err(error) => return Err(error),
            };
            match named.get(&id) {
                _ if place == Place::Moved => {}
                Some(domains) if domains.contains(&table.domain) => {}
                Some(_) => {
                    leave_out("it is of another domain than the manifest that names it");
                    continue;
                }
                None => {
                    leave_out("no manifest names it");
                    continue;
                }
            }
            let record = PackRecord {
                domain: table.domain,
                kind: table.kind,
                length: listed.stat.length,
                place,
                is_missing: false,
                is_damaged: false,
                read: Time(0),
                accepted: now,
            };
            found.insert(id, Found { record, table });
        }
    }
    Ok(found)
}

/// Takes a manifest's snapshot over. One that no receipt vouches for counts only if its root page is there.
fn take_snapshot(
    chain: &Chain,
    verified: &VerifiedManifest,
    answered: Option<Time>,
    ids: &HashSet<(DomainId, ChunkId)>,
    now: Time,
    proposal: &mut Proposal,
    report: &mut Report,
) {
    let manifest = &verified.manifest;
    let Some(claim) = &manifest.snapshot else { return };
    if answered.is_none() && !ids.contains(&(manifest.domain, claim.root)) {
        let name = layout::manifest(manifest.client, manifest.number);
        report.manifests_left_out.push((name, "no receipt vouches for it and its root page is not there".into()));
        return;
    }
    let record = SnapshotRecord {
        id: verified.hash.snapshot(),
        domain: manifest.domain,
        root: claim.root,
        partial: claim.partial,
        client_time: claim.client_time,
        accepted: answered.unwrap_or(claim.client_time).min(now),
        source: claim.source,
        tags: claim.tags.clone(),
        state: SnapshotState::Kept,
        pinned: false,
        state_time: now,
        by_full_client: chain.record.role == Role::Full,
    };
    proposal.delta.snapshots.insert((manifest.client, manifest.number), Some(record));
}

/// Applies all changes again, from the first.
async fn fold_changes(
    host: &Host<'_>,
    ids: &HashSet<(DomainId, ChunkId)>,
    now: Time,
    proposal: &mut Proposal,
) -> Result<(), JobError> {
    let by_id: BTreeMap<SnapshotId, (ClientId, u64)> =
        proposal.delta.snapshots.iter().filter_map(|(key, record)| Some((record.as_ref()?.id, *key))).collect();
    let (mut number, mut before) = (0, ObjectHash::NONE);
    loop {
        let Some(bytes) = objects::read(host.store, &layout::change(number + 1)).await? else { break };
        let verified = crate::ingest::verify_change(host, number + 1, before, &bytes).await?;
        for operation in verified.iter().flat_map(|verified| &verified.change.operations) {
            apply(operation, &by_id, ids, now, proposal);
        }
        number += 1;
        before = ObjectHash::of(&bytes);
        proposal.change_head = Some((number, before));
    }
    Ok(())
}

fn apply(
    operation: &Operation,
    by_id: &BTreeMap<SnapshotId, (ClientId, u64)>,
    ids: &HashSet<(DomainId, ChunkId)>,
    now: Time,
    proposal: &mut Proposal,
) {
    for key in operation.snapshots().iter().filter_map(|id| by_id.get(id)) {
        if let Some(Some(record)) = proposal.delta.snapshots.get_mut(key) {
            let is_present = ids.contains(&(record.domain, record.root));
            crate::ingest::apply_change(operation, record, is_present, now);
            if record.state == SnapshotState::Forgotten && !is_present {
                record.state = SnapshotState::Gone;
            }
        }
    }
}

/// Writes the index of a domain: everything its packs hold, except pages that nothing kept needs and whose references do
/// not resolve. What no kept snapshot reaches is flagged from now on.
fn index_domain(
    host: &Host<'_>,
    domain: DomainId,
    packs: &BTreeMap<PackId, Found>,
    now: Time,
    proposal: &mut Proposal,
    report: &mut Report,
) -> Result<(), JobError> {
    let packs: Vec<(&PackId, &Found)> = packs.iter().filter(|(_, pack)| pack.record.domain == domain).collect();
    let mut writer = SegmentWriter::new(domain, host.random());
    for (id, pack) in &packs {
        writer.add_pack(**id, pack.record.place, &pack.table)?;
    }
    let Some(all) = writer.finish() else { return Ok(()) };
    let segment = Segment::parse(all.bytes.as_slice());
    let segment = segment.map_err(|error| JobError::damaged(layout::segment(all.hash), error))?;
    let inventory = inventory_of(&segment, &packs);
    let kept = proposal.delta.snapshots.values().flatten();
    let roots: Vec<ChunkId> = kept
        .filter(|record| record.domain == domain && record.state == SnapshotState::Kept)
        .map(|record| record.root)
        .collect();
    let reach = inventory.reach(roots);
    let removed = unresolved_pages(&inventory, &reach.reached);
    let kept = merge(domain, host.random(), &[&segment], |entry| {
        inventory.number(&entry.id).is_some_and(|number| !removed.contains(&number))
    })?;
    let overlay = proposal.overlay.entry(domain).or_default();
    for copy in &inventory.copies {
        if !reach.reached.has(copy.id) && !removed.contains(&copy.id) {
            let key = (inventory.ids[copy.id as usize], inventory.pack_of(copy).id.tag());
            overlay.insert(key, Mark { time: now, bits: Bits::FLAGGED });
        }
    }
    for id in &reach.unresolved {
        overlay.insert((*id, PackTag::NONE), Mark { time: now, bits: Bits::LOST | Bits::WANTED });
    }
    report.lost += reach.unresolved.len() as u64;
    if let Some(kept) = kept {
        report.entries += kept.record.entries;
        proposal.delta.segments.insert((domain, kept.hash), Some(kept.record));
        proposal.segments.push((kept.hash, kept.bytes));
    }
    Ok(())
}

fn inventory_of(segment: &Segment<&[u8]>, packs: &[(&PackId, &Found)]) -> Inventory {
    let items = packs.iter().map(|(id, pack)| {
        let item = PackItem {
            id: **id,
            place: pack.record.place,
            kind: pack.record.kind,
            length: pack.record.length,
            is_healthy: true,
            accepted: pack.record.accepted,
        };
        (item, Some(pack.table.clone()))
    });
    let present: Vec<Present> = segment
        .entries()
        .map(|entry| Present {
            id: entry.id,
            pack: entry.location.pack,
            offset: entry.location.offset,
            length: entry.location.length,
            ordinal: entry.location.ordinal,
            is_page: entry.location.is_page,
        })
        .collect();
    Inventory::new(items.collect(), &present)
}

/// Pages that nothing kept reaches and below which something is missing, and so on upwards.
fn unresolved_pages(inventory: &Inventory, reached: &copal_engine::mark::Bits) -> HashSet<u32> {
    let mut removed: HashSet<u32> = HashSet::new();
    loop {
        let before = removed.len();
        for id in 0..inventory.ids.len() as u32 {
            if inventory.is_page(id) && !reached.has(id) && !removed.contains(&id) {
                let mut references = inventory.references_of(id);
                let is_gone = |id: &ChunkId| inventory.number(id).is_none_or(|number| removed.contains(&number));
                if references.any(|id| is_gone(&id)) {
                    removed.insert(id);
                }
            }
        }
        if removed.len() == before {
            return removed;
        }
    }
}

/// So far above any number ever seen a rebuilt root stands.
const ROOT_GAP: u64 = 1000;
