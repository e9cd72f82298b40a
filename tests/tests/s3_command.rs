//! The command keeps a repository in S3: everything it does in a directory, it does in a bucket.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use copal_store::list_all;
use copal_tests::kit::folder::files;
use copal_tests::kit::s3::{Fate, Kind, Lenient, Proxy, Server, command};
use futures::executor::block_on;
use serde_json::Value;
use tempfile::TempDir;

#[test]
fn a_repository_in_versitygw_does_all_that_one_in_a_directory_does() {
    goes_round(&Server::start(Kind::Versity));
}

#[test]
fn a_repository_in_minio_does_all_that_one_in_a_directory_does() {
    goes_round(&Server::start(Kind::Minio));
}

#[test]
fn a_repository_whose_last_answer_was_lost_is_made_and_its_recovery_code_is_shown() {
    let server = Server::start(Kind::Versity);
    let mut is_first = true;
    let proxy = Proxy::start(server.address(), Duration::ZERO, move |seen| {
        let is_descriptor = seen.method == http::Method::PUT && seen.uri.path().contains("/copal/");
        let is_lost = is_descriptor && std::mem::take(&mut is_first);
        if is_lost { Fate::LoseAnswer } else { Fate::Pass }
    });
    let machine = Machine::new(&server, &proxy.endpoint(), "mine");
    let told = machine.copal(&["init"]);
    assert!(told.contains("copal-recovery-1-"), "{told}");
}

fn goes_round(server: &Server) {
    let machine = Machine::new(server, &server.endpoint(), "backups/of-mine");
    machine.copal(&["init"]);
    machine.write("a/small", b"small");
    machine.write("a/large", &noise(1 << 20, 1));
    machine.write("b/gone soon", &noise(6 << 20, 2));
    machine.backup();
    let first = machine.tree("source");
    machine.write("a/small", b"altered");
    machine.write("c/new", &noise(1 << 20, 3));
    fs::remove_dir_all(machine.path("source/b")).expect("a directory of ours");
    machine.backup();
    let second = machine.tree("source");

    let snapshots = machine.json(&["snapshots"]);
    let ids: Vec<&str> = listed(&snapshots).iter().map(|snapshot| text(&snapshot["id"])).collect();
    assert_eq!(ids.len(), 2, "{snapshots}");
    let restored = |id: &str, name: &str| {
        machine.copal(&["restore", id, "--target", machine.path(name).to_str().expect("UTF-8")]);
        machine.found(name)
    };
    let trees = [restored(ids[0], "one"), restored(ids[1], "two")];
    assert!(trees.contains(&first), "the first snapshot does not come back");
    assert!(trees.contains(&second), "the second snapshot does not come back");

    machine.copal(&["check", "--full"]);
    machine.copal(&["forget", "--keep-last", "1"]);
    let before = machine.bytes_stored(server);
    let told = machine.copal(&["prune", "--grace", "0s"]);
    let after = machine.bytes_stored(server);
    assert!(after < before, "what was forgotten is freed: {before} before, {after} after; {told}");
    machine.copal(&["check", "--full"]);
    // A machine that has nothing but the passphrase.
    let stranger = Machine { cache: machine.path("other-cache"), state: machine.path("other-state"), ..machine };
    stranger.copal(&[
        "restore",
        "latest",
        "--host",
        "tester",
        "--target",
        stranger.path("three").to_str().expect("UTF-8"),
    ]);
    assert_eq!(stranger.found("three"), second);
}

#[test]
fn a_server_that_may_replace_objects_is_refused_by_init() {
    let (server, lenient) = (Server::start(Kind::Versity), Lenient::start(&["if-none-match"]));
    let machine = Machine::new(&server, &lenient.endpoint(), "p");
    let refused = machine.run(&["init"]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success());
    assert!(told.contains("does not honour If-None-Match"), "{told}");
}

#[test]
fn a_server_is_probed_once() {
    let server = Server::start(Kind::Versity);
    let machine = Machine::new(&server, &server.endpoint(), "p");
    machine.copal(&["init"]);
    let probes = |proxy: &Proxy| proxy.requests();
    let proxy = Proxy::start(server.address(), Duration::ZERO, |_| Fate::Pass);
    let there = Machine { endpoint: proxy.endpoint(), ..machine };
    there.copal(&["snapshots"]);
    let with_probe = probes(&proxy);
    there.copal(&["snapshots"]);
    assert!(probes(&proxy) - with_probe < with_probe - 30, "{with_probe}, then {}", probes(&proxy));
}

#[test]
fn a_bucket_that_is_not_there_and_one_without_a_repository_are_told_apart() {
    let server = Server::start(Kind::Versity);
    let machine = Machine::new(&server, &server.endpoint(), "p");
    let empty = machine.run(&["snapshots"]);
    assert!(String::from_utf8_lossy(&empty.stderr).contains("is not a repository"), "{empty:?}");
    assert_eq!(machine.bytes_stored(&server), 0, "nothing is written where there is no repository");
    let elsewhere = Machine { repository: "s3://no-such-bucket/p".to_owned(), ..machine };
    let missing = elsewhere.run(&["snapshots"]);
    assert!(String::from_utf8_lossy(&missing.stderr).contains("s3://no-such-bucket is not there"), "{missing:?}");
}

#[test]
fn the_limit_of_uploads_is_kept() {
    let server = Server::start(Kind::Versity);
    let machine = Machine::new(&server, &server.endpoint(), "p");
    machine.copal(&["init"]);
    machine.write("noise", &noise(2 << 20, 4));
    let start = Instant::now();
    machine.copal(&["--limit-upload", "1M", "backup", machine.path("source").to_str().expect("UTF-8")]);
    assert!(start.elapsed() >= Duration::from_secs(2), "2 MiB at 1 MiB/s took {:?}", start.elapsed());
}

#[test]
fn checks_and_the_jobs_of_who_serves_have_the_index_in_files_that_go_with_them() {
    let server = Server::start(Kind::Versity);
    let machine = Machine::new(&server, &server.endpoint(), "p");
    machine.copal(&["init"]);
    machine.write("noise", &noise(100_000, 5));
    machine.backup();
    let temporary = machine.path("temporary");
    // How often packs were asked for while there was an index in a file, and while there was none.
    let asked = [const { AtomicUsize::new(0) }; 2];
    let asked = std::sync::Arc::new(asked);
    let (place, count) = (temporary.clone(), asked.clone());
    let proxy = Proxy::start(server.address(), Duration::ZERO, move |seen| {
        if seen.method == http::Method::GET && seen.uri.path().contains("/packs/") {
            let has_index = files(&place).keys().any(|file| file.components().any(|part| part.as_os_str() == "index"));
            count[usize::from(!has_index)].fetch_add(1, Ordering::Relaxed);
        }
        Fate::Pass
    });
    let there = Machine { endpoint: proxy.endpoint(), ..machine };
    let were_asked = || asked.each_ref().map(|times| times.load(Ordering::Relaxed));
    there.copal(&["check"]);
    let [with, without] = were_asked();
    assert!(with > 0 && without == 0, "{with} with an index in files, {without} without");
    assert!(files(&temporary).is_empty(), "nothing is left");

    let every = ["--check-every", "1s", "--prune-every", "1s"];
    let mut command = there.command(&[&["serve", "--listen", "127.0.0.1:0"][..], &every].concat());
    let mut serving = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the command runs");
    let deadline = Instant::now() + LONGEST;
    while were_asked()[0] == with && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
    let asked_to_end = Command::new("kill").args(["-TERM", &serving.id().to_string()]).status();
    assert!(asked_to_end.expect("there is such a program").success());
    assert!(serving.wait().expect("it is our process").success());
    let [by_then, without] = were_asked();
    assert!(by_then > with && without == 0, "{by_then} with an index in files, {without} without");
    assert!(files(&temporary).is_empty(), "nothing is left");
}

struct Machine {
    place: std::sync::Arc<TempDir>,
    repository: String,
    bucket: String,
    prefix: String,
    endpoint: String,
    environment: Vec<(&'static str, String)>,
    cache: PathBuf,
    state: PathBuf,
}

impl Machine {
    fn new(server: &Server, endpoint: &str, prefix: &str) -> Machine {
        let place = std::sync::Arc::new(tempfile::tempdir().expect("a temporary directory"));
        for name in ["source", "temporary"] {
            fs::create_dir(place.path().join(name)).expect("a directory");
        }
        let bucket = server.bucket();
        Machine {
            repository: format!("s3://{bucket}/{prefix}"),
            prefix: prefix.to_owned(),
            bucket,
            endpoint: endpoint.to_owned(),
            environment: server.environment().to_vec(),
            cache: place.path().join("cache"),
            state: place.path().join("state"),
            place,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path("source").join(name);
        fs::create_dir_all(path.parent().expect("it lies in the source")).expect("a directory");
        fs::write(path, bytes).expect("a file");
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut run = Command::new(command());
        run.args(arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (*name, value.as_str())))
            .env("AWS_ENDPOINT_URL_S3", &self.endpoint)
            .env("HOME", self.place.path())
            .env("TMPDIR", self.path("temporary"))
            .env("COPAL_REPOSITORY", &self.repository)
            .env("COPAL_PASSWORD", "a passphrase")
            .env("COPAL_HOST", "tester")
            .env("COPAL_CACHE_DIR", &self.cache)
            .env("COPAL_STATE_DIR", &self.state);
        run.stdin(Stdio::null());
        run
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut run = self.command(arguments);
        run.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = run.spawn().expect("the command runs");
        let deadline = Instant::now() + LONGEST;
        // What it says fits into the pipes.
        while child.try_wait().expect("it is our process").is_none() {
            if Instant::now() > deadline {
                let _ = child.kill();
                panic!("copal {arguments:?} does not end");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        child.wait_with_output().expect("it has ended")
    }

    fn copal(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "copal {arguments:?}: {}\n{told}", output.status);
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.copal(&[&["--json"], arguments].concat())).expect("JSON")
    }

    fn backup(&self) {
        self.copal(&["backup", self.path("source").to_str().expect("UTF-8")]);
    }

    fn tree(&self, name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        files(&self.path(name))
    }

    /// What was restored, wherever below the target it lies.
    fn found(&self, target: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let below = self.path("source");
        let inside = self.path(target).join(below.strip_prefix("/").expect("an absolute path"));
        if inside.is_dir() { files(&inside) } else { files(&self.path(target)) }
    }

    fn bytes_stored(&self, server: &Server) -> u64 {
        let listed = block_on(list_all(&server.store(&self.bucket, &self.prefix), "")).expect("list");
        listed.iter().map(|object| object.stat.length).sum()
    }
}

fn listed(answer: &Value) -> &[Value] {
    let list = answer.as_array().or_else(|| answer["snapshots"].as_array());
    list.expect("a list")
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

/// A command that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(300);

/// Bytes that do not compress.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(length).collect()
}
