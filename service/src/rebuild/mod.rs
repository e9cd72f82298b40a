//! Rebuild: folds the state again from what clients and prunes have left in the store, when roots, runs or segments are
//! lost. A repair by the operator: no other writer runs meanwhile.

mod absence;
mod answers;
mod chains;
mod contents;
mod copies;
mod decisions;
mod deletions;
mod index;
mod numbers;
mod told;

use std::collections::BTreeSet;

use bytes::Bytes;
use copal_engine::id::{ClientId, DomainId, PackId, SnapshotId};
use copal_engine::layout;
use copal_engine::repository::IngestBy;
use copal_engine::root::Deletion;
use copal_engine::state::{ClientHead, Decision, DoomedRecord, DoomedState, PackRecord, SnapshotRecord, SnapshotState};
use copal_engine::time::Time;

use crate::baseline;
use crate::clients;
use crate::commit::{Proposal, commit};
use crate::error::JobError;
use crate::host::Host;
use crate::ingest::{receipt, write_receipt};
use crate::objects;
use crate::view::View;
use crate::witness::Witnessed;
use absence::{Absence, Recorded};
use answers::Answering;
use chains::{Chain, read_chain};
use contents::{Contents, named_by, read_packs};
use deletions::Deleted;
use numbers::Numbers;
use told::Told;

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
    /// Expiries that do not count, or not for every snapshot they name, and why.
    pub expiries_left_out: Vec<(String, String)>,
    /// Packs that are not there and that nobody has deleted.
    pub packs_lost: Vec<String>,
    /// Packs that are not what they are named by, among those that hold what another one holds, too.
    pub packs_damaged: Vec<String>,
    /// Packs that a check with the key has found to hold something else than they say, as runs of the state tell.
    pub packs_forged: Vec<String>,
    /// Snapshots that stay although they lack something: somebody had forgotten them, or they had expired, and they came back or the
    /// policy's guard keeps them; or no receipt tells that they were accepted. What they lack was lost.
    pub snapshots_harmed: Vec<SnapshotId>,
    /// Records that cannot be read, and why: what they said is not known any more.
    pub unreadable: Vec<(String, String)>,
    /// The change that may hold a newer policy than any that can be read: nothing expires and nothing is pruned until the owner
    /// signs another.
    pub policy_unread: Option<String>,
    /// Ids that kept snapshots refer to and that have no copy.
    pub lost: u64,
}

/// Packs of clients that no manifest names: it was lost, or never written. Who has the owner's key can tell whether they
/// are what their tables say, and let [`rebuild_with`] take them.
pub async fn unnamed_packs(host: &Host<'_>) -> Result<Vec<PackId>, JobError> {
    let mut chains = Vec::new();
    for client in clients::below(host.store, "manifests/").await? {
        chains.push(read_chain(host, client, &mut Numbers::default(), &mut Report::default()).await?);
    }
    let named = named_by(host, &chains);
    let listed = objects::list(host.store, "packs/").await?;
    let packs = listed.iter().filter_map(|listed| Some(layout::pack_of(listed.key.as_str())?.1));
    Ok(packs.filter(|id| !named.contains_key(id)).collect())
}

/// [`rebuild_with`] no packs but those that manifests name.
pub async fn rebuild(host: &Host<'_>) -> Result<Report, JobError> {
    rebuild_with(host, &BTreeSet::new(), 0).await
}

/// Writes a root folded from everything else in the store, numbered far above any number ever seen. Packs that no manifest
/// names are left out, but for those that were found to be genuine.
///
/// `seen` is the number of the newest root that whoever asks has seen; 0 if of none.
pub async fn rebuild_with(host: &Host<'_>, genuine: &BTreeSet<PackId>, seen: u64) -> Result<Report, JobError> {
    // What cannot be read is left out or damaged only if the store is there: what is decided here is decided for good.
    let witnessed = Witnessed::new(host.store);
    let host = &Host { store: &witnessed, ..*host };
    let mut report = Report::default();
    let now = host.now().await?;
    let mut deleted = Deleted::read(host, &mut report).await?;
    let mut numbers = Numbers::of_roots(host, deleted.roots.clone(), seen).await?;
    let mut chains = Vec::new();
    for client in clients::below(host.store, "manifests/").await? {
        chains.push(read_chain(host, client, &mut numbers, &mut report).await?);
    }
    let told = Told::read(host, numbers.newest()).await?;
    let recorded = Recorded::read(host, &told.runs).await?;
    let read = Read { chains: &chains, genuine, told: &told, recorded: &recorded, numbers: &numbers, now };
    let Folded { proposal, unanswered, mut report } = loop {
        let folded = fold(host, &read, &deleted, report.clone()).await?;
        // Recording a name deletes nothing: what is there counts if it is needed.
        if !deleted.take_back(host, &folded.proposal).await? {
            break folded;
        }
    };
    witnessed.verdict().await?;
    for chain in &chains {
        clients::complete(host.store, &chain.missing).await?;
    }
    let nothing = View::default();
    let committed = commit(host, &nothing, proposal).await?;
    let (root, hash) = committed.ok_or(JobError::Contended { attempts: 1 })?;
    report.root = root.number;
    leave_evidence(host, root.number, now).await?;
    baseline::note(host, root.number, (root.number, hash)).await?;
    for (client, decision, time) in unanswered {
        write_receipt(host, &receipt(client, &decision, root.number, time, IngestBy::Service)).await?;
    }
    Ok(report)
}

/// What a rebuild has read, whichever packs count.
struct Read<'a> {
    chains: &'a [Chain],
    genuine: &'a BTreeSet<PackId>,
    told: &'a Told,
    recorded: &'a Recorded,
    /// The numbers of roots that anything tells of.
    numbers: &'a Numbers,
    now: Time,
}

/// The state that follows from it.
struct Folded {
    proposal: Proposal,
    unanswered: Vec<(ClientId, Decision, Time)>,
    report: Report,
}

/// Folds the state from everything but the packs that were deleted.
async fn fold(host: &Host<'_>, read: &Read<'_>, deleted: &Deleted, mut report: Report) -> Result<Folded, JobError> {
    let Read { chains, genuine, told, recorded, numbers, now } = *read;
    let named = named_by(host, chains);
    let (mut packs, unread) = read_packs(host, &deleted.names, &named, genuine, now, &mut report).await?;
    copies::compare(host, &mut packs, chains, &recorded.packs, now, &mut report).await?;
    let contents = Contents::of(&packs);
    let absence = Absence::find(recorded, (chains, &named), (&packs, &unread), &deleted.names, &mut report);

    let mut proposal = Proposal { rebuilt_as: Some(numbers.next()), ..Proposal::default() };
    let mut unanswered = Vec::new();
    let mut answering = Answering::new(&contents, &absence, now);
    for chain in chains {
        let decisions = answering.take(chain, &mut proposal, &mut report);
        let kept = decisions.len().saturating_sub(DECISIONS);
        let (number, hash) = chain.head;
        let kept = decisions[kept..].iter().map(|(decision, _)| decision.clone()).collect();
        let head = ClientHead { number, hash, time: now, decisions: kept };
        proposal.delta.heads.insert(chain.client, Some(head));
        unanswered.extend(decisions.into_iter().map(|(decision, time)| (chain.client, decision, time)));
    }
    let incomplete = answering.finish();
    let (guarded, proven) =
        decisions::fold(host, (&contents, &absence, incomplete), (told, now), &mut proposal, &mut report).await?;
    for name in &deleted.names {
        let spent = DoomedRecord { state: DoomedState::Spent, time: now, root: numbers.newest() };
        proposal.delta.doomed.insert(*name, Some(spent));
    }
    for (id, pack) in &packs {
        let is_proven = pack.record.is_proven || proven.contains(id);
        proposal.delta.packs.insert(*id, Some(PackRecord { is_proven, ..pack.record.clone() }));
    }
    let snapshots = proposal.delta.snapshots.values().flatten();
    let domains: BTreeSet<DomainId> =
        packs.values().map(|pack| pack.record.domain).chain(snapshots.map(|snapshot| snapshot.domain)).collect();
    for domain in domains {
        index::index_domain(host, (domain, &guarded), &packs, now, &mut proposal, &mut report)?;
    }
    report.packs = proposal.delta.packs.len() as u64;
    let kept = |record: &SnapshotRecord| record.state == SnapshotState::Kept && !record.partial;
    report.snapshots = proposal.delta.snapshots.values().flatten().filter(|record| kept(record)).count() as u64;
    Ok(Folded { proposal, unanswered, report })
}

/// Leaves a record that tells of the new root even if that is lost: the next rebuild goes beyond its number, and until
/// then nobody writes on an older one.
async fn leave_evidence(host: &Host<'_>, root_number: u64, time: Time) -> Result<(), JobError> {
    let random = host.random();
    let nothing = Deletion { root_number, random, time, names: Vec::new(), baseline: None };
    let name = objects::key(layout::deletion(root_number, &random));
    host.store.create(&name, Bytes::from(nothing.encode())).await?;
    Ok(())
}

/// Decisions that a client's head may hold: about a megabyte of a run's four.
const DECISIONS: usize = 8192;
