//! Deadline: how long an invocation may still take. A job ends by itself before Lambda ends the function.

use std::future::Future;
use std::time::{Duration, Instant, SystemTime};

use copal_jobs::budget::Budget;

/// When an invocation must have answered.
#[derive(Copy, Clone, Debug)]
pub struct Deadline {
    /// When jobs are told to end.
    soon: Instant,
    /// When work is stopped, so that time is left for the answer.
    end: Instant,
}

/// A job was not done in time. Nothing is half done: the next run continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the time of this run is over")]
pub struct Expired;

impl Deadline {
    /// The deadline of an invocation that Lambda ends at `time`.
    pub fn at(time: SystemTime) -> Self {
        Self::after(time.duration_since(SystemTime::now()).unwrap_or_default())
    }

    /// The deadline of an invocation that Lambda ends after `time`.
    pub fn after(time: Duration) -> Self {
        let now = Instant::now();
        Self { soon: now + (time - (time / 4).min(LAST_STEP)), end: now + (time - (time / 10).min(MARGIN)) }
    }

    /// How much time is left for work.
    pub fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Whether no further work may be begun.
    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// A budget that makes a job end at its next safe point, while there is time for a last step.
    pub fn budget(&self) -> Budget {
        let soon = self.soon;
        Budget::until(move || Instant::now() >= soon)
    }

    /// Runs work until the deadline. Then the work is stopped between two store calls, as if the process had died.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T, Expired> {
        if self.is_over() {
            return Err(Expired);
        }
        tokio::time::timeout(self.left(), work).await.map_err(|_| Expired)
    }
}

/// Time for the step that a job is in.
const LAST_STEP: Duration = Duration::from_secs(120);
/// Time for the answer and the last log lines.
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
    fn a_job_is_told_to_end_before_it_is_ended() {
        assert!(!Deadline::after(Duration::from_secs(900)).budget().is_over());
        let deadline = Deadline { soon: Instant::now(), ..Deadline::after(Duration::from_secs(900)) };
        assert!(deadline.budget().is_over() && !deadline.is_over());
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
