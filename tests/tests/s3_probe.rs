//! The probe finds out whether a server keeps what a repository rests on.

use copal_store::s3::S3Store;
use copal_store::{StoreError, list_all};
use copal_tests::kit::s3::{Fate, Kind, Proxy, Server, lenient};
use futures::executor::block_on;
use std::time::Duration;

#[test]
fn versitygw_is_fit() {
    is_fit(&Server::start(Kind::Versity));
}

#[test]
fn minio_is_fit() {
    is_fit(&Server::start(Kind::Minio));
}

fn is_fit(server: &Server) {
    let store = server.store(&server.bucket(), "p");
    block_on(store.probe()).expect("it keeps its promises");
    assert_eq!(block_on(list_all(&store, "")).expect("list"), [], "nothing of the probe is left");
}

#[test]
fn a_server_that_replaces_objects_is_refused() {
    assert_unfit(&["if-none-match"], "it does not honour If-None-Match");
}

#[test]
fn a_server_that_does_not_check_bytes_is_refused() {
    assert_unfit(&["x-amz-checksum-sha256"], "it does not refuse bytes that do not match");
}

#[test]
fn failures_that_pass_are_no_verdict() {
    let server = Server::start(Kind::Versity);
    let proxy = Proxy::start(server.address(), Duration::ZERO, |_| Fate::SlowDown);
    let mut config = server.config(&server.bucket(), "p");
    config.endpoint = Some(proxy.endpoint());
    let store = block_on(S3Store::open(config)).expect("a bucket");
    let probed = block_on(store.probe());
    assert!(probed.as_ref().is_err_and(StoreError::is_transient), "{probed:?}");
}

fn assert_unfit(without: &[&'static str], lack: &str) {
    let lenient = lenient(without);
    let mut config = Server::start(Kind::Versity).config("bucket", "p");
    config.endpoint = Some(lenient.url());
    let store = block_on(S3Store::open(config)).expect("a bucket");
    match block_on(store.probe()) {
        Err(StoreError::Unfit { lack: found }) => assert!(found.starts_with(lack), "{found}"),
        other => panic!("{other:?}"),
    }
}
