//! Drift: names and numbers that stand in `infra/` and in the code, and must be the same.

use std::collections::BTreeSet;

use copal_format::id::ClientId;
use copal_format::layout;
use copal_lambda::check;
use copal_lambda::environment::{self, Environment};
use copal_lambda::event::{RECONCILE, Request, Watched};
use copal_lambda::function::Function;
use copal_lambda::gateway;
use copal_tests::kit::lambda::event::notification;
use serde_json::{Value, json};

use super::calls::COPIES;
use super::plan::{EXAMPLES, Plan, texts};
use super::rights::FOLDERS;

/// The environment that a deployed function reads, by the function's own code.
pub(crate) fn read(plan: &Plan, handler: &str) -> Environment {
    let variables = plan.variables(handler);
    Environment::read(|name| variables.get(name).and_then(Value::as_str).map(str::to_owned)).expect("it is sound")
}

#[test]
fn every_function_of_the_program_is_deployed_and_no_other() {
    let mut known: BTreeSet<&str> = Function::ALL.iter().map(|function| function.name()).collect();
    known.insert(gateway::NAME);
    for plan in EXAMPLES.map(Plan::of) {
        assert_eq!(plan.handlers().into_iter().collect::<BTreeSet<_>>(), known);
    }
}

#[test]
fn functions_can_read_the_variables_that_they_are_given() {
    for (example, prefix) in [("dev", "laptops"), ("prod", "")] {
        let plan = Plan::of(example);
        for handler in plan.handlers() {
            let unknown: Vec<_> =
                plan.variables(handler).keys().filter(|name| !environment::NAMES.contains(&name.as_str())).collect();
            assert!(unknown.is_empty(), "{handler}: {unknown:?}");
            let read = read(&plan, handler);
            assert_eq!((read.bucket.as_str(), read.prefix.as_str()), (plan.place().0, prefix));
        }
        let gateway = read(&plan, gateway::NAME);
        assert_eq!(gateway.origins.first().map(String::as_str), plan.outputs["gateway_url"]["value"].as_str());
        assert!(gateway.open_slots);
        assert_eq!(read(&plan, "check").check_parts, 30);
    }
    assert_eq!(read(&Plan::of("prod"), gateway::NAME).daily_quota, Some(1_000_000_000_000));
}

#[test]
fn every_variable_that_the_code_knows_can_be_set() {
    let functions = include_str!("../../../infra/functions.tf");
    for &name in environment::NAMES {
        // The bucket itself seals what nobody says otherwise of.
        assert_eq!(functions.contains(&format!("{name} ")), name != environment::KMS_KEY, "{name}");
    }
}

#[test]
fn schedules_ask_for_jobs_that_the_functions_they_start_do() {
    for plan in EXAMPLES.map(Plan::of) {
        let (mut asked, mut lanes) = (BTreeSet::new(), 1);
        for schedule in plan.all("aws_scheduler_schedule") {
            let target = &schedule.values["target"][0];
            let payload: Value = serde_json::from_str(target["input"].as_str().expect("an input")).expect("JSON");
            let Ok(Request::Job(job)) = Request::read(payload.clone(), Watched { bucket: "b", prefix: "" }) else {
                panic!("{} asks for no job", schedule.address);
            };
            let handler = plan.handlers().into_iter().find(|handler| {
                let alias = plan.one(&format!("module.function[\"{handler}\"].aws_lambda_alias.this"));
                alias["arn"] == target["arn"]
            });
            let function = Function::named(handler.expect("a deployed function")).expect("a function with jobs");
            let is_scrub = function == Function::Check && check::lane(&payload).is_some();
            assert!(job == function.name() || is_scrub || (function, &*job) == (Function::Ingest, RECONCILE), "{job}");
            lanes = lanes.max(payload["lanes"].as_u64().unwrap_or(1));
            asked.insert(job);
        }
        let scrubs = (1..lanes).map(|lane| format!("scrub-{lane}"));
        let all = ["check", "compact", "prune", RECONCILE].map(str::to_owned).into_iter().chain(scrubs);
        assert_eq!(asked, all.collect());
    }
}

#[test]
fn what_is_an_event_ingest_has_work_for_and_the_other_way_round() {
    for plan in EXAMPLES.map(Plan::of) {
        let environment = read(&plan, "ingest");
        let place = Watched { bucket: &environment.bucket, prefix: &environment.prefix };
        let queues = plan.one("module.events.aws_s3_bucket_notification.this")["queue"].clone();
        let filters: BTreeSet<&str> =
            queues.as_array().into_iter().flatten().filter_map(|queue| queue["filter_prefix"].as_str()).collect();
        let (_, root) = plan.place();
        let names = FOLDERS.map(|folder| match folder {
            "manifests" => layout::manifest(ClientId([7; 16]), 1),
            "changes" => layout::change(1),
            other => format!("{other}/name"),
        });
        for name in names {
            let key = format!("{root}{name}");
            let event = notification(&environment.bucket, &key, 300, "2026-11-20T12:00:00.000Z", 1);
            let has_work = matches!(Request::read(event, place), Ok(Request::Hints(hints)) if !hints.is_empty());
            assert_eq!(filters.iter().any(|filter| key.starts_with(filter)), has_work, "{key}");
        }
        assert_eq!(filters.len(), 2);
    }
}

#[test]
fn messages_come_again_soon_after_the_time_of_an_ingest_and_then_singly() {
    for plan in EXAMPLES.map(Plan::of) {
        let timeout =
            plan.one("module.function[\"ingest\"].aws_lambda_function.this")["timeout"].as_u64().expect("one");
        for queue in ["this", "singly"] {
            let queue = plan.one(&format!("module.events.aws_sqs_queue.{queue}"));
            let away = queue["visibility_timeout_seconds"].as_u64().expect("one");
            assert!((timeout + 60..timeout + 120).contains(&away), "{away} of {timeout}");
        }
        let singly = plan.one("module.events.aws_lambda_event_source_mapping.singly");
        assert_eq!(singly["batch_size"], json!(1));
        let mapping = plan.one("module.events.aws_lambda_event_source_mapping.this");
        assert_eq!(mapping["function_response_types"], json!(["ReportBatchItemFailures"]));
        let ingest = plan.one("module.function[\"ingest\"].aws_lambda_alias.this");
        assert_eq!([&mapping["function_name"], &singly["function_name"]], [&ingest["arn"]; 2]);
    }
}

#[test]
fn policies_speak_of_folders_that_there_are() {
    for plan in EXAMPLES.map(Plan::of) {
        let (bucket, root) = plan.place();
        let start = format!("arn:aws:s3:::{bucket}/");
        let texts_of = |address: &str| {
            let policy = plan.json(address, "policy");
            let statements = policy["Statement"].as_array().cloned().unwrap_or_default();
            let named = statements.iter().flat_map(|of| [texts(&of["Resource"]), texts(&of["NotResource"])].concat());
            named.filter_map(|arn| arn.strip_prefix(&start).map(str::to_owned)).collect::<Vec<_>>()
        };
        let roles = plan.handlers();
        let mut addresses: Vec<String> =
            roles.iter().map(|handler| format!("module.function[\"{handler}\"].aws_iam_role_policy.this")).collect();
        addresses.push("module.repository.module.bucket.aws_s3_bucket_policy.this".to_owned());
        for address in addresses {
            let named = texts_of(&address);
            assert!(!named.is_empty(), "{address}");
            for name in named.iter().filter(|name| *name != "*") {
                let inside = name.strip_prefix(&root).unwrap_or_default();
                let folder = inside.strip_suffix("/*").unwrap_or_default();
                assert!(FOLDERS.contains(&folder) || inside == COPIES, "{address}: {name}");
            }
        }
    }
}
