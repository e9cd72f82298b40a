//! Limits of bandwidth hold within an object, in both directions.

use std::time::{Duration, Instant};

use bytes::Bytes;
use copal_store::limit::Rates;
use copal_store::s3::S3Store;
use copal_store::{Created, Key, Store};
use copal_tests::kit::s3::{Kind, Server};
use futures::executor::block_on;

#[test]
fn an_object_goes_and_comes_at_the_rate_and_is_whole() {
    let server = Server::start(Kind::Versity);
    let mut config = server.config(&server.bucket(), "");
    config.rates = Rates { upload: Some(RATE), download: Some(RATE) };
    let store = block_on(S3Store::open(config)).expect("names of a bucket and a prefix");
    let key = Key::new("packs/ab/slow").expect("a key");
    let bytes: Bytes = (0..2 * RATE).map(|at| (at % 251) as u8).collect();

    let started = Instant::now();
    assert_eq!(block_on(store.create(&key, bytes.clone())).expect("created"), Created::New);
    assert!(started.elapsed() > LEAST, "sent within {:?}", started.elapsed());
    let started = Instant::now();
    assert!(block_on(store.read(&key)).expect("read") == bytes);
    assert!(started.elapsed() > LEAST, "read within {:?}", started.elapsed());
    let started = Instant::now();
    let part = block_on(store.read_range(&key, 1_000..1_000 + RATE)).expect("read");
    assert!(part == bytes.slice(1_000..1_000 + RATE as usize));
    assert!(started.elapsed() > LEAST / 2, "read within {:?}", started.elapsed());
}

/// Bytes a second.
const RATE: u64 = 1_000_000;
/// What two seconds' worth takes at least; the last piece is not waited for.
const LEAST: Duration = Duration::from_millis(1_800);
