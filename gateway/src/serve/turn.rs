//! Turn: which job of the schedule has its turn. One at a time: while one runs or waits to begin, callers order none.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::jobs::Upkeep;
use super::watch::Watch;
use crate::orders::RunOrder;
use crate::router::{NotNow, Scheduled, ScheduledJob};

/// The jobs of a schedule, and the one whose turn it is.
pub(super) struct Turn {
    plan: Vec<(Upkeep, Duration)>,
    watch: Watch,
    /// Returns the seconds since 1970.
    clock: fn() -> u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    now: Option<(Upkeep, Stage)>,
    ends: Vec<End>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    Ordered,
    Running { since: Instant, is_ordered: bool },
}

/// The last run of a job.
#[derive(Copy, Clone)]
struct End {
    job: Upkeep,
    /// Seconds since 1970.
    at: u64,
    /// Until when callers order it no more.
    rest: Option<Instant>,
}

impl Turn {
    pub(super) fn new(plan: Vec<(Upkeep, Duration)>, watch: Watch, clock: fn() -> u64) -> Arc<Self> {
        Arc::new(Self { plan, watch, clock, state: Mutex::default() })
    }

    /// The jobs and how often each runs.
    pub(super) fn plan(&self) -> &[(Upkeep, Duration)] {
        &self.plan
    }

    /// Begins the ordered job, if there is one.
    pub(super) fn begin_ordered(&self) -> Option<Upkeep> {
        let mut state = self.state();
        let Some((job, Stage::Ordered)) = state.now else { return None };
        state.now = Some((job, Stage::Running { since: Instant::now(), is_ordered: true }));
        Some(job)
    }

    /// Begins a job that is due. An ordered one goes first: then this one waits, which is false.
    pub(super) fn begin(&self, job: Upkeep) -> bool {
        let mut state = self.state();
        if state.now.is_some() {
            return false;
        }
        state.now = Some((job, Stage::Running { since: Instant::now(), is_ordered: false }));
        true
    }

    /// Ends the running job.
    pub(super) fn end(&self) {
        let mut state = self.state();
        let Some((job, Stage::Running { since, is_ordered })) = state.now.take() else { return };
        // Orders alone keep the store busy half of the time at most.
        let rest = is_ordered.then(|| Instant::now() + since.elapsed().max(REST));
        state.ends.retain(|end| end.job != job);
        state.ends.push(End { job, at: (self.clock)(), rest });
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scheduled for Turn {
    fn order(&self, order: RunOrder) -> Result<(), NotNow> {
        let job = match order {
            RunOrder::Prune {} => Upkeep::Prune,
            RunOrder::Check {} => Upkeep::Check,
        };
        // Whoever serves with `--prune-every 0s` has decided that nothing is deleted here.
        if !self.plan.iter().any(|(planned, every)| *planned == job && !every.is_zero()) {
            return Err(NotNow::Never);
        }
        let mut state = self.state();
        if let Some((running, _)) = state.now {
            return Err(NotNow::Running { job: running.name() });
        }
        let rest = state.ends.iter().find(|end| end.job == job).and_then(|end| end.rest);
        let left = rest.map_or(Duration::ZERO, |rest| rest.saturating_duration_since(Instant::now()));
        if !left.is_zero() {
            return Err(NotNow::Resting { left });
        }
        state.now = Some((job, Stage::Ordered));
        Ok(())
    }

    fn jobs(&self) -> Vec<ScheduledJob> {
        let health = self.watch.health();
        let state = self.state();
        let told = |(job, every): &(Upkeep, Duration)| ScheduledJob {
            job: job.name(),
            every: *every,
            is_running: state.now.is_some_and(|(running, _)| running == *job),
            ended: state.ends.iter().find(|end| end.job == *job).map(|end| end.at),
            is_failing: health.iter().any(|health| health.job == job.name() && health.is_failing),
        };
        self.plan.iter().map(told).collect()
    }
}

/// How long a job that was ordered is not ordered again, at least.
const REST: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn turn() -> Arc<Turn> {
        let day = Duration::from_secs(24 * 3600);
        let plan = vec![(Upkeep::Compact, day), (Upkeep::Prune, Duration::ZERO), (Upkeep::Check, day)];
        Turn::new(plan, Watch::new(None), || 7)
    }

    #[test]
    fn a_flood_of_orders_is_one_run() {
        let turn = turn();
        assert_eq!(turn.order(RunOrder::Check {}), Ok(()));
        for _ in 0..1_000 {
            assert_eq!(turn.order(RunOrder::Check {}), Err(NotNow::Running { job: "check" }));
        }
        assert!(!turn.begin(Upkeep::Compact), "what was ordered goes first");
        assert_eq!(turn.begin_ordered(), Some(Upkeep::Check));
        assert_eq!(turn.begin_ordered(), None);
        assert_eq!(turn.order(RunOrder::Check {}), Err(NotNow::Running { job: "check" }));
        turn.end();
        assert!(matches!(turn.order(RunOrder::Check {}), Err(NotNow::Resting { left }) if left <= REST));
        assert!(turn.begin(Upkeep::Check), "the schedule does not wait for the rest");
        assert!(turn.jobs().iter().any(|told| told.job == "check" && told.is_running && told.ended == Some(7)));
    }

    #[test]
    fn while_a_scheduled_job_runs_none_is_ordered() {
        let turn = turn();
        assert!(turn.begin(Upkeep::Compact));
        assert_eq!(turn.order(RunOrder::Check {}), Err(NotNow::Running { job: "compact" }));
        turn.end();
        assert_eq!(turn.order(RunOrder::Check {}), Ok(()));
    }

    #[test]
    fn what_the_schedule_never_runs_nobody_orders() {
        assert_eq!(turn().order(RunOrder::Prune {}), Err(NotNow::Never));
        assert_eq!(Turn::new(Vec::new(), Watch::new(None), || 7).order(RunOrder::Check {}), Err(NotNow::Never));
    }
}
