//! Ordered: runs jobs that a client orders through the pipe, one at a time. When the pipe ends, the process ends, and
//! the job with it: every job may be killed at any point, and the next run goes on.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use axum::http::StatusCode;
use copal_format::layout;
use copal_format::receipt::{IngestBy, Outcome};
use copal_format::repository::Descriptor;
use copal_jobs::budget::Budget;
use copal_jobs::check::Tables;
use copal_jobs::context::JobContext;
use copal_jobs::error::JobError;
use copal_jobs::ingest::{Scope, ingest};
use copal_jobs::view::{self, Parts};
use copal_jobs::{clients, objects, prune, upkeep};
use copal_store::reserve::{self, Reserve};
use futures::executor::block_on as wait;
use serde_json::{Value, json};

use super::watch::Stopped;
use super::work::{Indexes, Work};
use crate::orders::{Ingested, JobOrder, Rejection};
use crate::router::{JobRunner, Problem};

pub(super) struct Ordered {
    work: Work,
    /// Held by the running job.
    turn: Arc<Mutex<()>>,
}

impl Ordered {
    pub(super) fn new(work: Work) -> Self {
        Self { work, turn: Arc::default() }
    }
}

#[async_trait]
impl JobRunner for Ordered {
    async fn run(&self, order: JobOrder) -> Result<Value, Problem> {
        let (work, turn) = (self.work.clone(), self.turn.clone());
        let ran = tokio::task::spawn_blocking(move || {
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            run(&work, &order)
        });
        ran.await.unwrap_or_else(|error| Err(stopped(&error)))
    }
}

fn run(work: &Work, order: &JobOrder) -> Result<Value, Problem> {
    let (name, indexes) = match order {
        JobOrder::Ingest {} => ("ingest", Indexes::Pieces),
        JobOrder::Prune { .. } => ("prune", Indexes::Whole),
        JobOrder::Check { .. } => ("check", Indexes::Whole),
    };
    let mut answer = Value::Null;
    let done = work.run(name, "", indexes, |job, descriptor, _| {
        answer = match order {
            JobOrder::Ingest {} => json!(ingested(job, IngestBy::Service)?),
            JobOrder::Prune { grace, repack_most, dry_run } => {
                let grace = match grace {
                    Some(seconds) => Duration::from_secs(*seconds),
                    None => wait(prune::grace(job))?,
                };
                let (repack_most, is_dry_run) = (repack_most.unwrap_or(u64::MAX), *dry_run);
                let options = prune::Options { grace, repack_most, is_dry_run, ..prune_options(descriptor) };
                json!(pruned(job, &options)?)
            }
            JobOrder::Check { parts } => {
                json!(wait(upkeep::check(job, (JobOrder::depth(*parts), Tables::All), &Budget::unlimited()))?)
            }
        };
        Ok(())
    });
    match done {
        Ok(()) => Ok(answer),
        Err(Stopped::Failed(error)) => Err(Problem::of_job(error)),
        Err(panicked) => Err(stopped(&panicked)),
    }
}

fn stopped(why: &impl ToString) -> Problem {
    Problem::new("job-stopped", StatusCode::INTERNAL_SERVER_ERROR, why.to_string())
}

/// Ingests everything that clients have uploaded.
pub fn ingested(job: &JobContext<'_>, by: IngestBy) -> Result<Ingested, JobError> {
    let receipts = wait(ingest(job, by, Scope::All, &|_| false))?;
    let rejected = receipts.iter().filter(|receipt| receipt.outcome == Outcome::Rejected).map(|receipt| {
        let words = receipt.reasons.iter().map(|(reason, text)| format!("{} ({text})", reason.text()));
        let why = words.collect::<Vec<_>>().join("; ");
        Rejection { client: receipt.client, number: receipt.number, why }
    });
    let rejected: Vec<Rejection> = rejected.collect();
    let view = wait(view::read_parts(job.store, &Parts::RECORDS))?;
    let mut waiting = 0;
    for client in wait(clients::below(job.store, "manifests/"))? {
        let decided = view.state.heads.get(&client).map_or(0, |head| head.number);
        let listed = wait(objects::list(job.store, &format!("manifests/{client}/")))?;
        let numbers = listed.iter().filter_map(|object| layout::trailing_number(object.key.as_str()));
        waiting += numbers.filter(|number| *number > decided).count() as u64;
    }
    let accepted = (receipts.len() - rejected.len()) as u64;
    Ok(Ingested { accepted, rejected, waiting, root: view.number() })
}

/// The options of prune with the descriptor's pack sizes.
pub(super) fn prune_options(descriptor: &Descriptor) -> prune::Options {
    prune::Options::new([descriptor.parameters.pack_target.into(), descriptor.parameters.tree_pack_target.into()])
}

/// Prunes, using up the reserve if the disk is full, and then refills the reserve.
pub(super) fn pruned(job: &JobContext<'_>, options: &prune::Options) -> Result<prune::Report, JobError> {
    let store = Reserve::new(job.store);
    let done = wait(upkeep::prune(&JobContext { store: &store, ..*job }, options))?;
    if !options.is_dry_run {
        wait(reserve::keep(job.store, |bytes| job.entropy.fill(bytes)))?;
    }
    Ok(done)
}
