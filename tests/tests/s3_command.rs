//! The command keeps a repository in S3: everything it does in a directory, it does in a bucket.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use copal_store::{Store, list_all};
use copal_tests::kit::lambda::world::until;
use copal_tests::kit::machine::contents;
use copal_tests::kit::s3::{Fate, Kind, Proxy, Server, lenient};
use futures::executor::block_on;

use crate::sites::machine::Machine;

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
    let told = machine(&server, &proxy.endpoint(), &server.bucket()).init(&[]);
    assert!(told.contains("copal-recovery-1-"), "{told}");
}

fn goes_round(server: &Server) {
    machine(server, &server.endpoint(), &server.bucket()).goes_round();
}

/// A machine that keeps its repository in a bucket, through an endpoint before the server.
fn machine(server: &Server, endpoint: &str, bucket: &str) -> Machine {
    let environment = server.environment().into_iter().chain([("AWS_ENDPOINT_URL_S3", endpoint.to_owned())]);
    Machine::new(&format!("s3://{bucket}/backups/of-mine"), environment)
}

#[test]
fn a_server_that_may_replace_objects_is_refused_by_init() {
    let (server, lenient) = (Server::start(Kind::Versity), lenient(&["if-none-match"]));
    let refused = machine(&server, &lenient.url(), &server.bucket()).try_to_init(&[]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success());
    assert!(told.contains("does not honour If-None-Match"), "{told}");
}

#[test]
fn a_server_is_probed_once() {
    let server = Server::start(Kind::Versity);
    let proxy = Proxy::slow(server.address(), Duration::ZERO);
    let machine = machine(&server, &proxy.endpoint(), &server.bucket());
    machine.init(&[]);
    machine.forgets_all_but_its_key();
    let requests = || {
        let before = proxy.requests();
        machine.copal(&["snapshots"]);
        proxy.requests() - before
    };
    let (with_probe, without) = (requests(), requests());
    assert!(without < with_probe - 30, "{with_probe}, then {without}");
}

#[test]
fn forgetting_counts_on_no_manifest_that_is_damaged_since_it_was_listed() {
    let server = Server::start(Kind::Versity);
    let bucket = server.bucket();
    let machine = machine(&server, &server.endpoint(), &bucket);
    machine.init(&[]);
    for seed in 0..2 {
        machine.write("noise", 1_000, seed);
        machine.backup();
    }
    machine.copal(&["snapshots"]);
    let store = server.store(&bucket, "backups/of-mine");
    let manifests = block_on(list_all(&store, "manifests/")).expect("list");
    let newest = &manifests.last().expect("two backups").key;
    block_on(store.delete(newest)).expect("delete");
    block_on(store.create(newest, Bytes::new())).expect("create");

    let forget = machine.command(&["forget", "--keep-last", "1"]).output().expect("the command runs");
    let told = String::from_utf8_lossy(&forget.stderr).into_owned();
    assert_eq!(forget.status.code(), Some(4), "{told}");
    assert!(told.contains(&format!("{newest} cannot be listed")), "{told}");
    let fresh = tempfile::tempdir().expect("a temporary directory");
    let listed =
        machine.command(&["snapshots"]).env("COPAL_CACHE_DIR", fresh.path()).output().expect("the command runs");
    assert!(String::from_utf8_lossy(&listed.stdout).ends_with("1 snapshot\n"), "the whole one is kept: {listed:?}");
}

#[test]
fn a_bucket_that_is_not_there_and_one_without_a_repository_are_told_apart() {
    let server = Server::start(Kind::Versity);
    let bucket = server.bucket();
    for (bucket, told) in [(&*bucket, "is not a repository"), ("no-such-bucket", "s3://no-such-bucket is not there")] {
        let ran = machine(&server, &server.endpoint(), bucket)
            .command(&["snapshots"])
            .env_remove("COPAL_KEY_FILE")
            .env("COPAL_PASSWORD", "any")
            .output()
            .unwrap();
        assert!(String::from_utf8_lossy(&ran.stderr).contains(told), "{ran:?}");
    }
    assert_eq!(
        block_on(list_all(&server.store(&bucket, ""), "")).expect("list"),
        [],
        "nothing is written where there is no repository"
    );
}

#[test]
fn the_limit_of_uploads_is_kept() {
    let server = Server::start(Kind::Versity);
    let machine = machine(&server, &server.endpoint(), &server.bucket());
    machine.init(&[]);
    machine.write("noise", 2 << 20, 4);
    let start = Instant::now();
    machine.copal(&["--limit-upload", "1M", "backup", "files"]);
    assert!(start.elapsed() >= Duration::from_secs(2), "2 MiB at 1 MiB/s took {:?}", start.elapsed());
}

#[test]
fn checks_and_the_jobs_of_who_serves_have_the_index_in_files_that_go_with_them() {
    let (server, temporary) = (Server::start(Kind::Versity), tempfile::tempdir().expect("a temporary directory"));
    // How often packs were asked for while there was an index in a file, and while there was none.
    let asked: Arc<[AtomicUsize; 2]> = Arc::default();
    let (place, count) = (temporary.path().to_owned(), asked.clone());
    let proxy = Proxy::start(server.address(), Duration::ZERO, move |seen| {
        if seen.method == http::Method::GET && seen.uri.path().contains("/packs/") {
            let has_index = contents(&place).keys().any(|file| file.iter().any(|part| part == "index"));
            count[usize::from(!has_index)].fetch_add(1, Ordering::Relaxed);
        }
        Fate::Pass
    });
    let machine = machine(&server, &proxy.endpoint(), &server.bucket());
    machine.init(&[]);
    machine.write("noise", 100_000, 5);
    machine.backup();
    let were_asked = || asked.each_ref().map(|times| times.load(Ordering::Relaxed));
    let is_tidy = |before: [usize; 2]| {
        let [with, without] = were_asked();
        assert!(with > before[0] && without == before[1], "{with} with an index in files, {without} without");
        assert!(contents(temporary.path()).is_empty(), "nothing is left");
    };
    let before = were_asked();
    let check = machine.command(&["check"]).env("TMPDIR", temporary.path()).status();
    assert!(check.expect("the command runs").success());
    is_tidy(before);

    let before = were_asked();
    let mut serve =
        machine.command(&["serve", "--listen", "127.0.0.1:0", "--check-every", "1s", "--prune-every", "1s"]);
    let serve = serve.env("TMPDIR", temporary.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut serving = serve.spawn().expect("the command runs");
    until("a job has asked for packs", || (were_asked()[0] > before[0]).then_some(()));
    let asked_to_end = Command::new("kill").args(["-TERM", &serving.id().to_string()]).status();
    assert!(asked_to_end.expect("there is such a program").success());
    assert!(serving.wait().expect("it is our process").success());
    is_tidy(before);
}
