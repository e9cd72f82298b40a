//! Rebuild: folds the state again from the other objects in the store, after roots, runs or segments were lost. The
//! operator starts this repair; no other writer may run meanwhile.

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

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use copal_format::id::{ClientId, DomainId, PackId, SnapshotId};
use copal_format::layout;
use copal_format::repository::IngestBy;
use copal_format::root::Deletion;
use copal_format::state::{ClientHead, Decision, DoomedRecord, DoomedState, PackRecord, SnapshotRecord, SnapshotState};
use copal_format::time::Time;
use copal_store::StoreError;

use crate::baseline;
use crate::check::accepted_losses;
use crate::clients;
use crate::commit::{Proposal, commit};
use crate::context::JobContext;
use crate::error::JobError;
use crate::ingest::{receipt, write_receipt};
use crate::objects::{self, Call};
use crate::view::View;
use crate::witness::Witnessed;
use absence::{Absence, Recorded};
use answers::Answering;
use chains::{Chain, read_chains};
use contents::{Contents, named_by, read_packs};
use deletions::Deleted;
use numbers::Numbers;
use told::Told;

/// What a rebuild found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of the new root.
    pub root: u64,
    /// Complete snapshots that are kept.
    pub snapshots: u64,
    /// Packs taken into the index.
    pub packs: u64,
    /// Index entries.
    pub entries: u64,
    /// Packs that were left out, with reasons.
    pub packs_left_out: Vec<(String, String)>,
    /// Packs that are still there and do not count, because a prune has recorded their deletion.
    pub packs_recorded: u64,
    /// Manifests that do not count, with reasons.
    pub manifests_left_out: Vec<(String, String)>,
    /// Expiries that do not count, or not for every snapshot that they name, with reasons.
    pub expiries_left_out: Vec<(String, String)>,
    /// Packs that are gone and that no prune has deleted.
    pub packs_lost: Vec<String>,
    /// Packs without the hash of their name, among those that share ids with others or have dangling references.
    pub packs_damaged: Vec<String>,
    /// Forged packs: by surviving runs, a check with the key found that they hold something else than they say.
    pub packs_forged: Vec<String>,
    /// Snapshots that stay although something they need was lost. They had been forgotten or had expired and came back,
    /// or the policy's guard keeps them, or no receipt proves that they were accepted.
    pub snapshots_harmed: Vec<SnapshotId>,
    /// Records that cannot be read, with reasons. Their content is unknown.
    pub unreadable: Vec<(String, String)>,
    /// The unreadable change that may hold the newest policy. Until the owner signs another, nothing expires or is
    /// pruned.
    pub policy_unread: Option<String>,
    /// Ids that kept snapshots refer to and that have no copy.
    pub lost: u64,
}

impl Report {
    /// Returns what was read; none if the object is gone, or if the store refuses it, which is reported.
    fn given(&mut self, read: Result<Option<Bytes>, StoreError>) -> Result<Option<Bytes>, JobError> {
        read.or_else(|error| {
            self.unreadable.push(JobError::from(error).blame()?);
            Ok(None)
        })
    }
}

/// Packs in `packs/` that no manifest names: the manifest was lost, or never written. Somebody with the owner's key can
/// verify them and pass the genuine ones to [`rebuild_with`].
pub async fn unnamed_packs(job: &JobContext<'_>) -> Result<Vec<PackId>, JobError> {
    let mut numbers = Numbers::of_roots(job, Vec::new(), 0).await?;
    numbers.next()?;
    let chains = read_chains(job, &mut numbers, &mut Report::default()).await?;
    let named = named_by(job, &chains);
    let listed = objects::list(job.store, "packs/").await?;
    let packs = listed.iter().filter_map(|listed| Some(layout::pack_of(listed.key.as_str())?.1));
    Ok(packs.filter(|id| !named.contains_key(id)).collect())
}

/// Calls [`rebuild_with`] without unnamed packs.
pub async fn rebuild(job: &JobContext<'_>) -> Result<Report, JobError> {
    rebuild_with(job, &BTreeSet::new(), 0).await
}

/// Writes a root folded from everything else in the store, numbered far above all known numbers. Packs that no manifest
/// names are left out, except the `genuine` ones.
///
/// `seen` is the number of the newest root that the caller has seen; 0 if none.
pub fn rebuild_with<'a>(job: &'a JobContext<'_>, genuine: &'a BTreeSet<PackId>, seen: u64) -> Call<'a, Report> {
    Box::pin(go(job, genuine, seen))
}

async fn go(job: &JobContext<'_>, genuine: &BTreeSet<PackId>, seen: u64) -> Result<Report, JobError> {
    // An object counts as unreadable only while the store itself works, because the result is final.
    let witnessed = Witnessed::new(job.store);
    let job = &JobContext { store: &witnessed, ..*job };
    let mut report = Report::default();
    let now = job.now().await?;
    let mut deleted = Deleted::read(job, &mut report).await?;
    let mut numbers = Numbers::of_roots(job, deleted.roots.clone(), seen).await?;
    // Fails before the long work if no number is left for the new root.
    numbers.next()?;
    let chains = read_chains(job, &mut numbers, &mut report).await?;
    let told = Told::read(job, numbers.newest()).await?;
    let recorded = Recorded::read(job, &told.runs).await?;
    let read = Read { chains: &chains, genuine, told: &told, recorded: &recorded, numbers: &numbers, now };
    let Folded { proposal, unanswered, mut report, .. } = loop {
        let folded = fold(job, &read, &deleted, report.clone()).await?;
        // A prune may have recorded an object without deleting it. It counts if something is lost or refused without it.
        if !deleted.take_back(job, (&folded.proposal, &folded.refused)).await? {
            break folded;
        }
    };
    if !report.unreadable.is_empty() {
        let accepted = accepted_losses(job).await?;
        report.unreadable.retain(|(name, _)| !accepted.contains(name));
    }
    witnessed.verdict().await?;
    for chain in &chains {
        clients::complete(job.store, &chain.missing).await?;
    }
    let nothing = View::default();
    let committed = commit(job, &nothing, proposal).await?;
    let (root, hash) = committed.ok_or(JobError::Contended { attempts: 1 })?;
    report.root = root.number;
    leave_evidence(job, root.number, now).await?;
    baseline::note(job, root.number, (root.number, hash)).await?;
    for (client, decision, time) in unanswered {
        write_receipt(job, &receipt(client, &decision, root.number, time, IngestBy::Service)).await?;
    }
    Ok(report)
}

/// What a rebuild has read, before it decides which deleted packs count.
struct Read<'a> {
    chains: &'a [Chain],
    genuine: &'a BTreeSet<PackId>,
    told: &'a Told,
    recorded: &'a Recorded,
    /// The root numbers that objects in the store mention.
    numbers: &'a Numbers,
    now: Time,
}

/// The state folded from it.
struct Folded {
    proposal: Proposal,
    unanswered: Vec<(ClientId, Decision, Time)>,
    /// Domains in which a snapshot or manifest does not count because something is not there.
    refused: BTreeSet<DomainId>,
    report: Report,
}

/// Folds the state from everything except the packs named as deleted.
async fn fold(
    job: &JobContext<'_>,
    read: &Read<'_>,
    deleted: &Deleted,
    mut report: Report,
) -> Result<Folded, JobError> {
    let Read { chains, genuine, told, recorded, numbers, now } = *read;
    let named = named_by(job, chains);
    let (mut packs, unread) = read_packs(job, &deleted.names, &named, genuine, now, &mut report).await?;
    copies::compare(job, &mut packs, chains, &recorded.packs, now, &mut report).await?;
    let contents = Contents::of(&packs, &deleted.returned);
    let absence = Absence::find(recorded, (chains, &named), (&packs, &unread), &deleted.names, &mut report);
    absence::look_up(job, &report).await?;

    let mut proposal = Proposal { rebuilt_as: Some(numbers.next()?), ..Proposal::default() };
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
    let (incomplete, mut refused) = answering.finish();
    let applied =
        decisions::fold(job, (&contents, &absence, incomplete), (told, now), &mut proposal, &mut report).await?;
    refused.extend(applied.refused);
    for name in &deleted.names {
        let spent = DoomedRecord { state: DoomedState::Spent, time: now, root: numbers.newest() };
        proposal.delta.doomed.insert(*name, Some(spent));
    }
    for (id, pack) in &packs {
        let is_proven = pack.record.is_proven || applied.proven.contains(id);
        proposal.delta.packs.insert(*id, Some(PackRecord { is_proven, ..pack.record.clone() }));
    }
    let mut snapshots: BTreeMap<DomainId, Vec<SnapshotRecord>> = BTreeMap::new();
    for snapshot in proposal.delta.snapshots.values().flatten() {
        snapshots.entry(snapshot.domain).or_default().push(snapshot.clone());
    }
    let packs = copies::by_domain(&packs);
    for domain in packs.keys().chain(snapshots.keys()).copied().collect::<BTreeSet<DomainId>>() {
        let packs = packs.get(&domain).map(Vec::as_slice).unwrap_or_default();
        let snapshots = snapshots.get(&domain).map(Vec::as_slice).unwrap_or_default();
        index::index_domain(job, (domain, &applied.guarded), (packs, snapshots), now, &mut proposal, &mut report)?;
    }
    report.packs = proposal.delta.packs.len() as u64;
    let kept = |record: &SnapshotRecord| record.state == SnapshotState::Kept && !record.partial;
    report.snapshots = proposal.delta.snapshots.values().flatten().filter(|record| kept(record)).count() as u64;
    Ok(Folded { proposal, unanswered, refused, report })
}

/// Writes a deletion record without names as evidence of the new root. If the root is lost, the next rebuild chooses a
/// higher number, and until then nobody writes on an older root.
async fn leave_evidence(job: &JobContext<'_>, root_number: u64, time: Time) -> Result<(), JobError> {
    let random = job.random();
    let nothing = Deletion { root_number, random, time, names: Vec::new(), baseline: None };
    let name = objects::key(layout::deletion(root_number, &random));
    job.store.create(&name, Bytes::from(nothing.encode())).await?;
    Ok(())
}

/// How many decisions a client's head may hold: about 1 MB of a run's 4 MB.
const DECISIONS: usize = 8192;
