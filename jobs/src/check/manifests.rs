//! Manifests: checks what each client has written, its records and chain of manifests, and the answers to them. There are
//! as many as there were ever backups, so this part of a check has a cursor of its own.

use std::collections::BTreeSet;

use bytes::Bytes;
use copal_format::client::ClientError;
use copal_format::id::{ClientId, ObjectHash};
use copal_format::layout;
use copal_format::manifest::Manifest;
use copal_format::receipt::{Outcome, Receipt};
use copal_store::StoreError;
use futures::future::join;
use futures::{StreamExt, TryStreamExt, stream};

use super::{Kind, Report, numbers};
use crate::budget::Budget;
use crate::clients;
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::windows;
use crate::objects;
use crate::progress::{Chains, Link};

/// Checks the clients behind the cursor until the budget is over, but takes some [`Steps`] in any case. Returns where the
/// next check continues.
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
    let chains = due.iter().map(|client| Chain::look(job, *client, known.contains(client)));
    let mut chains = stream::iter(chains).buffered(windows().at_once);
    let mut steps = Steps { budget, left: 8 * windows().at_once };
    for (at, client) in due.iter().enumerate() {
        let Some(chain) = chains.try_next().await? else { break };
        let last = from.filter(|link| link.client == *client).map_or(0, |link| link.number);
        let reached = chain.check(job, last, &mut steps, report).await?;
        let behind = |client, number| Ok(Chains::Behind(Link { client, number, goes_first: false }));
        match (reached, due.get(at + 1)) {
            (Some(number), _) => {
                report.clients_left = (due.len() - at) as u64;
                return behind(*client, number);
            }
            (None, Some(next)) if steps.is_over() => {
                report.clients_left = (due.len() - at - 1) as u64;
                return behind(*next, 0);
            }
            _ => {}
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

/// A client, and what is listed of it.
struct Chain {
    client: ClientId,
    /// What its manifests are verified with; none if nothing of the client can be believed.
    key: Option<[u8; 32]>,
    manifests: BTreeSet<u64>,
    receipts: BTreeSet<u64>,
    /// What is wrong with its records.
    found: Report,
}

impl Chain {
    /// Checks a client's records, and lists its manifests and the answers to them.
    async fn look(job: &JobContext<'_>, client: ClientId, is_known: bool) -> Result<Self, JobError> {
        let receipts = numbers(job, &format!("receipts/{client}/")).await?;
        let manifests = numbers(job, &format!("manifests/{client}/")).await?;
        let mut found = Report::default();
        // A client of which only answers are there may never have existed.
        let key = if is_known { manifest_key(job, client, &mut found).await? } else { None };
        Ok(Self { client, key, manifests, receipts, found })
    }

    /// Checks the chain from manifest `last` on. Returns the last manifest that was checked if the check had to end before
    /// the end of the chain.
    async fn check(
        self,
        job: &JobContext<'_>,
        last: u64,
        steps: &mut Steps<'_>,
        report: &mut Report,
    ) -> Result<Option<u64>, JobError> {
        let Self { client, key, manifests, receipts, found } = self;
        report.findings.extend(found.findings);
        steps.take();
        let answered = receipts.last().copied().unwrap_or(0);
        // The manifest `last` is read again, because the next manifest must name its hash.
        // A client may write anything behind the last answer, and leave gaps there: nothing relies on it.
        let due = manifests.union(&receipts).copied().filter(|number| (last..=answered).contains(number));
        let due: BTreeSet<u64> = due.collect();
        let (mut number, mut before) = (last.saturating_sub(1), (last == 0).then_some(ObjectHash::NONE));
        let read_if = async |is_there: bool, name: &str| match is_there {
            true => objects::read(job.store, name).await,
            false => Ok(None),
        };
        let reads = due.iter().map(|found| {
            let is_there = (manifests.contains(found), receipts.contains(found));
            let names = [layout::manifest(client, *found), layout::receipt(client, *found)];
            async move {
                let [manifest, receipt] = &names;
                let found = join(read_if(is_there.0, manifest), read_if(is_there.1, receipt)).await;
                (names, found)
            }
        });
        let mut reads = stream::iter(reads).buffered(windows().at_once);
        for found in &due {
            let Some(([name, answer], (manifest, receipt))) = reads.next().await else { break };
            let is_rejected = check_receipt((client, *found), (&answer, receipt), report)?;
            if manifests.contains(found)
                && let Some(key) = &key
            {
                if *found != number + 1 {
                    report.add(Kind::Missing, layout::manifest(client, number + 1), "a manifest of the chain is gone");
                }
                let expected = if *found == number + 1 { before } else { None };
                (number, before) = (*found, None);
                if let Some(bytes) = report.given(manifest)? {
                    before = Some(ObjectHash::of(&bytes));
                    match Manifest::verify(job.repository, key, client, *found, &bytes) {
                        // Nothing relies on a manifest that was rejected.
                        _ if is_rejected => {}
                        Ok(verified) if expected.is_some_and(|before| verified.manifest.previous != before) => {
                            report.add(Kind::Damaged, name, "it does not name the manifest before it");
                        }
                        Ok(_) => {}
                        Err(error) => report.add(Kind::Damaged, name, error),
                    }
                }
            }
            steps.take();
            if due.last() != Some(found) && steps.is_over() {
                return Ok(Some(*found));
            }
        }
        Ok(None)
    }
}

/// The key that a client's manifests are verified with; none if nothing of the client can be believed.
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
    for name in survey.damaged {
        report.add(Kind::Damaged, name, "it differs from the other copy, which is sound");
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
