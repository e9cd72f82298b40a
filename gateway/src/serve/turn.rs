//! Turn: which job of the schedule has its turn. While one runs or waits to begin, callers cannot order another. A look
//! at packs that clients report takes a turn like an ordered job.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::upkeep::Upkeep;
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
    /// The name of the job that has its turn.
    now: Option<(&'static str, Stage)>,
    ends: Vec<End>,
    /// Until when callers cannot order a job.
    rest: Option<Instant>,
}

impl State {
    /// How long until callers may order a job.
    fn left(&self) -> Duration {
        self.rest.map_or(Duration::ZERO, |rest| rest.saturating_duration_since(Instant::now()))
    }
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    Ordered,
    Running { since: Instant, is_ordered: bool },
}

/// The last run of a job.
#[derive(Copy, Clone)]
struct End {
    job: &'static str,
    /// Seconds since 1970.
    at: u64,
}

/// The turn of a job that has begun. It ends when this is dropped, even if the job fails.
pub(super) struct Running<'a>(&'a Turn);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Turn {
    pub(super) fn new(plan: Vec<(Upkeep, Duration)>, watch: Watch, clock: fn() -> u64) -> Arc<Self> {
        Arc::new(Self { plan, watch, clock, state: Mutex::default() })
    }

    /// The jobs and how often each runs.
    pub(super) fn plan(&self) -> &[(Upkeep, Duration)] {
        &self.plan
    }

    /// Begins a job if it was ordered, or is due and none is ordered.
    pub(super) fn begin(&self, job: Upkeep, is_due: bool) -> Option<Running<'_>> {
        let mut state = self.state();
        let is_ordered = state.now == Some((job.name(), Stage::Ordered));
        if !is_ordered && (!is_due || state.now.is_some()) {
            return None;
        }
        state.now = Some((job.name(), Stage::Running { since: Instant::now(), is_ordered }));
        Some(Running(self))
    }

    /// Begins a look at packs that clients report, if a job could be ordered now. A look rests like an ordered job,
    /// because a client has begun it.
    pub(super) fn begin_look(&self) -> Option<Running<'_>> {
        let mut state = self.state();
        if state.now.is_some() || !state.left().is_zero() {
            return None;
        }
        state.now = Some((LOOK, Stage::Running { since: Instant::now(), is_ordered: true }));
        Some(Running(self))
    }

    fn end(&self) {
        let mut state = self.state();
        let Some((job, Stage::Running { since, is_ordered })) = state.now.take() else { return };
        if is_ordered {
            // Orders and looks keep the store busy half of the time at most, whichever jobs the orders are for.
            state.rest = Some(Instant::now() + since.elapsed().max(REST));
        }
        state.ends.retain(|end| end.job != job);
        state.ends.push(End { job, at: (self.clock)() });
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
        // With `--prune-every 0s`, the operator has decided that nothing is deleted here.
        if !self.plan.iter().any(|(planned, every)| *planned == job && !every.is_zero()) {
            return Err(NotNow::Never);
        }
        let mut state = self.state();
        if let Some((running, _)) = state.now {
            return Err(NotNow::Running { job: running });
        }
        let left = state.left();
        if !left.is_zero() {
            return Err(NotNow::Resting { left });
        }
        state.now = Some((job.name(), Stage::Ordered));
        Ok(())
    }

    fn jobs(&self) -> Vec<ScheduledJob> {
        let health = self.watch.health();
        let state = self.state();
        let told = |(job, every): &(Upkeep, Duration)| ScheduledJob {
            job: job.name(),
            every: *every,
            is_running: state.now.is_some_and(|(running, _)| running == job.name()),
            ended: state.ends.iter().find(|end| end.job == job.name()).map(|end| end.at),
            is_failing: health.iter().any(|health| health.job == job.name() && health.is_failing),
        };
        self.plan.iter().map(told).collect()
    }
}

/// The name of a look at packs that clients report.
pub(super) const LOOK: &str = "look";
/// The least time after an ordered job before another may be ordered.
const REST: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn turn() -> Arc<Turn> {
        let day = Duration::from_hours(24);
        let plan =
            vec![(Upkeep::Compact, day), (Upkeep::Expire, day), (Upkeep::Prune, Duration::ZERO), (Upkeep::Check, day)];
        Turn::new(plan, Watch::new(None), || 7)
    }

    #[test]
    fn a_flood_of_orders_is_one_run() {
        let turn = turn();
        assert_eq!(turn.order(RunOrder::Check {}), Ok(()));
        for _ in 0..1_000 {
            assert_eq!(turn.order(RunOrder::Check {}), Err(NotNow::Running { job: "check" }));
        }
        assert!(turn.begin(Upkeep::Compact, true).is_none(), "what was ordered goes first");
        let running = turn.begin(Upkeep::Check, false);
        assert!(running.is_some() && turn.begin(Upkeep::Check, true).is_none());
        assert_eq!(turn.order(RunOrder::Check {}), Err(NotNow::Running { job: "check" }));
        drop(running);
        assert!(matches!(turn.order(RunOrder::Check {}), Err(NotNow::Resting { left }) if left <= REST));
        let _running = turn.begin(Upkeep::Check, true).expect("the schedule does not wait for the rest");
        assert!(turn.jobs().iter().any(|told| told.job == "check" && told.is_running && told.ended == Some(7)));
    }

    #[test]
    fn jobs_that_are_ordered_in_turn_rest_as_one_does() {
        let day = Duration::from_hours(24);
        let turn = Turn::new(vec![(Upkeep::Prune, day), (Upkeep::Check, day)], Watch::new(None), || 7);
        turn.order(RunOrder::Check {}).unwrap();
        drop(turn.begin(Upkeep::Check, false));
        assert!(matches!(turn.order(RunOrder::Prune {}), Err(NotNow::Resting { .. })));
    }

    #[test]
    fn a_look_at_packs_that_clients_report_rests_as_an_ordered_job_does() {
        let turn = turn();
        let look = turn.begin_look();
        assert!(look.is_some() && turn.begin_look().is_none());
        assert_eq!(turn.order(RunOrder::Check {}), Err(NotNow::Running { job: "look" }));
        drop(look);
        assert!(turn.begin_look().is_none());
        assert!(matches!(turn.order(RunOrder::Check {}), Err(NotNow::Resting { .. })));
        assert!(turn.begin(Upkeep::Compact, true).is_some(), "the schedule does not wait for the rest");
        assert!(turn.jobs().iter().all(|told| told.job != "look"), "it is no job of the schedule");
    }

    #[test]
    fn while_a_scheduled_job_runs_none_is_ordered() {
        let turn = turn();
        let running = turn.begin(Upkeep::Compact, true);
        assert_eq!(turn.order(RunOrder::Check {}), Err(NotNow::Running { job: "compact" }));
        drop(running);
        assert_eq!(turn.order(RunOrder::Check {}), Ok(()));
    }

    #[test]
    fn a_turn_ends_whatever_becomes_of_the_job() {
        let turn = turn();
        let died = std::panic::catch_unwind(|| {
            let _running = turn.begin(Upkeep::Compact, true);
            panic!("the job");
        });
        assert!(died.is_err());
        assert_eq!(turn.order(RunOrder::Check {}), Ok(()));
    }

    #[test]
    fn what_the_schedule_never_runs_nobody_orders() {
        assert_eq!(turn().order(RunOrder::Prune {}), Err(NotNow::Never));
        assert_eq!(Turn::new(Vec::new(), Watch::new(None), || 7).order(RunOrder::Check {}), Err(NotNow::Never));
    }
}
