//! A gateway before a bucket: clients that hold no credentials of the store upload to it and read from it all the same, at
//! addresses that the gateway presigns.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use copal_tests::kit::s3::{Fate, Kind, Proxy, Server, command};
use serde_json::Value;
use tempfile::TempDir;

#[test]
fn a_client_without_credentials_uses_a_bucket_through_a_gateway() {
    let server = Server::start(Kind::Versity);
    let machine = Machine::new(&server);
    machine.ok(machine.with_store(&["init", "--ingest", "service"]));
    let presigned = Arc::new(AtomicU64::new(0));
    let proxy = counted(&server, &presigned);
    let gateway = Gateway::start(&machine, &proxy.endpoint());
    let at = |arguments: &[&str]| machine.ok(machine.through(&gateway.url, arguments));
    at(&["backup", machine.text("source")]);
    fs::write(machine.path("source/more"), noise(3 << 20)).expect("a file of ours");
    at(&["backup", machine.text("source")]);
    assert!(presigned.load(Ordering::Relaxed) >= 4, "what is uploaded does not go through the gateway");
    let place = format!("latest:{}", machine.text("source"));
    at(&["restore", &place, "--target", machine.text("out")]);
    for name in ["letter", "more"] {
        let [saved, restored] =
            ["source", "out"].map(|top| fs::read(machine.path(top).join(name)).expect("it is there"));
        assert_eq!(saved, restored, "{name}");
    }
    at(&["check", "--full"]);
    machine.ok(machine.with_store(&["check", "--full"]));
}

#[test]
fn presigned_transfers_that_a_busy_store_refuses_are_made_again() {
    let server = Server::start(Kind::Versity);
    let machine = Machine::new(&server);
    machine.ok(machine.with_store(&["init", "--ingest", "service"]));
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
    let gateway = Gateway::start(&machine, &proxy.endpoint());
    let at = |arguments: &[&str]| machine.ok(machine.through(&gateway.url, arguments));
    at(&["backup", machine.text("source")]);
    at(&["restore", &format!("latest:{}", machine.text("source")), "--target", machine.text("out")]);
    assert_eq!(fs::read(machine.path("out/letter")).expect("it is there"), b"Dear reader");
    assert!(failed.load(Ordering::Relaxed) >= 2, "uploads and downloads were refused");
}

#[test]
fn a_repository_is_made_in_a_bucket_through_a_gateway() {
    let server = Server::start(Kind::Versity);
    let machine = Machine::new(&server);
    let gateway = Gateway::with(&machine, &server.endpoint(), &["--accept-init"]);
    let at = |arguments: &[&str]| machine.ok(machine.through(&gateway.url, arguments));
    at(&["init"]);
    at(&["backup", machine.text("source")]);
    machine.ok(machine.with_store(&["check", "--full"]));
}

#[test]
fn nothing_is_presigned_before_a_server_that_heeds_what_was_not_signed_unless_one_insists() {
    let server = Server::start(Kind::Minio);
    let machine = Machine::new(&server);
    machine.ok(machine.with_store(&["init", "--ingest", "service"]));
    for (options, is_presigned) in
        [(&[][..], false), (&["--presign", "always"], true), (&["--presign", "never"], false)]
    {
        let presigned = Arc::new(AtomicU64::new(0));
        let proxy = counted(&server, &presigned);
        let gateway = Gateway::with(&machine, &proxy.endpoint(), options);
        machine.ok(machine.through(&gateway.url, &["backup", "--force", machine.text("source")]));
        assert_eq!(presigned.load(Ordering::Relaxed) > 0, is_presigned, "{options:?}");
        let told = gateway.told();
        let is_warned = told.contains("heeds headers that were not signed") && told.contains("--presign always");
        assert_eq!(is_warned, options.is_empty(), "{options:?}: {told}");
    }
    machine.ok(machine.with_store(&["check", "--full"]));
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
    fn start(machine: &Machine, endpoint: &str) -> Self {
        Self::with(machine, endpoint, &[])
    }

    fn with(machine: &Machine, endpoint: &str, options: &[&str]) -> Self {
        let serve = ["serve", "--json", "--open-slots", "--listen", "127.0.0.1:0"];
        let mut command = machine.with_store(&[&serve[..], options].concat());
        command.env("AWS_ENDPOINT_URL_S3", endpoint).env_remove("COPAL_PASSWORD");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line).expect("it says where it is");
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Self { child, url: told["gateway"].as_str().expect("an address").to_owned() }
    }
}

impl Gateway {
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

/// A machine with a passphrase.
struct Machine {
    directory: TempDir,
    environment: Vec<(&'static str, String)>,
    repository: String,
    paths: [(&'static str, String); 2],
}

impl Machine {
    fn new(server: &Server) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name).to_str().expect("UTF-8").to_owned();
        let paths = [("source", path("source")), ("out", path("out"))];
        fs::create_dir(directory.path().join("source")).expect("a directory of ours");
        fs::write(directory.path().join("source/letter"), b"Dear reader").expect("a file of ours");
        let repository = format!("s3://{}/backups", server.bucket());
        Self { environment: server.environment().into(), repository, paths, directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self, name: &str) -> &str {
        self.paths.iter().find(|(known, _)| *known == name).map(|(_, path)| path.as_str()).expect("it is known")
    }

    /// With the credentials of the store.
    fn with_store(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments, "operator");
        command.env("COPAL_REPOSITORY", &self.repository).envs(self.environment.iter().cloned());
        command
    }

    /// Without any.
    fn through(&self, url: &str, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments, "client");
        command.env("COPAL_REPOSITORY", url);
        command
    }

    fn command(&self, arguments: &[&str], home: &str) -> Command {
        let mut command = Command::new(command());
        command.args(arguments).env_clear().current_dir(self.directory.path());
        command.env("HOME", self.path(home)).env("COPAL_PASSWORD", "correct horse").env("COPAL_HOST", "tester");
        command
    }

    fn ok(&self, mut command: Command) -> Output {
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }
}

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    (0..length).map(next).collect()
}
