//! Log: writes events as JSON lines to standard output, each with the id of its request.

use tracing_subscriber::EnvFilter;

use crate::environment::LOG;

/// Sets up the log of this process.
pub fn set_up() {
    let filter = EnvFilter::builder().with_default_directive(tracing::Level::INFO.into());
    let filter = filter.parse_lossy(std::env::var(LOG).unwrap_or_default());
    let log = tracing_subscriber::fmt().json().flatten_event(true).with_current_span(true).with_span_list(false);
    // CloudWatch adds the time. An earlier log set-up stays.
    let _ = log.with_env_filter(filter).without_time().try_init();
}
