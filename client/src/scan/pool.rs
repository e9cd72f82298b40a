//! Pool: the queue of the scan's tasks. Limits how far workers run ahead of the walk.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use copal_format::path::TreePath;

use super::explore::{Found, Work};
use super::{ScanEvent, ScanOptions};

/// The tasks for the worker threads; the first in the tree comes first.
pub(super) struct Pool<'s> {
    options: &'s ScanOptions,
    state: Mutex<State<'s>>,
    changed: Condvar,
}

struct State<'s> {
    ready: BinaryHeap<Ready<'s>>,
    /// Number of events found and not yet emitted.
    ahead: usize,
    closed: bool,
}

/// A task and its place in the tree.
pub(super) struct Task<'s> {
    place: TreePath,
    /// The thread that does the work holds this lock until it is done.
    stage: Mutex<Stage<'s>>,
}

enum Stage<'s> {
    Waiting(Work<'s>),
    Done(Findings<'s>),
    Taken,
}

/// The result of a task, with the tasks that follow from it.
#[derive(Default)]
pub(super) struct Findings<'s> {
    /// Events, in tree order.
    pub(super) events: Vec<ScanEvent>,
    /// Further tasks, each with the number of events that come before it.
    pub(super) between: Vec<(usize, Arc<Task<'s>>)>,
    pub(super) excluded: u64,
}

struct Ready<'s>(Arc<Task<'s>>);

impl<'s> Pool<'s> {
    pub(super) fn new(options: &'s ScanOptions) -> Self {
        let state = State { ready: BinaryHeap::new(), ahead: 0, closed: false };
        Self { options, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Makes tasks of the work in a result, and queues them for the threads.
    pub(super) fn offer(&self, found: Found<'s>) -> Findings<'s> {
        let task = |work: Work<'s>| Arc::new(Task { place: work.place(), stage: Mutex::new(Stage::Waiting(work)) });
        let between: Vec<_> = found.between.into_iter().map(|(at, work)| (at, task(work))).collect();
        let mut state = self.lock();
        state.ahead += found.events.len();
        state.ready.extend(between.iter().map(|(_, task)| Ready(task.clone())));
        drop(state);
        match between.len() {
            0 => {}
            1 => self.changed.notify_one(),
            _ => self.changed.notify_all(),
        }
        Findings { events: found.events, between, excluded: found.excluded }
    }

    /// Runs tasks until the pool is closed.
    pub(super) fn work(&self) {
        while let Some(task) = self.next() {
            let mut stage = task.lock();
            if let Stage::Waiting(work) = mem::replace(&mut *stage, Stage::Taken) {
                *stage = Stage::Done(self.offer(work.run(self.options)));
            }
        }
    }

    /// The result of a task; runs it here if no thread has begun it.
    pub(super) fn take(&self, task: &Task<'s>) -> Findings<'s> {
        let mut stage = task.lock();
        match mem::replace(&mut *stage, Stage::Taken) {
            Stage::Waiting(work) => self.offer(work.run(self.options)),
            Stage::Done(findings) => findings,
            Stage::Taken => Findings::default(),
        }
    }

    /// Notes that the walk has emitted this many events.
    pub(super) fn emitted(&self, events: usize) {
        let mut state = self.lock();
        let was_full = state.ahead >= AHEAD;
        state.ahead -= events;
        if was_full && state.ahead < AHEAD {
            self.changed.notify_all();
        }
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    fn next(&self) -> Option<Arc<Task<'s>>> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            if state.ahead < AHEAD
                && let Some(Ready(task)) = state.ready.pop()
            {
                return Some(task);
            }
            state = self.changed.wait(state).expect("no thread panics while it holds the queue");
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<'s>> {
        self.state.lock().expect("no thread panics while it holds the queue")
    }
}

impl<'s> Task<'s> {
    fn lock(&self) -> MutexGuard<'_, Stage<'s>> {
        self.stage.lock().expect("no thread panics while it scans")
    }
}

impl Ord for Ready<'_> {
    /// Reversed: the heap returns the greatest, which must be the first in the tree.
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.place.cmp(&self.0.place)
    }
}

impl PartialOrd for Ready<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ready<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ready<'_> {}

/// Events found ahead of the walk, about 300 bytes each: as many as are found while a passphrase is stretched.
const AHEAD: usize = 96 << 10;
