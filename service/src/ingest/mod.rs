//! Ingest: works the chains of clients from the last decided number until one is absent, folds what is accepted into the
//! index, and answers. Any order, any number of deliveries, a crash at any call: the same end state.

mod accept;
mod changes;
mod expiries;
mod findings;
mod receipts;

pub(crate) use changes::{apply_change, verify_change};
pub(crate) use receipts::{receipt, write_receipt};

use std::collections::{BTreeMap, HashMap};

use copal_engine::client::{ClientRecord, Role};
use copal_engine::id::{ChunkId, ClientId, DomainId, ObjectHash, PackId};
use copal_engine::index::SegmentWriter;
use copal_engine::ingest::{Verdict, judge};
use copal_engine::layout;
use copal_engine::manifest::Manifest;
use copal_engine::receipt::{Outcome, Reason, Receipt};
use copal_engine::repository::IngestBy;
use copal_engine::state::{ClientHead, Decision};
use copal_engine::time::Time;

use crate::clients;
use crate::commit::{Proposal, commit};
use crate::error::JobError;
use crate::faults::{Fault, is_planted};
use crate::host::Host;
use crate::objects;
use crate::view::{self, View};

/// Whose chains are worked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every client that has manifests.
    All,
    /// One client.
    Client(ClientId),
    /// No client: changes and expiries only.
    Decisions,
}

/// What was decided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The answers to manifests.
    pub receipts: Vec<Receipt>,
    /// Changes and expiries that are not believed, and why.
    pub refused: Vec<(String, String)>,
}

/// Works the chains of the clients in scope and folds in new changes and expiries. Gives the answers to manifests.
///
/// `is_attested` says of a pack that its stored bytes are known to have the hash of its name (this process made them,
/// or the store vouches): then they are not read again.
pub async fn ingest(
    host: &Host<'_>,
    by: IngestBy,
    scope: Scope,
    is_attested: &(dyn Fn(&PackId) -> bool + Sync),
) -> Result<Vec<Receipt>, JobError> {
    Ok(work(host, by, scope, is_attested).await?.receipts)
}

/// The same, and tells also which changes and expiries are not believed.
pub async fn work(
    host: &Host<'_>,
    by: IngestBy,
    scope: Scope,
    is_attested: &(dyn Fn(&PackId) -> bool + Sync),
) -> Result<Report, JobError> {
    let mut report = Report::default();
    let stale = if is_planted(Fault::OldReferences) { Some(view::read(host.store).await?) } else { None };
    for _ in 0..ATTEMPTS {
        let view = view::read(host.store).await?;
        let clients = match scope {
            Scope::All => clients::below(host.store, "manifests/").await?,
            Scope::Client(client) => vec![client],
            Scope::Decisions => Vec::new(),
        };
        let mut pass = Pass::new(host, &view, by, is_attested).await?;
        pass.references = stale.as_ref().unwrap_or(&view);
        for client in clients {
            pass.work(client).await?;
        }
        pass.fold_changes().await?;
        pass.fold_expiries().await?;
        if pass.is_idle() {
            return Ok(report);
        }
        let (now, refused) = (pass.now, std::mem::take(&mut pass.refused));
        let (proposal, decided) = pass.finish()?;
        let again = is_planted(Fault::ChecksNotRepeated).then(|| proposal.clone());
        let mut won = commit(host, &view, proposal).await?;
        if let (None, Some(proposal)) = (&won, again) {
            won = commit(host, &view::read(host.store).await?, proposal).await?;
        }
        if let Some((root, _)) = won {
            for (client, decision) in decided {
                let receipt = receipt(client, &decision, root.number, now, by);
                write_receipt(host, &receipt).await?;
                report.receipts.push(receipt);
            }
            report.refused.extend(refused);
        }
        // A chain may hold more than one pass takes; and whoever lost decides everything again on the new root.
    }
    Err(JobError::Contended { attempts: ATTEMPTS })
}

/// One pass over the chains, on one root.
struct Pass<'a> {
    host: &'a Host<'a>,
    view: &'a View,
    /// Where references are looked up: the view.
    references: &'a View,
    by: IngestBy,
    is_attested: &'a (dyn Fn(&PackId) -> bool + Sync),
    now: Time,
    proposal: Proposal,
    decided: Vec<(ClientId, Decision)>,
    refused: Vec<(String, String)>,
    writers: BTreeMap<DomainId, SegmentWriter>,
    /// Heights of the ids this pass adds.
    added: BTreeMap<DomainId, HashMap<ChunkId, u8>>,
}

impl<'a> Pass<'a> {
    async fn new(
        host: &'a Host<'a>,
        view: &'a View,
        by: IngestBy,
        is_attested: &'a (dyn Fn(&PackId) -> bool + Sync),
    ) -> Result<Self, JobError> {
        Ok(Self {
            host,
            view,
            references: view,
            by,
            is_attested,
            now: host.now().await?,
            proposal: Proposal::default(),
            decided: Vec::new(),
            refused: Vec::new(),
            writers: BTreeMap::new(),
            added: BTreeMap::new(),
        })
    }

    fn is_idle(&self) -> bool {
        self.decided.is_empty() && self.proposal.change_head.is_none() && self.proposal.expiry_head.is_none()
    }

    /// Works the chain of one client.
    async fn work(&mut self, client: ClientId) -> Result<(), JobError> {
        let head = self.view.state.heads.get(&client);
        if let Some(head) = head {
            self.write_missing_receipts(client, head).await?;
        }
        let (mut number, mut before) = head.map_or((0, ObjectHash::NONE), |head| (head.number, head.hash));
        let mut record = None;
        let mut decisions = Vec::new();
        while decisions.len() < MANIFESTS {
            let name = layout::manifest(client, number + 1);
            let Some(bytes) = objects::read(self.host.store, &name).await? else { break };
            self.refuse_older_state(client, number + 1).await?;
            if record.is_none() {
                match clients::read(self.host, client).await {
                    Ok(read) => record = Some(read),
                    // Whether the client may write cannot be told: it waits, others do not.
                    Err(JobError::Damaged { .. }) => break,
                    Err(error) => return Err(error),
                }
            }
            let hash = ObjectHash::of(&bytes);
            let known = record.as_ref().and_then(Option::as_ref);
            let verdict = self.judge(client, number + 1, before, &bytes, known).await?;
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
            if is_planted(Fault::RejectedOutside) && decision.outcome == Outcome::Rejected {
                write_receipt(self.host, &receipt(client, &decision, self.view.number(), self.now, self.by)).await?;
            }
            decisions.push(decision);
        }
        if !decisions.is_empty() {
            let head = ClientHead { number, hash: before, time: self.now, decisions: decisions.clone() };
            self.proposal.delta.heads.insert(client, Some(head));
            self.decided.extend(decisions.into_iter().map(|decision| (client, decision)));
        }
        Ok(())
    }

    /// An answer to a manifest that this root has not decided was given by a newer root, which is gone.
    async fn refuse_older_state(&self, client: ClientId, number: u64) -> Result<(), JobError> {
        let name = layout::receipt(client, number);
        match objects::read(self.host.store, &name).await? {
            None => Ok(()),
            Some(_) => {
                let newest = view::read(self.host.store).await?.number();
                if newest > self.view.number() {
                    // Another ingest was faster; this pass will lose, and be repeated.
                    return Ok(());
                }
                Err(JobError::StateLost { evidence: format!("{name} answers what root {newest} has not seen") })
            }
        }
    }

    async fn judge(
        &mut self,
        client: ClientId,
        number: u64,
        before: ObjectHash,
        bytes: &[u8],
        record: Option<&ClientRecord>,
    ) -> Result<Verdict, JobError> {
        let Some(record) = record else {
            return Ok(Verdict::rejected(Reason::UnknownClient, "no sound record of the client"));
        };
        let Some(keys) = &record.keys else {
            return Ok(Verdict::rejected(Reason::UnknownClient, "the client has not joined"));
        };
        let verified = match Manifest::verify(self.host.repository, &keys.manifest, client, number, bytes) {
            Ok(verified) => verified,
            Err(error) => return Ok(Verdict::rejected(Reason::BadSignature, error.to_string())),
        };
        if verified.manifest.previous != before {
            return Ok(Verdict::rejected(Reason::BrokenChain, "it does not name the manifest before it"));
        }
        // Only who holds the owner's secret is believed: another client could stop all others with a false number.
        if let Some((seen, _)) = verified.manifest.root_seen
            && record.role == Role::Full
            && seen > self.view.number()
            && seen > view::read(self.host.store).await?.number()
        {
            let evidence = format!("manifest {number} of client {client} has seen root {seen}");
            return Err(JobError::StateLost { evidence });
        }
        let findings = self.find_packs(&verified.manifest).await?;
        let domain = verified.manifest.domain;
        let added = self.added.get(&domain);
        let resolve = |id: &ChunkId| {
            added.and_then(|added| added.get(id).copied()).or_else(|| self.references.resolve(domain, id))
        };
        let mut verdict = judge(&verified, record, &findings, resolve);
        let root = verified.manifest.snapshot.as_ref().map(|claim| claim.root);
        if is_planted(Fault::RootPageUnchecked) && verdict.packs.is_empty() && verdict.missing.iter().eq(&root) {
            verdict = Verdict::default();
        }
        if verdict.is_accepted() {
            self.accept(&verified, record, findings)?;
        }
        Ok(verdict)
    }
}

/// So often a pass is begun again before others are left to it.
const ATTEMPTS: u32 = 64;
/// Manifests of one client that one root decides, so that the root's runs stay small.
const MANIFESTS: usize = 16;
