//! Wait: runs a future of the store or the service to its end (a directory store works inside the call), and waits for
//! other processes with growing pauses.

use std::future::Future;
use std::time::{Duration, Instant};

/// Runs a future to its end on this thread.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    futures::executor::block_on(future)
}

/// A time limit for polling another process, with pauses that grow.
#[derive(Clone, Debug)]
pub struct Patience {
    until: Option<Instant>,
    next: Duration,
}

impl Patience {
    /// Waits at most this long in total.
    pub fn of(most: Duration) -> Self {
        Self { until: Instant::now().checked_add(most), next: FIRST }
    }

    /// Polls only once.
    pub fn none() -> Self {
        Self::of(Duration::ZERO)
    }

    /// Sleeps before the next poll; returns false if the time is up. `is_over` ends a pause early.
    pub fn pause(&mut self, is_over: impl Fn() -> bool) -> bool {
        let now = Instant::now();
        let left = self.until.map_or(Duration::MAX, |until| until.saturating_duration_since(now));
        if left.is_zero() {
            return false;
        }
        let pause = self.next.min(left);
        while now.elapsed() < pause && !is_over() {
            std::thread::sleep(SLICE.min(pause.saturating_sub(now.elapsed())));
        }
        self.next = (self.next * 3 / 2).min(LAST);
        true
    }

    /// Makes the pauses short again, because something has happened.
    pub fn renew(&mut self) {
        self.next = FIRST;
    }
}

/// The default time to wait for a service.
pub const SERVICE_ANSWERS: Duration = Duration::from_secs(900);
/// The first pause, and the longest one.
const FIRST: Duration = Duration::from_millis(50);
const LAST: Duration = Duration::from_secs(5);
/// How often a pause checks `is_over`.
const SLICE: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_patience_it_is_asked_once_and_with_some_until_it_is_used_up() {
        assert!(!Patience::none().pause(|| false));
        let mut patience = Patience::of(Duration::from_millis(120));
        let pauses = std::iter::repeat_with(|| patience.pause(|| false)).take_while(|goes_on| *goes_on).count();
        assert!(pauses <= 4, "{pauses}");
    }

    #[test]
    fn a_wish_to_end_ends_a_pause() {
        let started = Instant::now();
        let mut patience = Patience { until: None, next: Duration::from_secs(60) };
        assert!(patience.pause(|| true));
        assert!(started.elapsed() < Duration::from_secs(30));
    }
}
