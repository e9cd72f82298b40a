//! Function: handles one invocation from the payload to the answer, with log and metrics.

use std::time::{Instant, SystemTime};

use copal_jobs::check::Lane;
use copal_jobs::metrics::Metrics;
use copal_jobs::objects::COPIED;
use copal_store::cache::Cache;
use copal_store::{Store, copies};
use serde_json::Value;

use crate::deadline::Deadline;
use crate::event::{BadEvent, Request};
use crate::failure::Failure;
use crate::metrics;
use crate::services::Services;
use crate::{check, compact, ingest, prune};

/// A function that events and schedules invoke.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Function {
    /// Decides the manifests and changes that clients have uploaded.
    Ingest,
    /// Merges segments of the index.
    Compact,
    /// Frees what no kept snapshot needs.
    Prune,
    /// Looks for damage.
    Check,
}

/// An invocation, as the Runtime API gives it.
#[derive(Debug)]
pub struct Invocation {
    /// The id of the request.
    pub request: String,
    /// The payload.
    pub payload: Value,
    /// When it must have answered.
    pub deadline: Deadline,
}

impl Function {
    /// All functions that do jobs.
    pub const ALL: [Function; 4] = [Function::Ingest, Function::Compact, Function::Prune, Function::Check];

    /// The function of this name.
    pub fn named(name: &str) -> Option<Function> {
        Function::ALL.into_iter().find(|function| function.name() == name)
    }

    /// The function's name: that of its handler, its metrics' dimension and its scheduled job.
    pub fn name(self) -> &'static str {
        match self {
            Function::Ingest => "ingest",
            Function::Compact => "compact",
            Function::Prune => "prune",
            Function::Check => "check",
        }
    }

    /// Answers an invocation. Writes metrics even if it fails.
    pub async fn invoke(self, services: &Services<'_>, invocation: Invocation) -> Result<Value, Failure> {
        let Invocation { request, payload, deadline } = invocation;
        let started = Instant::now();
        let mut metrics = Metrics::default();
        let name = self.job(&payload).unwrap_or(self.name().to_owned());
        let answer = self.work(services, payload, deadline, &mut metrics).await;
        metrics.ended(answer.is_err(), started.elapsed());
        match &answer {
            Ok(answer) => tracing::info!(%answer, "done"),
            Err(failure) => tracing::error!(failure = failure.name(), error = failure.chain(), "failed"),
        }
        let environment = services.environment;
        let repository = environment.repository();
        let (namespace, now) = (&environment.namespace, SystemTime::now());
        metrics::write(&metrics::line(&metrics, namespace, &name, &repository, &request, now));
        answer
    }

    /// Does the work of an invocation, without log or metric lines.
    pub async fn work(
        self,
        services: &Services<'_>,
        payload: Value,
        deadline: Deadline,
        metrics: &mut Metrics,
    ) -> Result<Value, Failure> {
        let job = self.job(&payload);
        let lane = check::lane(&payload).unwrap_or(Lane::ONLY);
        let request = Request::read(payload, services.watched())?;
        match (&request, self, &job) {
            (_, Function::Ingest, _) | (Request::Job(_), _, Some(_)) => {}
            (Request::Job(job), ..) => return Err(BadEvent::Job(job.clone()).into()),
            _ => return Err(BadEvent::Form(format!("only a schedule asks for the job {:?}", self.name())).into()),
        }
        // Prune and check read whole indexes; the others read pieces.
        let copies = match self {
            Function::Prune | Function::Check => copies_of(services),
            Function::Ingest | Function::Compact => None,
        };
        let store: &dyn Store = copies.as_ref().map_or(services.store, |copies| copies);
        let services = Services { store, ..*services };
        let mut run = services.begin(deadline, metrics).await?;
        match self {
            Function::Ingest => ingest::run(&mut run, request).await,
            Function::Compact => compact::run(&mut run).await,
            Function::Prune => prune::run(&mut run).await,
            Function::Check => check::run(&mut run, lane).await,
        }
    }

    /// The job that a payload asks for, if it is one of this function's.
    fn job(self, payload: &Value) -> Option<String> {
        let job = payload["job"].as_str()?;
        let is_own = if self == Function::Check { check::lane(payload).is_some() } else { job == self.name() };
        is_own.then(|| job.to_owned())
    }
}

/// The store with a file cache for index objects. None without room for files; then the index is held in memory.
fn copies_of<'a>(services: &Services<'a>) -> Option<Cache<&'a dyn Store>> {
    let directory = &services.environment.temporary;
    copies::begin(services.store, directory, COPIED)
        .inspect_err(|error| {
            tracing::warn!(%error, directory = %directory.display(), "no copies of the index: it is held in memory");
        })
        .ok()
}
