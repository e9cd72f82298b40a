//! Log: events as lines of JSON on the standard output, each with the id of the request that it belongs to.

use tracing_subscriber::EnvFilter;

use crate::environment::LOG;

/// Sets up the log of this process.
pub fn set_up() {
    let filter = EnvFilter::builder().with_default_directive(tracing::Level::INFO.into());
    let filter = filter.parse_lossy(std::env::var(LOG).unwrap_or_default());
    let log = tracing_subscriber::fmt().json().flatten_event(true).with_current_span(true).with_span_list(false);
    // CloudWatch dates the lines. A log that was set up before stays.
    let _ = log.with_env_filter(filter).without_time().try_init();
}
