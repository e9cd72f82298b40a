//! Requests: what the compiled functions, and clients with addresses that the gateway presigned, ask of a real S3 server.
//! Each function has a proxy of its own before the server, which notes what passes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use copal_lambda::environment::OBJECT_LOCK;
use copal_tests::kit::lambda::team::PASSPHRASE;
use copal_tests::kit::lambda::{Outcome, Team};
use copal_tests::kit::s3::{Fate, Proxy, Seen};
use percent_encoding::percent_decode_str;

use super::calls::{Call, LIST};

/// What all five functions ask while a team uses the repository through the gateway.
pub(crate) fn of_a_team() -> BTreeSet<Call> {
    let team = Team::with_locks();
    let noted: Arc<Mutex<BTreeSet<Call>>> = Arc::default();
    let proxies: BTreeMap<&'static str, Proxy> = FUNCTIONS
        .into_iter()
        .map(|function| {
            let (noted, folder) = (noted.clone(), format!("/{}/team/", team.bucket));
            let note = move |seen: &Seen| {
                noted.lock().expect("nobody panics with it").extend(calls(function, seen, &folder));
                Fate::Pass
            };
            (function, Proxy::start(team.server.address(), Duration::ZERO, note))
        })
        .collect();
    let cloud = team.cloud(|deployment| {
        deployment.variables.push((OBJECT_LOCK.to_owned(), "GOVERNANCE:1".to_owned()));
        deployment.variables_of = proxies
            .iter()
            .map(|(function, proxy)| (*function, vec![("AWS_ENDPOINT_URL_S3".to_owned(), proxy.endpoint())]))
            .collect();
        // What was locked for a day is locked for longer by a check that is told so.
        let check = deployment.variables_of.entry("check").or_default();
        check.push((OBJECT_LOCK.to_owned(), "GOVERNANCE:30".to_owned()));
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
        assert!(matches!(report, Outcome::Response(_)), "{job}: {report:?}");
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

/// The calls that a request is, as IAM is asked: of deletions at once one for each object.
fn calls(function: &'static str, seen: &Seen, folder: &str) -> Vec<Call> {
    let path = percent_decode_str(seen.uri.path()).decode_utf8().expect("names are text");
    let query = seen.uri.query().unwrap_or_default();
    let Some(name) = path.strip_prefix(folder) else {
        if seen.method.as_str() == "POST" && query.split('&').any(|part| part.trim_end_matches('=') == "delete") {
            let (_, inside) = folder[1..].split_once('/').expect("a bucket and a folder");
            return deleted(&seen.body, inside)
                .iter()
                .map(|name| Call::new(function, "s3:DeleteObject", name))
                .collect();
        }
        assert!(["GET", "HEAD"].contains(&seen.method.as_str()), "{function}: {seen:?}");
        return vec![Call::new(function, LIST, "")];
    };
    let action = match seen.method.as_str() {
        "GET" | "HEAD" => "s3:GetObject",
        "PUT" if query.split('&').any(|part| part.trim_end_matches('=') == "retention") => "s3:PutObjectRetention",
        "PUT" => {
            assert_eq!(seen.headers.get("if-none-match").map(|value| value.as_bytes()), Some(&b"*"[..]), "{seen:?}");
            let is_locked = ["packs/", "moved/", "manifests/"].iter().any(|folder| name.starts_with(folder));
            assert_eq!(seen.headers.contains_key("x-amz-object-lock-mode"), is_locked, "{seen:?}");
            "s3:PutObject"
        }
        "DELETE" => "s3:DeleteObject",
        _ => panic!("{function} makes a request that no role is for: {seen:?}"),
    };
    assert!(!query.contains("uploads") && !query.contains("acl"), "{function}: {seen:?}");
    vec![Call::new(function, action, name)]
}

/// The objects that a deletion of many names.
fn deleted(body: &[u8], folder: &str) -> Vec<String> {
    let body = std::str::from_utf8(body).expect("XML is text");
    assert!(!body.contains("<VersionId>"), "{body}");
    let keys: Vec<&str> = body.split("<Key>").skip(1).map(|rest| rest.split("</Key>").next().unwrap_or(rest)).collect();
    assert!(!keys.is_empty(), "{body}");
    let inside = |key: &str| key.strip_prefix(folder).unwrap_or_else(|| panic!("{key} is none of ours")).to_owned();
    keys.into_iter().map(inside).collect()
}

#[test]
fn a_deletion_of_many_asks_for_each_of_them() {
    let seen = |body: &'static str| Seen {
        count: 0,
        method: http::Method::POST,
        uri: "/bucket/?delete=".parse().expect("an address"),
        headers: http::HeaderMap::new(),
        body: body.into(),
    };
    let body = "<Delete><Object><Key>team/packs/ab/cd</Key></Object><Object><Key>team/roots/1</Key></Object></Delete>";
    let asked = calls("prune", &seen(body), "/bucket/team/");
    assert_eq!(asked, ["packs/ab/cd", "roots/1"].map(|name| Call::new("prune", "s3:DeleteObject", name)));
}

pub(crate) const FUNCTIONS: [&str; 5] = ["ingest", "compact", "prune", "check", "gateway"];
