//! Pool: the work at hand, and how far it may run ahead of the walk.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use copal_engine::path::TreePath;

use super::explore::{Found, Work};
use super::{ScanEvent, ScanOptions};

/// Work for the threads, what comes first in the tree first.
pub(super) struct Pool<'s> {
    options: &'s ScanOptions,
    state: Mutex<State<'s>>,
    changed: Condvar,
}

struct State<'s> {
    ready: BinaryHeap<Ready<'s>>,
    /// Events found and not yet emitted.
    ahead: usize,
    closed: bool,
}

/// A piece of work and its place in the tree.
pub(super) struct Task<'s> {
    place: TreePath,
    /// Locked by the thread that does the work, while it does.
    stage: Mutex<Stage<'s>>,
}

enum Stage<'s> {
    Waiting(Work<'s>),
    Done(Findings<'s>),
    Taken,
}

/// What came of a task, with the tasks that follow from it.
#[derive(Default)]
pub(super) struct Findings<'s> {
    /// In tree order.
    pub(super) events: Vec<ScanEvent>,
    /// What belongs between the events: after so many of them.
    pub(super) between: Vec<(usize, Arc<Task<'s>>)>,
    pub(super) excluded: u64,
}

struct Ready<'s>(Arc<Task<'s>>);

impl<'s> Pool<'s> {
    pub(super) fn new(options: &'s ScanOptions) -> Self {
        let state = State { ready: BinaryHeap::new(), ahead: 0, closed: false };
        Self { options, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Makes tasks of the work that follows, and offers them to the threads.
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

    /// Works until the pool is closed.
    pub(super) fn work(&self) {
        while let Some(task) = self.next() {
            let mut stage = task.lock();
            if let Stage::Waiting(work) = mem::replace(&mut *stage, Stage::Taken) {
                *stage = Stage::Done(self.offer(work.run(self.options)));
            }
        }
    }

    /// What came of a task; does it here if no thread has begun it.
    pub(super) fn take(&self, task: &Task<'s>) -> Findings<'s> {
        let mut stage = task.lock();
        match mem::replace(&mut *stage, Stage::Taken) {
            Stage::Waiting(work) => self.offer(work.run(self.options)),
            Stage::Done(findings) => findings,
            Stage::Taken => Findings::default(),
        }
    }

    /// Notes that so many events have been emitted.
    pub(super) fn emitted(&self, events: usize) {
        let mut state = self.lock();
        let was_full = state.ahead >= AHEAD;
        state.ahead -= events;
        if was_full && state.ahead < AHEAD {
            self.changed.notify_all();
        }
    }

    /// Sends the threads home.
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
    /// The heap gives the greatest first: what comes first in the tree.
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

/// Events that may be found ahead of the walk, some 300 bytes each: as many as are found while a passphrase is stretched.
const AHEAD: usize = 96 << 10;
