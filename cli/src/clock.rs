//! Clock: the time of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

use copal_engine::time::Time;

/// What it says now.
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_unix(since.as_secs() as i64, since.subsec_nanos())
}
