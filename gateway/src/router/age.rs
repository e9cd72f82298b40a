//! Age: whether a value that was read a short time ago may be used again.

/// Whether `since` is less than `kept` seconds ago. False for a time in the future: the clock was set back meanwhile,
/// so nobody knows how long ago that was.
pub(super) fn is_young(since: u64, now: u64, kept: u64) -> bool {
    now.checked_sub(since).is_some_and(|age| age < kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_the_future_is_not_young() {
        assert!(is_young(100, 100, 10) && is_young(100, 109, 10));
        assert!(!is_young(100, 110, 10) && !is_young(100, 99, 10) && !is_young(u64::MAX, 100, 10));
    }
}
