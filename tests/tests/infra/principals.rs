//! Principals: what every role and every service of AWS may do by the policies that are deployed, executed; and whether the
//! cases here would notice if a policy said more or less.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cases::{of_prod, of_recovery};
use super::mutants::{Mutant, mutants};
use super::plan::{Plan, statements};
use super::rights::evaluate;

/// Kinds of resource that have a policy of principals or services, and where. Rights in the repository's bucket are
/// `rights.rs`'s, with the calls that functions make.
pub(crate) const POLICIES: [(&str, &str); 6] = [
    ("aws_iam_role", "assume_role_policy"),
    ("aws_iam_role_policy", "policy"),
    ("aws_s3_bucket_policy", "policy"),
    ("aws_sqs_queue_policy", "policy"),
    ("aws_sns_topic_policy", "policy"),
    ("aws_kms_key", "policy"),
];

#[test]
fn every_principal_may_do_what_it_needs_and_no_more() {
    for (plan, cases) in [(Plan::of("prod"), of_prod()), (Plan::of("recovery"), of_recovery())] {
        let asked: Vec<Value> = cases.iter().map(|case| case.with(&policy(&plan, &case.policy))).collect();
        for (case, answer) in cases.iter().zip(evaluate(&asked)) {
            assert_eq!(answer == "Allowed", case.is_allowed, "{}: {answer}: {:#}", case.policy, case.request);
        }
        let missing: Vec<String> =
            policies(&plan).into_iter().filter(|address| cases.iter().all(|case| case.policy != *address)).collect();
        assert!(missing.is_empty(), "no case is about {missing:#?}");
    }
}

#[test]
fn whatever_a_policy_says_more_or_less_a_case_notices() {
    for (plan, cases) in [(Plan::of("prod"), of_prod()), (Plan::of("recovery"), of_recovery())] {
        let mutants: Vec<(String, Mutant)> = policies(&plan)
            .into_iter()
            .flat_map(|address| {
                let made = mutants(&policy(&plan, &address));
                made.into_iter().map(move |mutant| (address.clone(), mutant))
            })
            .collect();
        let (mut asked, mut of) = (Vec::new(), Vec::new());
        for (at, (address, mutant)) in mutants.iter().enumerate() {
            for case in cases.iter().filter(|case| case.policy == *address) {
                asked.push(case.with(&mutant.policy));
                of.push((at, case.is_allowed));
            }
        }
        let noticed: BTreeSet<usize> = of
            .iter()
            .zip(evaluate(&asked))
            .filter(|((_, is_allowed), answer)| (answer == "Allowed") != *is_allowed)
            .map(|((at, _), _)| *at)
            .collect();
        let unnoticed: Vec<String> = mutants
            .iter()
            .enumerate()
            .filter(|(at, _)| !noticed.contains(at))
            .map(|(_, (address, mutant))| format!("{address}: {}", mutant.about))
            .collect();
        println!("{} mutants, {} requests", mutants.len(), asked.len());
        assert!(mutants.len() > 15 && unnoticed.is_empty(), "{unnoticed:#?}");
    }
}

/// The addresses of all policies that cases have to be about.
fn policies(plan: &Plan) -> Vec<String> {
    let of = |(kind, _): &(&str, &str)| plan.all(kind).map(|made| made.address.clone()).collect::<Vec<_>>();
    let all = POLICIES.iter().flat_map(of);
    all.filter(|address| !address.starts_with("module.repository.")).collect()
}

/// A policy. What functions may do in the repository's bucket is left out.
fn policy(plan: &Plan, address: &str) -> Value {
    let (_, attribute) = POLICIES.iter().find(|(kind, _)| address.contains(&format!("{kind}."))).expect("a known kind");
    let mut policy = plan.json(address, attribute);
    if address.starts_with("module.function") {
        let is_other = |statement: &Value| !statement["Action"].to_string().contains("s3:");
        policy["Statement"] = statements(&policy).into_iter().filter(is_other).collect();
    }
    policy
}
