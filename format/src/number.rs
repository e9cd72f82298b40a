//! Number: decides which numbers chosen by others are believed. A number too far above all others is a lie: it blocks
//! nobody, and no count continues from it.

use crate::limits::NUMBER;
use crate::order;

/// The highest number that can be reached from `from` through the given numbers in steps of at most `leap`. Every
/// number up to it is believed, and none above.
pub fn reached(from: u64, leap: u64, numbers: impl IntoIterator<Item = u64>) -> u64 {
    let mut sorted: Vec<u64> = numbers.into_iter().collect();
    order::sort(&mut sorted);
    sorted.into_iter().fold(from, |reached, number| {
        if number <= reached.saturating_add(leap).min(NUMBER) { reached.max(number) } else { reached }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_believed_as_far_as_steps_lead_up_to_them() {
        assert_eq!(reached(0, 10, []), 0);
        assert_eq!(reached(0, 10, [25, 7, 16]), 25);
        assert_eq!(reached(0, 10, [7, 18, 19]), 7);
        assert_eq!(reached(9, 10, [18, 3]), 18);
    }

    #[test]
    fn no_number_beyond_the_range_is_believed_and_nothing_wraps() {
        assert_eq!(reached(NUMBER, u64::MAX, [u64::MAX, NUMBER]), NUMBER);
    }
}
