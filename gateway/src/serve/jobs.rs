//! Jobs: ingests when something has arrived; runs expire, compact, prune and check on a schedule. The process may be
//! killed at any point: the next run goes on.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use copal_format::id::{ClientId, PackId};
use copal_format::receipt::IngestBy;
use copal_jobs::budget::Budget;
use copal_jobs::check::{self, Depth, Tables};
use copal_jobs::compact::compact_until;
use copal_jobs::expire::expire_until;
use copal_jobs::metrics::DAMAGE;
use copal_jobs::view::Parts;
use copal_jobs::{policy, prune, upkeep, view};
use futures::executor::block_on as wait;

use super::note::JobNote;
use super::ordered::{Ordered, prune_options, pruned};
use super::singly::Care;
use super::turn::{LOOK, Turn};
use super::upkeep::Upkeep;
use super::work::{Indexes, Work};
use super::{Door, Options, Schedule};
use crate::router::{Arrival, JobRunner, Scheduled};

/// The threads that run jobs.
pub(super) struct Jobs {
    arrivals: SyncSender<Arrival>,
    suspects: SyncSender<Vec<PackId>>,
    work: Work,
    turn: Arc<Turn>,
    ending: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Jobs {
    /// Starts the threads. `clock` returns the seconds since 1970.
    pub(super) fn start(work: Work, options: &Options, clock: fn() -> u64) -> Self {
        let ending = Arc::new(AtomicBool::new(false));
        // If more arrivals come than the queue holds, ingest finds them when it looks at all clients.
        let (arrivals, arrived) = sync_channel(1_024);
        let every = options.ingest_every;
        let (first, plan) = match &options.door {
            // Uploads without an announcement are left to the ingest that the client may order.
            Door::Pipe { jobs: true } => (every, Vec::new()),
            // Such a process lives too briefly for scheduled jobs.
            Door::Pipe { jobs: false } => (Duration::ZERO, Vec::new()),
            Door::Socket(socket) => (Duration::ZERO, planned(socket.schedule)),
        };
        let own = work.clone();
        let mut threads = vec![{
            let ending = ending.clone();
            thread::spawn(move || own.ingest_arrivals(&arrived, first, every, &ending))
        }];
        // If the queue is full, the client reports again, or the next check finds the damage.
        let (suspects, suspected) = sync_channel(64);
        let also_ending = ending.clone();
        let own = work.clone();
        let turn = Turn::new(plan, work.watch.clone(), clock);
        let also_turn = turn.clone();
        threads.push(thread::spawn(move || own.keep_up(&also_turn, &suspected, &also_ending)));
        Self { arrivals, suspects, work, turn, ending, threads }
    }

    /// A function that announces a manifest or a change that a client may have uploaded.
    pub(super) fn announcer(&self) -> impl Fn(Arrival) + Send + Sync + 'static {
        let arrivals = self.arrivals.clone();
        move |arrival| match arrivals.try_send(arrival) {
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }

    /// A function that reports packs that may be damaged, or whole again.
    pub(super) fn suspecter(&self) -> impl Fn(Vec<PackId>) + Send + Sync + 'static {
        let suspects = self.suspects.clone();
        move |packs| match suspects.try_send(packs) {
            Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }

    /// A runner for jobs that clients order.
    pub(super) fn runner(&self) -> Arc<dyn JobRunner> {
        Arc::new(Ordered::new(self.work.clone()))
    }

    /// The jobs of the schedule, for callers that order a run of one.
    pub(super) fn scheduled(&self) -> Arc<dyn Scheduled> {
        self.turn.clone()
    }

    /// Ends the threads: ingest decides about what has arrived, and a running job ends its current step. Behind a pipe,
    /// packs that the client has reported are looked at; a service with a schedule leaves them to its checks.
    pub(super) fn finish(self) {
        self.ending.store(true, Ordering::Relaxed);
        drop((self.arrivals, self.suspects));
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

fn planned(Schedule { expire, compact, prune, check }: Schedule) -> Vec<(Upkeep, Duration)> {
    vec![(Upkeep::Expire, expire), (Upkeep::Compact, compact), (Upkeep::Prune, prune), (Upkeep::Check, check)]
}

impl Work {
    /// Ingests what arrives, and from time to time what arrived without an announcement.
    fn ingest_arrivals(&self, arrived: &Receiver<Arrival>, first: Duration, every: Duration, ending: &AtomicBool) {
        let pause = if every.is_zero() { NEVER } else { every };
        let mut next = Instant::now() + first;
        let mut care = Care::after(self.killed("ingest").as_deref(), Instant::now());
        care.aside().for_each(|client| (self.note)(&JobNote::Aside { client }));
        loop {
            let is_ending = ending.load(Ordering::Relaxed);
            let wait =
                if is_ending { Duration::ZERO } else { next.saturating_duration_since(Instant::now()).min(TICK) };
            match arrived.recv_timeout(wait) {
                Ok(first) => {
                    let arrivals = std::iter::once(first).chain(arrived.try_iter());
                    let clients: BTreeSet<ClientId> = arrivals.filter_map(Arrival::client).collect();
                    let clients: Vec<ClientId> = clients.into_iter().collect();
                    // Ingest folds in the changes too, whichever clients it is for.
                    self.ingest_carefully(&mut care, Some(&clients));
                }
                Err(RecvTimeoutError::Timeout) if is_ending => return,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // This also runs when clients announce something all the time.
            if !is_ending && Instant::now() >= next {
                if !every.is_zero() {
                    self.ingest_carefully(&mut care, None);
                }
                next = Instant::now() + pause;
            }
        }
    }

    /// Runs each job of the plan when it is due or ordered, and looks at packs that clients suspect, a few at a time.
    fn keep_up(&self, turn: &Turn, suspected: &Receiver<Vec<PackId>>, ending: &Arc<AtomicBool>) {
        let asked = ending.clone();
        let budget = Budget::until(move || asked.load(Ordering::Relaxed));
        // A client behind a pipe ends the process itself, often just after it has reported packs.
        let is_pipe = turn.plan().is_empty();
        let look_budget = if is_pipe { Budget::unlimited() } else { budget.clone() };
        let mut suspects: VecDeque<PackId> = VecDeque::new();
        let mut due: Vec<_> = turn
            .plan()
            .iter()
            .filter(|(_, every)| !every.is_zero())
            .map(|(job, every)| {
                // Start early: the process may not live a day. But a job that was killed waits its whole period.
                let first = if self.killed(job.name()).is_some() { *every } else { (*every).min(FIRST) };
                (*job, *every, Instant::now() + first)
            })
            .collect();
        while !ending.load(Ordering::Relaxed) {
            for (job, every, next) in &mut due {
                if let Some(_running) = turn.begin(*job, Instant::now() >= *next) {
                    self.upkeep(*job, &budget);
                    *next = Instant::now() + *every;
                }
            }
            if suspects.len() < LOOK_MOST {
                match suspected.recv_timeout(TICK) {
                    Ok(packs) => suspects.extend(packs.into_iter().chain(suspected.try_iter().flatten())),
                    Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
                }
            } else {
                // Further reports stay in the queue, which is bounded.
                thread::sleep(TICK);
            }
            if !suspects.is_empty()
                && let Some(_running) = turn.begin_look()
            {
                let few = suspects.len().min(LOOK_MOST);
                let packs: BTreeSet<PackId> = suspects.drain(..few).collect();
                self.look(&packs, &look_budget);
            }
        }
        let left: BTreeSet<PackId> = suspects.into_iter().chain(suspected.try_iter().flatten()).collect();
        if is_pipe && !left.is_empty() {
            self.look(&left, &look_budget);
        }
    }

    fn look(&self, packs: &BTreeSet<PackId>, budget: &Budget) {
        let done = self.run(LOOK, "", Indexes::Whole, |job, _, _| {
            let findings = wait(check::look_until(job, packs, budget))?;
            if findings > 0 {
                (self.note)(&JobNote::Damage { findings });
            }
            Ok(())
        });
        let _ = self.noted(LOOK, done);
    }

    fn upkeep(&self, due: Upkeep, budget: &Budget) {
        let done = match due {
            Upkeep::Expire => self.run(due.name(), "", Indexes::Pieces, |job, _, metrics| {
                metrics.expired(&wait(expire_until(job, IngestBy::Service, budget))?);
                Ok(())
            }),
            Upkeep::Compact => self.run(due.name(), "", Indexes::Pieces, |job, _, metrics| {
                metrics.compacted(&wait(compact_until(job, budget))?);
                Ok(())
            }),
            Upkeep::Prune => self.run(due.name(), "", Indexes::Whole, |job, descriptor, metrics| {
                let grace = wait(prune::grace(job))?;
                let options = prune::Options { grace, budget: budget.clone(), ..prune_options(descriptor) };
                metrics.pruned(&pruned(job, &options)?);
                Ok(())
            }),
            Upkeep::Check => self.run(due.name(), "", Indexes::Whole, |job, _, metrics| {
                let policy = wait(async {
                    let view = view::read_parts(job.store, &Parts::NOTHING).await?;
                    policy::current(job, &view).await
                });
                // Check runs without the policy: it is there to find such damage.
                let policy = policy.unwrap_or_else(|error| {
                    (self.note)(&JobNote::NoPolicy { job: "check", why: error.to_string() });
                    None
                });
                let parts = policy.map_or(CHECK_PARTS, |(_, policy)| policy.check_parts());
                metrics.checked(&wait(upkeep::check(job, (Depth::Data { part: 1, parts }, Tables::Share), budget))?);
                let findings = metrics.value(DAMAGE.name).unwrap_or_default() as u64;
                if findings > 0 {
                    (self.note)(&JobNote::Damage { findings });
                }
                Ok(())
            }),
        };
        // The job runs again when it is due.
        let _ = self.noted(due.name(), done);
    }
}

/// Most time before the first run of a scheduled job.
const FIRST: Duration = Duration::from_secs(10 * 60);
/// How often to check whether a job is due.
const TICK: Duration = Duration::from_millis(200);
/// The pause without a schedule.
const NEVER: Duration = Duration::from_secs(24 * 60 * 60);
/// The default number of parts: a check reads one of them.
const CHECK_PARTS: u32 = 30;
/// Packs that one look reads at most: as many as one report may name.
const LOOK_MOST: usize = 256;

#[cfg(test)]
#[path = "jobs_tests.rs"]
mod tests;
