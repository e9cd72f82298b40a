//! Plan: what an example deploys, as `terraform test` told it.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

/// What is deployed.
pub(crate) struct Plan {
    /// Every resource.
    pub(crate) resources: Vec<Resource>,
    /// What the deployment says of itself.
    pub(crate) outputs: Value,
}

/// A resource.
pub(crate) struct Resource {
    /// Where it stands in the modules.
    pub(crate) address: String,
    /// What it is, such as `aws_iam_role`.
    pub(crate) kind: String,
    /// Its attributes.
    pub(crate) values: Value,
}

impl Plan {
    /// The plan of `env/<name>.tftest.hcl`.
    pub(crate) fn of(name: &str) -> Plan {
        Plan::of_run(name, "deployed")
    }

    /// The plan of one of its runs.
    pub(crate) fn of_run(name: &str, run: &str) -> Plan {
        let file = target().join("infra").join(format!("{name}.json"));
        let told = fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}: \"cargo xtask infra\" makes it", file.display()));
        let messages = told.lines().map(|line| serde_json::from_str::<Value>(line).expect("a message in each line"));
        let mut states = messages.filter(|message| message["type"] == "test_state" && message["@testrun"] == run);
        let mut state = states.next().expect("the example was deployed")["test_state"].take();
        let mut resources = Vec::new();
        gather(&state["root_module"], &mut resources);
        assert!(resources.len() > 5, "the whole of it");
        Plan { resources, outputs: state["outputs"].take() }
    }

    /// The resources of a kind.
    pub(crate) fn all(&self, kind: &str) -> impl Iterator<Item = &Resource> {
        self.resources.iter().filter(move |resource| resource.kind == kind)
    }

    /// A resource.
    pub(crate) fn one(&self, address: &str) -> &Value {
        let found = self.resources.iter().find(|resource| resource.address == address);
        &found.unwrap_or_else(|| panic!("there is no {address}")).values
    }

    /// What an attribute says that is JSON itself.
    pub(crate) fn json(&self, address: &str, attribute: &str) -> Value {
        let text = self.one(address)[attribute].as_str().unwrap_or_else(|| panic!("{address} has no {attribute}"));
        serde_json::from_str(text).expect("it is JSON")
    }

    /// The names of all functions.
    pub(crate) fn handlers(&self) -> Vec<&str> {
        self.all("aws_lambda_function").map(|made| made.values["handler"].as_str().expect("a handler")).collect()
    }

    /// The variables of a function.
    pub(crate) fn variables(&self, handler: &str) -> &serde_json::Map<String, Value> {
        let function = self.one(&format!("module.function[\"{handler}\"].aws_lambda_function.this"));
        function["environment"][0]["variables"].as_object().expect("it has variables")
    }

    /// The bucket, and what stands before the names of the repository's objects in it.
    pub(crate) fn place(&self) -> (&str, String) {
        let variables = self.variables("ingest");
        let text = |name: &str| variables.get(name).and_then(Value::as_str);
        let bucket = text("COPAL_BUCKET").expect("a bucket");
        (bucket, text("COPAL_PREFIX").map(|folder| format!("{folder}/")).unwrap_or_default())
    }
}

/// Both examples.
pub(crate) const EXAMPLES: [&str; 2] = ["dev", "prod"];

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    // target/debug/deps/test-0123
    let program = std::env::current_exe().expect("this program has a name");
    program.ancestors().nth(3).expect("tests lie three levels below the target directory").to_owned()
}

/// The statements of a policy.
pub(crate) fn statements(policy: &Value) -> Vec<Value> {
    policy["Statement"].as_array().expect("a policy has statements").clone()
}

/// One text, or a list of them.
pub(crate) fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn gather(module: &Value, resources: &mut Vec<Resource>) {
    for resource in module["resources"].as_array().into_iter().flatten() {
        let text = |name: &str| resource[name].as_str().expect("a resource has a name").to_owned();
        if resource["mode"] == "managed" {
            let values = resource["values"].clone();
            resources.push(Resource { address: text("address"), kind: text("type"), values });
        }
    }
    module["child_modules"].as_array().into_iter().flatten().for_each(|child| gather(child, resources));
}
