//! Ingest: works the chains of clients from the last decided number until one is absent, folds what is accepted into the
//! index, and answers. Any order, any number of deliveries, a crash at any call: the same end state.

mod changes;
mod findings;

pub(crate) use changes::{apply_change, verify_change};

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use copal_engine::client::{ClientRecord, Role};
use copal_engine::id::{ChunkId, ClientId, DomainId, ObjectHash, PackId, PackTag};
use copal_engine::index::{Bits, Mark, NewSegment, Segment, SegmentWriter, merge};
use copal_engine::ingest::{Finding, Verdict, judge};
use copal_engine::layout::{self, Place};
use copal_engine::manifest::{Manifest, VerifiedManifest};
use copal_engine::receipt::{Outcome, Reason, Receipt};
use copal_engine::repository::IngestBy;
use copal_engine::state::{ClientHead, Decision, DoomedRecord, DoomedState, PackRecord, SnapshotRecord, SnapshotState};
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
}

/// Works the chains of the clients in scope and folds in new changes. Gives the answers to what was decided.
///
/// `is_attested` says of a pack that its stored bytes are known to have the hash of its name (this process made them,
/// or the store vouches): then they are not read again.
pub async fn ingest(
    host: &Host<'_>,
    by: IngestBy,
    scope: Scope,
    is_attested: &(dyn Fn(&PackId) -> bool + Sync),
) -> Result<Vec<Receipt>, JobError> {
    let mut answers = Vec::new();
    for _ in 0..ATTEMPTS {
        let view = view::read(host.store).await?;
        let clients = match scope {
            Scope::All => clients::below(host.store, "manifests/").await?,
            Scope::Client(client) => vec![client],
        };
        let mut pass = Pass::new(host, &view, by, is_attested).await?;
        for client in clients {
            pass.work(client).await?;
        }
        pass.fold_changes().await?;
        if pass.is_idle() {
            return Ok(answers);
        }
        let (proposal, decided) = pass.finish()?;
        let again = is_planted(Fault::ChecksNotRepeated).then(|| proposal.clone());
        let mut won = commit(host, &view, proposal).await?;
        if let (None, Some(proposal)) = (&won, again) {
            won = commit(host, &view::read(host.store).await?, proposal).await?;
        }
        if let Some((root, _)) = won {
            for (client, decision) in decided {
                let receipt = receipt(client, &decision, root.number, root.time, by);
                write_receipt(host, &receipt).await?;
                answers.push(receipt);
            }
        }
        // A chain may hold more than one pass takes; and whoever lost decides everything again on the new root.
    }
    Err(JobError::Contended { attempts: ATTEMPTS })
}

/// One pass over the chains, on one root.
struct Pass<'a> {
    host: &'a Host<'a>,
    view: &'a View,
    by: IngestBy,
    is_attested: &'a (dyn Fn(&PackId) -> bool + Sync),
    now: Time,
    proposal: Proposal,
    decided: Vec<(ClientId, Decision)>,
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
            by,
            is_attested,
            now: host.now().await?,
            proposal: Proposal::default(),
            decided: Vec::new(),
            writers: BTreeMap::new(),
            added: BTreeMap::new(),
        })
    }

    fn is_idle(&self) -> bool {
        self.decided.is_empty() && self.proposal.change_head.is_none()
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
            decisions.push(Decision {
                number,
                hash,
                outcome: if verdict.is_accepted() { Outcome::Accepted } else { Outcome::Rejected },
                reasons: verdict.reasons,
                missing: verdict.missing,
                packs: verdict.packs,
            });
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
        let resolve =
            |id: &ChunkId| added.and_then(|added| added.get(id).copied()).or_else(|| self.view.resolve(domain, id));
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

    /// Adds what an accepted manifest brings.
    fn accept(
        &mut self,
        verified: &VerifiedManifest,
        record: &ClientRecord,
        findings: Vec<(PackId, Finding)>,
    ) -> Result<(), JobError> {
        let manifest = &verified.manifest;
        let domain = manifest.domain;
        for ((id, finding), (_, length)) in findings.into_iter().zip(&manifest.packs) {
            let Finding::Sound(table) = finding else { continue };
            let heights = table.ids.iter().enumerate().map(|(at, id)| (*id, table.height(at)));
            self.added.entry(domain).or_default().extend(heights);
            let random = self.host.random();
            let writer = self.writers.entry(domain).or_insert_with(|| SegmentWriter::new(domain, random));
            writer.add_pack(id, Place::Packs, &table)?;
            let pack = PackRecord {
                domain,
                kind: table.kind,
                length: *length,
                place: Place::Packs,
                is_missing: false,
                is_damaged: false,
                read: Time(0),
                accepted: self.now,
            };
            self.proposal.delta.packs.insert(id, Some(pack));
            self.clear_lost(domain, id, &table.ids);
        }
        if let Some(claim) = &manifest.snapshot {
            let snapshot = SnapshotRecord {
                id: verified.hash.snapshot(),
                domain,
                root: claim.root,
                partial: claim.partial,
                client_time: claim.client_time,
                accepted: self.now,
                source: claim.source,
                tags: claim.tags.clone(),
                state: SnapshotState::Kept,
                pinned: false,
                state_time: self.now,
                by_full_client: record.role == Role::Full,
            };
            self.proposal.delta.snapshots.insert((manifest.client, manifest.number), Some(snapshot));
        }
        Ok(())
    }

    /// Ids that had no copy left have one again, and a pack that was lost and came back is lost no more.
    fn clear_lost(&mut self, domain: DomainId, pack: PackId, ids: &[ChunkId]) {
        let Some(index) = self.view.index(domain) else { return };
        for id in ids {
            for tag in [PackTag::NONE, pack.tag()] {
                let old = index.overlay().mark(id, tag);
                let bits = old.bits.without(Bits::LOST | Bits::WANTED);
                if old.bits.contains(Bits::LOST) {
                    let records = self.proposal.overlay.entry(domain).or_default();
                    records.insert((*id, tag), Mark { bits, ..old });
                }
            }
        }
    }

    /// Folds the new entries with smaller segments and gives everything to commit.
    fn finish(mut self) -> Result<(Proposal, Vec<(ClientId, Decision)>), JobError> {
        for (domain, writer) in std::mem::take(&mut self.writers) {
            let Some(fresh) = writer.finish() else { continue };
            let parsed = Segment::parse(Bytes::from(fresh.bytes.clone()));
            let parsed = parsed.map_err(|error| JobError::damaged(layout::segment(fresh.hash), error))?;
            let mut total = parsed.len();
            let mut parts = vec![&parsed];
            for (old, segment) in self.view.segments_by_size(domain) {
                if segment.len() > total || total + segment.len() >= FOLD_ENTRIES {
                    break;
                }
                // Damage is not spread.
                if ObjectHash::of(segment.bytes()) != old {
                    continue;
                }
                total += segment.len();
                parts.push(segment);
                self.proposal.delta.segments.insert((domain, old), None);
                let doomed = DoomedRecord { state: DoomedState::Doomed, time: self.now, root: self.view.number() + 1 };
                self.proposal.delta.doomed.insert(layout::segment(old), Some(doomed));
            }
            let NewSegment { hash, record, bytes } = match parts.len() {
                1 => fresh,
                _ => merge(domain, self.host.random(), &parts, |_| true)?.unwrap_or(fresh),
            };
            self.proposal.delta.segments.insert((domain, hash), Some(record));
            self.proposal.segments.push((hash, bytes));
        }
        Ok((self.proposal, self.decided))
    }

    async fn write_missing_receipts(&self, client: ClientId, head: &ClientHead) -> Result<(), JobError> {
        let root = self.view.number();
        for decision in &head.decisions {
            let name = objects::key(layout::receipt(client, decision.number));
            if self.host.store.stat(&name).await?.is_none() {
                write_receipt(self.host, &receipt(client, decision, root, head.time, self.by)).await?;
            }
        }
        Ok(())
    }
}

pub(crate) fn receipt(client: ClientId, decision: &Decision, root: u64, time: Time, by: IngestBy) -> Receipt {
    Receipt {
        client,
        number: decision.number,
        manifest: decision.hash,
        outcome: decision.outcome,
        root,
        time,
        by,
        reasons: decision.reasons.clone(),
        missing: decision.missing.clone(),
        packs: decision.packs.clone(),
    }
}

/// Two ingests may answer the same decision at once; the first answer stands, they say the same.
pub(crate) async fn write_receipt(host: &Host<'_>, receipt: &Receipt) -> Result<(), JobError> {
    let name = layout::receipt(receipt.client, receipt.number);
    host.store.create(&objects::key(name), Bytes::from(receipt.encode())).await?;
    Ok(())
}

/// So often a pass is begun again before others are left to it.
const ATTEMPTS: u32 = 64;
/// Manifests of one client that one root decides, so that the root's runs stay small.
const MANIFESTS: usize = 16;
/// Entries up to which ingest folds segments; `compact` merges larger ones.
const FOLD_ENTRIES: usize = 1_000_000;
