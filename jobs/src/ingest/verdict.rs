//! Verdict: the decision about one manifest, and what ingest examines before it rejects one.

use std::collections::BTreeSet;

use copal_engine::ingest::{Verdict, judge, judge_client};
use copal_format::client::ClientRecord;
use copal_format::id::{ChunkId, ClientId, DomainId, ObjectHash};
use copal_format::manifest::Manifest;
use copal_format::receipt::Reason;

use super::added::{height_in, sorted};
use super::findings::Findings;
use super::{Pass, accept, known};
use crate::error::JobError;
use crate::faults::{Mistake, is_planted};
use crate::view;

/// The decision about a manifest.
pub(super) enum Judged {
    Decided(Verdict),
    /// The manifest names a root that is missing, so it waits. With the reason in words.
    Waits(String),
}

impl Pass<'_> {
    /// Decides one manifest of a chain, and applies it if it is accepted.
    pub(super) async fn judge(
        &mut self,
        (client, number, before): (ClientId, u64, ObjectHash),
        bytes: &[u8],
        record: Option<&ClientRecord>,
        findings: Option<Findings>,
    ) -> Result<Judged, JobError> {
        let rejected = |reason, text: &str| Ok(Judged::Decided(Verdict::rejected(reason, text)));
        let Some(record) = record else {
            return rejected(
                Reason::UnknownClient,
                "the client is not registered, or joined after its enrollment had ended",
            );
        };
        let Some(keys) = &record.keys else {
            return rejected(Reason::UnknownClient, "the client has not joined");
        };
        let verified = match Manifest::verify(self.job.repository, &keys.manifest, client, number, bytes) {
            Ok(verified) => verified,
            Err(error) => return rejected(Reason::BadSignature, &error.to_string()),
        };
        if verified.manifest.previous != before {
            return rejected(Reason::BrokenChain, "it does not name the manifest before it");
        }
        let verdict = judge_client(&verified, record);
        if !verdict.is_accepted() {
            return Ok(Judged::Decided(verdict));
        }
        let claim = &verified.manifest;
        let proven = claim.proven_packs(self.job.repository, &self.job.owner_key);
        if claim.proven.is_some() && proven.is_empty() {
            return rejected(Reason::BadSignature, "the owner has not signed the packs it calls proven");
        }
        // A root that a client has seen existed. If it is missing now, either the state is lost or the client lies. So
        // this manifest waits, and other clients continue.
        if let Some((seen, _)) = verified.manifest.root_seen
            && seen > self.view.number()
        {
            let newest = view::newest_heads(self.job.store).await?.number();
            let words =
                format!("manifest {number} of client {client} has seen root {seen}, and the newest is {newest}");
            if seen > newest && is_planted(Mistake::RootUnbounded) {
                return Err(JobError::StateLost { evidence: words });
            }
            if view::is_told_far(seen, newest) {
                return rejected(Reason::Malformed, &words);
            }
            if seen > newest {
                return Ok(Judged::Waits(words));
            }
        }
        let findings = match findings {
            Some(findings) => findings,
            None => self.find_packs(&verified.manifest).await?,
        };
        let domain = verified.manifest.domain;
        let root = verified.manifest.snapshot.as_ref().map(|claim| claim.root);
        let mut verdict = {
            let mut ids = known::referred_to(&findings, &sorted(accept::heights_of(&findings)), root);
            if let Some(added) = self.added.get(&domain) {
                ids.retain(|id| added.height(id).is_none());
            }
            let heights = self.resolve(domain, &ids).await?;
            let known: Vec<(ChunkId, u8)> =
                ids.into_iter().zip(heights).filter_map(|(id, of)| Some((id, of?))).collect();
            let added = self.added.get(&domain);
            let resolve = |id: &ChunkId| added.and_then(|added| added.height(id)).or_else(|| height_in(&known, id));
            judge(&verified, record, &findings, resolve)
        };
        if is_planted(Mistake::RootPageUnchecked) && verdict.packs.is_empty() && verdict.missing.iter().eq(&root) {
            verdict = Verdict::default();
        }
        let rests_on_index = |(reason, _): &(Reason, String)| matches!(reason, Reason::Unresolved | Reason::Height);
        if !verdict.missing.is_empty() {
            self.refuse_rejection_by_older_state(domain).await?;
        }
        if verdict.reasons.iter().any(rests_on_index) {
            self.verify_segments(domain).await?;
        }
        if verdict.is_accepted() {
            self.accept(&verified, record, findings, &proven).await?;
        }
        Ok(Judged::Decided(verdict))
    }

    /// A rejection is final. The root that accepted the missing ids may be lost, so this examines the
    /// receipts of all clients that write to the domain, and fails if one shows that a newer root is lost.
    async fn refuse_rejection_by_older_state(&mut self, domain: DomainId) -> Result<(), JobError> {
        self.view.load_snapshots(self.job.store).await?;
        let snapshots = self.view.state.snapshots.iter();
        let of_domain = snapshots.filter(|(_, snapshot)| snapshot.domain == domain).map(|((client, _), _)| *client);
        let clients: BTreeSet<ClientId> = of_domain.collect();
        match view::lost_by_receipts(self.job.store, &self.view, clients.into_iter()).await? {
            Some((_, evidence)) => Err(JobError::StateLost { evidence }),
            None => Ok(()),
        }
    }
}
