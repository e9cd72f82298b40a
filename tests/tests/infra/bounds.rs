//! Bounds: what must hold of everything that is deployed, whatever module it comes from.

use std::collections::BTreeSet;

use serde_json::Value;

use super::plan::{EXAMPLES, Plan, statements, texts};
use super::principals::POLICIES;

/// What may be allowed on everything: a key's policy speaks of that key, and traces belong to no resource.
const ON_EVERYTHING: [(&str, &str); 6] = [
    ("aws_kms_key", "Account"),
    ("aws_kms_key", "Changes"),
    ("aws_kms_key", "Logs"),
    ("aws_kms_key", "Alarms"),
    ("aws_kms_key", "Copies"),
    ("aws_iam_role_policy", "Traces"),
];

/// All allowing statements, with the kind of resource they stand in.
fn allowed(plan: &Plan) -> Vec<(&str, &str, Value)> {
    let mut found = Vec::new();
    for (kind, attribute) in &POLICIES {
        for resource in plan.all(kind) {
            let policy = plan.json(&resource.address, attribute);
            let allows = statements(&policy).into_iter().filter(|statement| statement["Effect"] == "Allow");
            found.extend(allows.map(|statement| (*kind, &*resource.address, statement)));
        }
    }
    assert!(found.len() > 20);
    found
}

#[test]
fn no_policy_allows_every_action_or_everything() {
    for plan in EXAMPLES.map(Plan::of) {
        for (kind, address, statement) in allowed(&plan) {
            let sid = statement["Sid"].as_str().unwrap_or_default();
            for action in texts(&statement["Action"]) {
                let is_keys = (kind, sid, action) == ("aws_kms_key", "Account", "kms:*");
                assert!(is_keys || !action.contains('*'), "{address}: {sid} allows {action}");
            }
            if texts(&statement["Resource"]).contains(&"*") {
                assert!(ON_EVERYTHING.contains(&(kind, sid)), "{address}: {sid} allows something on everything");
            }
        }
    }
}

#[test]
fn nothing_is_allowed_to_everybody() {
    for plan in EXAMPLES.map(Plan::of) {
        for (_, address, statement) in allowed(&plan) {
            let principal = &statement["Principal"];
            let named: Vec<&str> =
                principal.as_object().into_iter().flatten().flat_map(|(_, who)| texts(who)).collect();
            assert!(principal != "*" && !named.contains(&"*"), "{address}: {statement}");
        }
    }
}

#[test]
fn services_of_aws_act_for_this_account_only() {
    for plan in EXAMPLES.map(Plan::of) {
        for (kind, address, statement) in allowed(&plan) {
            let services = texts(&statement["Principal"]["Service"]);
            // Lambda and S3 take the role that a function or a bucket of this account names; logs are told apart by their
            // context; EventBridge says nothing towards a topic and its key.
            let is_unbound = services == ["lambda.amazonaws.com"]
                || (statement["Action"] == "sts:AssumeRole" && services == ["s3.amazonaws.com"])
                || (["aws_kms_key", "aws_sns_topic_policy"].contains(&kind) && services == ["events.amazonaws.com"]);
            let is_bound = services.is_empty() || is_unbound || !statement["Condition"].is_null();
            assert!(is_bound, "{kind} {address}: {statement}");
        }
    }
}

#[test]
fn no_bucket_is_public_and_everything_that_keeps_something_is_sealed() {
    for plan in EXAMPLES.map(Plan::of) {
        let module =
            |address: &str, kind: &str| address.split(&format!(".{kind}")).next().unwrap_or_default().to_owned();
        let closed: BTreeSet<String> = plan
            .all("aws_s3_bucket_public_access_block")
            .filter(|block| {
                ["block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets"]
                    .iter()
                    .all(|what| block.values[what] == true)
            })
            .map(|block| module(&block.address, &block.kind))
            .collect();
        let sealed: BTreeSet<String> = plan
            .all("aws_s3_bucket_server_side_encryption_configuration")
            .map(|made| module(&made.address, &made.kind))
            .collect();
        let buckets: BTreeSet<String> =
            plan.all("aws_s3_bucket").map(|made| module(&made.address, &made.kind)).collect();
        assert!(!buckets.is_empty());
        assert_eq!((&closed, &sealed), (&buckets, &buckets));
        for (kind, attribute) in [
            ("aws_sqs_queue", "sqs_managed_sse_enabled"),
            ("aws_sns_topic", "kms_master_key_id"),
            ("aws_cloudwatch_log_group", "kms_key_id"),
            ("aws_lambda_function", "kms_key_arn"),
            ("aws_scheduler_schedule", "kms_key_arn"),
        ] {
            assert!(plan.all(kind).count() > 0);
            for made in plan.all(kind) {
                let value = &made.values[attribute];
                let is_sealed = value == &Value::Bool(true) || value.as_str().is_some_and(|key| !key.is_empty());
                assert!(is_sealed, "{} has no {attribute}", made.address);
            }
        }
        assert!(plan.all("aws_kms_key").all(|key| key.values["enable_key_rotation"] == true));
    }
}

#[test]
fn behind_a_page_the_gateway_hears_cloudfront_and_one_address_asks_only_so_often() {
    let plan = Plan::of("prod");
    let distribution = plan.one("module.page[0].aws_cloudfront_distribution.this");
    let origins = distribution["origin"].as_array().expect("origins");
    let header = |origin: &str| {
        let found = origins.iter().find(|made| made["origin_id"] == origin).expect("an origin");
        found["custom_header"].as_array().into_iter().flatten().find(|made| made["name"] == "x-copal-via").cloned()
    };
    let secret = plan.variables("gateway")["COPAL_VIA"].as_str().expect("a secret");
    // A random UUID: 122 bits.
    assert!(secret.len() == 36 && header("gateway").is_some_and(|made| made["value"] == secret));
    assert!(header("page").is_none());
    for other in plan.handlers().into_iter().filter(|handler| *handler != "gateway") {
        assert!(!plan.variables(other).contains_key("COPAL_VIA"), "{other}");
    }
    let bound = plan.one("module.page[0].aws_wafv2_web_acl.this[0]");
    assert_eq!(distribution["web_acl_id"], bound["arn"]);
    let rules = plan.json("module.page[0].aws_wafv2_web_acl.this[0]", "rule_json");
    assert_eq!(rules[0]["Statement"]["RateBasedStatement"]["AggregateKeyType"], "IP");
    assert!(rules[0]["Action"]["Block"].is_object());
    // One address gets less than all together.
    let number = |value: &Value| value.as_f64().expect("a number");
    let rate = &rules[0]["Statement"]["RateBasedStatement"];
    let all = plan.one("module.gateway.aws_apigatewayv2_stage.this");
    let all = number(&all["default_route_settings"][0]["throttling_rate_limit"]);
    assert!(number(&rate["Limit"]) / number(&rate["EvaluationWindowSec"]) < all, "{rate} of {all}");
    // Without a page the API's own address is the gateway's.
    assert!(!Plan::of("dev").variables("gateway").contains_key("COPAL_VIA"));
}

#[test]
fn backups_are_not_destroyed_by_the_way() {
    let plan = Plan::of("prod");
    for held in ["repository", "bucket", "key", "locks-90-days", "replica-region", "replica-region-key", "recovery"] {
        plan.one(&format!("module.protection.terraform_data.held[\"{held}\"]"));
    }
    for address in [
        "module.repository.module.bucket.aws_s3_bucket.this",
        "module.replica[\"region\"].module.bucket.aws_s3_bucket.this",
    ] {
        assert_eq!(plan.one(address)["force_destroy"], false, "{address}");
    }
    assert!(Plan::of("dev").resources.iter().all(|made| !made.address.starts_with("module.protection")));
}
