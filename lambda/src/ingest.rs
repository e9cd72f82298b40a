//! Ingest: decides what clients have uploaded. All queue messages that name one client are worked as one, and fail
//! together. They do not affect messages of other clients.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use copal_format::id::ClientId;
use copal_format::layout;
use copal_format::receipt::{Outcome, Receipt};
use copal_format::repository::IngestBy;
use copal_jobs::error::JobError;
use copal_jobs::ingest::{Scope, work};
use copal_jobs::metrics::{CLIENTS_UNDECIDED, MESSAGES, MESSAGES_FAILED, STOPS, UNDECIDED_AGE};
use copal_jobs::view::{self, Parts};
use copal_jobs::{clients, objects};
use copal_store::StoreTime;
use futures::FutureExt;
use serde_json::{Value, json};

use crate::event::{BadEvent, Hint, Message, RECONCILE, Request};
use crate::failure::Failure;
use crate::services::Run;

/// Does what the request asks. A batch returns the messages that failed, which the queue delivers again. Otherwise the
/// first failure makes the invocation fail.
pub async fn run(run: &mut Run<'_>, request: Request) -> Result<Value, Failure> {
    let mut tally = Tally::default();
    let answer = match request {
        Request::Batch(messages) => Ok(batch(run, &messages, &mut tally).await),
        Request::Hints(hints) => each(run, &distinct(hints), &mut tally).await,
        Request::Job(job) if job == RECONCILE => each(run, &[Hint::Everything], &mut tally).await,
        Request::Job(job) => Err(BadEvent::Job(job).into()),
    };
    tally.tell(run);
    answer.map(|failures| failures.map_or_else(|| tally.value(), |failures| json!(failures)))
}

/// The hints without duplicates.
fn distinct(hints: Vec<Hint>) -> Vec<Hint> {
    hints.into_iter().collect::<BTreeSet<Hint>>().into_iter().collect()
}

/// Works each distinct hint of a batch; returns the messages of the failed hints.
async fn batch(run: &mut Run<'_>, messages: &[Message], tally: &mut Tally) -> Option<SqsBatchResponse> {
    let mut wanted: BTreeMap<Hint, BTreeSet<&str>> = BTreeMap::new();
    let mut failed: BTreeSet<&str> = BTreeSet::new();
    for message in messages {
        match &message.hints {
            Ok(hints) => hints.iter().for_each(|hint| {
                wanted.entry(*hint).or_default().insert(&message.id);
            }),
            Err(error) => {
                tracing::error!(message = message.id, %error, "a message that says nothing known");
                failed.insert(&message.id);
            }
        }
    }
    tally.messages = messages.len() as u64;
    let hints: Vec<Hint> = wanted.keys().copied().collect();
    for hint in follow_all(run, &hints, tally).await {
        failed.extend(&wanted[&hint.0]);
    }
    tally.messages_failed = failed.len() as u64;
    let mut response = SqsBatchResponse::default();
    failed.into_iter().for_each(|id| response.add_failure(id));
    Some(response)
}

/// Works every hint. Returns the first failure after all were tried.
async fn each(run: &mut Run<'_>, hints: &[Hint], tally: &mut Tally) -> Result<Option<SqsBatchResponse>, Failure> {
    match follow_all(run, hints, tally).await.into_iter().next() {
        Some((_, failure)) => Err(failure),
        None => Ok(None),
    }
}

/// Does the work of the hints; returns those that failed. Clients are first worked together in shared roots. If that
/// fails, each is worked alone, so that one client's failure does not stop the others.
async fn follow_all(run: &mut Run<'_>, hints: &[Hint], tally: &mut Tally) -> Vec<(Hint, Failure)> {
    let clients: Vec<ClientId> = hints.iter().filter_map(Hint::client).collect();
    let together = clients.len() > 1 && decide(run, Scope::Clients(&clients), tally).await.is_ok();
    let mut failed = Vec::new();
    for hint in hints {
        let done = match hint {
            Hint::Client(_) if together => Ok(()),
            Hint::Client(client) => decide(run, Scope::Client(*client), tally).await,
            Hint::Decisions => decide(run, Scope::Decisions, tally).await,
            Hint::Everything => reconcile(run, tally).await,
        };
        if let Err(failure) = done {
            run.metrics.count(STOPS, matches!(failure, Failure::Panicked(_)).into());
            tracing::error!(?hint, failure = failure.name(), error = failure.chain(), "left for another time");
            failed.push((*hint, failure));
        }
    }
    failed
}

/// Works all clients with undecided manifests, a bounded number together, so that a root's runs stay small.
async fn reconcile(run: &mut Run<'_>, tally: &mut Tally) -> Result<(), Failure> {
    let mut first = decide(run, Scope::Decisions, tally).await;
    let mut undecided = run.deadline.run(undecided(run, tally)).await??;
    // A client whose manifest kills the function stops all clients behind it. So each run begins with a random client,
    // and few clients are worked one by one.
    let mut random = [0; 8];
    run.job.entropy.fill(&mut random);
    let first_of_all = u64::from_le_bytes(random) % (undecided.len() as u64).max(1);
    undecided.rotate_left(first_of_all as usize);
    let together = if undecided.len() > TOGETHER { TOGETHER } else { 1 };
    for clients in undecided.chunks(together) {
        let hints: Vec<Hint> = clients.iter().copied().map(Hint::Client).collect();
        let failed = Box::pin(follow_all(run, &hints, tally)).await;
        first = failed.into_iter().fold(first, |first, (_, failure)| first.and(Err(failure)));
    }
    first
}

/// The clients with a manifest behind their head, or without their last receipt. The age of the oldest such manifest
/// shows for how long events were lost or ingest has failed.
async fn undecided(run: &Run<'_>, tally: &mut Tally) -> Result<Vec<ClientId>, JobError> {
    let store = run.job.store;
    let heads = view::read_parts(store, &Parts::HEADS).await?.state.heads;
    let now = store.now().await?;
    let mut undecided = clients::below_behind(store, "manifests/", &heads).await?;
    for client in &undecided {
        let next = heads.get(client).map_or(0, |head| head.number) + 1;
        // Behind a gap nothing can be decided, so only the next manifest counts.
        if let Some(next) = store.stat(&objects::key(layout::manifest(*client, next))).await? {
            tally.oldest = tally.oldest.max(now.since(next.created).as_secs_f64());
        }
    }
    for (client, head) in &heads {
        // Older receipts were checked when they were new.
        let is_new = now.since(StoreTime(head.time.0)) < LOOKED_FOR;
        if is_new && store.stat(&objects::key(layout::receipt(*client, head.number))).await?.is_none() {
            undecided.push(*client);
        }
    }
    undecided.sort_unstable();
    undecided.dedup();
    tally.undecided = Some(undecided.len() as u64);
    Ok(undecided)
}

/// Runs the service's job. If the time is over before it begins, does nothing.
async fn decide(run: &mut Run<'_>, scope: Scope<'_>, tally: &mut Tally) -> Result<(), Failure> {
    let work = AssertUnwindSafe(work(&run.job, IngestBy::Service, scope, &|_| false)).catch_unwind();
    // A stopped job leaves no more than a killed process. A panic counts for this scope only; other hints go on.
    let done = run.deadline.run(work).await?.map_err(|panic| Failure::panicked(panic.as_ref()))??;
    for receipt in &done.receipts {
        tally.take(receipt);
    }
    for (object, why) in &done.refused {
        tracing::warn!(object, why, "not believed");
    }
    tally.refused += done.refused.len() as u64;
    run.metrics.decided(&done.receipts, done.refused.len());
    Ok(())
}

/// Clients worked together.
const TOGETHER: usize = 64;
/// How long a decision's receipt is checked for.
const LOOKED_FOR: Duration = Duration::from_secs(2 * 24 * 3600);

/// The results of the run.
#[derive(Debug, Default)]
struct Tally {
    accepted: u64,
    rejected: u64,
    refused: u64,
    messages: u64,
    messages_failed: u64,
    undecided: Option<u64>,
    oldest: f64,
}

impl Tally {
    fn take(&mut self, receipt: &Receipt) {
        let Receipt { client, number, root, .. } = receipt;
        match receipt.outcome {
            Outcome::Accepted => {
                self.accepted += 1;
                tracing::info!(%client, number, root, "accepted");
            }
            Outcome::Rejected => {
                self.rejected += 1;
                let reasons = receipt.reasons.iter().map(|(reason, text)| format!("{} ({text})", reason.text()));
                let reasons = reasons.collect::<Vec<_>>().join("; ");
                tracing::warn!(%client, number, root, reasons, "rejected");
            }
        }
    }

    fn tell(&self, run: &mut Run<'_>) {
        // Zero is reported too.
        run.metrics.decided(&[], 0);
        run.metrics.count(MESSAGES, self.messages).count(MESSAGES_FAILED, self.messages_failed);
        if let Some(undecided) = self.undecided {
            run.metrics.count(CLIENTS_UNDECIDED, undecided).note(UNDECIDED_AGE, self.oldest);
        }
    }

    fn value(&self) -> Value {
        json!({ "accepted": self.accepted, "rejected": self.rejected, "refused": self.refused })
    }
}
