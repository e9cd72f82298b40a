//! Age: whether a value that was read a short time ago may be used again, and what counts for today.

/// Whether `since` is less than `kept` seconds ago. False for a time in the future: the clock was set back meanwhile,
/// so nobody knows how long ago that was.
pub(super) fn is_young(since: u64, now: u64, kept: u64) -> bool {
    now.checked_sub(since).is_some_and(|age| age < kept)
}

/// Whether `time` is within the day before `now`, or at most [`AHEAD`] later, because clocks differ. Later times come
/// from a clock that was ahead, and would count for as long as it was ahead.
pub(super) fn is_of_today(time: u64, now: u64) -> bool {
    time.saturating_add(DAY) > now && time <= now.saturating_add(AHEAD)
}

/// A day in seconds.
pub(super) const DAY: u64 = 24 * 60 * 60;
/// By how many seconds clocks may differ.
pub(super) const AHEAD: u64 = 60 * 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_the_future_is_not_young() {
        assert!(is_young(100, 100, 10) && is_young(100, 109, 10));
        assert!(!is_young(100, 110, 10) && !is_young(100, 99, 10) && !is_young(u64::MAX, 100, 10));
    }

    #[test]
    fn a_day_ends_now_or_where_clocks_that_differ_end_it() {
        assert!(is_of_today(100, 99 + DAY) && is_of_today(100, 100) && is_of_today(100 + AHEAD, 100));
        assert!(!is_of_today(100, 100 + DAY) && !is_of_today(101 + AHEAD, 100));
    }
}
