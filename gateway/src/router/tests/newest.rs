//! What a newer root costs the gateway.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use copal_format::layout;
use copal_format::receipt::IngestBy;
use copal_format::root::Root;
use copal_format::state::{RunKind, StateDelta, write_run};
use copal_store::limit::{Limit, Rates, Within};
use copal_store::record::Record;
use copal_store::retry::Pause;
use copal_store::{Key, Store};

use super::kit::*;
use crate::router::Quota;

/// Lets the others go on first instead of waiting.
struct Yield;

#[async_trait]
impl Pause for Yield {
    fn jitter(&self, most: Duration) -> Duration {
        most
    }

    async fn sleep(&self, _: Duration) {
        tokio::task::yield_now().await;
    }
}

static CLOCK: AtomicU64 = AtomicU64::new(NOW);

#[tokio::test]
async fn those_who_ask_at_once_read_a_root_once_and_of_a_newer_one_only_what_is_new() {
    let mut record = None;
    let world = World::with(IngestBy::Service, |settings| {
        let store = Arc::new(Record::new(settings.store.clone()));
        let rates = Rates { upload: None, download: Some(1) };
        settings.store = Arc::new(Limit::new(store.clone(), rates, Within::Nobody, Yield));
        settings.clock = || CLOCK.load(Ordering::SeqCst);
        settings.quota = Quota { stored: Some(1 << 30), daily: None };
        record = Some(store);
    });
    let (world, record) = (world.await, record.unwrap());
    world.put_root().await;
    let ask = async || {
        let answers =
            futures::future::join_all((0..8).map(|_| world.signed(FULL_SIGNS, "GET", "/v1/index", b""))).await;
        answers.iter().for_each(|answer| assert_eq!(answer.status, 200));
        let keys = record.take().into_iter().map(|event| event.key);
        keys.filter(|key| key.starts_with("state/")).collect::<Vec<_>>()
    };
    assert_eq!(ask().await.len(), 2, "the runs of segments and packs");
    assert_eq!(ask().await, [""; 0]);

    let bytes = world.store.read(&Key::new(layout::root(1)).unwrap()).await.unwrap();
    let mut next = Root::decode(1, &bytes).unwrap();
    let run = write_run(RunKind::Packs, [8; 16], &StateDelta::default().records(RunKind::Packs));
    world.put(layout::state(run.reference.hash), run.bytes).await;
    // Who changes what nobody here asks for costs nothing.
    let other = write_run(RunKind::Snapshots, [9; 16], &StateDelta::default().records(RunKind::Snapshots));
    next.runs.insert(0, other.reference);
    next.runs.insert(0, run.reference.clone());
    next.number = 2;
    world.put(layout::root(2), next.encode().unwrap()).await;
    CLOCK.fetch_add(10, Ordering::SeqCst);
    let segments = layout::state(next.runs.iter().find(|run| run.kind == RunKind::Segments).unwrap().hash);
    assert_eq!(ask().await, [segments, layout::state(run.reference.hash)]);
}
