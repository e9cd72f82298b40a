//! Rebuild: folds the state again from what clients and prunes have left in the store, when roots, runs or segments are
//! lost. A repair by the operator: no other writer runs meanwhile.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

mod chains;

use bytes::Bytes;
use copal_engine::change::Operation;
use copal_engine::id::{ChunkId, ClientId, DomainId, ObjectHash, PackId, PackTag, SnapshotId};
use copal_engine::index::{Bits, Mark, Segment, SegmentWriter, merge};
use copal_engine::layout::{self, Place};
use copal_engine::manifest::VerifiedManifest;
use copal_engine::mark::{Inventory, PackItem, Present};
use copal_engine::pack::{PackKind, PackTable};
use copal_engine::receipt::{Outcome, Reason};
use copal_engine::repository::IngestBy;
use copal_engine::root::Deletion;
use copal_engine::state::{
    ClientHead, Decision, DoomedRecord, DoomedState, PackRecord, SnapshotRecord, SnapshotState, State,
};
use copal_engine::time::Time;

use crate::clients;
use crate::commit::{Proposal, commit};
use crate::error::JobError;
use crate::host::Host;
use crate::ingest::{receipt, write_receipt};
use crate::objects;
use crate::view::View;
use chains::{Chain, Link, Standing, read_chain};

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
    /// Records that cannot be read, and why: what they said is not known any more.
    pub unreadable: Vec<(String, String)>,
    /// Ids that kept snapshots refer to and that have no copy.
    pub lost: u64,
}

/// Packs of clients that no manifest names: it was lost, or never written. Who has the owner's key can tell whether they
/// are what their tables say, and let [`rebuild_with`] take them.
pub async fn unnamed_packs(host: &Host<'_>) -> Result<Vec<PackId>, JobError> {
    let mut chains = Vec::new();
    for client in clients::below(host.store, "manifests/").await? {
        chains.push(read_chain(host, client, &mut 0, &mut Report::default()).await?);
    }
    let named = named_by(&chains);
    let listed = objects::list(host.store, "packs/").await?;
    let packs = listed.iter().filter_map(|listed| Some(layout::pack_of(listed.key.as_str())?.1));
    Ok(packs.filter(|id| !named.contains_key(id)).collect())
}

/// [`rebuild_with`] no packs but those that manifests name.
pub async fn rebuild(host: &Host<'_>) -> Result<Report, JobError> {
    rebuild_with(host, &BTreeSet::new()).await
}

/// Writes a root folded from everything else in the store, numbered far above any number ever seen. Packs that no manifest
/// names are left out, but for those that were found to be genuine.
pub async fn rebuild_with(host: &Host<'_>, genuine: &BTreeSet<PackId>) -> Result<Report, JobError> {
    let mut report = Report::default();
    let now = host.now().await?;
    let deleted = read_deletions(host, &mut report).await?;
    let mut newest = deleted.newest;
    for listed in objects::list(host.store, "roots/").await? {
        newest = newest.max(layout::root_number(listed.key.as_str()).unwrap_or(0));
    }
    let mut chains = Vec::new();
    for client in clients::below(host.store, "manifests/").await? {
        chains.push(read_chain(host, client, &mut newest, &mut report).await?);
    }
    let packs = read_packs(host, &deleted.names, &chains, genuine, now, &mut report).await?;
    let contents = Contents::of(&packs);

    let mut proposal = Proposal { rebuilt_as: Some(newest.saturating_add(ROOT_GAP)), ..Proposal::default() };
    let mut unanswered = Vec::new();
    for chain in &chains {
        let decisions = take_chain(chain, &contents, now, &mut proposal, &mut report);
        let kept = decisions.len().saturating_sub(DECISIONS);
        let (number, hash) = chain.head;
        let head = ClientHead { number, hash, time: now, decisions: decisions[kept..].to_vec() };
        proposal.delta.heads.insert(chain.client, Some(head));
        unanswered.extend(decisions.into_iter().map(|decision| (chain.client, decision)));
    }
    fold_changes(host, &contents, now, &mut proposal, &mut report).await?;
    bury(&contents, &mut proposal);
    for name in deleted.names {
        let spent = DoomedRecord { state: DoomedState::Spent, time: now, root: newest };
        proposal.delta.doomed.insert(name, Some(spent));
    }
    for (id, pack) in &packs {
        proposal.delta.packs.insert(*id, Some(pack.record.clone()));
    }
    report.packs = packs.len() as u64;
    let snapshots = proposal.delta.snapshots.values().flatten();
    let domains: BTreeSet<DomainId> =
        packs.values().map(|pack| pack.record.domain).chain(snapshots.map(|snapshot| snapshot.domain)).collect();
    for domain in domains {
        index_domain(host, domain, &packs, now, &mut proposal, &mut report)?;
    }
    let kept = |record: &SnapshotRecord| record.state == SnapshotState::Kept && !record.partial;
    report.snapshots = proposal.delta.snapshots.values().flatten().filter(|record| kept(record)).count() as u64;
    let nothing = View { root: None, state: State::default(), indexes: BTreeMap::new() };
    let committed = commit(host, &nothing, proposal).await?;
    let (root, _) = committed.ok_or(JobError::Contended { attempts: 1 })?;
    report.root = root.number;
    leave_evidence(host, root.number, now).await?;
    for (client, decision) in unanswered {
        write_receipt(host, &receipt(client, &decision, root.number, now, IngestBy::Service)).await?;
    }
    Ok(report)
}

/// Leaves a record that tells of the new root even if that is lost: the next rebuild goes beyond its number, and until
/// then nobody writes on an older one.
async fn leave_evidence(host: &Host<'_>, root_number: u64, time: Time) -> Result<(), JobError> {
    let random = host.random();
    let nothing = Deletion { root_number, random, time, names: Vec::new() };
    let name = objects::key(layout::deletion(root_number, &random));
    host.store.create(&name, Bytes::from(nothing.encode())).await?;
    Ok(())
}

struct Deleted {
    names: BTreeSet<String>,
    newest: u64,
}

/// Every name that a prune has recorded before it began to delete.
async fn read_deletions(host: &Host<'_>, report: &mut Report) -> Result<Deleted, JobError> {
    let mut deleted = Deleted { names: BTreeSet::new(), newest: 0 };
    for listed in objects::list(host.store, "deletions/").await? {
        let name = listed.key.as_str();
        let Some(bytes) = objects::read(host.store, name).await? else { continue };
        match Deletion::decode(&bytes) {
            Ok(deletion) => {
                deleted.newest = deleted.newest.max(deletion.root_number);
                deleted.names.extend(deletion.names);
            }
            Err(error) => report.unreadable.push((name.to_owned(), error.to_string())),
        }
    }
    Ok(deleted)
}

struct Found {
    record: PackRecord,
    table: PackTable,
}

/// The packs that manifests name, and the domains of those.
fn named_by(chains: &[Chain]) -> HashMap<PackId, BTreeSet<DomainId>> {
    let mut named: HashMap<PackId, BTreeSet<DomainId>> = HashMap::new();
    for (_, verified) in chains.iter().flat_map(Chain::claims) {
        for (pack, _) in &verified.manifest.packs {
            named.entry(*pack).or_default().insert(verified.manifest.domain);
        }
    }
    named
}

/// The packs whose entries count: those that a manifest names which counts, of that manifest's domain, and those that
/// prune has written. A pack nobody names may claim anything: it must have been found to be genuine.
async fn read_packs(
    host: &Host<'_>,
    deleted: &BTreeSet<String>,
    chains: &[Chain],
    genuine: &BTreeSet<PackId>,
    now: Time,
    report: &mut Report,
) -> Result<BTreeMap<PackId, Found>, JobError> {
    let named = named_by(chains);
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
                None if genuine.contains(&id) => {}
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

/// What the packs hold.
struct Contents<'a> {
    packs: &'a BTreeMap<PackId, Found>,
    /// For each id of a domain its tables and positions, if it is a page; none for chunks.
    ids: HashMap<(DomainId, ChunkId), Vec<(&'a PackTable, usize)>>,
}

impl<'a> Contents<'a> {
    fn of(packs: &'a BTreeMap<PackId, Found>) -> Self {
        let mut ids: HashMap<_, Vec<_>> = HashMap::new();
        for found in packs.values() {
            for (at, id) in found.table.ids.iter().enumerate() {
                let pages = ids.entry((found.record.domain, *id)).or_default();
                if found.table.page(at).is_some() {
                    pages.push((&found.table, at));
                }
            }
        }
        Self { packs, ids }
    }

    fn has(&self, domain: DomainId, id: &ChunkId) -> bool {
        self.ids.contains_key(&(domain, *id))
    }

    /// Whether everything is there that these pages refer to, directly or not.
    fn are_whole(&self, domain: DomainId, pages: impl IntoIterator<Item = ChunkId>) -> bool {
        let mut open: Vec<ChunkId> = pages.into_iter().collect();
        let mut seen: HashSet<ChunkId> = HashSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            let Some(pages) = self.ids.get(&(domain, id)) else { return false };
            open.extend(pages.iter().filter_map(|(table, at)| table.page(*at)).flat_map(|page| page.references));
        }
        true
    }

    /// Whether a manifest could be accepted now.
    fn has_all_of(&self, verified: &VerifiedManifest) -> bool {
        let manifest = &verified.manifest;
        match &manifest.snapshot {
            Some(claim) => self.are_whole(manifest.domain, [claim.root]),
            None => manifest.packs.iter().all(|(pack, _)| {
                let found = self.packs.get(pack).filter(|found| found.table.kind == PackKind::Tree);
                let pages = found.into_iter().flat_map(|found| found.table.ids.iter().copied());
                self.packs.contains_key(pack) && self.are_whole(manifest.domain, pages)
            }),
        }
    }
}

/// Takes over what counts of a chain; gives the decisions that nobody was told yet. A manifest behind the last answer
/// counts if everything it claims is there, as ingest would have found; one before it was decided once, and counts if
/// its root page tells that it was accepted.
fn take_chain(
    chain: &Chain,
    contents: &Contents<'_>,
    now: Time,
    proposal: &mut Proposal,
    report: &mut Report,
) -> Vec<Decision> {
    let mut decisions = Vec::new();
    for link in &chain.links {
        let decision = |outcome, reasons| Decision {
            number: link.number,
            hash: link.hash,
            outcome,
            reasons,
            missing: Vec::new(),
            packs: Vec::new(),
        };
        match &link.standing {
            Standing::Accepted(verified, time) => take_snapshot(chain, link, verified, *time, now, proposal),
            Standing::Rejected | Standing::Damaged => {}
            Standing::Refused(reason, why) => {
                decisions.push(decision(Outcome::Rejected, vec![(*reason, why.clone())]));
            }
            Standing::Unanswered(verified) => {
                let manifest = &verified.manifest;
                let was_decided = link.number <= chain.answered
                    && manifest.snapshot.as_ref().is_none_or(|claim| contents.has(manifest.domain, &claim.root));
                if was_decided || contents.has_all_of(verified) {
                    take_snapshot(chain, link, verified, link.stored, now, proposal);
                    decisions.push(decision(Outcome::Accepted, Vec::new()));
                } else {
                    let why = "no receipt vouches for it and not everything it claims is there";
                    let name = layout::manifest(manifest.client, manifest.number);
                    report.manifests_left_out.push((name, why.into()));
                    decisions.push(decision(Outcome::Rejected, vec![(Reason::Unresolved, why.into())]));
                }
            }
        }
    }
    decisions
}

fn take_snapshot(
    chain: &Chain,
    link: &Link,
    verified: &VerifiedManifest,
    accepted: Time,
    now: Time,
    proposal: &mut Proposal,
) {
    let manifest = &verified.manifest;
    let Some(claim) = &manifest.snapshot else { return };
    let record = SnapshotRecord {
        id: verified.hash.snapshot(),
        domain: manifest.domain,
        root: claim.root,
        partial: claim.partial,
        client_time: claim.client_time,
        accepted: accepted.min(now),
        source: claim.source,
        tags: claim.tags.clone(),
        state: SnapshotState::Kept,
        pinned: false,
        state_time: now,
        by_full_client: chain.is_full,
    };
    proposal.delta.snapshots.insert((chain.client, link.number), Some(record));
}

/// Applies all changes again, from the first. Behind one that is damaged or gone there is nothing left to compare the
/// chain with: the signature must do.
async fn fold_changes(
    host: &Host<'_>,
    contents: &Contents<'_>,
    now: Time,
    proposal: &mut Proposal,
    report: &mut Report,
) -> Result<(), JobError> {
    let by_id: BTreeMap<SnapshotId, (ClientId, u64)> =
        proposal.delta.snapshots.iter().filter_map(|(key, record)| Some((record.as_ref()?.id, *key))).collect();
    let mut before = Some((0, ObjectHash::NONE));
    let mut last = 0;
    for listed in objects::list(host.store, "changes/").await? {
        let name = listed.key.as_str();
        let Some(number) = layout::trailing_number(name) else { continue };
        let Some(bytes) = objects::read(host.store, name).await? else { continue };
        if number > last + 1 {
            report.unreadable.push((layout::change(last + 1), "it is not there".into()));
        }
        last = number;
        let previous = before.filter(|(before, _)| before + 1 == number).map(|(_, hash)| hash);
        let believed = crate::ingest::verify_change(host, number, previous, &bytes).await?;
        if believed.is_none() {
            report.unreadable.push((name.to_owned(), "it is not a change that a full client has signed".into()));
        }
        for operation in believed.iter().flat_map(|verified| &verified.change.operations) {
            apply(operation, &by_id, contents, now, proposal);
        }
        let hash = ObjectHash::of(&bytes);
        before = believed.is_some().then_some((number, hash));
        proposal.change_head = Some((number, hash));
    }
    Ok(())
}

/// Forgotten snapshots and checkpoints that are not whole cannot come back.
fn bury(contents: &Contents<'_>, proposal: &mut Proposal) {
    for record in proposal.delta.snapshots.values_mut().flatten() {
        let is_needed = record.state == SnapshotState::Kept && !record.partial;
        if !is_needed && !contents.are_whole(record.domain, [record.root]) {
            record.state = SnapshotState::Gone;
        }
    }
}

fn apply(
    operation: &Operation,
    by_id: &BTreeMap<SnapshotId, (ClientId, u64)>,
    contents: &Contents<'_>,
    now: Time,
    proposal: &mut Proposal,
) {
    for key in operation.snapshots().iter().filter_map(|id| by_id.get(id)) {
        if let Some(Some(record)) = proposal.delta.snapshots.get_mut(key) {
            // A page may still lie in a pack although its entry was removed: whole is what can come back.
            let is_present = contents.are_whole(record.domain, [record.root]);
            crate::ingest::apply_change(operation, record, is_present, now);
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
    let kept = proposal.delta.snapshots.values().flatten();
    let roots: Vec<ChunkId> = kept
        .filter(|record| record.domain == domain && record.state == SnapshotState::Kept)
        .map(|record| record.root)
        .collect();
    let Some(all) = writer.finish() else {
        let overlay = proposal.overlay.entry(domain).or_default();
        for id in &roots {
            overlay.insert((*id, PackTag::NONE), Mark { time: now, bits: Bits::LOST | Bits::WANTED });
        }
        report.lost += roots.len() as u64;
        return Ok(());
    };
    let segment = Segment::parse(all.bytes.as_slice());
    let segment = segment.map_err(|error| JobError::damaged(layout::segment(all.hash), error))?;
    let inventory = inventory_of(&segment, &packs);
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
/// Decisions that a client's head may hold.
const DECISIONS: usize = 64;
