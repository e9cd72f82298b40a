//! A wrapper that keeps to so many bytes a second.

use std::ops::Range;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;

use crate::retry::Pause;
use crate::{Created, Key, ListPage, Stat, Store, StoreError, StoreTime};

/// Holds objects back so that no more bytes pass than are allowed. Each goes at once when its time has come: the limit
/// holds over the time that an object takes, not within it. Listings and the like are not counted.
#[derive(Debug)]
pub struct Limit<S, P> {
    inner: S,
    pause: P,
    up: Option<Bucket>,
    down: Option<Bucket>,
}

/// Bytes a second for each direction, or as many as there may be.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// What is created.
    pub upload: Option<u64>,
    /// What is read.
    pub download: Option<u64>,
}

/// Bytes that may pass by and by; what passed in advance is waited for by those who come after.
#[derive(Debug)]
struct Bucket {
    rate: u64,
    free: Mutex<Option<Instant>>,
}

impl Bucket {
    fn new(rate: u64) -> Bucket {
        Bucket { rate: rate.max(1), free: Mutex::default() }
    }

    /// Takes so many bytes; gives the time until they may pass.
    fn take(&self, bytes: u64, now: Instant) -> Duration {
        let mut free = self.free.lock().expect("nothing panics while it holds the time");
        let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(self.rate);
        // Nobody waits longer than a year.
        let lasts = Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX)).min(YEAR);
        let end = free.map_or(now, |free| free.max(now)) + lasts;
        *free = Some(end);
        end - now
    }
}

impl<S: Store, P: Pause> Limit<S, P> {
    /// Wraps a store.
    pub fn new(inner: S, rates: Rates, pause: P) -> Limit<S, P> {
        Limit { inner, pause, up: rates.upload.map(Bucket::new), down: rates.download.map(Bucket::new) }
    }

    async fn wait(&self, bucket: Option<&Bucket>, bytes: u64) {
        if let Some(bucket) = bucket {
            let wait = bucket.take(bytes, Instant::now());
            if !wait.is_zero() {
                self.pause.sleep(wait).await;
            }
        }
    }
}

#[async_trait]
impl<S: Store, P: Pause> Store for Limit<S, P> {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        self.wait(self.up.as_ref(), bytes.len() as u64).await;
        self.inner.create(key, bytes).await
    }

    /// How many bytes there are shows when they have come: they are waited for afterwards.
    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        let bytes = self.inner.read(key).await?;
        self.wait(self.down.as_ref(), bytes.len() as u64).await;
        Ok(bytes)
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        let bytes = self.inner.read_range(key, range).await?;
        self.wait(self.down.as_ref(), bytes.len() as u64).await;
        Ok(bytes)
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        self.inner.stat(key).await
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        self.inner.list(prefix, after, limit).await
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.inner.delete(key).await
    }

    async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
        self.inner.delete_all(keys).await
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        self.inner.now().await
    }

    fn is_far(&self) -> bool {
        self.inner.is_far()
    }

    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        let bytes = self.inner.map(key).await?;
        self.wait(self.down.as_ref(), bytes.len() as u64).await;
        Ok(bytes)
    }
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;
    use futures::executor::block_on;

    #[test]
    fn bytes_wait_for_those_before_them() {
        let (bucket, now) = (Bucket::new(1_000), Instant::now());
        assert_eq!(bucket.take(500, now), Duration::from_millis(500));
        assert_eq!(bucket.take(2_000, now), Duration::from_millis(2_500));
        assert_eq!(bucket.take(0, now + Duration::from_secs(1)), Duration::from_millis(1_500));
    }

    #[test]
    fn time_in_which_nothing_passed_is_not_saved_up() {
        let (bucket, now) = (Bucket::new(1_000), Instant::now());
        bucket.take(1_000, now);
        assert_eq!(bucket.take(1_000, now + Duration::from_secs(60)), Duration::from_secs(1));
    }

    #[test]
    fn each_direction_has_a_limit_of_its_own() -> Result<(), StoreError> {
        let rates = Rates { upload: Some(1_000_000), download: None };
        let store = Limit::new(MemoryStore::new(), rates, Sleeps::default());
        let key = Key::new("a").expect("a key");
        block_on(store.create(&key, vec![0; 1_000_000].into()))?;
        let slept = store.pause.slept();
        assert!(slept > Duration::from_millis(900), "{slept:?}");
        block_on(store.read(&key))?;
        assert_eq!(store.pause.slept(), slept);
        Ok(())
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
