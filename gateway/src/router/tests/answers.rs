//! Answers: what the gateway holds in memory for clients that do not take it, or do not wait for the store.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use copal_format::layout;
use copal_format::request::Signatory;
use copal_store::record::Record;
use copal_store::{Created, Key, Op, Store, StoreError, pass_on};
use tokio::time::timeout;

use super::kit::*;

/// Long answers that one client may leave unread: four pieces of 256 KiB of each are counted, of 256 MiB.
const UNREAD: usize = 256;

#[tokio::test]
async fn answers_that_one_client_does_not_take_leave_room_for_others() {
    let world = World::new().await;
    let pack = vec![7; 1 << 20];
    let path = pack_path(&pack);
    world.put(path.strip_prefix("/v1/objects/").unwrap().to_owned(), pack).await;
    let ask = async |by| world.answer(sign(by, "GET", &path, b"")).await;
    let mut unread = Vec::new();
    for _ in 0..UNREAD {
        unread.push(ask(FULL_SIGNS).await);
    }
    assert!(unread.iter().all(|answer| answer.status() == 200));
    assert_eq!(world.signed(FULL_SIGNS, "GET", &path, b"").await.problem(), problem(429, "busy"));
    assert_eq!(ask(Signatory::Owner).await.status(), 200);
    unread.pop();
    assert_eq!(ask(FULL_SIGNS).await.status(), 200);
}

#[tokio::test]
async fn receipts_that_nobody_takes_count_too() {
    let (world, record) = before_a_bucket().await;
    world.put(layout::receipt(WRITER, 1), vec![7; 64 << 20]).await;
    let path = format!("/v1/receipts/{WRITER}/1");
    let ask = async || world.answer(sign(WRITER_SIGNS, "GET", &path, b"")).await;
    let unread = [ask().await, ask().await, ask().await, ask().await];
    assert!(unread.iter().all(|answer| answer.status() == 200));
    record.take();
    assert_eq!(ask().await.status(), 429);
    let reads = record.take().into_iter().filter(|event| event.op == Op::Read && event.key.starts_with("receipts/"));
    assert_eq!(reads.count(), 0, "it is not read before there is room");
    drop(unread);
    assert_eq!(ask().await.status(), 200);
}

#[tokio::test]
async fn listings_and_the_index_that_nobody_takes_count_too() {
    let world = World::new().await;
    world.put_root().await;
    world.put(layout::receipt(WRITER, 1), vec![7; 64 << 20]).await;
    // Leaves 1 KiB, the least that an answer takes.
    world.put(layout::receipt(WRITER, 2), vec![7; (64 << 20) - (1 << 10)]).await;
    let ask = async |path: &str| world.answer(sign(WRITER_SIGNS, "GET", path, b"")).await;
    let mut unread = Vec::new();
    for number in [1, 1, 1, 2] {
        unread.push(ask(&format!("/v1/receipts/{WRITER}/{number}")).await);
    }
    assert!(unread.iter().all(|answer| answer.status() == 200));
    for path in ["/v1/index", format!("/v1/objects?prefix=receipts/{WRITER}/").as_str()] {
        let first = ask(path).await;
        assert_eq!([first.status(), ask(path).await.status()].map(|status| status.as_u16()), [200, 429], "{path}");
        drop(first);
        assert_eq!(ask(path).await.status(), 200, "{path}");
    }
}

/// A store that keeps the bytes of each object and does not come back, as if its disk hung.
struct Hung {
    inner: Arc<dyn Store>,
    kept: Mutex<Vec<Bytes>>,
}

#[async_trait]
impl Store for Hung {
    pass_on!(inner: read, read_range, stat, list, delete, now, map);

    async fn create(&self, _key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        self.kept.lock().unwrap().push(bytes);
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_body_takes_room_while_the_store_has_its_bytes_also_after_its_sender_has_gone() {
    let (world, hung) = World::before(|inner| Hung { inner, kept: Mutex::default() }).await;
    let moment = Duration::from_millis(500);
    let gone = timeout(moment, world.answer(sign(WRITER_SIGNS, "PUT", &pack_path(PACK), PACK))).await;
    assert!(gone.is_err() && hung.kept.lock().unwrap().len() == 1);
    // As long as the client's whole share, by its header.
    let large = || {
        let other = b"another pack, which is far shorter than its header says";
        let mut request = sign(WRITER_SIGNS, "PUT", &pack_path(other), other);
        request.headers_mut().insert("content-length", (256_u64 << 20).into());
        request
    };
    assert!(timeout(moment, world.answer(large())).await.is_err(), "it waits for room");
    hung.kept.lock().unwrap().clear();
    assert_eq!(world.send(large()).await.problem(), problem(400, "body-altered"));
}

/// A bucket.
struct Far {
    inner: Arc<dyn Store>,
}

#[async_trait]
impl Store for Far {
    pass_on!(inner: create, read, read_range, stat, list, delete, now, map);

    fn is_remote(&self) -> bool {
        true
    }
}

/// A gateway before a bucket, and a record of what it asks the bucket for.
async fn before_a_bucket() -> (World, Arc<Record<Far>>) {
    World::before(|inner| Record::new(Far { inner })).await
}

#[tokio::test]
async fn no_object_of_a_bucket_is_gathered_in_memory_as_a_whole() {
    let (world, record) = before_a_bucket().await;
    world.put(layout::manifest(WRITER, 1), vec![7; 3 << 19]).await;
    world.put(layout::manifest(WRITER, 2), Vec::new()).await;
    let path = |number| format!("/v1/objects/{}", layout::manifest(WRITER, number));
    record.take();
    let (parts, body) = world.answer(sign(WRITER_SIGNS, "GET", &path(1), b"")).await.into_parts();
    assert_eq!((parts.status.as_u16(), &parts.headers["content-length"]), (200, &"1572864".parse().unwrap()));
    assert_eq!(axum::body::to_bytes(body, 2 << 20).await.unwrap(), vec![7; 3 << 19]);
    let events = record.take().into_iter().filter(|event| event.key.starts_with("manifests/"));
    let events: Vec<_> = events.map(|event| (event.op, event.length)).collect();
    assert_eq!(events, [(Op::Stat, 3 << 19), (Op::ReadRange, 1 << 20), (Op::ReadRange, 1 << 19)]);
    assert_eq!(world.signed(WRITER_SIGNS, "GET", &path(2), b"").await.bytes, "");
}
