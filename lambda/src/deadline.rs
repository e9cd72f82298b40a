//! Deadline: how long an invocation may still take. A job ends of itself before the function is ended.

use std::future::Future;
use std::time::{Duration, Instant, SystemTime};

use copal_service::budget::Budget;

/// When an invocation must have answered.
#[derive(Copy, Clone, Debug)]
pub struct Deadline {
    /// When work ends, so that time is left for the answer.
    end: Instant,
}

/// A job was not done in time. Nothing is half done: the next run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the time of this run is over")]
pub struct Expired;

impl Deadline {
    /// The deadline of an invocation that is ended at that time.
    pub fn at(time: SystemTime) -> Self {
        Self::after(time.duration_since(SystemTime::now()).unwrap_or_default())
    }

    /// The deadline of an invocation that is ended after that time.
    pub fn after(time: Duration) -> Self {
        let margin = (time / 10).clamp(Duration::ZERO, MARGIN);
        Self { end: Instant::now() + (time - margin) }
    }

    /// How long work may go on.
    pub fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Whether another piece of work may be begun.
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// For a job that ends of itself between two of its steps: early enough for a step that was begun to be done.
    pub fn budget(&self) -> Budget {
        let end = self.end - (self.left() / 4).min(STEP);
        Budget::until(move || Instant::now() >= end)
    }

    /// Works until the deadline; what is not done then ends between two calls of the store, as if the process had died.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, Expired> {
        if self.is_over() {
            return Err(Expired);
        }
        tokio::time::timeout(self.left(), work).await.map_err(|_| Expired)
    }
}

/// Enough for a step of a prune, which copies a gibibyte.
const STEP: Duration = Duration::from_secs(120);
/// Enough to answer in, and to write the last lines of the log.
const MARGIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_and_at_most_ten_seconds_are_left_for_the_answer() {
        let left = |seconds| Deadline::after(Duration::from_secs(seconds)).left();
        assert!(left(10) <= Duration::from_secs(9) && left(10) > Duration::from_secs(8));
        assert!(left(900) <= Duration::from_secs(890) && left(900) > Duration::from_secs(889));
    }

    #[test]
    fn a_job_is_to_begin_no_step_in_the_last_quarter() {
        assert!(!Deadline::after(Duration::from_secs(60)).budget().is_over());
        assert!(Deadline::after(Duration::ZERO).budget().is_over());
    }

    #[tokio::test]
    async fn a_time_that_is_past_leaves_nothing() {
        let past = Deadline::at(SystemTime::UNIX_EPOCH);
        assert!(past.is_over());
        assert_eq!(past.run(async { 7 }).await, Err(Expired));
    }

    #[tokio::test]
    async fn work_that_does_not_end_is_given_up() {
        let deadline = Deadline::after(Duration::from_millis(20));
        assert_eq!(deadline.run(std::future::pending::<()>()).await, Err(Expired));
        assert_eq!(Deadline::after(Duration::from_secs(60)).run(async { 7 }).await, Ok(7));
    }
}
