//! Signals: lets a command end cleanly after SIGINT or SIGTERM, and ends the process if that takes too long.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::report::{Failure, Printer};
use crate::system::on_end;

/// Returns a flag that SIGINT and SIGTERM set, the same one in the whole process. If the command has not ended
/// `ENDS_WITHIN` later, the process reports what is kept, as the last caller tells it, and exits, before the system kills
/// it (at shutdown, for example).
pub(super) fn watch_signals(
    report: &Printer,
    kept: impl Fn() -> Option<String> + Send + 'static,
) -> Result<Arc<AtomicBool>, Failure> {
    static WATCH: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);
    static KEPT: Mutex<Option<KeptText>> = Mutex::new(None);
    *lock(&KEPT) = Some(Box::new(kept));
    let mut watch = lock(&WATCH);
    if let Some(flag) = &*watch {
        return Ok(flag.clone());
    }
    let flag = Arc::new(AtomicBool::new(false));
    // A second signal ends the process at once, which harms nothing.
    let report = report.clone();
    let watched = on_end(Some(&flag), false, move || {
        report.note("stopping within a few seconds (press Ctrl-C again to stop at once)");
        std::thread::sleep(ENDS_WITHIN);
        if let Some(kept) = lock(&KEPT).as_ref().and_then(|kept| kept()) {
            report.warn(&kept);
        }
        std::process::exit(report.fail(&Failure::Interrupted).code().into());
    });
    watched.map_err(|error| Failure::io("watch", "signals", error))?;
    Ok(watch.insert(flag).clone())
}

/// Says what is kept of an interrupted run, if anything is.
type KeptText = Box<dyn Fn() -> Option<String> + Send>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const ENDS_WITHIN: Duration = Duration::from_secs(8);

pub(super) fn asks() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whether the user answers yes. An interrupt means no.
pub(super) fn is_yes(interrupted: &AtomicBool) -> bool {
    let (sender, answer) = channel();
    // Reading a line cannot be interrupted; the thread ends with the process.
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = std::io::stdin().read_line(&mut line);
        sender.send(line)
    });
    loop {
        match answer.recv_timeout(Duration::from_millis(100)) {
            Ok(line) => return matches!(line.trim().to_lowercase().as_str(), "y" | "yes"),
            Err(RecvTimeoutError::Timeout) if !interrupted.load(Ordering::Relaxed) => {}
            Err(_) => return false,
        }
    }
}
