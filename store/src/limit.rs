//! A wrapper that limits bytes per second.

use std::ops::Range;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;

use crate::retry::Pause;
use crate::{Created, Key, Store, StoreError};

/// Delays reads and creations, so that no more bytes per second pass than allowed. Other calls are not limited.
#[derive(Debug)]
pub struct Limit<S, P> {
    inner: S,
    pause: P,
    within: Within,
    up: Option<Bucket>,
    down: Option<Bucket>,
}

/// Bytes per second in each direction; `None` is unlimited.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// For creations.
    pub upload: Option<u64>,
    /// For reads.
    pub download: Option<u64>,
}

/// The layer that spreads the bytes of one object over time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Within {
    /// No layer does: the limit holds on average over whole objects.
    Nobody,
    /// The store has the same rates within each object, so a transfer starts when the ones before it have ended.
    Store,
}

/// The pace of one transfer.
#[derive(Debug)]
pub struct Pace {
    rate: u64,
    began: Instant,
    passed: u64,
}

impl Pace {
    /// Starts a transfer at this many bytes per second.
    pub fn begin(rate: u64) -> Pace {
        Pace { rate: rate.max(1), began: Instant::now(), passed: 0 }
    }

    /// Counts a piece; returns how long to wait until it may have passed.
    pub fn pass(&mut self, bytes: usize) -> Duration {
        self.passed += bytes as u64;
        (self.began + lasts(self.passed, self.rate)).saturating_duration_since(Instant::now())
    }

    /// Bytes per piece: small enough not to disturb other traffic.
    pub fn piece(&self) -> usize {
        (self.rate / 16).clamp(PIECES.start, PIECES.end) as usize
    }
}

/// How long this many bytes take; at most a year.
pub(crate) fn lasts(bytes: u64, rate: u64) -> Duration {
    let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX)).min(YEAR)
}

/// A schedule of transfers at a rate: each one gets its time after the ones before it.
#[derive(Debug)]
struct Bucket {
    rate: u64,
    free: Mutex<Option<Instant>>,
}

impl Bucket {
    fn new(rate: u64) -> Bucket {
        Bucket { rate: rate.max(1), free: Mutex::default() }
    }

    /// Reserves time for a transfer that began at `began`; returns when it may start and when it has ended.
    fn take(&self, bytes: u64, began: Instant) -> Range<Instant> {
        let mut free = self.free.lock().expect("nothing panics while it holds the time");
        let start = free.map_or(began, |free| free.max(began));
        let end = start + lasts(bytes, self.rate);
        *free = Some(end);
        start..end
    }
}

impl<S: Store, P: Pause> Limit<S, P> {
    /// Wraps a store with rate limits.
    pub fn new(inner: S, rates: Rates, within: Within, pause: P) -> Limit<S, P> {
        Limit { inner, pause, within, up: rates.upload.map(Bucket::new), down: rates.download.map(Bucket::new) }
    }

    /// Waits before a transfer of known length: until its start if the store spreads it, else until its end.
    async fn before(&self, bucket: Option<&Bucket>, bytes: u64) {
        let Some(bucket) = bucket else { return };
        let time = bucket.take(bytes, Instant::now());
        self.until(if self.within == Within::Store { time.start } else { time.end }).await;
    }

    /// Waits after a transfer whose length was not known before.
    async fn after(&self, bucket: Option<&Bucket>, bytes: u64, began: Instant) {
        let Some(bucket) = bucket else { return };
        self.until(bucket.take(bytes, began).end).await;
    }

    async fn until(&self, time: Instant) {
        let wait = time.saturating_duration_since(Instant::now());
        if !wait.is_zero() {
            self.pause.sleep(wait).await;
        }
    }
}

#[async_trait]
impl<S: Store, P: Pause> Store for Limit<S, P> {
    crate::pass_on!(inner: stat, list, delete, delete_all, now, is_remote, largest);

    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        self.before(self.up.as_ref(), bytes.len() as u64).await;
        self.inner.create(key, bytes).await
    }

    /// The length is known only after the read, so the wait comes then.
    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        let began = Instant::now();
        let bytes = self.inner.read(key).await?;
        self.after(self.down.as_ref(), bytes.len() as u64, began).await;
        Ok(bytes)
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let began = Instant::now();
        if self.within == Within::Store {
            // Bounded: a range beyond the object is refused at once, not after a long wait.
            let bytes = range.end.saturating_sub(range.start).min(RANGE);
            self.before(self.down.as_ref(), bytes).await;
            return self.inner.read_range(key, range).await;
        }
        let bytes = self.inner.read_range(key, range).await?;
        self.after(self.down.as_ref(), bytes.len() as u64, began).await;
        Ok(bytes)
    }

    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        let began = Instant::now();
        let bytes = self.inner.map(key).await?;
        self.after(self.down.as_ref(), bytes.len() as u64, began).await;
        Ok(bytes)
    }
}

/// More than any caller reads of a pack at once.
const RANGE: u64 = 64 << 20;
/// Bytes per piece, least and most.
const PIECES: Range<u64> = 1 << 10..64 << 10;
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;
    use futures::executor::block_on;

    fn milliseconds(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    #[test]
    fn bytes_wait_for_those_before_them() {
        let (bucket, now) = (Bucket::new(1_000), Instant::now());
        assert_eq!(bucket.take(500, now), now..now + milliseconds(500));
        assert_eq!(bucket.take(2_000, now), now + milliseconds(500)..now + milliseconds(2_500));
        let later = now + milliseconds(1_000);
        assert_eq!(bucket.take(0, later).end, now + milliseconds(2_500));
    }

    #[test]
    fn time_in_which_nothing_passed_is_not_saved_up() {
        let (bucket, now) = (Bucket::new(1_000), Instant::now());
        bucket.take(1_000, now);
        let later = now + milliseconds(60_000);
        assert_eq!(bucket.take(1_000, later), later..later + milliseconds(1_000));
    }

    #[test]
    fn each_direction_has_a_limit_of_its_own() -> Result<(), StoreError> {
        let rates = Rates { upload: Some(1_000_000), download: None };
        let store = Limit::new(MemoryStore::new(), rates, Within::Nobody, Sleeps::default());
        let key = Key::new("a").expect("a key");
        block_on(store.create(&key, vec![0; 1_000_000].into()))?;
        let slept = store.pause.slept();
        assert!(slept > milliseconds(900), "{slept:?}");
        block_on(store.read(&key))?;
        assert_eq!(store.pause.slept(), slept);
        Ok(())
    }

    #[test]
    fn a_store_that_keeps_the_pace_itself_begins_when_those_before_are_through() -> Result<(), StoreError> {
        let rates = Rates { upload: Some(1_000_000), download: None };
        let store = Limit::new(MemoryStore::new(), rates, Within::Store, Sleeps::default());
        block_on(store.create(&Key::new("a").expect("a key"), vec![0; 1_000_000].into()))?;
        assert!(store.pause.slept().is_zero());
        block_on(store.create(&Key::new("b").expect("a key"), vec![0; 1_000_000].into()))?;
        assert!(store.pause.slept() > milliseconds(900));
        Ok(())
    }

    #[test]
    fn a_transfer_passes_piece_by_piece() {
        let mut pace = Pace::begin(1_000_000);
        assert_eq!(pace.piece(), 62_500);
        let first = pace.pass(100_000);
        let second = pace.pass(100_000);
        assert!(first <= milliseconds(100) && second > first && second <= milliseconds(200), "{first:?}, {second:?}");
    }

    #[derive(Default)]
    struct Sleeps(Mutex<Duration>);

    impl Sleeps {
        fn slept(&self) -> Duration {
            *self.0.lock().expect("no panic")
        }
    }

    #[async_trait]
    impl Pause for Sleeps {
        fn jitter(&self, most: Duration) -> Duration {
            most
        }

        async fn sleep(&self, wait: Duration) {
            *self.0.lock().expect("no panic") += wait;
        }
    }
}
