//! Jobs that callers order: which order reaches the runner, and which is refused before anything is run.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::body::Body;
use axum::http::Request;
use copal_format::receipt::IngestBy;
use copal_format::request::Signatory;
use serde_json::{Value, json};

use super::kit::*;
use crate::orders::JobOrder;
use crate::router::{JobRunner, Problem};

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
    (World::with(IngestBy::Service, |settings| settings.runner = Some(runner)).await, noting)
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
