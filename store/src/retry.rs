//! A wrapper that retries calls after transient errors.

use std::ops::Range;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{Created, Key, ListPage, Stat, Store, StoreError, StoreTime};

/// Retries transient errors a bounded number of times, with growing waits.
///
/// If the answer to a creation is lost, the retry finds the object and returns [`Created::Exists`]. Only the caller can
/// tell, by comparing bytes, whether it is the intended object.
#[derive(Debug)]
pub struct Retry<S, P> {
    inner: S,
    pause: P,
    backoff: Backoff,
}

/// How often to retry, and how long to wait before each retry.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Retries after the first attempt.
    pub retries: u32,
    /// The longest wait before the first retry; doubles each time.
    pub first: Duration,
    /// The longest wait at all.
    pub longest: Duration,
}

impl Default for Backoff {
    /// Gives up after about a minute.
    fn default() -> Backoff {
        Backoff { retries: 10, first: Duration::from_millis(100), longest: Duration::from_secs(10) }
    }
}

/// How to wait, and a source of random waits; each host provides one, and tests replace it.
#[async_trait]
pub trait Pause: Send + Sync {
    /// A random time from zero to `most`, so that callers that failed together do not retry together.
    fn jitter(&self, most: Duration) -> Duration;

    /// Waits.
    async fn sleep(&self, wait: Duration);
}

/// Blocks the thread while waiting, for hosts that run calls on threads of their own.
#[derive(Copy, Clone, Debug, Default)]
pub struct ThreadPause;

#[async_trait]
impl Pause for ThreadPause {
    fn jitter(&self, most: Duration) -> Duration {
        // Without random numbers the waits are only spread less.
        getrandom::u32().map_or(most, |random| most.mul_f64(f64::from(random) / f64::from(u32::MAX)))
    }

    async fn sleep(&self, wait: Duration) {
        std::thread::sleep(wait);
    }
}

impl<S: Store, P: Pause> Retry<S, P> {
    /// Wraps a store.
    pub fn new(inner: S, backoff: Backoff, pause: P) -> Retry<S, P> {
        Retry { inner, pause, backoff }
    }

    async fn retried<T, F>(&self, call: impl Fn() -> F + Send + Sync) -> Result<T, StoreError>
    where
        T: Send,
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        retried(self.backoff, &self.pause, call).await
    }
}

/// Makes a call until it succeeds, fails permanently, or the retries are used up.
pub async fn retried<T, F>(
    backoff: Backoff,
    pause: &impl Pause,
    call: impl Fn() -> F + Send + Sync,
) -> Result<T, StoreError>
where
    T: Send,
    F: Future<Output = Result<T, StoreError>> + Send,
{
    let mut longest = backoff.first.min(backoff.longest);
    for _ in 0..backoff.retries {
        match call().await {
            Err(error) if error.is_transient() => (),
            settled => return settled,
        }
        pause.sleep(wait(pause, longest)).await;
        longest = longest.saturating_mul(2).min(backoff.longest);
    }
    call().await
}

/// Between half of `longest` and all of it.
fn wait(pause: &impl Pause, longest: Duration) -> Duration {
    let half = longest / 2;
    half + pause.jitter(half).min(half)
}

#[async_trait]
impl<S: Store, P: Pause> Store for Retry<S, P> {
    crate::pass_on!(inner: is_remote, largest);

    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Created, StoreError> {
        self.retried(|| self.inner.create(key, bytes.clone())).await
    }

    async fn read(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.retried(|| self.inner.read(key)).await
    }

    async fn read_range(&self, key: &Key, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.retried(|| self.inner.read_range(key, range.clone())).await
    }

    async fn stat(&self, key: &Key) -> Result<Option<Stat>, StoreError> {
        self.retried(|| self.inner.stat(key)).await
    }

    async fn list(&self, prefix: &str, after: Option<&Key>, limit: usize) -> Result<ListPage, StoreError> {
        self.retried(|| self.inner.list(prefix, after, limit)).await
    }

    async fn delete(&self, key: &Key) -> Result<(), StoreError> {
        self.retried(|| self.inner.delete(key)).await
    }

    async fn delete_all(&self, keys: &[Key]) -> Result<(), StoreError> {
        self.retried(|| self.inner.delete_all(keys)).await
    }

    async fn now(&self) -> Result<StoreTime, StoreError> {
        self.retried(|| self.inner.now()).await
    }

    async fn map(&self, key: &Key) -> Result<Bytes, StoreError> {
        self.retried(|| self.inner.map(key)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use crate::fault::{Call, Fate, Fault};
    use crate::memory::MemoryStore;
    use futures::executor::block_on;
    use std::sync::Mutex;

    #[test]
    fn transient_failures_are_tried_again_until_they_pass() -> Result<(), StoreError> {
        let store = retrying(|call| if call.count < 3 { Fate::FailBefore(passing()) } else { Fate::Proceed });
        assert_eq!(block_on(store.create(&key(), Bytes::new()))?, Created::New);
        assert_eq!(store.pause.slept(), [100, 200, 400]);
        Ok(())
    }

    #[test]
    fn waits_stop_growing_and_retries_end() {
        let store = retrying(|_| Fate::FailBefore(passing()));
        let result = block_on(store.read(&key()));
        assert!(matches!(result, Err(StoreError::Transient { .. })));
        assert_eq!(store.pause.slept(), [100, 200, 400, 500, 500]);
    }

    #[test]
    fn lasting_failures_are_not_tried_again() {
        let full = || StoreError::Full { op: Op::Create, key: "a".into(), source: "full".into() };
        let store = retrying(move |_| Fate::FailBefore(full()));
        let result = block_on(store.create(&key(), Bytes::new()));
        assert!(matches!(result, Err(StoreError::Full { .. })));
        assert_eq!(store.pause.slept(), []);
    }

    #[test]
    fn creation_whose_answer_was_lost_finds_its_own_object() -> Result<(), StoreError> {
        let store = retrying(|call| if call.count == 0 { Fate::FailAfter(passing()) } else { Fate::Proceed });
        let bytes = Bytes::from_static(b"ours");
        assert_eq!(block_on(store.create(&key(), bytes.clone()))?, Created::Exists);
        assert_eq!(block_on(store.inner.inner().read(&key()))?, bytes);
        Ok(())
    }

    #[test]
    fn chance_only_shortens_a_wait_and_never_below_half() {
        let store = |jitter| Retry::new(MemoryStore::new(), backoff(), Sleeps::jittering(jitter));
        let longest = Duration::from_millis(100);
        assert_eq!(wait(&store(Duration::ZERO).pause, longest), longest / 2);
        assert_eq!(wait(&store(Duration::MAX).pause, longest), longest);
    }

    #[test]
    fn chance_stays_within_its_bound() {
        let most = Duration::from_millis(7);
        assert!(ThreadPause.jitter(most) <= most);
    }

    /// Records the waits in milliseconds instead of waiting.
    struct Sleeps {
        jitter: Duration,
        waits: Mutex<Vec<u128>>,
    }

    impl Sleeps {
        fn jittering(jitter: Duration) -> Sleeps {
            Sleeps { jitter, waits: Mutex::default() }
        }

        fn slept(&self) -> Vec<u128> {
            self.waits.lock().expect("no panic").clone()
        }
    }

    #[async_trait]
    impl Pause for Sleeps {
        fn jitter(&self, _most: Duration) -> Duration {
            self.jitter
        }

        async fn sleep(&self, wait: Duration) {
            self.waits.lock().expect("no panic").push(wait.as_millis());
        }
    }

    fn retrying(script: impl FnMut(&Call<'_>) -> Fate + Send + 'static) -> Retry<Fault<MemoryStore>, Sleeps> {
        Retry::new(Fault::new(MemoryStore::new(), script), backoff(), Sleeps::jittering(Duration::MAX))
    }

    fn backoff() -> Backoff {
        Backoff { retries: 5, first: Duration::from_millis(100), longest: Duration::from_millis(500) }
    }

    fn passing() -> StoreError {
        StoreError::Transient { op: Op::Create, key: "a".into(), source: "busy".into() }
    }

    fn key() -> Key {
        Key::new("a").expect("a key")
    }
}
