//! The clock of the server: what its answers say.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::BeforeDeserializationInterceptorContextRef;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::DateTime;
use aws_smithy_types::config_bag::ConfigBag;
use aws_smithy_types::date_time::Format;

use crate::StoreTime;

/// The latest time that any answer of the server told, to the second. It never runs backwards, though the server's
/// machines differ a little and some fill in the date only once a second.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock(Arc<AtomicI64>);

impl Clock {
    /// The latest time told, if any was.
    pub(super) fn latest(&self) -> Option<StoreTime> {
        let seconds = self.0.load(Ordering::Relaxed);
        (seconds > 0).then(|| StoreTime(seconds.saturating_mul(SECOND)))
    }

    /// Notes the time of an object, which the clock must have reached; gives it in whole seconds, as the headers tell
    /// it: listings of some servers are finer.
    pub(super) fn object_time(&self, time: &DateTime) -> StoreTime {
        self.0.fetch_max(time.secs(), Ordering::Relaxed);
        StoreTime(time.secs().saturating_mul(SECOND))
    }
}

impl Intercept for Clock {
    fn name(&self) -> &'static str {
        "the server's clock"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        if let Some(Ok(time)) = date.map(|date| DateTime::from_str(date, Format::HttpDate)) {
            self.0.fetch_max(time.secs(), Ordering::Relaxed);
        }
        Ok(())
    }
}

const SECOND: i64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_runs_backwards_and_counts_whole_seconds() {
        let clock = Clock::default();
        assert_eq!(clock.latest(), None);
        assert_eq!(clock.object_time(&DateTime::from_fractional_secs(7, 0.9)), StoreTime(7 * SECOND));
        assert_eq!(clock.object_time(&DateTime::from_secs(5)), StoreTime(5 * SECOND));
        assert_eq!(clock.latest(), Some(StoreTime(7 * SECOND)));
    }
}
