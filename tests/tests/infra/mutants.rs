//! Mutants: a policy with one thing changed, which a test has to notice.

use serde_json::{Value, json};

use super::plan::{statements, texts};

/// A policy that says more or less than the deployed one.
pub(crate) struct Mutant {
    /// What is changed.
    pub(crate) about: String,
    /// The policy.
    pub(crate) policy: Value,
}

/// All that are made of a policy: each statement gone; each action, resource, service and condition gone; allowed
/// besides whatever the service has, on everything, or to everybody.
pub(crate) fn mutants(policy: &Value) -> Vec<Mutant> {
    let mut made = Vec::new();
    for (at, statement) in statements(policy).iter().enumerate() {
        let mut add = |what: String, changed: Option<Value>| {
            let mut policy = policy.clone();
            let all = policy["Statement"].as_array_mut().expect("statements");
            match changed {
                Some(changed) => all[at] = changed,
                None => drop(all.remove(at)),
            }
            if !all.is_empty() {
                made.push(Mutant { about: format!("{} {what}", statement["Sid"]), policy });
            }
        };
        add("gone".to_owned(), None);
        for path in ["/Action", "/Resource", "/Principal/Service", "/Principal/AWS"] {
            let all = statement.pointer(path).and_then(Value::as_array).cloned().unwrap_or_default();
            for (place, gone) in all.iter().enumerate() {
                let others = all.iter().enumerate().filter(|(other, _)| *other != place);
                let fewer: Vec<&Value> = others.map(|(_, one)| one).collect();
                if !fewer.is_empty() {
                    add(format!("without {gone} of {path}"), Some(with(statement, path, json!(fewer))));
                }
            }
        }
        for operator in statement["Condition"].as_object().into_iter().flatten().map(|(operator, _)| operator) {
            let mut fewer = statement.clone();
            let conditions = fewer["Condition"].as_object_mut().expect("conditions");
            conditions.remove(operator);
            if conditions.is_empty() {
                fewer.as_object_mut().expect("a statement").remove("Condition");
            }
            add(format!("without {operator}"), Some(fewer));
        }
        if statement["Effect"] == "Allow" {
            let action = texts(&statement["Action"])[0].to_owned();
            let service = action.split(':').next().expect("a service");
            if action != format!("{service}:*") {
                add(format!("for {service}:*"), Some(with(statement, "/Action", json!(format!("{service}:*")))));
            }
            // A resource's policy speaks of that resource alone, whatever it says.
            if statement.get("Principal").is_none() && statement["Resource"] != "*" {
                add("on everything".to_owned(), Some(with(statement, "/Resource", json!("*"))));
            }
            // Where a condition names the role, the account before it says no more.
            let names_role = statement["Condition"].to_string().contains("aws:PrincipalArn");
            if statement.get("Principal").is_some() && !names_role {
                add("to everybody".to_owned(), Some(with(statement, "/Principal", json!("*"))));
            }
        }
    }
    made
}

fn with(statement: &Value, path: &str, value: Value) -> Value {
    let mut changed = statement.clone();
    *changed.pointer_mut(path).expect("it is there") = value;
    changed
}
