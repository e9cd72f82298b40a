//! Rights: the policies of roles and buckets, executed. Each function's calls, as they were recorded, are put to an evaluator
//! of IAM's rules: what it does must be allowed, what others destroy or decide must not.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::calls::{self, COPIES, Call, LIST};
use super::drift::read;
use super::mutants::{Mutant, mutants};
use super::plan::{EXAMPLES, Plan, statements, target, texts};
use super::requests::{self, FUNCTIONS};

/// What all functions ask, in memory and of a real server.
static CALLS: LazyLock<BTreeSet<Call>> = LazyLock::new(|| &calls::of_jobs() | &requests::of_a_team());

#[test]
fn what_a_function_does_its_role_allows() {
    for (name, plan) in plans() {
        let calls = calls_in(&plan);
        let asked: Vec<Value> = calls.iter().map(|call| request(&plan, call)).collect();
        let answers = evaluate(&asked);
        let refused: Vec<_> = calls.iter().zip(answers).filter(|(_, answer)| answer != "Allowed").collect();
        assert!(refused.is_empty(), "{name}: {refused:#?}");
    }
}

#[test]
fn the_recorded_calls_are_those_of_whole_jobs() {
    CALLS.iter().for_each(|Call { function, action, folder }| println!("{function} {action} {folder}"));
    let has = |function, action, folder: &str| CALLS.contains(&Call { function, action, folder: folder.to_owned() });
    for folder in ["packs", "roots", "state", "index", "reports", "work", "shares"] {
        assert!(has("prune", "s3:DeleteObject", folder), "prune deletes {folder}");
    }
    assert!(has("prune", "s3:PutObject", "moved") && has("prune", "s3:PutObject", "expiries"));
    assert!(has("ingest", "s3:PutObject", "receipts") && has("ingest", "s3:GetObject", "changes"));
    assert!(has("ingest", "s3:PutObject", COPIES) && !has("ingest", "s3:PutObject", "clients"));
    assert!(has("check", "s3:PutObject", "reports") && has("check", "s3:PutObject", "roots"));
    for job in ["prune", "check"] {
        assert!(has(job, "s3:PutObject", "work") && has(job, "s3:GetObject", "work"), "a {job} goes on");
    }
    assert!(has("compact", "s3:PutObject", "index"));
    for folder in ["packs", "manifests"] {
        assert!(has("check", "s3:PutObjectRetention", folder), "check locks {folder} anew");
    }
    assert!(has("gateway", "s3:PutObject", "packs") && has("gateway", "s3:PutObject", "clients"));
    assert!(has("prune", "s3:GetObject", "shares"));
}

#[test]
fn what_other_functions_destroy_or_decide_a_role_does_not_allow() {
    let creates: BTreeSet<(&str, &str)> =
        CALLS.iter().filter(|call| call.action == "s3:PutObject").map(|call| (call.function, &*call.folder)).collect();
    let created: BTreeSet<&str> = creates.iter().map(|(_, folder)| *folder).collect();
    for (name, plan) in plans() {
        let mut forbidden = Vec::new();
        for function in FUNCTIONS {
            let may_delete = |folder: &str| match function {
                "prune" => PRUNED.contains(&folder),
                "gateway" => folder == "shares",
                _ => false,
            };
            let deleted = FOLDERS.iter().filter(|folder| !may_delete(folder));
            forbidden.extend(deleted.map(|folder| called(function, "s3:DeleteObject", folder)));
            let foreign = created.iter().filter(|folder| !creates.contains(&(function, **folder)));
            forbidden.extend(foreign.map(|folder| called(function, "s3:PutObject", folder)));
        }
        // By the role's own policy, also where the bucket's would refuse it.
        let alone = |call: &Call| {
            let mut request = request(&plan, call);
            request["bucket"] = Value::Null;
            request
        };
        let asked: Vec<Value> = forbidden.iter().map(alone).collect();
        let answers = evaluate(&asked);
        let allowed: Vec<_> = forbidden.iter().zip(answers).filter(|(_, answer)| answer == "Allowed").collect();
        assert!(forbidden.len() > 60 && allowed.is_empty(), "{name}: {allowed:#?}");
    }
}

#[test]
fn a_job_holds_no_right_that_nothing_uses() {
    for (name, plan) in plans() {
        let calls = calls_in(&plan);
        let (bucket, root) = plan.place();
        let start = format!("arn:aws:s3:::{bucket}/{root}");
        for function in ["ingest", "compact", "prune", "check"] {
            for statement in statements(&role(&plan, function)) {
                for resource in texts(&statement["Resource"]) {
                    let Some(objects) = resource.strip_prefix(&start) else { continue };
                    let Some(folder) = objects.strip_suffix("/*").or_else(|| (objects == COPIES).then_some(COPIES))
                    else {
                        continue;
                    };
                    for action in texts(&statement["Action"]) {
                        let is_used = calls
                            .iter()
                            .any(|call| call.function == function && call.action == action && call.folder == folder);
                        assert!(is_used, "{name}: nothing makes {function} do {action} in {folder}/");
                    }
                }
            }
        }
    }
}

#[test]
fn nobody_replaces_an_object_and_nobody_else_deletes_or_decides() {
    for (name, plan) in plans() {
        assert_answers(name, &of_the_bucket(name, &plan));
    }
}

#[test]
fn whatever_the_buckets_policy_says_more_or_less_a_case_notices() {
    let plan = Plan::of("prod");
    let cases = of_the_bucket("prod", &plan);
    let mutants = mutants(&plan.json(BUCKET_POLICY, "policy"));
    let put = |mutant: &Mutant| -> Vec<Value> {
        let with = |request: &Value| {
            let mut request = request.clone();
            request["bucket"] = mutant.policy.clone();
            request
        };
        cases.iter().map(|(_, request)| with(request)).collect()
    };
    let answers = evaluate(&mutants.iter().flat_map(put).collect::<Vec<_>>());
    let is_unnoticed = |answers: &[String]| {
        cases.iter().zip(answers).all(|((is_allowed, _), answer)| (answer == "Allowed") == *is_allowed)
    };
    let answered = mutants.iter().zip(answers.chunks(cases.len()));
    let unnoticed: Vec<&String> =
        answered.filter(|(_, answers)| is_unnoticed(answers)).map(|(mutant, _)| &mutant.about).collect();
    assert!(mutants.len() > 30 && unnoticed.is_empty(), "{unnoticed:#?}");
}

/// What the bucket's policy has to refuse whoever may do everything by a policy of its own, and what not.
fn of_the_bucket(name: &str, plan: &Plan) -> Vec<(bool, Value)> {
    let everything =
        json!({ "Version": "2012-10-17", "Statement": [{ "Effect": "Allow", "Action": "s3:*", "Resource": "*" }] });
    let ask = |who: &str, action: &str, folder: &str, context: Value| {
        let mut request = request(plan, &called("prune", "s3:GetObject", folder));
        let principal = format!("arn:aws:iam::{ACCOUNT}:role/{who}");
        request["identity"] = everything.clone();
        request["action"] = action.into();
        request["context"]["aws:PrincipalArn"] = principal.clone().into();
        request["principal"] = principal.into();
        let context = context.as_object().cloned().unwrap_or_default();
        request["context"].as_object_mut().expect("a context").extend(context);
        request
    };
    let creates = |only: bool| match only {
        true => json!({ "s3:if-none-match": "*", "s3:ObjectCreationOperation": "true" }),
        false => json!({ "s3:ObjectCreationOperation": "true" }),
    };
    let operator = if name == "dev" { "developer" } else { "backup-operator" };
    let administrator = "administrator";
    let mut cases: Vec<(bool, Value)> = Vec::new();
    // Replacing is nobody's.
    for who in [operator, administrator, "copal-prune", "copal-dev-prune"] {
        cases.push((false, ask(who, "s3:PutObject", "packs", creates(false))));
    }
    // Whoever has all rights in the account does not delete, not even what lies in earlier versions.
    cases.extend(FOLDERS.iter().map(|folder| (false, ask(administrator, "s3:DeleteObject", folder, json!({})))));
    cases.push((false, ask(administrator, "s3:DeleteObjectVersion", "packs", json!({}))));
    cases.push((false, ask(administrator, "s3:BypassGovernanceRetention", "packs", json!({}))));
    // Prune does, and creates what it moves and what it is about to delete. Parts of an upload create nothing yet.
    cases.push((true, ask("copal-prune", "s3:DeleteObject", "packs", json!({}))));
    for folder in ["moved", "deletions"] {
        cases.push((true, ask("copal-prune", "s3:PutObject", folder, creates(true))));
    }
    cases.push((true, ask(operator, "s3:PutObject", "packs", json!({ "s3:ObjectCreationOperation": "false" }))));
    // Nor does it decide, or make what prune has moved, or key slots.
    for folder in ["roots", "state", "index", "receipts", "expiries", "deletions", "reports", "moved", "keys", "work"] {
        cases.push((false, ask(administrator, "s3:PutObject", folder, creates(true))));
    }
    // What prune believes no other function writes, whatever its own policy says.
    for function in ["ingest", "compact", "check", "gateway"] {
        for role in [format!("copal-{function}"), format!("copal-dev-{function}")] {
            cases.push((false, ask(&role, "s3:PutObject", "deletions", creates(true))));
            cases.push((false, ask(&role, "s3:DeleteObject", "packs", json!({}))));
            let is_sharer = role == "copal-gateway";
            cases.push((is_sharer, ask(&role, "s3:DeleteObject", "shares", json!({}))));
            cases.push((is_sharer, ask(&role, "s3:PutObject", "shares", creates(true))));
        }
    }
    // Operators make the repository, mend its index, and see to key slots; they do not delete backups.
    for folder in ["copal", "keys", "clients", "reader", "tmp", "roots", "state", "index", "receipts", "manifests"] {
        cases.push((true, ask(operator, "s3:PutObject", folder, creates(true))));
    }
    cases.extend(["keys", "tmp"].map(|folder| (true, ask(operator, "s3:DeleteObject", folder, json!({})))));
    cases.extend(PRUNED.map(|folder| (false, ask(operator, "s3:DeleteObject", folder, json!({})))));
    cases.push((false, ask(operator, "s3:PutObject", "moved", creates(true))));
    // In the clear nobody does anything.
    let mut listed = ask(operator, LIST, "packs", json!({ "aws:SecureTransport": "false" }));
    listed["resource"] = format!("arn:aws:s3:::{}", plan.place().0).into();
    cases.push((false, listed));
    cases.push((false, ask(operator, "s3:GetObject", "packs", json!({ "aws:SecureTransport": "false" }))));
    cases
}

fn plans() -> BTreeMap<&'static str, Plan> {
    EXAMPLES.map(|name| (name, Plan::of(name))).into()
}

/// The calls of functions that are deployed so: where objects are locked, whoever creates one asks for its lock as well, and
/// check, which reads it, when that ends, and for a later end.
fn calls_in(plan: &Plan) -> BTreeSet<Call> {
    let is_locked = |call: &Call| ["packs", "moved", "manifests"].contains(&&*call.folder);
    let asked = |call: &Call| match call.action {
        "s3:PutObject" => vec!["s3:PutObject", "s3:PutObjectRetention"],
        "s3:GetObject" if call.function == "check" => {
            vec!["s3:GetObject", "s3:GetObjectRetention", "s3:PutObjectRetention"]
        }
        action => vec![action],
    };
    let mut calls = BTreeSet::new();
    for call in CALLS.iter() {
        if is_locked(call) && read(plan, call.function).object_lock.is_some() {
            calls.extend(asked(call).into_iter().map(|action| Call { action, ..call.clone() }));
        } else if call.action != "s3:PutObjectRetention" {
            calls.insert(call.clone());
        }
    }
    calls
}

fn called(function: &'static str, action: &'static str, folder: &str) -> Call {
    Call { function, action, folder: folder.to_owned() }
}

/// The policy of a function's role.
fn role(plan: &Plan, function: &str) -> Value {
    plan.json(&format!("module.function[\"{function}\"].aws_iam_role_policy.this"), "policy")
}

/// A call as S3 would see it: by the function's role, over TLS, creating where it creates.
fn request(plan: &Plan, call: &Call) -> Value {
    let (bucket, root) = plan.place();
    let role_arn = plan.one(&format!("module.function[\"{}\"].aws_iam_role.this", call.function))["arn"].clone();
    let resource = match call.action {
        LIST => format!("arn:aws:s3:::{bucket}"),
        _ if call.folder == COPIES => format!("arn:aws:s3:::{bucket}/{root}clients/some/name.b"),
        _ => format!("arn:aws:s3:::{bucket}/{root}{}/some/name", call.folder),
    };
    let mut context = json!({ "aws:SecureTransport": "true", "aws:PrincipalArn": role_arn });
    if call.action == "s3:PutObject" {
        context["s3:if-none-match"] = "*".into();
        context["s3:ObjectCreationOperation"] = "true".into();
    }
    json!({
        "principal": role_arn,
        "action": call.action,
        "resource": resource,
        "account": ACCOUNT,
        "identity": role(plan, call.function),
        "bucket": plan.json(BUCKET_POLICY, "policy"),
        "context": context,
    })
}

/// Puts requests to the evaluator: each has to be allowed or not, as is said before it.
pub(crate) fn assert_answers(about: &str, cases: &[(bool, Value)]) {
    let asked: Vec<Value> = cases.iter().map(|(_, request)| request.clone()).collect();
    for ((is_allowed, request), answer) in cases.iter().zip(evaluate(&asked)) {
        assert_eq!(answer == "Allowed", *is_allowed, "{about}: {answer}: {request:#}");
    }
}

/// What the evaluator answers.
pub(crate) fn evaluate(requests: &[Value]) -> Vec<String> {
    let place = target().join("iam");
    assert!(place.join("node_modules").is_dir(), "{} is missing: \"cargo xtask infra\" makes it", place.display());
    let mut command = Command::new("node");
    command.arg("evaluate.mjs").current_dir(place).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("node starts");
    let asked = serde_json::to_vec(requests).expect("JSON");
    child.stdin.take().expect("it is piped").write_all(&asked).expect("it reads");
    let told = child.wait_with_output().expect("it ends");
    assert!(told.status.success(), "the evaluator failed");
    let answers: Vec<String> = serde_json::from_slice(&told.stdout).expect("a list of answers");
    assert_eq!(answers.len(), requests.len());
    answers
}

/// The account of both examples.
pub(crate) const ACCOUNT: &str = "111122223333";
/// Where the policy of the repository's bucket stands.
const BUCKET_POLICY: &str = "module.repository.module.bucket.aws_s3_bucket_policy.this";
/// Every folder that a repository has.
pub(crate) const FOLDERS: [&str; 18] = [
    "copal",
    "keys",
    "clients",
    "packs",
    "moved",
    "manifests",
    "receipts",
    "changes",
    "expiries",
    "deletions",
    "roots",
    "state",
    "index",
    "reports",
    "reader",
    "tmp",
    "work",
    "shares",
];
/// What prune frees.
const PRUNED: [&str; 8] = ["packs", "moved", "index", "state", "roots", "reports", "work", "shares"];
