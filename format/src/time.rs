//! Time: an instant as nanoseconds since 1970-01-01T00:00:00Z. Hosts have the clock and pass times in.

use core::ops::{Add, Sub};
use core::time::Duration;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// An instant, in nanoseconds since 1970-01-01T00:00:00Z; covers the years 1678 to 2262.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub i64);

impl Time {
    /// The instant of seconds and nanoseconds; saturates at the range of years.
    pub fn from_unix(seconds: i64, nanoseconds: u32) -> Self {
        Self(seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(nanoseconds)))
    }

    /// Whole seconds (rounded down) and the nanoseconds that remain.
    pub fn to_unix(self) -> (i64, u32) {
        (self.0.div_euclid(1_000_000_000), self.0.rem_euclid(1_000_000_000) as u32)
    }

    /// The time since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0).max(0) as u64)
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, age: Duration) -> Time {
        let nanoseconds = i64::try_from(age.as_nanos()).unwrap_or(i64::MAX);
        Time(self.0.saturating_add(nanoseconds))
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, age: Duration) -> Time {
        let nanoseconds = i64::try_from(age.as_nanos()).unwrap_or(i64::MAX);
        Time(self.0.saturating_sub(nanoseconds))
    }
}

impl Serialize for Time {
    /// Writes RFC 3339 in UTC.
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let time = Timestamp::from_nanosecond(self.0.into()).map_err(serde::ser::Error::custom)?;
        to.collect_str(&time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_before_1970_keep_positive_nanoseconds() {
        let time = Time::from_unix(-2, 500_000_000);
        assert_eq!(time, Time(-1_500_000_000));
        assert_eq!(time.to_unix(), (-2, 500_000_000));
    }

    #[test]
    fn times_out_of_range_are_clamped() {
        assert_eq!(Time::from_unix(i64::MAX, 0), Time(i64::MAX));
        assert_eq!(Time::from_unix(i64::MIN, 0), Time(i64::MIN));
    }
}
