//! Jobs: a caller orders one run of a keyless job beside the store, and gets the job's report as the answer.
//!
//! The host decides whether callers may order jobs at all (`copal serve --stdio --jobs`). Over ssh the login has the
//! rights on the store anyway, so unsigned orders are accepted: they can start nothing that `copal serve` does not do
//! on its own schedule.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use copal_format::client::Role;
use serde_json::{Value, json};

use super::Gateway;
use super::call::Call;
use super::facts::job;
use super::problem::Problem;
use super::rights::Caller;
use crate::orders::JobOrder;
use copal_jobs::error::JobError;
use copal_jobs::prune;

/// Runs ordered jobs.
#[async_trait]
pub trait JobRunner: Send + Sync {
    /// Runs a job to its end and returns its report.
    async fn run(&self, order: JobOrder) -> Result<Value, Problem>;
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
pub(super) async fn order(State(gateway): State<Arc<Gateway>>, mut call: Call) -> Result<Response, Problem> {
    let facts = call.facts()?.clone();
    let Some(runner) = &gateway.settings.runner else {
        let detail = "this gateway runs no jobs for its callers";
        return Err(Problem::new("not-here", StatusCode::NOT_IMPLEMENTED, detail));
    };
    match call.caller {
        Caller::Nobody | Caller::Owner | Caller::Client { role: Role::Full, .. } => {}
        Caller::Client { .. } | Caller::Joining { .. } => {
            return Err(Problem::not_permitted("a client that may only write runs no jobs"));
        }
    }
    let (bytes, _) = call.read(&gateway, ORDER_BYTES).await?;
    let order: JobOrder = serde_json::from_slice(&bytes).map_err(|error| Problem::bad_request(error.to_string()))?;
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
