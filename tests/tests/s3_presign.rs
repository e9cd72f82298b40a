//! A presigned request permits one act on one object, and real servers hold everybody to it.

use std::time::{Duration, Instant};

use aws_sdk_s3::primitives::DateTimeFormat;
use bytes::Bytes;
use copal_store::s3::{S3Config, S3Store};
use copal_store::{Key, Presigned, Store};
use copal_tests::kit::s3::{Kind, Server, runtime};
use futures::executor::block_on;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use sha2::{Digest, Sha256};

#[test]
fn versitygw_takes_exactly_what_was_presigned() {
    takes_exactly_what_was_presigned(&Server::start(Kind::Versity));
}

#[test]
fn minio_takes_exactly_what_was_presigned() {
    takes_exactly_what_was_presigned(&Server::start(Kind::Minio));
}

#[test]
fn versitygw_takes_nothing_unlocked_that_was_presigned_locked() {
    takes_nothing_unlocked(&Server::keeping_versions(Kind::Versity));
}

#[test]
fn minio_takes_nothing_unlocked_that_was_presigned_locked() {
    takes_nothing_unlocked(&Server::start(Kind::Minio));
}

#[test]
fn a_header_that_was_not_signed_is_refused_by_versitygw_and_minio_is_known_to_heed_it() {
    for (kind, is_bound) in [(Kind::Versity, true), (Kind::Minio, false)] {
        let server = Server::start(kind);
        let store = server.store(&server.bucket(), "pre/fix");
        assert_eq!(block_on(store.binds_requests()).expect("an answer"), is_bound, "{kind:?}");
        assert_eq!(block_on(copal_store::list_all(&store, "")).expect("list"), [], "{kind:?}: nothing is left");
        // What the probe says is so of presigned requests.
        block_on(store.create(&key("other"), Bytes::from_static(b"other"))).expect("create");
        let put = presigned(&store, "mine", SENT);
        let source = format!("/{}/pre/fix/packs/ab/other", store_bucket(&put));
        let headers = [&put.headers[..], &[("x-amz-copy-source", source)]].concat();
        let (status, _) = send(&put, &put.url, &headers, SENT);
        assert_eq!((400..500).contains(&status), is_bound, "{kind:?}: {status}");
    }
}

/// The bucket that an address names.
fn store_bucket(put: &Presigned) -> String {
    put.url.split('/').nth(3).expect("a path").to_owned()
}

fn takes_nothing_unlocked(server: &Server) {
    let bucket = server.bucket_with_locks();
    let config = S3Config { lock: Some("GOVERNANCE:2".parse().expect("a retention")), ..server.config(&bucket, "") };
    let store = block_on(S3Store::open(config)).expect("a bucket");
    let put = presigned(&store, "locked", SENT);
    for (name, weaker) in [(MODE, "NONE"), (UNTIL, "2030-01-01T00:00:00Z")] {
        let without: Vec<_> = put.headers.iter().filter(|(header, _)| *header != name).cloned().collect();
        assert_refused(&store, "locked", send(&put, &put.url, &without, SENT));
        let altered = [&without[..], &[(name, weaker.to_owned())]].concat();
        assert_refused(&store, "locked", send(&put, &put.url, &altered, SENT));
    }
    assert_eq!(send(&put, &put.url, &put.headers, SENT).0, 200);
    let request = server.client().head_object().bucket(&bucket).key(key("locked").as_str());
    let head = runtime().block_on(request.send()).expect("it is there");
    assert_eq!(head.object_lock_mode().map(|mode| mode.as_str()), Some("GOVERNANCE"));
    let until = head.object_lock_retain_until_date().expect("it is locked");
    assert!(put.headers.contains(&(UNTIL, until.fmt(DateTimeFormat::DateTime).expect("a time"))), "{until:?}");
}

fn takes_exactly_what_was_presigned(server: &Server) {
    let store = server.store(&server.bucket(), "pre/fix");
    another_body_is_refused(&store);
    another_length_is_refused(&store);
    a_missing_or_altered_header_is_refused(&store);
    another_key_is_refused(&store);
    the_right_one_is_taken_once(&store);
    an_expired_one_is_refused(&store);
    reading_is_for_one_object_and_until_it_expires(&store);
}

fn another_body_is_refused(store: &S3Store) {
    let put = presigned(store, "body", SENT);
    assert_refused(store, "body", send(&put, &put.url, &put.headers, b"other bytes of that size"));
}

fn another_length_is_refused(store: &S3Store) {
    let put = presigned(store, "length", SENT);
    for body in [&SENT[1..], b"many more bytes than were announced", b""] {
        let mut headers = put.headers.clone();
        headers[0].1 = body.len().to_string();
        assert_refused(store, "length", send(&put, &put.url, &headers, body));
    }
}

fn a_missing_or_altered_header_is_refused(store: &S3Store) {
    let put = presigned(store, "header", SENT);
    let other = BASE64_OF_OTHERS;
    for name in ["if-none-match", "x-amz-checksum-sha256"] {
        let without = put.headers.iter().filter(|(header, _)| *header != name).cloned().collect::<Vec<_>>();
        assert_refused(store, "header", send(&put, &put.url, &without, SENT));
        let mut altered = without.clone();
        altered.push((name, if name == "if-none-match" { "other".to_owned() } else { other.to_owned() }));
        assert_refused(store, "header", send(&put, &put.url, &altered, SENT));
        // In the query a server would sign it and not look at it.
        let moved = format!("{}&{name}=x", put.url);
        assert_refused(store, "header", send(&put, &moved, &without, SENT));
    }
}

fn another_key_is_refused(store: &S3Store) {
    let put = presigned(store, "mine", SENT);
    let elsewhere = put.url.replacen("/mine?", "/yours?", 1);
    assert_refused(store, "yours", send(&put, &elsewhere, &put.headers, SENT));
    let longer = put.url.replace("X-Amz-Expires=60", "X-Amz-Expires=600");
    assert_ne!(longer, put.url);
    assert_refused(store, "mine", send(&put, &longer, &put.headers, SENT));
}

fn the_right_one_is_taken_once(store: &S3Store) {
    let put = presigned(store, "right", SENT);
    assert_eq!(send(&put, &put.url, &put.headers, SENT).0, 200);
    assert_eq!(block_on(store.read(&key("right"))).expect("read"), SENT);
    let stat = block_on(store.stat(&key("right"))).expect("stat").expect("it is there");
    assert_eq!(stat.sha256, Some(sum(SENT)), "the server attests what it took");
    assert_eq!(send(&put, &put.url, &put.headers, SENT).0, 412);
    // Nor does another one for the same name replace it.
    let second = presigned(store, "right", b"other");
    assert_eq!(send(&second, &second.url, &second.headers, b"other").0, 412);
    assert_eq!(block_on(store.read(&key("right"))).expect("read"), SENT);
}

fn an_expired_one_is_refused(store: &S3Store) {
    let put = block_on(store.presign_put(&key("late"), SENT.len() as u64, sum(SENT), Duration::from_secs(1)));
    let put = put.expect("signed");
    wait_until_refused(store, || send(&put, &put.url, &put.headers, b"not these bytes, so never taken"));
    assert_refused(store, "late", send(&put, &put.url, &put.headers, SENT));
}

fn reading_is_for_one_object_and_until_it_expires(store: &S3Store) {
    for name in ["a", "b"] {
        block_on(store.create(&key(name), Bytes::copy_from_slice(name.as_bytes()))).expect("create");
    }
    let get = block_on(store.presign_get(&key("a"), Duration::from_secs(60))).expect("signed");
    assert_eq!(get.headers, []);
    assert_eq!(send(&get, &get.url, &[], b""), (200, Bytes::from_static(b"a")));
    assert_eq!(send(&get, &get.url, &[("range", "bytes=0-0".to_owned())], b""), (206, Bytes::from_static(b"a")));
    assert_eq!(send(&get, &get.url.replacen("/a?", "/b?", 1), &[], b"").0, 403);
    let brief = block_on(store.presign_get(&key("a"), Duration::from_secs(1))).expect("signed");
    wait_until_refused(store, || send(&brief, &brief.url, &[], b""));
}

/// Asks until the answer is that it has expired.
fn wait_until_refused(store: &S3Store, ask: impl Fn() -> (u16, Bytes)) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let (status, answer) = ask();
        let text = String::from_utf8_lossy(&answer).to_lowercase();
        if status == 403 && text.contains("expired") {
            return;
        }
        assert!(Instant::now() < deadline, "still answered with {status}: {text}");
        block_on(store.now()).expect("the clock");
    }
}

fn assert_refused(store: &S3Store, name: &str, answer: (u16, Bytes)) {
    let (status, text) = answer;
    assert!((400..500).contains(&status), "{name}: {status} {}", String::from_utf8_lossy(&text));
    assert_eq!(block_on(store.stat(&key(name))).expect("stat"), None, "{name} is there after {status}");
}

fn presigned(store: &S3Store, name: &str, bytes: &[u8]) -> Presigned {
    block_on(store.presign_put(&key(name), bytes.len() as u64, sum(bytes), Duration::from_secs(60))).expect("signed")
}

/// Sends a request as somebody without credentials would.
fn send(presigned: &Presigned, url: &str, headers: &[(&'static str, String)], body: &[u8]) -> (u16, Bytes) {
    let mut request = Request::builder().method(presigned.method).uri(url);
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let request = request.body(Full::new(Bytes::copy_from_slice(body))).expect("a request");
    runtime().block_on(async {
        let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
        let answer = client.request(request).await.expect("an answer");
        let status = answer.status().as_u16();
        // A server may hang up in the middle of telling what it thinks of the body.
        let text = answer.into_body().collect().await.map(http_body_util::Collected::to_bytes);
        (status, text.unwrap_or_default())
    })
}

fn sum(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

fn key(name: &str) -> Key {
    Key::new(format!("packs/ab/{name}")).expect("a key")
}

const MODE: &str = "x-amz-object-lock-mode";
const UNTIL: &str = "x-amz-object-lock-retain-until-date";
const SENT: &[u8] = b"exactly these, 24 bytes!";
const BASE64_OF_OTHERS: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
