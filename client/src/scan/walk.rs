//! Walk: emits what the threads find, in tree order.

use std::iter::Peekable;
use std::mem;
use std::sync::Arc;
use std::thread;
use std::vec;

use crossbeam_channel::{SendError, Sender};

use super::branch::Branch;
use super::explore::Found;
use super::pool::{Findings, Pool, Task};
use super::{AsPath, ScanError, ScanEvent, ScanOptions, Scope, Totals};
use crate::stat::EntryStat;

/// A scan, ready to run.
pub struct Scan {
    options: Arc<ScanOptions>,
    top: Branch,
}

struct Walk<'p, 's> {
    pool: &'p Pool<'s>,
    sink: &'p Sender<Vec<ScanEvent>>,
    batch: Vec<ScanEvent>,
    totals: Totals,
}

/// Findings that are being emitted.
struct Level<'s> {
    events: vec::IntoIter<ScanEvent>,
    emitted: usize,
    between: Peekable<vec::IntoIter<(usize, Arc<Task<'s>>)>>,
}

impl Scan {
    /// Makes a scan; fails if a root lies in the repository.
    pub fn new(options: ScanOptions) -> Result<Self, ScanError> {
        for root in options.roots.iter().filter(|_| options.forbidden.is_some()) {
            let source = options.as_path.source_of(root.path());
            if source.ancestors().any(|at| EntryStat::of_path(at).is_ok_and(|stat| options.is_repository(&stat))) {
                return Err(ScanError::InRepository(source));
            }
        }
        let top = Branch::top(options.roots.iter().map(|root| root.path()));
        Ok(Self { options: Arc::new(options), top })
    }

    /// What to scan and what to leave out.
    pub fn options(&self) -> &ScanOptions {
        &self.options
    }

    /// The scan of what is in a scope, which lies below the same roots.
    pub(crate) fn narrowed(&self, scope: &Scope) -> Self {
        let top = Branch::narrowed(scope, self.options.roots.iter().map(|root| root.path()));
        Self { options: self.options.clone(), top }
    }

    /// Where the entries lie on this machine.
    pub fn as_path(&self) -> &AsPath {
        &self.options.as_path
    }

    /// Sends all events in tree order, in batches, beginning with the top directory and the directories that lead to
    /// the roots. Returns at the end of the scan, or when the receiver has gone.
    pub fn run(&self, threads: usize, sink: &Sender<Vec<ScanEvent>>) -> Totals {
        let pool = Pool::new(&self.options);
        thread::scope(|scope| {
            let _closing = Closing(&pool);
            (0..threads).for_each(|_| drop(scope.spawn(|| pool.work())));
            let mut walk = Walk { pool: &pool, sink, batch: Vec::new(), totals: Totals::default() };
            // An error means that the receiver has gone, which ends the scan early.
            let _ = walk.emit(pool.offer(Found::top(&self.top, &self.options)));
            walk.totals
        })
    }
}

impl<'s> Walk<'_, 's> {
    fn emit(&mut self, top: Findings<'s>) -> Result<(), SendError<Vec<ScanEvent>>> {
        let mut levels = vec![self.enter(top)];
        while let Some(level) = levels.last_mut() {
            let emitted = level.emitted;
            if let Some((_, task)) = level.between.next_if(|(after, _)| *after == emitted) {
                let below = self.enter(self.pool.take(&task));
                levels.push(below);
            } else if let Some(event) = level.events.next() {
                level.emitted += 1;
                self.push(event)?;
            } else {
                levels.pop();
            }
        }
        self.flush()
    }

    fn enter(&mut self, findings: Findings<'s>) -> Level<'s> {
        self.totals.excluded += findings.excluded;
        let between = findings.between.into_iter().peekable();
        Level { events: findings.events.into_iter(), emitted: 0, between }
    }

    fn push(&mut self, event: ScanEvent) -> Result<(), SendError<Vec<ScanEvent>>> {
        self.totals.entries += u64::from(matches!(event, ScanEvent::Entry(_)));
        self.batch.push(event);
        if self.batch.len() == BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), SendError<Vec<ScanEvent>>> {
        let batch = mem::take(&mut self.batch);
        self.pool.emitted(batch.len());
        if batch.is_empty() { Ok(()) } else { self.sink.send(batch) }
    }
}

/// Closes the pool even if the walk panics: waiting threads would otherwise hide the panic.
struct Closing<'p, 's>(&'p Pool<'s>);

impl Drop for Closing<'_, '_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Events in a batch.
const BATCH: usize = 512;
