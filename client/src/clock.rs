//! Clock: the time of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

use copal_format::time::Time;

/// The current time.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_unix(since.as_secs() as i64 + wrong_by(), since.subsec_nanos())
}

/// Seconds by which a test sets the clock wrong.
#[cfg(feature = "faults")]
fn wrong_by() -> i64 {
    std::env::var("COPAL_CLOCK_WRONG_BY").ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[cfg(not(feature = "faults"))]
fn wrong_by() -> i64 {
    0
}
