//! State: tells clients about the repository, its time, its newest state and receipts.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use copal_format::client::Role;
use copal_format::id::{ClientId, DomainId};
use copal_format::layout;
use copal_jobs::objects;
use copal_store::{StoreError, StoreTime};
use serde_json::{Map, Value, json};

use super::call::Call;
use super::problem::Problem;
use super::rights::{self, Caller};
use super::{Arrival, Gateway, JobHealth, pieces};

/// `GET /v1/health`: whether the store answers, and the health of the jobs. Public; tells nothing about the repository.
pub(super) async fn health(State(gateway): State<Arc<Gateway>>) -> Result<Response, Problem> {
    gateway.known.facts(gateway.settings.store.as_ref(), gateway.settings.owner, (gateway.settings.clock)()).await?;
    let jobs = gateway.settings.jobs.as_ref().map(|jobs| jobs()).unwrap_or_default();
    // The status stays 200: a failing job is no reason to restart the process that answers requests.
    let status = if jobs.iter().any(|job| job.is_failing) { "degraded" } else { "ok" };
    let of_job = |job: &JobHealth| (job.job.to_owned(), json!({ "stops": job.stops, "failing": job.is_failing }));
    let told: Map<String, Value> = jobs.iter().filter(|job| job.is_failing || job.stops > 0).map(of_job).collect();
    let mut answer = json!({ "status": status });
    if !told.is_empty() {
        answer["jobs"] = told.into();
    }
    Ok(Json(answer).into_response())
}

/// `GET /v1/repository`: the descriptor, and what a client must know before its first request.
pub(super) async fn repository(State(gateway): State<Arc<Gateway>>, call: Call) -> Result<Response, Problem> {
    let facts = call.facts()?;
    let descriptor = &facts.descriptor;
    let answer = json!({
        "repository": descriptor.repository.to_string(),
        "owner": facts.owner.to_string(),
        "version": descriptor.version,
        "descriptor": STANDARD.encode(&facts.bytes),
        "transfers": if gateway.settings.presigner.is_some() { "presigned" } else { "direct" },
        "slots": if gateway.settings.open_slots { "open" } else { "signed" },
        "time": call.now,
    });
    Ok(Json(answer).into_response())
}

/// `GET /v1/time`: the clock that dates objects.
pub(super) async fn time(State(gateway): State<Arc<Gateway>>, call: Call) -> Result<Response, Problem> {
    if call.house.is_made || !call.house.accept_init {
        call.known()?;
    }
    let now = match gateway.settings.store.now().await {
        Ok(now) => now,
        // A directory tells the time by a write, which fails on a full disk; its clock is this machine's. Clients that
        // make room need the time too.
        Err(StoreError::Full { .. }) => {
            StoreTime(i64::try_from((gateway.settings.clock)()).unwrap_or(i64::MAX).saturating_mul(1_000_000_000))
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Json(json!({ "now": now.0.to_string() })).into_response())
}

/// `GET /v1/receipts/{client}/{number}`. A request for a missing receipt hints that ingest has work.
pub(super) async fn receipt(
    State(gateway): State<Arc<Gateway>>,
    Path((client, number)): Path<(String, u64)>,
    call: Call,
) -> Result<Response, Problem> {
    let client = ClientId::from_hex(&client).map_err(|error| Problem::bad_request(error.to_string()))?;
    let name = layout::receipt(client, number);
    call.permitted(rights::may_read(call.caller, call.house, &name))?;
    let (store, key) = (gateway.settings.store.as_ref(), objects::key(name));
    let Some(stat) = store.stat(&key).await? else {
        gateway.hint(Arrival::Manifest(client));
        let detail = format!("manifest {number} of client {client} is not decided");
        return Err(Problem::new("undecided", StatusCode::NOT_FOUND, detail));
    };
    let room = pieces::room(&gateway, call.sender(), stat.length).await?;
    let bytes = room.hold(store.read(&key).await?);
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

/// `GET /v1/index`: the newest root, runs, segments and overlays; for write-only clients, of their domain only.
pub(super) async fn index(State(gateway): State<Arc<Gateway>>, call: Call) -> Result<Response, Problem> {
    let seen: Option<DomainId> = match call.caller {
        Caller::Owner | Caller::Client { role: Role::Full, .. } => None,
        Caller::Client { domain, .. } => Some(domain),
        Caller::Nobody | Caller::Joining { .. } => {
            return call.permitted(Err("it has to be signed by a client that has joined"));
        }
    };
    let Some(newest) = gateway.known.newest.get(gateway.settings.store.as_ref(), call.now, false).await? else {
        return Ok(Json(json!({ "root": null, "runs": [], "segments": [], "overlays": [] })).into_response());
    };
    let is_seen = |domain: &DomainId| seen.is_none_or(|own| own == *domain);
    let runs: Vec<Value> = newest.root.runs.iter().map(|run| part(layout::state(run.hash), None, run.length)).collect();
    let segments = newest.state.segments.iter().filter(|((domain, _), _)| is_seen(domain));
    let segments: Vec<Value> =
        segments.map(|((domain, hash), of)| part(layout::segment(*hash), Some(*domain), of.length)).collect();
    let overlays = newest.state.overlays.iter().filter(|((domain, _), _)| is_seen(domain));
    let overlays: Vec<Value> =
        overlays.map(|((domain, hash), of)| part(layout::state(*hash), Some(*domain), of.length)).collect();
    let root = json!({ "key": newest.name, "number": newest.root.number });
    let answer = json!({ "root": root, "runs": runs, "segments": segments, "overlays": overlays });
    pieces::json(&gateway, call.sender(), &answer).await
}

fn part(key: String, domain: Option<DomainId>, length: u64) -> Value {
    let mut part = json!({ "key": key, "length": length });
    if let Some(domain) = domain {
        part["domain"] = json!(domain.to_string());
    }
    part
}
