//! Ingest: decides each client's manifests from its head to the first gap, folds accepted ones into the index, and
//! writes receipts. Any order, any number of deliveries and a crash at any call lead to the same end state.

mod accept;
mod added;
mod changes;
mod expiries;
mod findings;
mod known;
mod receipts;
mod verdict;
mod waiting;

use added::Added;
use receipts::write_receipts;
pub(crate) use receipts::{receipt, write_receipt};
use verdict::Judged;
use waiting::{Claimed, Glimpse, Waiting};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use copal_engine::ingest::Verdict;
use copal_format::id::{ClientId, DomainId, ObjectHash, PackId};
use copal_format::index::SegmentWriter;
use copal_format::layout;
use copal_format::limits::{MANIFEST_TABLES, SEGMENT_ENTRIES};
use copal_format::receipt::{Outcome, Reason, Receipt};
use copal_format::repository::IngestBy;
use copal_format::state::{ClientHead, Decision};
use copal_format::time::Time;

use crate::clients;
use crate::commit::{Proposal, commit};
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::{Mistake, is_planted, windows};
use crate::lookup::FarIndex;
use crate::objects::{self, Call};
use crate::view::{self, Parts, View};

/// Which clients' manifests are decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Every client that has manifests.
    All,
    /// One client.
    Client(ClientId),
    /// Several clients, decided together in shared roots.
    Clients(&'a [ClientId]),
    /// No client: changes and expiries only.
    Decisions,
}

/// What one ingest decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The receipts, one for each decided manifest.
    pub receipts: Vec<Receipt>,
    /// Names of objects that are not believed (changes, expiries, waiting manifests), each with the reason.
    pub refused: Vec<(String, String)>,
    /// Packs that were read whole, and have the hash of their names.
    pub hashed: BTreeSet<PackId>,
}

/// Decides the manifests of the clients in scope, and folds in new changes and expiries. Returns the receipts.
///
/// `is_attested` says whether this process made a pack, or the store attests its hash. Such packs are not read again.
pub async fn ingest(
    job: &JobContext<'_>,
    by: IngestBy,
    scope: Scope<'_>,
    is_attested: &(dyn Fn(&PackId) -> bool + Sync),
) -> Result<Vec<Receipt>, JobError> {
    Ok(work(job, by, scope, is_attested).await?.receipts)
}

/// Like [`ingest`], but reuses an already loaded view unless a newer root exists.
pub async fn ingest_on(
    view: &View,
    job: &JobContext<'_>,
    by: IngestBy,
    scope: Scope<'_>,
    is_attested: &(dyn Fn(&PackId) -> bool + Sync),
) -> Result<Vec<Receipt>, JobError> {
    Ok(work_on(Some(view.heads()), job, by, scope, is_attested).await?.receipts)
}

/// Like [`ingest`], and also returns which changes and expiries are not believed.
pub async fn work(
    job: &JobContext<'_>,
    by: IngestBy,
    scope: Scope<'_>,
    is_attested: &(dyn Fn(&PackId) -> bool + Sync),
) -> Result<Report, JobError> {
    work_on(None, job, by, scope, is_attested).await
}

fn work_on<'a>(
    known: Option<View>,
    job: &'a JobContext<'_>,
    by: IngestBy,
    scope: Scope<'a>,
    is_attested: &'a (dyn Fn(&PackId) -> bool + Sync),
) -> Call<'a, Report> {
    Box::pin(go(known, job, by, scope, is_attested))
}

async fn go(
    mut known: Option<View>,
    job: &JobContext<'_>,
    by: IngestBy,
    scope: Scope<'_>,
    is_attested: &(dyn Fn(&PackId) -> bool + Sync),
) -> Result<Report, JobError> {
    let mut report = Report::default();
    let stale = if is_planted(Mistake::OldReferences) { Some(view::read(job.store).await?) } else { None };
    let mut waiting: Option<Vec<ClientId>> = match scope {
        Scope::All => None,
        Scope::Client(client) => Some(vec![client]),
        Scope::Clients(clients) => Some(clients.iter().copied().collect::<BTreeSet<_>>().into_iter().collect()),
        Scope::Decisions => Some(Vec::new()),
    };
    let (mut lost, mut passes) = (0, 0);
    // Many manifests may name the same packs.
    let hashed = Mutex::default();
    loop {
        if lost == ATTEMPTS {
            return Err(JobError::Contended { attempts: ATTEMPTS });
        }
        lost += 1;
        let was_known = known.is_some();
        let view = match known.take() {
            Some(view) => view,
            None => view::read_parts(job.store, &Parts::HEADS).await?,
        };
        let base = View { root: view.root.clone(), unreached: view.unreached.clone(), ..View::default() };
        let is_old = async { if was_known { view::is_superseded(job.store, &base).await } else { Ok(false) } };
        let (pass, is_old) = futures::join!(Pass::new(job, view, by, is_attested, &hashed), is_old);
        // An old view is useful only while its root is the newest: a root that is written on another one does not win.
        if is_old? {
            continue;
        }
        let mut pass = pass?;
        pass.references = stale.as_ref();
        pass.is_alone = matches!(scope, Scope::Client(_));
        let decided = match pass.go(&mut waiting).await {
            Ok(()) if pass.is_idle() => {
                report.refused.extend(pass.refused);
                break;
            }
            Ok(()) => pass.finish().await,
            Err(error) => Err(error),
        };
        let (proposal, decided) = match decided {
            // What was read after the root fits it only while the root is the newest.
            Err(JobError::StateLost { .. }) if view::is_superseded(job.store, &base).await? => continue,
            decided => decided?,
        };
        clients::complete(job.store, &pass.single).await?;
        let (now, refused) = (pass.now, std::mem::take(&mut pass.refused));
        let again = is_planted(Mistake::ChecksNotRepeated).then(|| proposal.clone());
        let mut won = commit(job, &pass.view, proposal).await?;
        if let (None, Some(proposal)) = (&won, again) {
            won = commit(job, &view::read(job.store).await?, proposal).await?;
        }
        if let Some((root, _)) = won {
            let answers: Vec<Receipt> = decided
                .into_iter()
                .map(|(client, decision)| receipt(client, &decision, root.number, now, by))
                .collect();
            write_receipts(job, &answers).await?;
            report.receipts.extend(answers);
            report.refused.extend(refused);
            (lost, passes) = (0, passes + 1);
            // A client that sends without end must not keep this job for ever.
            if (pass.open.is_empty() && !pass.has_more) || passes == PASSES {
                break;
            }
            waiting = Some(std::mem::take(&mut pass.open));
        }
        // A chain may be longer than one pass takes. And after a lost commit the new root needs new decisions.
    }
    let hashed = hashed.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.hashed = hashed.into_iter().filter_map(|(id, has_its_hash)| has_its_hash.then_some(id)).collect();
    Ok(report)
}

/// One pass over the chains, on one root.
struct Pass<'a> {
    job: &'a JobContext<'a>,
    view: View,
    /// If a fault is planted: where references are looked up instead of the view.
    references: Option<&'a View>,
    by: IngestBy,
    is_attested: &'a (dyn Fn(&PackId) -> bool + Sync),
    /// Packs whose bytes this job has read, and whether they have the hash of their names.
    hashed: &'a Mutex<BTreeMap<PackId, bool>>,
    /// Bytes that this pass has read to compare the hashes of packs.
    bytes_hashed: AtomicU64,
    now: Time,
    proposal: Proposal,
    decided: Vec<(ClientId, Decision)>,
    /// Missing second copies of the records of decided clients.
    single: Vec<clients::Copy>,
    refused: Vec<(String, String)>,
    writers: BTreeMap<DomainId, SegmentWriter>,
    /// Ids and heights that this pass adds, by domain.
    added: BTreeMap<DomainId, Added>,
    /// Indexes that are read in pieces because the store is remote.
    far: BTreeMap<DomainId, FarIndex>,
    /// Domains whose segments were read whole and have the hashes they are named by.
    verified: BTreeSet<DomainId>,
    /// Clients whose chains have more manifests than this pass decided.
    open: Vec<ClientId>,
    /// Whether the scope is a single client.
    is_alone: bool,
    /// Whether changes or expiries may be left for another pass.
    has_more: bool,
    /// The next change and the next expiry, read together with the root and kept until they are folded.
    next: [Option<Option<Bytes>>; 2],
}

impl<'a> Pass<'a> {
    async fn new(
        job: &'a JobContext<'a>,
        view: View,
        by: IngestBy,
        is_attested: &'a (dyn Fn(&PackId) -> bool + Sync),
        hashed: &'a Mutex<BTreeMap<PackId, bool>>,
    ) -> Result<Self, JobError> {
        let (change_head, expiry_head) = view.root.as_ref().map_or((None, None), |(root, _)| {
            let number = |head: Option<(u64, ObjectHash)>| head.map(|(number, _)| number);
            (number(root.change_head), number(root.expiry_head))
        });
        let names = [layout::change(change_head.unwrap_or(0) + 1), layout::expiry(expiry_head.unwrap_or(0) + 1)];
        // These are read after the root, and at the same time.
        let (now, change, expiry) =
            futures::try_join!(job.now(), objects::read(job.store, &names[0]), objects::read(job.store, &names[1]))?;
        Ok(Self {
            job,
            view,
            references: None,
            by,
            is_attested,
            hashed,
            bytes_hashed: AtomicU64::new(0),
            now,
            proposal: Proposal::default(),
            decided: Vec::new(),
            single: Vec::new(),
            refused: Vec::new(),
            writers: BTreeMap::new(),
            added: BTreeMap::new(),
            far: BTreeMap::new(),
            verified: BTreeSet::new(),
            open: Vec::new(),
            is_alone: false,
            has_more: false,
            next: [Some(change), Some(expiry)],
        })
    }

    fn is_idle(&self) -> bool {
        self.decided.is_empty() && self.proposal.change_head.is_none() && self.proposal.expiry_head.is_none()
    }

    /// Decides everything for one root. Without a list of clients, finds those with new manifests.
    async fn go(&mut self, waiting: &mut Option<Vec<ClientId>>) -> Result<(), JobError> {
        let is_asked_for = waiting.is_some();
        let clients = match waiting {
            Some(clients) => clients,
            None => {
                self.write_missing_receipts(self.view.state.heads.keys().copied()).await?;
                let found = clients::below_behind(self.job.store, "manifests/", &self.view.state.heads).await?;
                waiting.insert(found)
            }
        };
        let mut later = Vec::new();
        for some in clients.chunks(CLIENTS) {
            if self.is_full() {
                later.extend(some);
                continue;
            }
            // Before anything new is decided about a client, it gets its missing receipts.
            let owed = self.write_missing_receipts(some.iter().copied().filter(|_| is_asked_for));
            let ((), found) = futures::try_join!(owed, self.look(some))?;
            let domains = found.iter().filter_map(|waiting| waiting.domain);
            self.open(domains.collect()).await?;
            for waiting in found {
                self.work(waiting).await?;
            }
        }
        // Who has waited comes first in the next pass.
        self.open.splice(0..0, later);
        self.fold_changes().await?;
        self.fold_expiries().await
    }

    /// Whether this root has enough to decide. The bound limits runs, memory and the time of a pass.
    fn is_full(&self) -> bool {
        let entries: usize = self.writers.values().map(SegmentWriter::len).sum();
        let hashed = self.bytes_hashed.load(Ordering::Relaxed);
        self.decided.len() >= DECISIONS || entries >= ENTRIES || hashed >= windows().hashed
    }

    /// Decides the manifests of one client.
    async fn work(&mut self, waiting: Waiting) -> Result<(), JobError> {
        let Waiting { client, manifest, record, missing, mut findings, next: second, is_answered, .. } = waiting;
        // If it is unknown whether the client may write, this client waits, others do not.
        let Ok(record) = record else { return Ok(()) };
        let head = self.view.state.heads.get(&client);
        let (mut number, mut before) = head.map_or((0, ObjectHash::NONE), |head| (head.number, head.hash));
        let mut decisions = Vec::new();
        let (mut second, mut first_answered) = (Some(second), Some(is_answered));
        let mut next = self.read_glimpsed(client, number + 1, manifest).await?;
        while let Some(Claimed { hash, bytes }) = next {
            if decisions.len() == MANIFESTS || (self.is_full() && !decisions.is_empty()) {
                self.open.push(client);
                break;
            }
            let is_answered = match first_answered.take() {
                Some(is_answered) => is_answered,
                None => self.is_answered(client, number + 1).await?,
            };
            if is_answered {
                self.refuse_older_state(client, number + 1).await?;
            }
            let verdict = match bytes {
                Some(bytes) => {
                    let place = (client, number + 1, before);
                    match self.judge(place, &bytes, record.as_ref(), findings.take()).await? {
                        Judged::Decided(verdict) => verdict,
                        // A waiting manifest stops only its own client: the claim may be false.
                        Judged::Waits(evidence) if self.is_alone => return Err(JobError::StateLost { evidence }),
                        Judged::Waits(evidence) => {
                            self.refused.push((layout::manifest(client, number + 1), evidence));
                            break;
                        }
                    }
                }
                None => Verdict::rejected(Reason::Oversize, "it is longer than any manifest"),
            };
            number += 1;
            before = hash;
            let decision = Decision {
                number,
                hash,
                outcome: if verdict.is_accepted() { Outcome::Accepted } else { Outcome::Rejected },
                reasons: verdict.reasons,
                missing: verdict.missing,
                packs: verdict.packs,
            };
            if is_planted(Mistake::RejectedOutside) && decision.outcome == Outcome::Rejected {
                write_receipt(self.job, &receipt(client, &decision, self.view.number(), self.now, self.by)).await?;
            }
            decisions.push(decision);
            next = self.read_glimpsed(client, number + 1, second.take().unwrap_or(Glimpse::Large)).await?;
        }
        if !decisions.is_empty() {
            let head = ClientHead { number, hash: before, time: self.now, decisions: decisions.clone() };
            self.proposal.delta.heads.insert(client, Some(head));
            self.single.extend(missing);
            self.decided.extend(decisions.into_iter().map(|decision| (client, decision)));
        }
        Ok(())
    }

    /// Fails if a receipt shows that a newer root, which is gone, has decided this manifest: the state is lost then.
    async fn refuse_older_state(&self, client: ClientId, number: u64) -> Result<(), JobError> {
        let newest = view::newest_heads(self.job.store).await?;
        if newest.state.heads.get(&client).is_some_and(|head| head.number >= number) {
            // Another ingest was faster: this pass will lose its commit and be repeated.
            return Ok(());
        }
        let name = layout::receipt(client, number);
        let Some(bytes) = objects::read(self.job.store, &name).await? else { return Ok(()) };
        if view::tells_of((client, number), &bytes, newest.number()).is_none() {
            return Ok(());
        }
        Err(JobError::StateLost { evidence: format!("{name} answers what root {} has not seen", newest.number()) })
    }
}

/// How often in a row a pass is begun again before the job gives up.
const ATTEMPTS: u32 = 64;
/// Passes after which a job ends although more waits.
const PASSES: u32 = 1_024;
/// The most manifests of one client that one root decides, so that the root's runs stay small.
const MANIFESTS: usize = 16;
/// Manifests, and index entries, after which one root has enough to decide.
const DECISIONS: usize = 256;
const ENTRIES: usize = 1 << 20;
/// Therefore what clients send never fills a segment: an id in a table takes 24 bytes.
const _: () = assert!(ENTRIES as u64 + MANIFEST_TABLES / 24 < SEGMENT_ENTRIES);
/// Clients examined at the same time.
const CLIENTS: usize = 64;
