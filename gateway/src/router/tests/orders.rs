//! Jobs that callers order: which order reaches the runner, and which is refused before anything is run.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use axum::http::Request;
use copal_format::receipt::IngestBy;
use copal_format::request::Signatory;
use serde_json::{Value, json};

use super::kit::*;
use crate::orders::{JobOrder, RunOrder};
use crate::router::{JobRunner, NotNow, Orders, Problem, Quota, Scheduled, ScheduledJob};

/// Notes what it is to run.
#[derive(Default)]
struct Noting(Mutex<Vec<JobOrder>>);

#[async_trait]
impl JobRunner for Noting {
    async fn run(&self, order: JobOrder) -> Result<Value, Problem> {
        self.0.lock().unwrap().push(order);
        Ok(json!({ "done": true }))
    }
}

async fn world() -> (World, Arc<Noting>) {
    let noting = Arc::new(Noting::default());
    let runner = noting.clone();
    (World::with(IngestBy::Service, |settings| settings.orders = Orders::Answered(runner)).await, noting)
}

async fn unsigned(world: &World, body: &str) -> Answer {
    world.send(Request::post("/v1/jobs").body(Body::from(body.to_owned())).unwrap()).await
}

async fn signed(world: &World, signatory: Signatory, body: &str) -> Answer {
    world.signed(signatory, "POST", "/v1/jobs", body.as_bytes()).await
}

const AT_ONCE: &str = r#"{"job":"prune","grace":0,"repack_most":null,"dry_run":false}"#;

#[tokio::test]
async fn only_a_gateway_that_runs_jobs_takes_orders() {
    let closed = World::new().await;
    assert_eq!(signed(&closed, Signatory::Owner, AT_ONCE).await.problem(), problem(501, "not-here"));
    assert_eq!(unsigned(&closed, r#"{"job":"ingest"}"#).await.problem(), problem(501, "not-here"));
}

#[tokio::test]
async fn whoever_may_only_write_or_is_revoked_orders_nothing() {
    let (world, noting) = world().await;
    for (client, name) in [(WRITER, "not-permitted"), (JOINING, "not-permitted"), (REVOKED, "client-revoked")] {
        for order in [r#"{"job":"ingest"}"#, r#"{"job":"check","parts":1}"#, AT_ONCE] {
            let refused = signed(&world, Signatory::Client(client), order).await;
            assert_eq!(refused.problem(), problem(403, name), "{order}");
        }
    }
    assert_eq!(*noting.0.lock().unwrap(), []);
}

#[tokio::test]
async fn only_the_owner_shortens_the_grace_period() {
    let (world, noting) = world().await;
    let full = Signatory::Client(FULL);
    assert_eq!(unsigned(&world, AT_ONCE).await.problem(), problem(403, "not-permitted"));
    assert_eq!(signed(&world, full, AT_ONCE).await.problem(), problem(403, "not-permitted"));
    assert_eq!(signed(&world, Signatory::Owner, AT_ONCE).await.json()["done"], true);
    let usual = AT_ONCE.replace(":0,", ":86400,");
    assert_eq!(unsigned(&world, &usual).await.json()["done"], true);
    assert_eq!(unsigned(&world, &AT_ONCE.replace("false", "true")).await.json()["done"], true, "it changes nothing");
    let prune = |grace, dry_run| JobOrder::Prune { grace: Some(grace), repack_most: None, dry_run };
    assert_eq!(*noting.0.lock().unwrap(), [prune(0, false), prune(86_400, false), prune(0, true)]);
}

#[tokio::test]
async fn an_order_that_makes_no_sense_is_refused_by_the_name_of_what_is_wrong() {
    let (world, noting) = world().await;
    for (order, named) in [
        ("", "EOF"),
        ("[]", "job"),
        (r#"{"job":"rebuild"}"#, "rebuild"),
        (r#"{"job":"ingest","client":"all"}"#, "client"),
        (r#"{"job":"prune","grace":null,"repack_most":null,"dry_run":false,"force":true}"#, "force"),
        (r#"{"job":"prune","grace":-1,"repack_most":null,"dry_run":false}"#, "-1"),
        (r#"{"job":"prune","grace":18446744073709551615,"repack_most":null,"dry_run":false}"#, "grace"),
        (r#"{"job":"prune","repack_most":"all","dry_run":false}"#, "all"),
        (r#"{"job":"prune"}"#, "dry_run"),
        (r#"{"job":"check","parts":0}"#, "parts"),
        (r#"{"job":"check","parts":4294967296}"#, "4294967296"),
    ] {
        let refused = signed(&world, Signatory::Owner, order).await;
        assert_eq!(refused.problem(), problem(400, "bad-request"), "{order}");
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(named), "{order}: {detail}");
    }
    let long = format!(r#"{{"job":"{}"}}"#, "x".repeat(5_000));
    assert_eq!(signed(&world, Signatory::Owner, &long).await.problem(), problem(413, "too-large"));
    assert_eq!(*noting.0.lock().unwrap(), []);
}

/// A schedule that runs one job at a time, and never ends it.
#[derive(Default)]
struct Scheduling(Mutex<Vec<RunOrder>>);

impl Scheduled for Scheduling {
    fn order(&self, order: RunOrder) -> Result<(), NotNow> {
        let mut orders = self.0.lock().unwrap();
        orders.push(order);
        if orders.len() == 1 { Ok(()) } else { Err(NotNow::Running { job: "check" }) }
    }

    fn jobs(&self) -> Vec<ScheduledJob> {
        let every = Duration::from_secs(86_400);
        vec![ScheduledJob { job: "check", every, is_running: true, ended: Some(NOW), is_failing: false }]
    }
}

async fn scheduled() -> (World, Arc<Scheduling>) {
    let scheduling = Arc::new(Scheduling::default());
    let orders = scheduling.clone();
    (World::with(IngestBy::Service, |settings| settings.orders = Orders::Scheduled(orders)).await, scheduling)
}

const CHECK: &str = r#"{"job":"check"}"#;

#[tokio::test]
async fn a_service_with_a_schedule_takes_one_order_at_a_time_and_answers_at_once() {
    let (world, scheduling) = scheduled().await;
    let full = Signatory::Client(FULL);
    assert_eq!(signed(&world, full, CHECK).await.status, 202);
    for _ in 0..100 {
        let second = signed(&world, Signatory::Owner, r#"{"job":"prune"}"#).await;
        assert_eq!(second.problem(), problem(409, "job-running"));
        assert_eq!(second.json()["job"], "check");
    }
    assert_eq!(scheduling.0.lock().unwrap()[0], RunOrder::Check {});
    let told = world.signed(full, "GET", "/v1/jobs", b"").await.json();
    assert_eq!(told["jobs"][0]["running"], true);
    assert_eq!(told["jobs"][0]["every"], 86_400);
}

#[tokio::test]
async fn a_service_with_a_schedule_takes_no_order_of_anybody_but_a_full_client() {
    let (world, scheduling) = scheduled().await;
    assert_eq!(unsigned(&world, CHECK).await.problem(), problem(401, "signature-missing"));
    assert_eq!(world.unsigned("GET", "/v1/jobs").await.problem(), problem(401, "signature-missing"));
    for (client, name) in [(WRITER, "not-permitted"), (JOINING, "not-permitted"), (REVOKED, "client-revoked")] {
        let who = Signatory::Client(client);
        assert_eq!(signed(&world, who, CHECK).await.problem(), problem(403, name));
        assert_eq!(world.signed(who, "GET", "/v1/jobs", b"").await.problem(), problem(403, name));
    }
    // In the name of a full client, with another key.
    let forged =
        sign_with(&terms(Signatory::Client(FULL), [1; 16]), &enrollment_key(), "POST", "/v1/jobs", CHECK.as_bytes());
    assert_eq!(world.send(forged).await.problem(), problem(401, "signature-wrong"));
    assert_eq!(*scheduling.0.lock().unwrap(), []);
}

#[tokio::test]
async fn an_order_that_is_replayed_is_refused() {
    let (world, scheduling) = scheduled().await;
    let again = || {
        let terms = terms(Signatory::Client(FULL), [7; 16]);
        sign_with(&terms, &request_key(FULL), "POST", "/v1/jobs", CHECK.as_bytes())
    };
    assert_eq!(world.send(again()).await.status, 202);
    assert_eq!(world.send(again()).await.problem(), problem(401, "replayed"));
    assert_eq!(scheduling.0.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_service_with_a_schedule_takes_no_options() {
    let (world, scheduling) = scheduled().await;
    for (order, named) in [
        (AT_ONCE, "grace"),
        (r#"{"job":"prune","grace":0}"#, "grace"),
        (r#"{"job":"prune","repack_most":1}"#, "repack_most"),
        (r#"{"job":"check","parts":1}"#, "parts"),
        (r#"{"job":"ingest"}"#, "ingest"),
        (r#"{"job":"expire"}"#, "expire"),
    ] {
        let refused = signed(&world, Signatory::Owner, order).await;
        assert_eq!(refused.problem(), problem(400, "bad-request"), "{order}");
        let detail = refused.json()["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(named), "{order}: {detail}");
    }
    assert_eq!(*scheduling.0.lock().unwrap(), []);
}

#[tokio::test]
async fn a_client_learns_its_own_quota_alone() {
    let quota = Quota { stored: Some(10_000), daily: None };
    let world = World::with(IngestBy::Service, |settings| settings.quota = quota).await;
    world.put_root().await;
    let writer = world.signed(Signatory::Client(WRITER), "GET", "/v1/quota", b"").await.json();
    assert_eq!(writer, json!({ "stored": { "quota": 10_000, "used": 1_000 }, "daily": null }));
    let full = world.signed(Signatory::Client(FULL), "GET", "/v1/quota", b"").await.json();
    assert_eq!(full["stored"]["used"], 0);
    assert_eq!(world.unsigned("GET", "/v1/quota").await.problem(), problem(401, "signature-missing"));
    let revoked = world.signed(Signatory::Client(REVOKED), "GET", "/v1/quota", b"").await;
    assert_eq!(revoked.problem(), problem(403, "client-revoked"));
}
