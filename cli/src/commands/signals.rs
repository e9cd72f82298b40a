//! Signals: a wish to end that a command can see between two steps.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::report::Failure;

/// Set once somebody wants the command to end.
pub(super) fn watch_signals() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // A second one ends the process at once: nothing is harmed by that.
        let armed = signal_hook::flag::register_conditional_shutdown(signal, 130, flag.clone())
            .and_then(|_| signal_hook::flag::register(signal, flag.clone()));
        armed.map_err(|error| Failure::io("watch", "signals", error))?;
    }
    Ok(flag)
}
