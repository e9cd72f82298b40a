//! Object Lock: packs and manifests are created locked, and real servers hold everybody to it: what is deleted is hidden, and
//! its version stays.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use bytes::Bytes;
use copal_store::s3::{LockMode, Retention, S3Config, S3Store};
use copal_store::{Key, Store, list_all};
use copal_tests::kit::key;
use copal_tests::kit::s3::{Kind, Server, runtime};
use futures::executor::block_on;

use crate::sites::machine::Machine;

#[test]
fn versitygw_keeps_what_was_created_locked() {
    keeps_what_was_created_locked(&Server::keeping_versions(Kind::Versity));
}

#[test]
fn minio_keeps_what_was_created_locked() {
    keeps_what_was_created_locked(&Server::start(Kind::Minio));
}

fn keeps_what_was_created_locked(server: &Server) {
    let bucket = server.bucket_with_locks();
    let store = locking(server, &bucket);
    for name in LOCKED.into_iter().chain(FREE) {
        block_on(store.create(&key(name), Bytes::from_static(b"bytes"))).expect("created");
    }
    for name in LOCKED {
        let head = head(server, &bucket, name);
        let until = head.object_lock_retain_until_date().expect("it is locked").secs();
        assert_eq!(head.object_lock_mode().map(|mode| mode.as_str()), Some("GOVERNANCE"), "{name}");
        assert!((until - seconds_now() - 2 * DAY).abs() < 120, "{name} is locked until {until}");
        let version = head.version_id().expect("it has a version").to_owned();
        assert!(!deletes(server, &bucket, name, &version), "{name} goes in spite of its lock");
        // As prune does it.
        block_on(store.delete_all(&[key(name)])).expect("a deletion hides it");
        assert_eq!(block_on(store.stat(&key(name))).expect("answered"), None, "{name} is hidden");
        assert!(!deletes(server, &bucket, name, &version), "{name} goes once it is hidden");
        let request = server.client().get_object().bucket(&bucket).key(full(name)).version_id(&version);
        let body = runtime().block_on(async { request.send().await.expect("it is there").body.collect().await });
        assert_eq!(body.expect("it can be read").into_bytes(), "bytes");
    }
    for name in FREE {
        let head = head(server, &bucket, name);
        assert_eq!(head.object_lock_retain_until_date(), None, "{name}");
        assert!(deletes(server, &bucket, name, head.version_id().expect("it has a version")), "{name}");
    }
}

#[test]
fn versitygw_lets_whoever_reads_for_that_renew_locks() {
    renews_locks(&Server::keeping_versions(Kind::Versity));
}

#[test]
fn minio_lets_whoever_reads_for_that_renew_locks() {
    renews_locks(&Server::start(Kind::Minio));
}

fn renews_locks(server: &Server) {
    let bucket = server.bucket_with_locks();
    let (without, brief) = (server.store(&bucket, PREFIX), locking(server, &bucket));
    block_on(without.create(&key(LOCKED[0]), Bytes::from_static(b"bytes"))).expect("created without a lock");
    for name in [LOCKED[1], LOCKED[2], FREE[0]] {
        block_on(brief.create(&key(name), Bytes::from_static(b"bytes"))).expect("created");
    }
    let ends = |name: &str| head(server, &bucket, name).object_lock_retain_until_date().map(|until| until.secs());
    let before = LOCKED.map(ends);
    LOCKED.iter().for_each(|name| drop(block_on(brief.read(&key(name))).expect("read")));
    assert_eq!(LOCKED.map(ends), before, "who reads for something else renews nothing");
    let config = |days: u32| S3Config {
        lock: Retention::new(LockMode::Governance, days),
        renews_locks: true,
        ..server.config(&bucket, PREFIX)
    };
    let store = block_on(S3Store::open(config(30))).expect("a bucket");
    for name in LOCKED {
        // A check looks at the table at a pack's end.
        assert_eq!(block_on(store.read_range(&key(name), 3..5)).expect("read"), "es");
        let end = ends(name).expect("it is locked now");
        assert!((end - seconds_now() - 30 * DAY).abs() < 120, "{name} is locked until {end}");
    }
    assert_eq!(block_on(store.read(&key(FREE[0]))).expect("read"), "bytes");
    assert_eq!(ends(FREE[0]), None);
    // Half of it is left for long.
    let renewed = LOCKED.map(ends);
    let shorter = block_on(S3Store::open(config(50))).expect("a bucket");
    LOCKED.iter().for_each(|name| drop(block_on(shorter.read(&key(name))).expect("read")));
    assert_eq!(LOCKED.map(ends), renewed);
}

#[test]
fn a_bucket_without_locks_takes_no_pack_unlocked_in_silence() {
    let server = Server::start(Kind::Minio);
    let store = locking(&server, &server.bucket());
    block_on(store.create(&key(LOCKED[0]), Bytes::from_static(b"bytes"))).expect_err("it cannot be locked");
    assert_eq!(block_on(store.stat(&key(LOCKED[0]))).expect("answered"), None);
}

#[test]
fn what_the_command_has_backed_up_and_pruned_stays_as_versions() {
    let server = Server::keeping_versions(Kind::Versity);
    let bucket = server.bucket_with_locks();
    let locks = ("COPAL_OBJECT_LOCK", "GOVERNANCE:2".to_owned());
    let machine = Machine::new(&format!("s3://{bucket}/{PREFIX}"), server.environment().into_iter().chain([locks]));
    machine.init(&[]);
    for seed in 1..=2 {
        machine.write("file", 50_000, seed);
        machine.backup();
    }
    let store = server.store(&bucket, PREFIX);
    let names = |folder: &str| -> Vec<Key> {
        block_on(list_all(&store, folder)).expect("listed").into_iter().map(|listed| listed.key).collect()
    };
    let versions: Vec<_> = ["packs/", "manifests/"]
        .into_iter()
        .flat_map(names)
        .map(|key| {
            let head = head(&server, &bucket, key.as_str());
            assert!(head.object_lock_retain_until_date().is_some(), "{key} is not locked");
            (key, head.version_id().expect("it has a version").to_owned())
        })
        .collect();
    machine.copal(&["forget", "--keep-last", "1"]);
    machine.copal(&["prune", "--grace", "0s"]);
    machine.copal(&["check", "--full"]);
    let left = names("packs/");
    let deleted: Vec<_> =
        versions.iter().filter(|(key, _)| key.as_str().starts_with("packs/") && !left.contains(key)).collect();
    assert!(!deleted.is_empty(), "prune frees nothing");
    assert!(names("moved/").iter().all(|key| head(&server, &bucket, key.as_str()).object_lock_mode().is_some()));
    // What is needed yet stays locked as long as somebody checks.
    machine.copal(&["--object-lock", "GOVERNANCE:30", "check"]);
    for name in ["packs/", "moved/", "manifests/"].into_iter().flat_map(names) {
        let until =
            head(&server, &bucket, name.as_str()).object_lock_retain_until_date().map_or(0, |until| until.secs());
        assert!(until > seconds_now() + 29 * DAY, "{name} is not locked anew: {until}");
    }
    for (key, version) in &versions {
        assert!(!deletes(&server, &bucket, key.as_str(), version), "{key} goes in spite of its lock");
    }
}

fn locking(server: &Server, bucket: &str) -> S3Store {
    let config = S3Config { lock: Some("GOVERNANCE:2".parse().expect("a retention")), ..server.config(bucket, PREFIX) };
    block_on(S3Store::open(config)).expect("a bucket")
}

fn head(server: &Server, bucket: &str, name: &str) -> HeadObjectOutput {
    let request = server.client().head_object().bucket(bucket).key(full(name));
    runtime().block_on(request.send()).unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

/// Whether the server deletes a version for somebody with all rights who does not take back its lock.
fn deletes(server: &Server, bucket: &str, name: &str, version: &str) -> bool {
    let request = server.client().delete_object().bucket(bucket).key(full(name)).version_id(version);
    runtime().block_on(request.send()).is_ok()
}

fn full(name: &str) -> String {
    format!("{PREFIX}/{name}")
}

fn seconds_now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    now.as_secs().cast_signed()
}

const PREFIX: &str = "pre/fix";
const LOCKED: [&str; 3] = ["packs/ab/1", "moved/ab/2", "manifests/c/1"];
const FREE: [&str; 3] = ["roots/1", "index/1", "keys/1/a"];
const DAY: i64 = 24 * 3600;
