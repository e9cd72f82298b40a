//! A gateway before a bucket: clients that hold no credentials of the store upload to it and read from it all the same, at
//! addresses that the gateway presigns.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use copal_tests::kit::s3::{Fate, Kind, Proxy, Server};
use serde_json::Value;

use crate::sites::machine::Machine;

#[test]
fn a_client_without_credentials_uses_a_bucket_through_a_gateway() {
    let server = Server::start(Kind::Versity);
    let operator = with_repository(&server);
    let presigned = Arc::new(AtomicU64::new(0));
    let proxy = counted(&server, &presigned);
    let gateway = Gateway::start(&operator, &proxy.endpoint(), &[]);
    let client = gateway.client(&operator);
    client.write("letter", 1_000, 1);
    client.backup();
    client.write("more", 3 << 20, 2);
    client.backup();
    assert!(presigned.load(Ordering::Relaxed) >= 4, "what is uploaded does not go through the gateway");
    client.restores();
    client.copal(&["check", "--full"]);
    operator.copal(&["check", "--full"]);
}

#[test]
fn presigned_transfers_that_a_busy_store_refuses_are_made_again() {
    let server = Server::start(Kind::Versity);
    let operator = with_repository(&server);
    let failed = Arc::new(AtomicU64::new(0));
    let (counter, mut presigned) = (failed.clone(), 0);
    let proxy = Proxy::start(server.address(), Duration::ZERO, move |seen| {
        let is_presigned = seen.uri.query().is_some_and(|query| query.contains("X-Amz-Signature="));
        presigned += u32::from(is_presigned);
        if !is_presigned || presigned % 3 != 1 {
            return Fate::Pass;
        }
        counter.fetch_add(1, Ordering::Relaxed);
        Fate::Error(500)
    });
    let gateway = Gateway::start(&operator, &proxy.endpoint(), &[]);
    let client = gateway.client(&operator);
    client.write("letter", 1_000, 1);
    client.backup();
    client.restores();
    assert!(failed.load(Ordering::Relaxed) >= 2, "uploads and downloads were refused");
}

#[test]
fn a_repository_is_made_in_a_bucket_through_a_gateway() {
    let server = Server::start(Kind::Versity);
    let operator = in_a_bucket(&server);
    let gateway = Gateway::start(&operator, &server.endpoint(), &["--accept-init"]);
    let client = Machine::new(&gateway.url, []);
    client.init(&[]);
    client.write("letter", 1_000, 1);
    client.backup();
    fs::copy(client.path("key"), operator.path("key")).expect("a copy of the key");
    operator.copal(&["check", "--full"]);
}

#[test]
fn nothing_is_presigned_before_a_server_that_heeds_what_was_not_signed_unless_one_insists() {
    let server = Server::start(Kind::Minio);
    let operator = with_repository(&server);
    for (options, is_presigned) in
        [(&[][..], false), (&["--presign", "always"], true), (&["--presign", "never"], false)]
    {
        let presigned = Arc::new(AtomicU64::new(0));
        let proxy = counted(&server, &presigned);
        let gateway = Gateway::start(&operator, &proxy.endpoint(), options);
        let client = gateway.client(&operator);
        client.write("letter", 1_000, 1);
        client.backup();
        assert_eq!(presigned.load(Ordering::Relaxed) > 0, is_presigned, "{options:?}");
        let told = gateway.told();
        let is_warned = told.contains("heeds headers that were not signed") && told.contains("--presign always");
        assert_eq!(is_warned, options.is_empty(), "{options:?}: {told}");
    }
    operator.copal(&["check", "--full"]);
}

/// A machine with the credentials of a new bucket.
fn in_a_bucket(server: &Server) -> Machine {
    Machine::new(&format!("s3://{}/backups", server.bucket()), server.environment())
}

/// The same, which has made a repository there that a service ingests.
fn with_repository(server: &Server) -> Machine {
    let operator = in_a_bucket(server);
    operator.init(&["--ingest", "service"]);
    operator
}

/// Counts the requests that were presigned on their way to a server.
fn counted(server: &Server, presigned: &Arc<AtomicU64>) -> Proxy {
    let counter = presigned.clone();
    Proxy::start(server.address(), Duration::ZERO, move |seen| {
        if seen.uri.query().is_some_and(|query| query.contains("X-Amz-Signature=")) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
        Fate::Pass
    })
}

/// `copal serve` with the credentials of the store.
struct Gateway {
    child: Child,
    url: String,
}

impl Gateway {
    fn start(operator: &Machine, endpoint: &str, options: &[&str]) -> Self {
        let serve = ["serve", "--json", "--open-slots", "--listen", "127.0.0.1:0"];
        let mut command = operator.command(&[&serve[..], options].concat());
        command.env("AWS_ENDPOINT_URL_S3", endpoint).env_remove("COPAL_KEY_FILE");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line).expect("it says where it is");
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Self { child, url: told["gateway"].as_str().expect("an address").to_owned() }
    }

    /// A machine that has the key file, and no credentials of the store.
    fn client(&self, operator: &Machine) -> Machine {
        let client = Machine::new(&self.url, []);
        fs::copy(operator.path("key"), client.path("key")).expect("a copy of the key");
        client
    }

    /// Ends it, and returns what it has said to people.
    fn told(mut self) -> String {
        let mut told = String::new();
        // It may have ended already.
        let _ = self.child.kill();
        self.child.stderr.take().expect("it is piped").read_to_string(&mut told).expect("text");
        told
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
