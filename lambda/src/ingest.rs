//! Ingest: decides about what clients have uploaded. Messages of a queue that name one client are worked once, and fail
//! together; those of other clients are not touched by that.

use std::collections::{BTreeMap, BTreeSet};

use aws_lambda_events::event::sqs::SqsBatchResponse;
use copal_engine::id::ClientId;
use copal_engine::layout;
use copal_engine::receipt::{Outcome, Receipt};
use copal_engine::repository::IngestBy;
use copal_service::error::JobError;
use copal_service::ingest::{Scope, work};
use copal_service::{clients, objects, view};
use serde_json::{Value, json};

use crate::event::{BadEvent, Hint, Message, RECONCILE, Request};
use crate::failure::Failure;
use crate::services::Run;

/// Does what the request asks. A batch is answered with the messages that failed, to be delivered again; otherwise the
/// first failure is the invocation's.
pub async fn run(run: &mut Run<'_>, request: Request) -> Result<Value, Failure> {
    let mut tally = Tally::default();
    let answer = match request {
        Request::Batch(messages) => Ok(batch(run, &messages, &mut tally).await),
        Request::Hints(hints) => each(run, &hints.into_iter().collect(), &mut tally).await,
        Request::Job(job) if job == RECONCILE => each(run, &BTreeSet::from([Hint::Everything]), &mut tally).await,
        Request::Job(job) => Err(BadEvent::Job(job).into()),
    };
    tally.tell(run);
    answer.map(|failures| failures.map_or_else(|| tally.value(), |failures| json!(failures)))
}

/// Works the hints of a batch, each once; gives the messages to which a failed one belongs.
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
    for (hint, ids) in wanted {
        if let Err(failure) = follow(run, hint, tally).await {
            tracing::error!(?hint, failure = failure.name(), error = failure.chain(), "to be delivered again");
            failed.extend(ids);
        }
    }
    tally.messages_failed = failed.len() as u64;
    let mut response = SqsBatchResponse::default();
    failed.into_iter().for_each(|id| response.add_failure(id));
    Some(response)
}

/// Works every hint; the first failure is told after all of them were tried.
async fn each(
    run: &mut Run<'_>,
    hints: &BTreeSet<Hint>,
    tally: &mut Tally,
) -> Result<Option<SqsBatchResponse>, Failure> {
    let mut first = Ok(None);
    for hint in hints {
        if let Err(failure) = follow(run, *hint, tally).await {
            first = first.and(Err(failure));
        }
    }
    first
}

/// Does the work that a hint promises, if there is any.
async fn follow(run: &mut Run<'_>, hint: Hint, tally: &mut Tally) -> Result<(), Failure> {
    match hint {
        Hint::Client(client) => decide(run, Scope::Client(client), tally).await,
        Hint::Decisions => decide(run, Scope::Decisions, tally).await,
        Hint::Everything => reconcile(run, tally).await,
    }
}

/// Works the chain of every client that has something undecided. One client's failure does not stop the others.
async fn reconcile(run: &mut Run<'_>, tally: &mut Tally) -> Result<(), Failure> {
    let mut first = decide(run, Scope::Decisions, tally).await;
    let undecided = run.deadline.run(undecided(run, tally)).await??;
    for client in undecided {
        if let Err(failure) = decide(run, Scope::Client(client), tally).await {
            tracing::error!(%client, failure = failure.name(), error = failure.chain(), "left undecided");
            first = first.and(Err(failure));
        }
    }
    first
}

/// The clients whose next manifest is there, or whose last answer is not. How old the oldest of these manifests is says
/// for how long events were lost, or ingest has failed.
async fn undecided(run: &Run<'_>, tally: &mut Tally) -> Result<Vec<ClientId>, JobError> {
    let store = run.host.store;
    let heads = view::read(store).await?.state.heads;
    let now = store.now().await?;
    let mut undecided = Vec::new();
    for client in clients::below(store, "manifests/").await? {
        let decided = heads.get(&client).map_or(0, |head| head.number);
        let next = store.stat(&objects::key(layout::manifest(client, decided + 1))).await?;
        if let Some(next) = next {
            tally.oldest = tally.oldest.max(now.since(next.created).as_secs_f64());
            undecided.push(client);
        } else if decided > 0 && store.stat(&objects::key(layout::receipt(client, decided))).await?.is_none() {
            undecided.push(client);
        }
    }
    tally.undecided = Some(undecided.len() as u64);
    Ok(undecided)
}

/// Runs the job of the service. Its time may be over before it begins: then nothing is begun.
async fn decide(run: &mut Run<'_>, scope: Scope, tally: &mut Tally) -> Result<(), Failure> {
    let done = run.deadline.run(work(&run.host, IngestBy::Service, scope, &|_| false)).await??;
    for receipt in &done.receipts {
        tally.take(receipt);
    }
    for (object, why) in &done.refused {
        tracing::warn!(object, why, "not believed");
    }
    tally.refused += done.refused.len() as u64;
    Ok(())
}

/// What became of the run.
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
        run.metrics.count("ManifestsAccepted", self.accepted).count("ManifestsRejected", self.rejected);
        run.metrics.count("DecisionsRefused", self.refused);
        run.metrics.count("Messages", self.messages).count("MessagesFailed", self.messages_failed);
        if let Some(undecided) = self.undecided {
            run.metrics.count("ClientsUndecided", undecided).seconds("UndecidedAge", self.oldest);
        }
    }

    fn value(&self) -> Value {
        json!({ "accepted": self.accepted, "rejected": self.rejected, "refused": self.refused })
    }
}
