//! Watch: long work on a thread of its own, without the interpreter's lock. Ctrl-C ends it, or the wait for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use copal_client::{Error, ErrorKind};
use pyo3::prelude::*;

use crate::error::raised;

/// Runs `work`, which ends early once `interrupted` is set: a signal's handler that raises sets it, and its exception is
/// what the caller gets.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    interrupted: &AtomicBool,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> PyResult<T> {
    let (done, raised_by_signal) = py.detach(|| {
        thread::scope(|scope| {
            let (tell, told) = channel();
            let worker = scope.spawn(move || {
                let done = work();
                // Nobody listens any more if this thread's owner panicked.
                let _ = tell.send(());
                done
            });
            let mut signal = None;
            while told.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                if signal.is_none()
                    && let Err(raised) = Python::attach(|py| py.check_signals())
                {
                    signal = Some(raised);
                    interrupted.store(true, Ordering::Relaxed);
                }
            }
            (worker.join(), signal)
        })
    });
    match (done, raised_by_signal) {
        (Ok(Err(error)), Some(signal)) if error.kind() == ErrorKind::Interrupted => Err(signal),
        (Ok(done), None) => done.map_err(raised),
        // It was done before it could be ended: the signal counts all the same.
        (Ok(_), Some(signal)) => Err(signal),
        (Err(panic), _) => std::panic::resume_unwind(panic),
    }
}

/// Like [`watched`], for work that may wait minutes for a store that does not answer, and leaves nothing half done. The
/// exception of a signal's handler is raised at once; the thread goes on by itself, and nobody gets its result.
pub(crate) fn left_at_signal<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let (tell, told) = channel();
    let worker = thread::spawn(move || {
        // Nobody listens any more after a signal.
        let _ = tell.send(work());
    });
    let done = py.detach(move || -> PyResult<Option<Result<T, Error>>> {
        loop {
            match told.recv_timeout(EVERY) {
                Ok(done) => return Ok(Some(done)),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
            }
        }
    });
    match done? {
        Some(done) => done.map_err(raised),
        None => std::panic::resume_unwind(worker.join().expect_err("a thread that told nothing has panicked")),
    }
}

/// How often signals are looked for.
const EVERY: Duration = Duration::from_millis(50);
