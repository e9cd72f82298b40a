//! Restoring: the operators' page says how deleted objects come back. Its commands are put to the policies as they are before,
//! and once somebody is among `restorers`.

use serde_json::{Value, json};

use super::plan::Plan;
use super::rights::{ACCOUNT, assert_answers};

#[test]
fn what_was_deleted_comes_back_as_the_operators_page_says_and_only_then() {
    let commands = commands();
    assert!(commands.contains(&"delete-object --version-id".to_owned()), "{commands:?}");
    let (before, then) = (Plan::of("prod"), Plan::of_run("prod", "restoring"));
    for (bucket, policy) in [
        ("example-copal", "module.repository.module.bucket.aws_s3_bucket_policy.this"),
        ("example-copal-replica", "module.replica[\"region\"].module.bucket.aws_s3_bucket_policy.this"),
    ] {
        let mut cases = Vec::new();
        for command in &commands {
            let (action, resource) = action(command, bucket);
            let ask = |plan: &Plan, who: &str| request(plan, policy, who, action, &resource);
            let is_deletion = action == "s3:DeleteObjectVersion";
            cases.push((!is_deletion, ask(&before, "restorer")));
            cases.push((true, ask(&then, "restorer")));
            cases.push((!is_deletion, ask(&then, "administrator")));
        }
        // Locks stay, and so does what nobody has deleted yet.
        for action in ["s3:BypassGovernanceRetention", "s3:DeleteObject"] {
            let object = format!("arn:aws:s3:::{bucket}/packs/some");
            cases.push((false, request(&then, policy, "restorer", action, &object)));
        }
        assert_answers(bucket, &cases);
    }
}

#[test]
fn an_operator_with_the_policy_that_the_deployment_tells_makes_and_repairs_the_repository() {
    let plan = Plan::of("prod");
    let told = plan.outputs["operator_policy"]["value"].as_str().expect("a policy");
    let policy: Value = serde_json::from_str(told).expect("JSON");
    let bucket = "module.repository.module.bucket.aws_s3_bucket_policy.this";
    let key = "arn:aws:kms:eu-central-1:111122223333:key/0a0a0a0a-0000-4000-8000-000000000000";
    let object = |folder: &str| format!("arn:aws:s3:::example-copal/{folder}/some");
    let mut cases = vec![
        (true, "s3:ListBucket", "arn:aws:s3:::example-copal".to_owned()),
        (true, "s3:GetObject", object("packs")),
        (true, "s3:DeleteObject", object("tmp")),
        (true, "s3:DeleteObject", object("keys")),
        (false, "s3:DeleteObject", object("packs")),
        (false, "s3:PutBucketPolicy", "arn:aws:s3:::example-copal".to_owned()),
        (true, "kms:Decrypt", key.to_owned()),
        (true, "kms:GenerateDataKey", key.to_owned()),
        (false, "kms:ScheduleKeyDeletion", key.to_owned()),
    ];
    cases.extend(["copal", "keys", "tmp", "roots", "state"].map(|folder| (true, "s3:PutObject", object(folder))));
    let asked = cases.iter().map(|(is_allowed, action, resource)| {
        let at = if action.starts_with("kms:") { "module.key.aws_kms_key.this" } else { bucket };
        let mut request = request(&plan, at, "backup-operator", action, resource);
        request["identity"] = policy.clone();
        if *action == "s3:PutObject" {
            request["context"]["s3:if-none-match"] = "*".into();
            request["context"]["s3:ObjectCreationOperation"] = "true".into();
        }
        (*is_allowed, request)
    });
    assert_answers("operator", &asked.collect::<Vec<_>>());
}

/// What the page has an operator ask of S3 in order to bring something back.
fn commands() -> Vec<String> {
    let page = include_str!("../../../docs/aws.md");
    let section = page.split("### Bring back what was deleted").nth(1).and_then(|rest| rest.split("\n### ").next());
    let asked = section.expect("the page says how").lines().filter_map(|line| line.strip_prefix("aws s3api "));
    asked
        .map(|line| {
            let name = line.split(' ').next().expect("a command");
            let version = if line.contains("--version-id") { " --version-id" } else { "" };
            format!("{name}{version}")
        })
        .collect()
}

/// The right that a command of the AWS CLI needs, and on what.
fn action(command: &str, bucket: &str) -> (&'static str, String) {
    let object = format!("arn:aws:s3:::{bucket}/packs/some");
    match command {
        "list-object-versions" => ("s3:ListBucketVersions", format!("arn:aws:s3:::{bucket}")),
        "delete-object --version-id" => ("s3:DeleteObjectVersion", object),
        "delete-object" => ("s3:DeleteObject", object),
        "head-object" => ("s3:GetObject", object),
        other => panic!("no right is known for {other}"),
    }
}

/// A call by a role that may do everything by its own policy.
fn request(plan: &Plan, policy: &str, who: &str, action: &str, resource: &str) -> Value {
    let principal = format!("arn:aws:iam::{ACCOUNT}:role/{who}");
    json!({
        "principal": principal,
        "action": action,
        "resource": resource,
        "account": ACCOUNT,
        "identity": { "Version": "2012-10-17", "Statement": [{ "Effect": "Allow", "Action": "s3:*", "Resource": "*" }] },
        "bucket": plan.json(policy, "policy"),
        "context": { "aws:SecureTransport": "true", "aws:PrincipalArn": principal },
    })
}
