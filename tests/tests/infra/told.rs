//! Told: what alarms and the dashboard watch, and what browsers are told, against what the functions and `copal serve` say.

use std::collections::BTreeSet;

use copal_jobs::metrics;
use serde_json::Value;

use super::drift::read;
use super::plan::{EXAMPLES, Plan, texts};

#[test]
fn alarms_and_the_dashboard_watch_metrics_that_functions_tell() {
    let known: BTreeSet<&str> = metrics::ALL.iter().map(|metric| metric.name).collect();
    for plan in EXAMPLES.map(Plan::of) {
        let environment = read(&plan, "check");
        let mut watched = 0;
        // A run that reads the packs of a later lane tells of itself by the name of its job.
        let tells = |function: &str| {
            let mut scrubs = plan.all("aws_scheduler_schedule").filter(|_| function.starts_with("scrub-"));
            plan.handlers().contains(&function) || scrubs.any(|of| of.values["name"] == *function)
        };
        for alarm in
            plan.all("aws_cloudwatch_metric_alarm").filter(|of| of.values["namespace"] == *environment.namespace)
        {
            let name = alarm.values["metric_name"].as_str().expect("a metric");
            assert!(known.contains(name), "{}: {name}", alarm.address);
            let dimensions = alarm.values["dimensions"].as_object().expect("dimensions");
            assert_eq!(dimensions.keys().collect::<Vec<_>>(), ["Function", "Repository"]);
            assert_eq!(dimensions["Repository"].as_str(), Some(&*environment.repository()));
            assert!(tells(dimensions["Function"].as_str().expect("a name")), "{}", alarm.address);
            watched += 1;
        }
        assert!(watched > 10);
        let body = plan.json("module.observation.aws_cloudwatch_dashboard.this", "dashboard_body");
        for metric in body["widgets"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|of| of["properties"]["metrics"].as_array())
            .flatten()
        {
            let parts: Vec<&str> = metric.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let [namespace, name, "Function", function, "Repository", repository] = parts[..] else {
                panic!("{metric}");
            };
            assert!(known.contains(name) && tells(function), "{metric}");
            assert_eq!((namespace, repository), (&*environment.namespace, &*environment.repository()));
        }
    }
}

#[test]
fn the_operators_page_says_of_every_alarm_what_to_do() {
    let page = include_str!("../../../docs/aws.md");
    let table = page.split("### Alarms, and what to do").nth(1).and_then(|rest| rest.split("\n### ").next());
    let table = table.expect("the page has the table");
    let plan = Plan::of("prod");
    for alarm in plan.all("aws_cloudwatch_metric_alarm") {
        let name = alarm.values["alarm_name"].as_str().and_then(|name| name.strip_prefix("copal-")).expect("a name");
        let is_of_a_kind = name.ends_with("-throttled") || name.ends_with("-late");
        assert!(is_of_a_kind || table.contains(&format!("`{name}`")), "{name}");
    }
    assert!(table.contains("`ingest-throttled`") && table.contains("`ingest-late`"));
}

#[test]
fn cloudfront_sends_with_the_page_what_copal_serve_sends() {
    let plan = Plan::of("prod");
    let serve = include_str!("../../../gateway/src/serve/page.rs");
    let serve: String = serve.split('\\').map(str::trim_start).collect::<Vec<_>>().join("");
    let headers = plan.one("module.page[0].aws_cloudfront_response_headers_policy.this");
    let security = &headers["security_headers_config"][0];
    let policy = security["content_security_policy"][0]["content_security_policy"].as_str().expect("a policy");
    let bucket = format!(" https://{}.s3.eu-central-1.amazonaws.com", plan.place().0);
    assert!(policy.contains(&bucket), "the page may talk to the bucket");
    let policy = policy.replace(&bucket, "{store}");
    assert!(serve.contains(&policy), "{policy}");
    let items = headers["custom_headers_config"][0]["items"].as_array().expect("headers");
    for item in items {
        let (name, value) = (item["header"].as_str().expect("a name"), item["value"].as_str().expect("a value"));
        let named = serve.split(&format!("\"{name}\")")).nth(1).expect("copal serve sends it");
        assert!(named.trim_start_matches([',', '\n', ' ']).starts_with(&format!("\"{value}\"")), "{name}");
    }
    let referrer = security["referrer_policy"][0]["referrer_policy"].as_str();
    assert!(items.len() == 4 && referrer == Some("no-referrer") && serve.contains("REFERRER_POLICY, \"no-referrer\""));
    let gateway = include_str!("../../../gateway/src/router/headers.rs");
    assert!(gateway.contains("nosniff") && security["content_type_options"][0]["override"] == true);
    assert!(gateway.contains("max-age=") && security["strict_transport_security"][0]["override"] == true);
}

#[test]
fn browsers_may_send_the_bucket_every_header_that_the_page_needs() {
    let plan = Plan::of("prod");
    let rule = &plan.one("module.repository.aws_s3_bucket_cors_configuration.this[0]")["cors_rule"][0];
    let page = include_str!("../../../docs/web.md");
    let json = page.split("```json").nth(1).and_then(|rest| rest.split("```").next()).expect("the page has the rules");
    let wanted: Value = serde_json::from_str(json).expect("JSON");
    for (attribute, name) in [
        ("allowed_headers", "AllowedHeaders"),
        ("expose_headers", "ExposeHeaders"),
        ("allowed_methods", "AllowedMethods"),
    ] {
        let allowed = texts(&rule[attribute]);
        let missing: Vec<_> = texts(&wanted[0][name]).into_iter().filter(|header| !allowed.contains(header)).collect();
        assert!(missing.is_empty(), "{name}: {missing:?}");
    }
    // The page is also where it was before it had a name.
    let named = plan.outputs["page_url"]["value"].as_str().expect("an address");
    let distribution = plan.one("module.page[0].aws_cloudfront_distribution.this")["domain_name"].as_str();
    let first = format!("https://{}", distribution.expect("a name"));
    assert_eq!(texts(&rule["allowed_origins"]), [named, &first]);
}
