//! Times by the store's clock: the only times whose differences are trusted.

use std::time::Duration;

/// Nanoseconds since the Unix epoch, by the store's clock.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoreTime(pub i64);

impl StoreTime {
    /// The time since `earlier`. Zero if `earlier` is later, so that a clock that was set back makes nothing old.
    pub fn since(self, earlier: StoreTime) -> Duration {
        if self < earlier {
            return Duration::ZERO;
        }
        Duration::from_nanos(self.0.abs_diff(earlier.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_of_the_farthest_times_does_not_overflow() {
        let age = StoreTime(i64::MAX).since(StoreTime(i64::MIN));
        assert_eq!(age, Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn nothing_is_old_before_it_was_made() {
        assert_eq!(StoreTime(5).since(StoreTime(9)), Duration::ZERO);
    }
}
