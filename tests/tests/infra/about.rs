//! About: cases about one policy, and who asks in them.

use serde_json::{Value, json};

use super::rights::ACCOUNT;

/// A request, and whether a policy has to allow it.
pub(crate) struct Case {
    /// Where the policy stands.
    pub(crate) policy: String,
    /// What is asked, with everything but that policy.
    pub(crate) request: Value,
    /// Whether it has to be allowed.
    pub(crate) is_allowed: bool,
}

impl Case {
    /// The request, with the policy that it is put to.
    pub(crate) fn with(&self, policy: &Value) -> Value {
        let mut request = self.request.clone();
        let part = if request["bucket"].is_null() && !self.policy.contains("aws_iam_role_policy") {
            "bucket"
        } else {
            "identity"
        };
        request[part] = policy.clone();
        request
    }
}

/// Cases about one policy.
pub(crate) struct About {
    policy: String,
    /// The cases.
    pub(crate) cases: Vec<Case>,
}

impl About {
    pub(crate) fn new(policy: impl Into<String>) -> Self {
        Self { policy: policy.into(), cases: Vec::new() }
    }

    fn add(&mut self, is_allowed: bool, request: Value) {
        self.cases.push(Case { policy: self.policy.clone(), request, is_allowed });
    }

    /// A service of AWS asks, by a policy of the resource.
    pub(crate) fn service(
        mut self,
        is_allowed: bool,
        service: &str,
        actions: &[&str],
        resource: &str,
        context: Value,
    ) -> Self {
        for action in actions {
            self.add(is_allowed, ask(&format!("{service}.amazonaws.com"), action, resource, &context));
        }
        self
    }

    /// A role asks that may do everything by its own policy.
    pub(crate) fn role(mut self, is_allowed: bool, role: &str, actions: &[&str], resource: &str, is_tls: bool) -> Self {
        for action in actions {
            let context = json!({ "aws:PrincipalArn": role, "aws:SecureTransport": is_tls.to_string() });
            let mut request = ask(role, action, resource, &context);
            let service = action.split(':').next().expect("a service");
            let all = json!({ "Effect": "Allow", "Action": format!("{service}:*"), "Resource": "*" });
            request["identity"] = json!({ "Version": "2012-10-17", "Statement": [all] });
            self.add(is_allowed, request);
        }
        self
    }

    /// The role that has the policy asks.
    pub(crate) fn own(mut self, is_allowed: bool, actions: &[&str], resource: &str) -> Self {
        for action in actions {
            let mut request = ask(&role("some"), action, resource, &json!({ "aws:SecureTransport": "true" }));
            // A key leaves it to its account, and others let the role in.
            let open =
                json!({ "Effect": "Allow", "Principal": { "AWS": role("some") }, "Action": action, "Resource": "*" });
            let is_key = action.starts_with("kms:");
            request["bucket"] = json!({ "Version": "2012-10-17", "Statement": [open] });
            if is_key {
                request["bucket"]["Statement"][0]["Principal"]["AWS"] = format!("arn:aws:iam::{ACCOUNT}:root").into();
            } else {
                // Within one account a resource's policy would be enough.
                request["bucket"]["Statement"] = json!([{
                    "Effect": "Deny", "Principal": "*", "Action": action, "Resource": "*",
                    "Condition": { "Bool": { "aws:SecureTransport": "false" } },
                }]);
            }
            self.add(is_allowed, request);
        }
        self
    }
}

fn ask(principal: &str, action: &str, resource: &str, context: &Value) -> Value {
    let account = resource.split(':').nth(4).filter(|account| !account.is_empty()).unwrap_or(ACCOUNT);
    json!({
        "principal": principal, "action": action, "resource": resource, "account": account,
        "identity": null, "bucket": null, "context": context,
    })
}

/// A role of the deployment's account.
pub(crate) fn role(name: &str) -> String {
    format!("arn:aws:iam::{ACCOUNT}:role/{name}")
}
