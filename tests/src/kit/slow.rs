//! Slow: a store that is as far away as S3, by a clock of its own, so that a test tells in no time what would have taken
//! hours.

use std::collections::BTreeMap;
use std::future::Future;
use std::ops::Range;
use std::pin::pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use copal_store::{Created, Key, ListPage, Stat, Store, StoreError, StoreTime};

/// A store that answers after as long as S3 takes within a region, by its own clock.
pub struct Slow<'a> {
    store: &'a dyn Store,
    now: Mutex<Duration>,
    sleepers: Mutex<Vec<(Duration, Waker)>>,
    /// How many calls of each kind were made, and their bytes.
    calls: Mutex<BTreeMap<&'static str, (u64, u64)>>,
    /// How long a listing of packs takes.
    packs: Duration,
}

impl<'a> Slow<'a> {
    pub fn new(store: &'a dyn Store) -> Self {
        let (now, sleepers, calls) = Default::default();
        Self { store, now, sleepers, calls, packs: Duration::from_millis(50) }
    }

    /// Makes each listing of packs take so long, as if there were very many.
    #[must_use]
    pub fn with_packs(self, packs: Duration) -> Self {
        Self { packs, ..self }
    }

    pub fn now(&self) -> Duration {
        *self.now.lock().expect(HELD)
    }

    pub fn sleep(&self, time: Duration) -> impl Future<Output = ()> + Send + '_ {
        let until = self.now() + time;
        std::future::poll_fn(move |context| {
            if self.now() >= until {
                return Poll::Ready(());
            }
            self.sleepers.lock().expect(HELD).push((until, context.waker().clone()));
            Poll::Pending
        })
    }

    /// How many calls of each kind were made so far, and their bytes.
    pub fn calls(&self) -> BTreeMap<&'static str, (u64, u64)> {
        self.calls.lock().expect(HELD).clone()
    }

    /// Runs a future; whenever everybody waits, the clock goes on to the next who wakes.
    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return value;
            }
            let mut sleepers = self.sleepers.lock().expect(HELD);
            let next = sleepers.iter().map(|(until, _)| *until).min().expect("somebody sleeps");
            let mut now = self.now.lock().expect(HELD);
            *now = next.max(*now);
            let awake: Vec<Waker> = {
                let (awake, asleep) = sleepers.drain(..).partition(|(until, _)| *until <= *now);
                *sleepers = asleep;
                awake.into_iter().map(|(_, waker): (Duration, Waker)| waker).collect()
            };
            drop((now, sleepers));
            awake.into_iter().for_each(Waker::wake);
        }
    }

    async fn take(&self, of: &'static str, millis: u64, bytes: u64) {
        {
            let mut calls = self.calls.lock().expect(HELD);
            let (count, total) = calls.entry(of).or_default();
            *count += 1;
            *total += bytes;
        }
        // 80 MB a second.
        self.sleep(Duration::from_millis(millis) + Duration::from_nanos(bytes * 25 / 2)).await;
    }
}

#[async_trait]
impl Store for Slow<'_> {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        self.take("put", 60, bytes.len() as u64).await;
        self.store.create(key, bytes).await
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        let read = self.store.read(key).await;
        self.take("get", 35, read.as_ref().map_or(0, |bytes| bytes.len() as u64)).await;
        read
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.take("get", 35, range.end - range.start).await;
        self.store.read_range(key, range).await
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        self.take("head", 25, 0).await;
        self.store.stat(key).await
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        let (of, time) =
            if prefix == "packs/" { ("list packs", self.packs) } else { ("list", Duration::from_millis(50)) };
        self.take(of, time.as_millis() as u64, 0).await;
        self.store.list(prefix, after, limit).await
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.take("delete", 40, 0).await;
        self.store.delete(key).await
    }

    /// In one request, as S3 does.
    async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
        for some in keys.chunks(1000) {
            self.take("delete", 60, 0).await;
            self.store.delete_all(some).await?;
        }
        Ok(())
    }

    fn is_remote(&self) -> bool {
        true
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        self.take("head", 25, 0).await;
        self.store.now().await
    }
}

const HELD: &str = "nothing panics while it holds the clock";
