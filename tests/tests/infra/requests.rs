//! Requests: what the compiled functions, and clients with addresses that the gateway presigned, ask of a real S3 server.
//! Each function has a proxy of its own before the server, which notes what passes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use copal_tests::kit::lambda::team::PASSPHRASE;
use copal_tests::kit::lambda::{Outcome, Team};
use copal_tests::kit::s3::{Fate, Proxy, Seen};
use percent_encoding::percent_decode_str;

use super::calls::{Call, LIST};

/// What all five functions ask while a team uses the repository through the gateway.
pub(crate) fn of_a_team() -> BTreeSet<Call> {
    let team = Team::start();
    let noted: Arc<Mutex<BTreeSet<Call>>> = Arc::default();
    let proxies: BTreeMap<&'static str, Proxy> = FUNCTIONS
        .into_iter()
        .map(|function| {
            let (noted, folder) = (noted.clone(), format!("/{}/team/", team.bucket));
            let note = move |seen: &Seen| {
                noted.lock().expect("nobody panics with it").extend(call(function, seen, &folder));
                Fate::Pass
            };
            (function, Proxy::start(team.server.address(), Duration::ZERO, note))
        })
        .collect();
    let cloud = team.cloud(|deployment| {
        deployment.variables_of = proxies
            .iter()
            .map(|(function, proxy)| (*function, vec![("AWS_ENDPOINT_URL_S3".to_owned(), proxy.endpoint())]))
            .collect();
    });
    let gateway = cloud.gateway();
    let owner = team.machine("owner", PASSPHRASE, &gateway, true);
    std::fs::write(owner.place("policy.toml"), "keep-last = 1\ntimezone = \"\"\ngrace = \"0s\"\n").expect("a file");
    let laptop = team.join(&owner, "laptop", "full", &gateway);
    let camera = team.join(&owner, "camera", "write-only", &gateway);
    for (machine, seed) in [(&laptop, 1), (&camera, 2), (&laptop, 3)] {
        machine.fill(seed, 10);
        machine.run(&["backup", "files"]).expect("the backup is accepted");
    }
    owner.run(&["policy", "set", "policy.toml"]).expect("the policy is folded in");
    for job in ["reconcile", "compact", "check", "prune"] {
        let report = cloud.run(job);
        assert!(matches!(report.outcome, Outcome::Response(_)), "{job}: {report:?}");
    }
    let files = laptop.files();
    let newest = ["restore", "latest", "--path", files.to_str().expect("UTF-8"), "--target", "out"];
    laptop.run(&newest).expect("the snapshot is whole");
    owner.run(&["check", "--full"]).expect("nothing is damaged");
    owner.run(&["status"]).expect("nothing waits");
    owner.run(&["client", "revoke", "camera"]).expect("it is revoked");
    drop(cloud);
    let noted = noted.lock().expect("nobody panics with it");
    noted.clone()
}

/// The call that a request is; none where only its body says of what. Of deletions at once the recorded calls of the jobs
/// tell each object, as IAM asks for each.
///
/// # Panics
/// If no function should make such a request, or if it could replace an object.
fn call(function: &'static str, seen: &Seen, folder: &str) -> Option<Call> {
    let path = percent_decode_str(seen.uri.path()).decode_utf8().expect("names are text");
    let query = seen.uri.query().unwrap_or_default();
    let Some(name) = path.strip_prefix(folder) else {
        if seen.method.as_str() == "POST" && query.split('&').any(|part| part.trim_end_matches('=') == "delete") {
            assert_eq!(function, "prune", "{seen:?}");
            return None;
        }
        assert!(["GET", "HEAD"].contains(&seen.method.as_str()), "{function}: {seen:?}");
        return Some(Call::new(function, LIST, ""));
    };
    let action = match seen.method.as_str() {
        "GET" | "HEAD" => "s3:GetObject",
        "PUT" => {
            assert_eq!(seen.headers.get("if-none-match").map(|value| value.as_bytes()), Some(&b"*"[..]), "{seen:?}");
            "s3:PutObject"
        }
        "DELETE" => "s3:DeleteObject",
        _ => panic!("{function} makes a request that no role is for: {seen:?}"),
    };
    assert!(!query.contains("uploads") && !query.contains("acl"), "{function}: {seen:?}");
    Some(Call::new(function, action, name))
}

pub(crate) const FUNCTIONS: [&str; 5] = ["ingest", "compact", "prune", "check", "gateway"];
