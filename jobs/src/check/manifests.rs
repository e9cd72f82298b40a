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
use futures::{StreamExt, stream};

use super::{Kind, Report};
use crate::budget::Budget;
use crate::clients;
use crate::context::JobContext;
use crate::error::JobError;
use crate::faults::windows;
use crate::objects;
use crate::progress::{Chains, Link};

/// Checks the clients behind the cursor until the budget is over, but at least [`least`] manifests. Returns where the next
/// check continues.
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
    let mut read = 0;
    for (at, client) in due.iter().enumerate() {
        let last = from.filter(|link| link.client == *client).map_or(0, |link| link.number);
        if let Some(number) =
            check_client(job, (*client, known.contains(client), last), (budget, &mut read), report).await?
        {
            report.clients_left = (due.len() - at) as u64;
            return Ok(Chains::Behind(Link { client: *client, number, goes_first: false }));
        }
        if read >= least() && budget.is_over() && at + 1 < due.len() {
            report.clients_left = (due.len() - at - 1) as u64;
            return Ok(Chains::Behind(Link { client: due[at + 1], number: 0, goes_first: false }));
        }
    }
    Ok(Chains::Done)
}

/// Checks a client's records and its chain from manifest `last` on. Returns the last manifest that was checked if the
/// budget was over before the end.
async fn check_client(
    job: &JobContext<'_>,
    (client, is_known, last): (ClientId, bool, u64),
    (budget, read): (&Budget, &mut usize),
    report: &mut Report,
) -> Result<Option<u64>, JobError> {
    let receipts = numbers(job, &format!("receipts/{client}/")).await?;
    let manifests = numbers(job, &format!("manifests/{client}/")).await?;
    // Answers alone are no sign that there ever was a client.
    let key = if is_known { manifest_key(job, client, report).await? } else { None };
    let answered = receipts.last().copied().unwrap_or(0);
    let due: BTreeSet<u64> = manifests.union(&receipts).copied().filter(|number| *number >= last).collect();
    // What was read last is read again: the next one must name it.
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
    for (at, found) in due.iter().enumerate() {
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
            if let Some(bytes) = given(&name, manifest, report)? {
                before = Some(ObjectHash::of(&bytes));
                let is_believed = *found <= answered && !is_rejected;
                match Manifest::verify(job.repository, key, client, *found, &bytes) {
                    // A client may write anything. Nothing relies on a manifest that was rejected or still waits for an
                    // answer.
                    _ if !is_believed => {}
                    Ok(verified) if expected.is_some_and(|before| verified.manifest.previous != before) => {
                        report.add(Kind::Damaged, name, "it does not name the manifest before it");
                    }
                    Ok(_) => {}
                    Err(error) => report.add(Kind::Damaged, name, error),
                }
            }
        }
        *read += 1;
        if *read >= least() && at + 1 < due.len() && budget.is_over() {
            return Ok(Some(*found));
        }
    }
    Ok(None)
}

/// The key that a client's manifests are verified with; none if nothing of the client can be believed.
async fn manifest_key(
    job: &JobContext<'_>,
    client: ClientId,
    report: &mut Report,
) -> Result<Option<[u8; 32]>, JobError> {
    let survey = match clients::survey(job, client).await {
        Ok(survey) => survey,
        Err(error) => {
            let (object, why) = error.blame()?;
            report.add(Kind::Damaged, object, why);
            return Ok(None);
        }
    };
    let record = match survey.record.unwrap_or(Err(ClientError::Unknown { client })) {
        Ok(record) => record,
        Err(error) => {
            report.add(Kind::Damaged, format!("clients/{client}"), error);
            return Ok(None);
        }
    };
    for name in survey.damaged {
        report.add(Kind::Damaged, name, "it is not what the other copy is, which is sound");
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
    let Some(bytes) = given(name, read, report)? else { return Ok(is_there) };
    match Receipt::decode(client, number, &bytes) {
        Ok(receipt) => Ok(receipt.outcome == Outcome::Rejected),
        Err(error) => {
            report.add(Kind::Damaged, name, error);
            Ok(false)
        }
    }
}

/// What was read. Reports an object that the store has and does not give.
fn given(name: &str, read: Result<Option<Bytes>, StoreError>, report: &mut Report) -> Result<Option<Bytes>, JobError> {
    match read.map_err(JobError::from) {
        Err(error) => {
            let (object, why) = error.blame()?;
            debug_assert_eq!(object, name, "a read is refused for what was asked for");
            report.add(Kind::Damaged, object, why);
            Ok(None)
        }
        Ok(bytes) => Ok(bytes),
    }
}

async fn numbers(job: &JobContext<'_>, prefix: &str) -> Result<BTreeSet<u64>, JobError> {
    let listed = objects::list(job.store, prefix).await?;
    Ok(listed.iter().filter_map(|object| layout::trailing_number(object.key.as_str())).collect())
}

/// A check that has to end at once reads so many manifests all the same.
fn least() -> usize {
    8 * windows().at_once
}
