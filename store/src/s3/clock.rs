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
///
/// What objects are dated moves it by a few seconds at most. An object from the future (a server's clock was wrong once, or
/// a copy kept its times) would otherwise end every grace period at once, for good.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock(Arc<Times>);

/// Seconds since 1970; 0 is none.
#[derive(Debug, Default)]
struct Times {
    /// The latest date of an answer.
    told: AtomicI64,
    /// The latest time of an object that a date as late as that may be behind.
    object: AtomicI64,
}

impl Clock {
    /// The latest time told, if any was.
    pub(super) fn latest(&self) -> Option<StoreTime> {
        let told = self.0.told.load(Ordering::Relaxed);
        let seconds = told.max(self.0.object.load(Ordering::Relaxed));
        (told > 0).then(|| StoreTime(seconds.saturating_mul(SECOND)))
    }

    /// The time of an object in whole seconds, as the headers tell it: listings of some servers are finer. The clock has
    /// reached it, unless it is further ahead than the server's machines differ.
    pub(super) fn object_time(&self, time: &DateTime) -> StoreTime {
        if time.secs() <= self.0.told.load(Ordering::Relaxed).saturating_add(AHEAD) {
            self.0.object.fetch_max(time.secs(), Ordering::Relaxed);
        }
        StoreTime(time.secs().saturating_mul(SECOND))
    }

    fn tell(&self, date: &DateTime) {
        self.0.told.fetch_max(date.secs(), Ordering::Relaxed);
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
            self.tell(&time);
        }
        Ok(())
    }
}

const SECOND: i64 = 1_000_000_000;
/// Seconds that the date of an answer may be behind the time of an object that was just made.
const AHEAD: i64 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 3_600;

    #[test]
    fn the_clock_never_runs_backwards_and_counts_whole_seconds() {
        let clock = Clock::default();
        assert_eq!(clock.latest(), None);
        clock.tell(&DateTime::from_secs(6));
        clock.tell(&DateTime::from_secs(5));
        assert_eq!(clock.latest(), Some(StoreTime(6 * SECOND)));
        assert_eq!(clock.object_time(&DateTime::from_fractional_secs(7, 0.9)), StoreTime(7 * SECOND));
        assert_eq!(clock.object_time(&DateTime::from_secs(5)), StoreTime(5 * SECOND));
        assert_eq!(clock.latest(), Some(StoreTime(7 * SECOND)), "an object that was just made is not in the future");
    }

    #[test]
    fn objects_from_the_future_do_not_move_the_clock() {
        let clock = Clock::default();
        assert_eq!(clock.object_time(&DateTime::from_secs(DAY)), StoreTime(DAY * SECOND));
        assert_eq!(clock.latest(), None, "no answer was dated");
        clock.tell(&DateTime::from_secs(DAY));
        for ahead in [AHEAD, 2 * AHEAD, 3 * AHEAD, 3_650 * DAY] {
            clock.object_time(&DateTime::from_secs(DAY + ahead));
        }
        assert_eq!(clock.latest(), Some(StoreTime((DAY + AHEAD) * SECOND)), "nor step by step");
    }
}
