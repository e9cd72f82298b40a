//! Answers: what the gateway holds in memory for clients that do not take it.

use std::sync::Arc;

use async_trait::async_trait;
use copal_format::layout;
use copal_format::receipt::IngestBy;
use copal_format::request::Signatory;
use copal_store::record::Record;
use copal_store::{Op, Store, pass_on};

use super::kit::*;

const FULL_SIGNS: Signatory = Signatory::Client(FULL);
const WRITER_SIGNS: Signatory = Signatory::Client(WRITER);
/// Long answers that one client may leave unread: three pieces of 256 KiB of each are counted, of 256 MiB.
const UNREAD: usize = 341;

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
    let world = World::new().await;
    world.put(layout::receipt(WRITER, 1), vec![7; 64 << 20]).await;
    let path = format!("/v1/receipts/{WRITER}/1");
    let ask = async || world.answer(sign(WRITER_SIGNS, "GET", &path, b"")).await;
    let unread = [ask().await, ask().await, ask().await, ask().await];
    assert!(unread.iter().all(|answer| answer.status() == 200));
    assert_eq!(ask().await.status(), 429);
    drop(unread);
    assert_eq!(ask().await.status(), 200);
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

#[tokio::test]
async fn no_object_of_a_bucket_is_gathered_in_memory_as_a_whole() {
    let mut record = None;
    let world = World::with(IngestBy::Service, |settings| {
        let store = Arc::new(Record::new(Far { inner: settings.store.clone() }));
        settings.store = store.clone();
        record = Some(store);
    });
    let (world, record) = (world.await, record.unwrap());
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
