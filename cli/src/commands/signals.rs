//! Signals: a wish to end that a command can see between two steps, and an end that comes soon in any case.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use signal_hook::iterator::Signals;

use crate::report::{Failure, Report};

/// Set once somebody wants the command to end. If it has not ended by itself soon after, the process ends: whoever asked
/// for that (a system that shuts down, for one) would kill it, and it could not say what is kept.
pub(super) fn watch_signals(
    report: &Report,
    kept: impl Fn() -> Option<String> + Send + 'static,
) -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        // A second one ends the process at once: nothing is harmed by that.
        let armed = signal_hook::flag::register_conditional_shutdown(signal, 130, flag.clone())
            .and_then(|_| signal_hook::flag::register(signal, flag.clone()));
        armed.map_err(|error| Failure::io("watch", "signals", error))?;
    }
    let mut signals = Signals::new(SIGNALS).map_err(|error| Failure::io("watch", "signals", error))?;
    let report = report.clone();
    std::thread::spawn(move || {
        if signals.forever().next().is_none() {
            return;
        }
        report.note("ending: what is under way gets a few seconds (Ctrl-C again: at once)");
        std::thread::sleep(ENDS_WITHIN);
        tell_kept(&report, kept());
        std::process::exit(report.fail(&Failure::Interrupted).code().into());
    });
    Ok(flag)
}

/// Says what stays of a command that was interrupted.
pub(super) fn tell_kept(report: &Report, kept: Option<String>) {
    if let Some(kept) = kept {
        report.warn(&kept);
    }
}

/// What asks a process to end.
const SIGNALS: [i32; 2] = [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM];
/// How long a command has to end by itself.
const ENDS_WITHIN: Duration = Duration::from_secs(8);

/// Whether there is a person who can be asked something.
pub(super) fn asks() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Whether a person says yes to what was asked. A wish to end is a no.
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
