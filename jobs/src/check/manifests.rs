//! Manifests: checks what each client has written, its records and chain of manifests, and the answers to them. Every
//! backup that ever ran has left a manifest, so this part of a check has a cursor of its own.

use std::collections::BTreeSet;
use std::iter;
use std::sync::Arc;

use bytes::Bytes;
use copal_format::client::ClientError;
use copal_format::id::{ClientId, ObjectHash};
use copal_format::layout;
use copal_format::manifest::Manifest;
use copal_format::receipt::{Outcome, Receipt};
use copal_store::{Store, StoreError};
use futures::future::join;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};

use super::{Finding, Kind, Report, numbers};
use crate::budget::Budget;
use crate::clients;
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::windows;
use crate::objects;
use crate::progress::{Chains, Link};

/// Checks the clients from the cursor on until the budget is over, but takes some [`Steps`] in any case. Returns where
/// the next check continues.
pub(super) async fn check(
    job: &JobContext<'_>,
    cursor: Chains,
    budget: &Budget,
    report: &mut Report,
) -> Result<Chains, JobError> {
    let from = match cursor {
        Chains::Due => None,
        Chains::Behind(link) => Some(link),
        Chains::Done => return Ok(Chains::Done),
    };
    let mut known: BTreeSet<ClientId> = clients::below(job.store, "clients/").await?.into_iter().collect();
    known.extend(clients::below(job.store, "manifests/").await?);
    let answered = clients::below(job.store, "receipts/").await?;
    let clients: BTreeSet<ClientId> = known.iter().copied().chain(answered).collect();
    let first = from.map_or(ClientId([0; 16]), |link| link.client);
    let due: Vec<ClientId> = clients.range(first..).copied().collect();
    let looks = due.iter().map(|client| {
        let last = from.filter(|link| link.client == *client).map_or(0, |link| link.number);
        Chain::look(job, (*client, last), known.contains(client))
    });
    // Reads manifests of several clients at once. Most clients have few, so one by one each would cost a round trip.
    let steps = stream::iter(looks)
        .buffered(windows().at_once)
        .map_ok(|chain| stream::iter(chain.steps()).map(Ok::<_, JobError>));
    let reads = steps.try_flatten().map_ok(|step| step.read(job.store).map(Ok)).try_buffered(windows().at_once);
    let mut reads = std::pin::pin!(reads);
    let mut steps = Steps { budget, left: 8 * windows().at_once };
    let (mut at, mut before) = (0, Before { number: 0, hash: None });
    while let Some(Read { step, manifest, receipt }) = reads.try_next().await? {
        match step.number {
            None => {
                before = step.chain.before();
                report.findings.extend(step.chain.found.iter().cloned());
            }
            Some(number) => step.chain.check(job, number, (manifest, receipt), &mut before, report)?,
        }
        steps.take();
        let client = step.chain.client;
        at += usize::from(step.is_last);
        let next = if step.is_last { due.get(at).map(|next| (*next, 0)) } else { step.number.map(|at| (client, at)) };
        if let Some((client, number)) = next
            && steps.is_over()
        {
            if !step.is_last {
                step.chain.report_gap_to(number, &before, report);
            }
            report.clients_left = (due.len() - at) as u64;
            return Ok(Chains::Behind(Link { client, number, goes_first: false }));
        }
    }
    Ok(Chains::Done)
}

/// Says when a check has to end: once the budget is over, but not before some steps were taken. A step is a client, or a
/// manifest with its answer.
struct Steps<'a> {
    budget: &'a Budget,
    left: usize,
}

impl Steps<'_> {
    fn take(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    fn is_over(&self) -> bool {
        self.left == 0 && self.budget.is_over()
    }
}

/// A client, and the numbers of its manifests and receipts.
struct Chain {
    client: ClientId,
    /// The manifest that the last check ended with; 0 if it read none of this client.
    last: u64,
    /// The key that verifies its manifests; none if the client's records cannot be believed.
    key: Option<[u8; 32]>,
    manifests: BTreeSet<u64>,
    receipts: BTreeSet<u64>,
    /// What is wrong with its records.
    found: Vec<Finding>,
}

/// A step along a chain: its beginning, or a manifest with the answer to it.
struct Step {
    chain: Arc<Chain>,
    number: Option<u64>,
    is_last: bool,
}

/// A step, and the objects read for it; none for an object that is not listed.
struct Read {
    step: Step,
    manifest: Given,
    receipt: Given,
}

type Given = Result<Option<Bytes>, StoreError>;

/// The manifest before the one that is looked at: its number, and its hash if it could be read.
struct Before {
    number: u64,
    hash: Option<ObjectHash>,
}

impl Chain {
    /// Checks a client's records, and lists its manifests and the answers to them.
    async fn look(job: &JobContext<'_>, (client, last): (ClientId, u64), is_known: bool) -> Result<Self, JobError> {
        let receipts = numbers(job, &format!("receipts/{client}/")).await?;
        let manifests = numbers(job, &format!("manifests/{client}/")).await?;
        let mut report = Report::default();
        // A client that has only receipts may never have existed.
        let key = if is_known { manifest_key(job, client, &mut report).await? } else { None };
        Ok(Self { client, last, key, manifests, receipts, found: report.findings })
    }

    /// The manifest before the first step. Manifest `last` is read again, because the next one must name its hash. If
    /// it is missing, the last check has reported it with all that were missing before it.
    fn before(&self) -> Before {
        let number = if self.manifests.contains(&self.last) { self.last.saturating_sub(1) } else { self.last };
        Before { number, hash: (self.last == 0).then_some(ObjectHash::NONE) }
    }

    /// Reports the manifests that are missing up to `number`, where this check ends. Those missing at the end of the
    /// chain are found elsewhere.
    fn report_gap_to(&self, number: u64, before: &Before, report: &mut Report) {
        let goes_on = self.manifests.range(number..=self.answered()).next().is_some();
        if self.key.is_some() && goes_on && !self.manifests.contains(&number) {
            report.add_gap((before.number + 1, number), |gone| layout::manifest(self.client, gone));
        }
    }

    /// The number of the last receipt.
    fn answered(&self) -> u64 {
        self.receipts.last().copied().unwrap_or(0)
    }

    /// The steps from manifest `last` on. A client may write anything after the last receipt, and leave gaps there, or
    /// write number 0: nothing relies on it.
    fn steps(self) -> Vec<Step> {
        let answered = self.answered();
        let due = self.manifests.union(&self.receipts).copied();
        let due: Vec<u64> = due.filter(|number| (self.last.max(1)..=answered).contains(number)).collect();
        let (chain, last) = (Arc::new(self), due.last().copied());
        let numbers = iter::once(None).chain(due.into_iter().map(Some));
        numbers.map(|number| Step { chain: chain.clone(), number, is_last: number == last }).collect()
    }

    /// Checks a manifest and the answer to it.
    fn check(
        &self,
        job: &JobContext<'_>,
        number: u64,
        (manifest, receipt): (Given, Given),
        before: &mut Before,
        report: &mut Report,
    ) -> Result<(), JobError> {
        let [name, answer] = self.names(number);
        let is_rejected = check_receipt((self.client, number), (&answer, receipt), report)?;
        let Some(key) = self.key.filter(|_| self.manifests.contains(&number)) else { return Ok(()) };
        report.add_gap((before.number + 1, number.saturating_sub(1)), |gone| layout::manifest(self.client, gone));
        let expected = before.hash.filter(|_| number == before.number + 1);
        *before = Before { number, hash: None };
        let Some(bytes) = report.given(manifest)? else { return Ok(()) };
        match Manifest::verify(job.repository, &key, self.client, number, &bytes) {
            Ok(verified) => {
                let follows = expected.is_none_or(|before| verified.manifest.previous == before);
                before.hash = Some(verified.hash);
                // Nothing relies on a manifest that was rejected.
                if !follows && !is_rejected {
                    report.add(Kind::Damaged, name, "it does not name the manifest before it");
                }
            }
            Err(_) if is_rejected => {}
            Err(error) => report.add(Kind::Damaged, name, error),
        }
        Ok(())
    }

    fn names(&self, number: u64) -> [String; 2] {
        [layout::manifest(self.client, number), layout::receipt(self.client, number)]
    }
}

impl Step {
    async fn read(self, store: &dyn Store) -> Read {
        let read_if = async |listed: &BTreeSet<u64>, name: &str| match self.number.filter(|at| listed.contains(at)) {
            Some(_) => objects::read(store, name).await,
            None => Ok(None),
        };
        let [manifest, receipt] = self.number.map(|number| self.chain.names(number)).unwrap_or_default();
        let reads = join(read_if(&self.chain.manifests, &manifest), read_if(&self.chain.receipts, &receipt));
        let (manifest, receipt) = reads.await;
        Read { step: self, manifest, receipt }
    }
}

/// The key that verifies a client's manifests; none if the client's records cannot be believed.
async fn manifest_key(
    job: &JobContext<'_>,
    client: ClientId,
    report: &mut Report,
) -> Result<Option<[u8; 32]>, JobError> {
    let survey = match clients::survey(job, client).await {
        Ok(survey) => survey,
        Err(error) => return report.blame(error).map(|()| None),
    };
    let record = match survey.record.unwrap_or(Err(ClientError::Unknown { client })) {
        Ok(record) => record,
        Err(error) => {
            report.add(Kind::Damaged, format!("clients/{client}"), error);
            return Ok(None);
        }
    };
    for copy in survey.damaged {
        report.add(Kind::Damaged, copy.name, "it differs from the other copy, which is sound");
    }
    for (copy, why) in survey.unreadable {
        report.add(Kind::Damaged, copy.name, why);
    }
    for name in survey.contradicting {
        report.add(Kind::Damaged, name, "it differs from the other copy, and both are signed");
    }
    Ok(record.keys.map(|keys| keys.manifest))
}

/// Returns whether the answer rejects the manifest. An unreadable answer counts as a rejection.
fn check_receipt(
    (client, number): (ClientId, u64),
    (name, read): (&str, Result<Option<Bytes>, StoreError>),
    report: &mut Report,
) -> Result<bool, JobError> {
    let is_there = !matches!(read, Ok(None));
    let Some(bytes) = report.given(read)? else { return Ok(is_there) };
    match Receipt::decode(client, number, &bytes) {
        Ok(receipt) => Ok(receipt.outcome == Outcome::Rejected),
        Err(error) => {
            report.add(Kind::Damaged, name, error);
            Ok(false)
        }
    }
}
