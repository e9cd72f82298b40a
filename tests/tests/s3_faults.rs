//! What a network and a busy server do to requests is lived with, and what lasts is told.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use copal_format::receipt::IngestBy;
use copal_jobs::check::{Depth, check};
use copal_jobs::compact::compact;
use copal_jobs::ingest::{Scope, ingest};
use copal_jobs::prune::{Options, prune};
use copal_store::adapt::{Adapt, AtOnce};
use copal_store::retry::{Backoff, Retry};
use copal_store::s3::{Credentials, RuntimePause, S3Config, S3Store, Trouble};
use copal_store::{Created, Key, Store, StoreError};
use copal_tests::kit::lambda::World;
use copal_tests::kit::s3::{Fate, Kind, Proxy, Seen, Server, runtime};
use copal_tests::kit::{SeededEntropy, key};
use futures::executor::block_on;
use futures::future::join_all;
use futures::{StreamExt, stream};
use http::Method;

type Patient = Retry<Adapt<S3Store>, RuntimePause>;

#[test]
fn what_passes_is_tried_again_until_it_has_passed() {
    for fate in [Fate::SlowDown, Fate::Error(500), Fate::Drop, Fate::Cut(3)] {
        let (server, bucket) = server();
        let proxy = Proxy::start(server.address(), Duration::ZERO, every_third(fate));
        let store = patient(&server, &bucket, &proxy);
        for number in 0..12 {
            let (key, bytes) = (key(&format!("packs/{number}")), Bytes::from(vec![number; 100]));
            block_on(store.create(&key, bytes.clone())).unwrap_or_else(|error| panic!("{fate:?}: {error}"));
            assert_eq!(block_on(store.read(&key)).expect("read"), bytes, "{fate:?}");
            assert_eq!(block_on(store.read_range(&key, 5..90)).expect("range"), bytes.slice(5..90), "{fate:?}");
        }
        assert_eq!(block_on(copal_store::list_all(&store, "")).expect("list").len(), 12, "{fate:?}");
    }
}

#[test]
fn a_creation_whose_answer_was_lost_finds_its_own_object() {
    let (server, bucket) = server();
    let mut is_first = true;
    let proxy = Proxy::start(server.address(), Duration::ZERO, move |seen| {
        let fate = if seen.method == Method::PUT && is_first { Fate::LoseAnswer } else { Fate::Pass };
        is_first &= seen.method != Method::PUT;
        fate
    });
    let store = patient(&server, &bucket, &proxy);
    let bytes = Bytes::from_static(b"ours");
    assert_eq!(block_on(store.create(&key("roots/1"), bytes.clone())).expect("create"), Created::Exists);
    assert_eq!(block_on(store.read(&key("roots/1"))).expect("read"), bytes);
}

#[test]
fn a_body_that_is_cut_short_is_never_taken_for_the_object() {
    let (server, bucket) = server();
    let bare = server.store(&bucket, "");
    block_on(bare.create(&key("packs/1"), Bytes::from(vec![7; 40 << 20]))).expect("create");
    for cut in [0, 1, 100_000] {
        let proxy = Proxy::start(server.address(), Duration::ZERO, move |_| Fate::Cut(cut));
        let store = through(&server, &bucket, &proxy);
        for read in [block_on(store.read(&key("packs/1"))), block_on(store.read_range(&key("packs/1"), 9..1 << 20))] {
            assert!(read.as_ref().is_err_and(StoreError::is_transient), "{cut}: {:?}", read.map(|bytes| bytes.len()));
        }
    }
}

#[test]
fn a_server_that_falls_silent_is_not_waited_for_for_ever() {
    let (server, bucket) = server();
    let proxy = Proxy::start(server.address(), Duration::ZERO, |_| Fate::Hang);
    let mut config = server.config(&bucket, "");
    (config.endpoint, config.patience) = (Some(proxy.endpoint()), Duration::from_millis(300));
    let store = block_on(S3Store::open(config)).expect("a bucket");
    let results =
        [block_on(store.read(&key("a"))).map(drop), block_on(store.create(&key("a"), Bytes::new())).map(drop)];
    for result in results {
        let Err(StoreError::Transient { source, .. }) = result else { panic!("{result:?}") };
        assert!(matches!(source.downcast_ref(), Some(Trouble::Silence(_))), "{source}");
    }
}

#[test]
fn a_server_that_slows_down_is_asked_for_less_at_once() {
    let (server, bucket) = server();
    let proxy = Proxy::start(server.address(), Duration::from_millis(5), every_third(Fate::SlowDown));
    let store = Arc::new(through(&server, &bucket, &proxy));
    let adapt = Adapt::new(store.clone(), AtOnce { first: 32, most: 64 }, &store.pause());
    let keys: Vec<Key> = (0..64).map(|number| key(&format!("packs/{number}"))).collect();
    block_on(join_all(keys.iter().map(|key| adapt.stat(key))));
    assert!(adapt.at_once() < 16, "{} at once", adapt.at_once());
    assert!(proxy.most_at_once() <= 32, "{} at once", proxy.most_at_once());
}

#[test]
fn requests_side_by_side_hide_the_latency() {
    let (server, bucket) = server();
    // Beside it the work itself is nothing, also on a slow machine.
    let latency = Duration::from_secs(1);
    let proxy = Proxy::slow(server.address(), latency);
    let store = through(&server, &bucket, &proxy);
    let keys: Vec<Key> = (0..64).map(|number| key(&format!("packs/{number}"))).collect();
    block_on(store.now()).expect("the clock");
    let start = Instant::now();
    block_on(join_all(keys.iter().map(|key| store.create(key, Bytes::from_static(b"bytes")))));
    assert!(start.elapsed() < latency * 32, "64 creations took {:?}", start.elapsed());
}

#[test]
fn a_server_that_was_stopped_and_started_is_used_again() {
    let (mut server, bucket) = server();
    let store = Arc::new(server.store(&bucket, ""));
    let patient = Retry::new(store.clone(), backoff(), store.pause());
    block_on(patient.create(&key("packs/1"), Bytes::from_static(b"kept"))).expect("create");
    server.stop();
    assert!(block_on(store.read(&key("packs/1"))).is_err_and(|error| error.is_transient()));
    server.restart();
    assert_eq!(block_on(patient.read(&key("packs/1"))).expect("read"), b"kept".as_slice());
}

#[test]
fn a_404_of_somebody_else_is_not_a_missing_object() {
    let (server, bucket) = server();
    block_on(server.store(&bucket, "").create(&key("packs/1"), Bytes::from_static(b"kept"))).expect("create");
    let proxy = Proxy::start(server.address(), Duration::ZERO, |_| Fate::Error(404));
    let store = through(&server, &bucket, &proxy);
    for result in [
        block_on(store.read(&key("packs/1"))).map(drop),
        block_on(store.read_range(&key("packs/1"), 0..2)).map(drop),
        block_on(store.stat(&key("packs/1"))).map(drop),
        block_on(store.create(&key("packs/2"), Bytes::new())).map(drop),
    ] {
        assert!(result.as_ref().is_err_and(StoreError::is_transient), "{result:?}");
    }
}

#[test]
fn an_object_from_the_future_does_not_move_the_clock() {
    let (server, bucket) = server();
    block_on(server.store(&bucket, "").create(&key("packs/1"), Bytes::from_static(b"old"))).expect("create");
    let proxy = Proxy::start(server.address(), Duration::ZERO, |_| Fate::Postdate);
    let store = through(&server, &bucket, &proxy);
    let before = block_on(store.now()).expect("the clock").0;
    let listed = block_on(store.list("packs/", None, 9)).expect("list").objects.remove(0).stat;
    let stat = block_on(store.stat(&key("packs/1"))).expect("stat").expect("it is there");
    let year = 365 * 24 * 3_600 * 1_000_000_000;
    assert!(listed.created.0 > before + 9 * year && stat.created == listed.created, "{listed:?} {stat:?}");
    let now = block_on(store.now()).expect("the clock").0;
    assert!(now < before + year / 365, "{} s later", (now - before) / 1_000_000_000);
}

#[test]
fn an_answer_that_is_dated_wrongly_does_not_move_the_clock() {
    let (server, bucket) = server();
    for fate in [Fate::Misdate, Fate::MisdatedError] {
        let proxy = Proxy::start(server.address(), Duration::ZERO, every_seventh(fate));
        let store = through(&server, &bucket, &proxy);
        let mut times = Vec::new();
        for number in 0..16 {
            // Whatever fails is not asked again here: the SDK signs the next request by the date that it was told, and the
            // server refuses that one.
            let _ = block_on(store.stat(&key(&format!("packs/{number}"))));
            times.extend(block_on(store.now()).ok());
        }
        let right = block_on(server.store(&bucket, "").now()).expect("the clock");
        let hour = 3_600 * 1_000_000_000;
        assert!(times.len() > 2 && times.iter().all(|time| time.0.abs_diff(right.0) < hour), "{fate:?}: {times:?}");
    }
}

/// Jobs read ahead, and look at something else between two answers of a stream.
#[test]
fn a_call_between_two_answers_of_a_stream_does_not_wait_for_the_stream() {
    let (server, bucket) = server();
    let proxy = Proxy::slow(server.address(), Duration::from_millis(5));
    let store = patient(&server, &bucket, &proxy);
    within_two_minutes(async {
        let mut answers = stream::iter((0..80).map(|_| store.now())).buffered(40);
        while let Some(answer) = answers.next().await {
            answer.expect("the clock");
            store.now().await.expect("the clock");
        }
    });
}

#[test]
fn every_job_ends_where_the_store_takes_few_calls_at_a_time() {
    let world = World::start();
    for number in 1..=20 {
        world.upload(&world.register(number), &[number; 1_000]);
    }
    let entropy = SeededEntropy::new(7);
    let few = Adapt::new(world.store.clone(), AtOnce { first: 4, most: 4 }, &world.store.pause());
    let job = world.repository.job(&few, &entropy);
    within_two_minutes(async {
        let receipts = ingest(&job, IngestBy::Service, Scope::All, &|_| false).await.expect("ingest");
        assert_eq!(receipts.len(), 20);
        for depth in [Depth::Structure, Depth::Data { part: 1, parts: 1 }] {
            let report = check(&job, depth).await.expect("check");
            assert!(report.is_ok(), "{:?}", report.findings);
        }
        prune(&job, &Options { grace: Duration::ZERO, ..Options::new([4096, 3072]) }).await.expect("prune");
        compact(&job).await.expect("compact");
        assert!(check(&job, Depth::Structure).await.expect("check").is_ok());
    });
}

/// Fails where a future would wait for ever.
fn within_two_minutes(future: impl Future<Output = ()>) {
    runtime().block_on(async { tokio::time::timeout(Duration::from_secs(120), future).await }).expect("it ends");
}

#[test]
fn a_listing_that_goes_on_within_a_folder_takes_few_requests() {
    let (server, bucket) = server();
    let names: Vec<Key> = (0..1_100).map(|number| key(&format!("manifests/a/{number:04}"))).collect();
    let bare = Arc::new(server.store(&bucket, ""));
    let bare = Adapt::new(bare.clone(), AtOnce::default(), &bare.pause());
    block_on(join_all(names.iter().map(|name| bare.create(name, Bytes::new()))));
    let proxy = Proxy::slow(server.address(), Duration::ZERO);
    let store = through(&server, &bucket, &proxy);
    let listed = |after: &Key, limit| {
        let page = block_on(store.list("manifests/", Some(after), limit)).expect("list");
        (page.objects.into_iter().map(|object| object.key).collect::<Vec<_>>(), page.more)
    };
    // Whoever waits for a client's next manifest asks so, again and again.
    assert_eq!(listed(&names[49], 1), (vec![names[50].clone()], true));
    assert_eq!(proxy.requests(), 1);
    assert_eq!(listed(&names[1_099], 1), (vec![], false));
    assert_eq!(proxy.requests(), 3);
    let mut seen: Vec<Key> = Vec::new();
    let mut after = names[1_009].clone();
    loop {
        let (page, more) = listed(&after, 10);
        after = page.last().expect("there are more").clone();
        seen.extend(page);
        if !more {
            break;
        }
    }
    assert_eq!(seen, names[1_010..]);
    assert_eq!(proxy.requests(), 3 + 2 + 8, "it is walked to once, and then every page is one request");
}

#[test]
fn what_lasts_is_told_as_what_it_is() {
    let (server, bucket) = server();
    let nowhere = server.store("no-such-bucket", "");
    for result in [
        block_on(nowhere.stat(&key("a"))).map(drop),
        block_on(nowhere.read(&key("a"))).map(drop),
        block_on(nowhere.list("", None, 9)).map(drop),
        block_on(nowhere.create(&key("a"), Bytes::new())).map(drop),
        block_on(nowhere.now()).map(drop),
    ] {
        assert!(matches!(result, Err(StoreError::Gone { .. })), "{result:?}");
    }
    let mut config = server.config(&bucket, "");
    config.credentials = Some(Credentials::new("copal-tests", "the-wrong-secret", None, None, "test"));
    let stranger = block_on(S3Store::open(config)).expect("a bucket");
    let denied = block_on(stranger.list("", None, 9)).expect_err("a wrong secret");
    assert!(matches!(denied, StoreError::Denied { .. }), "{denied:?}");
    assert!(!format!("{denied:?}").contains("the-wrong-secret"), "{denied:?}");
}

#[test]
fn a_store_runs_on_a_runtime_that_is_there() {
    let (server, bucket) = server();
    let config: S3Config = server.config(&bucket, "p");
    let read = runtime().block_on(async {
        let here = tokio::runtime::Handle::current();
        let store = S3Store::open_on(config.clone(), here).await.expect("a bucket");
        store.create(&key("a"), Bytes::from_static(b"a")).await.expect("create");
        // With threads of its own it may also end within another runtime.
        let own = S3Store::open(config).await.expect("a bucket");
        own.read(&key("a")).await.expect("read")
    });
    assert_eq!(read, b"a".as_slice());
}

fn server() -> (Server, String) {
    let server = Server::start(Kind::Versity);
    let bucket = server.bucket();
    (server, bucket)
}

fn every_seventh(fate: Fate) -> impl FnMut(&Seen) -> Fate + Send + 'static {
    move |seen| if seen.count % 7 == 4 { fate } else { Fate::Pass }
}

fn every_third(fate: Fate) -> impl FnMut(&Seen) -> Fate + Send + 'static {
    move |seen| if seen.count % 3 == 0 { fate } else { Fate::Pass }
}

fn through(server: &Server, bucket: &str, proxy: &Proxy) -> S3Store {
    let mut config = server.config(bucket, "");
    config.endpoint = Some(proxy.endpoint());
    block_on(S3Store::open(config)).expect("a bucket")
}

fn patient(server: &Server, bucket: &str, proxy: &Proxy) -> Patient {
    let store = Arc::new(through(server, bucket, proxy));
    let pause = store.pause();
    Retry::new(Adapt::new(store, AtOnce::default(), &pause), backoff(), pause)
}

fn backoff() -> Backoff {
    Backoff { retries: 12, first: Duration::from_millis(10), longest: Duration::from_millis(500) }
}
