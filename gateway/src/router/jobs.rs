//! Jobs: a caller orders one run of a keyless job beside the store.
//!
//! Through a pipe (`copal serve --stdio --jobs`) the answer is the job's report. Over ssh the login has the rights on
//! the store anyway, so unsigned orders are accepted: they can start nothing that `copal serve` does not do on its own
//! schedule. A service with a schedule takes orders of full clients alone, without options, and answers at once: such a
//! run differs from a scheduled one only in when it begins.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use copal_format::client::Role;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Gateway;
use super::call::Call;
use super::facts::job;
use super::problem::Problem;
use super::rights::Caller;
use crate::orders::{JobOrder, RunOrder};
use copal_jobs::error::JobError;
use copal_jobs::prune;

/// Which jobs callers may order.
#[derive(Clone, Default)]
pub enum Orders {
    /// None.
    #[default]
    None,
    /// Any, with options; the report is the answer.
    Answered(Arc<dyn JobRunner>),
    /// One run of a job of the schedule.
    Scheduled(Arc<dyn Scheduled>),
}

/// Runs ordered jobs.
#[async_trait]
pub trait JobRunner: Send + Sync {
    /// Runs a job to its end and returns its report.
    async fn run(&self, order: JobOrder) -> Result<Value, Problem>;
}

/// Jobs that run on a schedule.
pub trait Scheduled: Send + Sync {
    /// Orders one run, which begins soon.
    fn order(&self, order: RunOrder) -> Result<(), NotNow>;

    /// The jobs, in the order of the schedule.
    fn jobs(&self) -> Vec<ScheduledJob>;
}

/// Why a job is not run now.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum NotNow {
    /// The schedule never runs it.
    Never,
    /// A job runs already, or was ordered.
    Running {
        /// Its name.
        job: &'static str,
    },
    /// It was ordered and has ended a short time ago.
    Resting {
        /// How long until it may be ordered again.
        left: Duration,
    },
}

/// A job of a schedule.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ScheduledJob {
    /// Its name.
    pub job: &'static str,
    /// How often it runs; zero: never.
    pub every: Duration,
    /// Whether it runs, or was ordered and begins soon.
    pub is_running: bool,
    /// When its last run ended, in seconds since 1970; `None`: not since the service started.
    pub ended: Option<u64>,
    /// Whether its last run failed.
    pub is_failing: bool,
}

/// Fails for options that make no sense.
fn verify(order: &JobOrder) -> Result<(), Problem> {
    match order {
        JobOrder::Prune { grace: Some(grace), .. } if *grace > GRACE_MOST => {
            Err(Problem::bad_request(format!("grace: {grace} s is more than the {GRACE_MOST} s allowed")))
        }
        JobOrder::Check { parts: Some(0) } => Err(Problem::bad_request("parts: it has to be at least 1")),
        _ => Ok(()),
    }
}

/// `POST /v1/jobs`.
pub(super) async fn order(State(gateway): State<Arc<Gateway>>, call: Call) -> Result<Response, Problem> {
    match &gateway.settings.orders {
        Orders::None => Err(not_here("this gateway runs no jobs for its callers")),
        Orders::Answered(runner) => answered(&gateway, runner.as_ref(), call).await,
        Orders::Scheduled(scheduled) => ordered(&gateway, scheduled.as_ref(), call).await,
    }
}

/// `GET /v1/jobs`: the schedule and the state of its jobs.
pub(super) async fn told(State(gateway): State<Arc<Gateway>>, call: Call) -> Result<Response, Problem> {
    full(&call)?;
    let Orders::Scheduled(scheduled) = &gateway.settings.orders else {
        return Err(not_here("this gateway has no schedule of its own"));
    };
    let of_job = |told: ScheduledJob| {
        json!({
            "job": told.job,
            "every": told.every.as_secs(),
            "running": told.is_running,
            "ended": told.ended,
            "failing": told.is_failing,
        })
    };
    let jobs: Vec<Value> = scheduled.jobs().into_iter().map(of_job).collect();
    Ok(Json(json!({ "jobs": jobs })).into_response())
}

/// Runs a job with options; the answer comes when it has ended.
async fn answered(gateway: &Gateway, runner: &dyn JobRunner, mut call: Call) -> Result<Response, Problem> {
    let facts = call.facts()?.clone();
    if call.caller != Caller::Nobody {
        full(&call)?;
    }
    let order: JobOrder = read(gateway, &mut call).await?;
    verify(&order)?;
    if let JobOrder::Prune { grace: Some(grace), dry_run: false, .. } = order
        && call.caller != Caller::Owner
    {
        let settings = &gateway.settings;
        let usual = prune::grace(&job(settings.store.as_ref(), settings.entropy.as_ref(), &facts)).await?;
        // A shorter grace period would free at once what can still be undeleted, and what a running backup relies on.
        if Duration::from_secs(grace) < usual {
            let usual = usual.as_secs();
            let detail = format!("only the owner may order a grace period shorter than the repository's {usual} s");
            return Err(Problem::not_permitted(detail));
        }
    }
    Ok(Json(runner.run(order).await?).into_response())
}

/// Orders one run of a scheduled job; the answer comes before it begins.
async fn ordered(gateway: &Gateway, scheduled: &dyn Scheduled, mut call: Call) -> Result<Response, Problem> {
    full(&call)?;
    let order: RunOrder = read(gateway, &mut call).await?;
    match scheduled.order(order) {
        Ok(()) => Ok((StatusCode::ACCEPTED, Json(json!({}))).into_response()),
        Err(NotNow::Never) => Err(not_here("the schedule of this service never runs this job")),
        Err(NotNow::Running { job }) => {
            let detail = format!("{job} runs already, or is about to");
            Err(Problem::new("job-running", StatusCode::CONFLICT, detail).with("job", json!(job)))
        }
        Err(NotNow::Resting { left }) => {
            let seconds = left.as_secs() + 1;
            let detail = format!("it was ordered and ran just now: order it again in {seconds} s");
            Err(Problem::new("job-rested", StatusCode::TOO_MANY_REQUESTS, detail).with("seconds", json!(seconds)))
        }
    }
}

/// Fails unless the owner or a full client has signed the call.
fn full(call: &Call) -> Result<(), Problem> {
    call.facts()?;
    match call.caller {
        Caller::Owner | Caller::Client { role: Role::Full, .. } => Ok(()),
        Caller::Nobody => call.known(),
        Caller::Client { .. } | Caller::Joining { .. } => {
            Err(Problem::not_permitted("a client that may only write runs no jobs"))
        }
    }
}

async fn read<T: DeserializeOwned>(gateway: &Gateway, call: &mut Call) -> Result<T, Problem> {
    let (bytes, _) = call.read(gateway, ORDER_BYTES).await?;
    serde_json::from_slice(&bytes).map_err(|error| Problem::bad_request(error.to_string()))
}

fn not_here(detail: &str) -> Problem {
    Problem::new("not-here", StatusCode::NOT_IMPLEMENTED, detail)
}

impl Problem {
    /// The answer for an ordered job that failed. For damage it names the object in a field of its own.
    pub fn of_job(error: JobError) -> Self {
        let (object, why) = match &error {
            JobError::Damaged { object, why } => (object.clone(), why.to_string()),
            JobError::StateLost { evidence } => ("the index".to_owned(), evidence.clone()),
            _ => return error.into(),
        };
        Self::from(error).with("object", json!(object)).with("why", json!(why))
    }
}

const ORDER_BYTES: u64 = 4 << 10;
/// A hundred years, so that no sum of times overflows.
const GRACE_MOST: u64 = 100 * 365 * 24 * 3600;
