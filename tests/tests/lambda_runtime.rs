//! The real compiled functions, run as Lambda runs them, over a real S3 server.

use std::time::Duration;

use copal_format::receipt::Outcome as Decision;
use copal_jobs::metrics::ALL;
use copal_tests::kit::lambda::world::{World, files, until};
use copal_tests::kit::lambda::{Faults, Outcome};
use serde_json::{Value, json};

#[test]
fn a_manifest_is_decided_soon_after_it_was_uploaded() {
    let world = World::start();
    let cloud = world.cloud(|_| {});
    let client = world.register(1);
    world.upload(&client, b"letter");
    let receipt = world.receipt(&client, 1);
    assert_eq!(receipt.outcome, Decision::Accepted);
    assert_eq!(world.restore(&receipt), files(b"letter"));
    // The answer comes before the line that says so is read.
    let metrics = until("the metrics are written", || {
        cloud.function("ingest").metrics().into_iter().find(|line| line["ManifestsAccepted"] == json!(1.0))
    });
    assert_eq!(metrics["Function"], "ingest");
    assert_eq!(metrics["Repository"], json!(world.bucket));
    let log = cloud.function("ingest").log();
    let line = log.iter().find(|line| line.contains("\"message\":\"accepted\"")).expect("the decision is logged");
    let line: Value = serde_json::from_str(line).expect("the log is JSON");
    assert_eq!(line["span"]["requestId"], metrics["requestId"]);
}

#[test]
fn a_function_that_waits_for_a_store_that_is_away_ends_in_time_and_the_next_one_works() {
    let mut world = World::start();
    let cloud = world.cloud(|deployment| {
        deployment.timeout = Duration::from_secs(20);
        deployment.faults = Faults { dropped: 1000, ..Faults::default() };
    });
    let client = world.register(1);
    world.upload(&client, b"letter");
    world.server.stop();
    let report = cloud.run("reconcile");
    assert!(matches!(&report, Outcome::Error { kind, .. } if kind == "Expired"), "{report:?}");
    world.server.restart();
    let report = cloud.run("reconcile");
    assert_eq!(report, Outcome::Response(json!({ "accepted": 1, "rejected": 0, "refused": 0 })));
}

#[test]
fn a_message_that_nobody_understands_becomes_a_dead_letter() {
    let world = World::start();
    let cloud = world.cloud(|deployment| deployment.receives_most = 2);
    cloud.queue().send(&json!({ "hello": "world" }));
    until("it is put aside", || (cloud.queue().dead().len() == 1).then_some(()));
    assert!(cloud.queue().is_empty());
}

#[test]
fn scheduled_jobs_run_and_a_process_serves_many_invocations() {
    let world = World::start();
    let cloud = world.cloud(|_| {});
    let client = world.register(1);
    (1..=3).for_each(|number| world.upload(&client, &[number]));
    (1..=3).for_each(|number| drop(world.receipt(&client, number)));
    for _ in 0..2 {
        for job in ["compact", "prune", "check", "reconcile"] {
            let report = cloud.run(job);
            assert!(matches!(report, Outcome::Response(_)), "{job}: {report:?}");
        }
    }
    for function in ["compact", "prune", "check"] {
        assert_eq!(cloud.function(function).cold_starts().len(), 1, "{function} is started once");
        // The answer comes before the line is read that tells of it.
        let both = || Some(cloud.function(function).metrics()).filter(|lines| lines.len() >= 2);
        let metrics = until("it writes metrics for each run", both);
        assert_eq!(metrics.len(), 2, "{function}");
        metrics.iter().for_each(assert_embedded);
    }
    cloud.function("ingest").metrics().iter().for_each(assert_embedded);
}

/// A line is in CloudWatch's embedded metric format, and says nothing that the operators' table does not know.
fn assert_embedded(line: &Value) {
    let told = &line["_aws"]["CloudWatchMetrics"][0];
    assert_eq!((&told["Namespace"], &told["Dimensions"]), (&json!("Copal"), &json!([["Function", "Repository"]])));
    assert!(line["_aws"]["Timestamp"].is_u64() && line["Function"].is_string() && line["Repository"].is_string());
    let definitions = told["Metrics"].as_array().expect("definitions");
    assert!(definitions.iter().any(|of| of["Name"] == "Runs") && line["Runs"] == json!(1.0), "{line}");
    for of in definitions {
        let known = ALL.iter().find(|metric| of["Name"] == metric.name);
        let known = known.unwrap_or_else(|| panic!("{of} stands in no table"));
        assert_eq!(of["Unit"], json!(format!("{:?}", known.unit)));
        assert!(line[known.name].is_number(), "{line} has no {}", known.name);
    }
}

#[test]
fn a_function_that_cannot_start_says_why() {
    let world = World::start();
    let cloud = world.cloud(|deployment| deployment.variables.retain(|(name, _)| name != "COPAL_OWNER_FINGERPRINT"));
    let report = cloud.run("check");
    let told = |outcome: &Outcome| match outcome {
        Outcome::Error { message, .. } => message.contains("the variable COPAL_OWNER_FINGERPRINT is not set"),
        _ => false,
    };
    assert!(told(&report), "{report:?}");
}

#[test]
fn no_access_key_is_ever_logged() {
    let world = World::start();
    let cloud = world.cloud(|deployment| deployment.variables.push(("COPAL_LOG".to_owned(), "debug".to_owned())));
    let client = world.register(1);
    world.upload(&client, b"letter");
    world.receipt(&client, 1);
    let secret = world.server.environment().into_iter().find(|(name, _)| *name == "AWS_SECRET_ACCESS_KEY").unwrap().1;
    for name in ["ingest", "check", "prune", "compact"] {
        cloud.run(if name == "ingest" { "reconcile" } else { name });
        let log = cloud.function(name).log();
        assert!(log.len() > 10, "{name} logs so much that the test means something: {log:?}");
        assert!(log.iter().all(|line| !line.contains(&secret)), "{name}");
    }
}
