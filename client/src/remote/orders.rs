//! Orders: keyless jobs that the `copal` on the other machine of an `ssh://` repository runs next to the repository.

use std::sync::{Arc, Mutex};

use copal_gateway::orders::JobOrder;
use copal_store::{Op, StoreError};
use http::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::problem::{Asked, of_reply};
use super::reply::Question;
use super::{About, GatewayStore};

/// Why there is no report of an ordered job.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum OrderError {
    /// The forced command of this ssh login does not allow jobs.
    #[error("the other machine runs no jobs for this login")]
    Closed,
    /// The program there is too old to know orders.
    #[error("the copal on the other machine is too old to run jobs for others")]
    Old,
    /// This caller was revoked, or may not order the job or set one of its options.
    #[error("the other machine refuses this job: {0}")]
    Refused(String),
    #[error("there is no repository")]
    NoRepository,
    /// The job met damage and cannot go on.
    #[error("{object} is damaged: {why}")]
    Damaged { object: String, why: String },
    /// Anything else.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl GatewayStore {
    /// The same gateway on a connection of its own, where the other end takes orders. `None` over HTTP: there the
    /// service has its own schedule.
    pub fn taking_orders(&self) -> Option<Self> {
        let (address, identity) = (self.address.clone(), Arc::clone(&self.identity));
        let repository: Mutex<Option<Arc<About>>> = Mutex::default();
        Some(Self { address, wire: self.wire.taking_orders()?, identity, repository })
    }

    /// Orders a job, waits for its end, and returns its report. Sends it only once: the caller decides about a repeat.
    pub async fn order<T: DeserializeOwned>(&self, order: &JobOrder) -> Result<T, OrderError> {
        let asked = Asked { op: Op::Create, key: ORDERED };
        let question = Question::new(Method::POST, "/v1/jobs").sending(json!(order).to_string().into());
        let reply = match self.ask(&asked, question.taking(REPORT_MOST)).await {
            Ok(reply) => reply,
            // The program did not understand `--jobs` on its command line.
            Err(_) if self.wire.exit_code() == Some(USAGE) => return Err(OrderError::Old),
            Err(error) => return Err(error.into()),
        };
        let body: Value = serde_json::from_slice(&reply.bytes).unwrap_or_default();
        let said = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
        Err(match reply.problem().as_deref() {
            None => return Ok(asked.json(&reply)?),
            Some("not-here") => OrderError::Closed,
            Some("not-found") => OrderError::Old,
            Some("no-repository") => OrderError::NoRepository,
            Some("not-permitted" | "bad-request" | "client-revoked") => OrderError::Refused(said("detail")),
            Some("damaged") if body["object"].is_string() => {
                OrderError::Damaged { object: said("object"), why: said("why") }
            }
            Some(_) => of_reply(&asked, &reply).into(),
        })
    }
}

/// The key in error messages about an order.
pub(super) const ORDERED: &str = "the report of a job";
/// Above the size of a report that names every object of a large repository.
const REPORT_MOST: u64 = 1 << 30;
/// The exit code of a program that does not understand its command line.
const USAGE: i32 = 2;
