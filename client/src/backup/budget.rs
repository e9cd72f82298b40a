//! Budget: bounds the bytes that are read ahead and not yet taken by the session.

use std::sync::{Condvar, Mutex};

/// A number of bytes that may be taken at once.
pub(super) struct Budget {
    left: Mutex<u64>,
    freed: Condvar,
    all: u64,
}

impl Budget {
    pub(super) fn new(all: u64) -> Self {
        Self { left: Mutex::new(all), freed: Condvar::new(), all }
    }

    /// Takes bytes, and waits until they are free; at most the total. Returns how many were taken.
    pub(super) fn take(&self, bytes: u64) -> u64 {
        let bytes = bytes.min(self.all);
        let mut left = self.left.lock().expect("nobody panics with the budget");
        while *left < bytes {
            left = self.freed.wait(left).expect("nobody panics with the budget");
        }
        *left -= bytes;
        bytes
    }

    pub(super) fn try_take(&self, bytes: u64) -> Option<u64> {
        let bytes = bytes.min(self.all);
        let mut left = self.left.lock().expect("nobody panics with the budget");
        *left = left.checked_sub(bytes)?;
        Some(bytes)
    }

    pub(super) fn give(&self, bytes: u64) {
        *self.left.lock().expect("nobody panics with the budget") += bytes;
        self.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_cannot_be_taken_without_waiting() {
        let budget = Budget::new(10);
        assert_eq!(budget.try_take(7), Some(7));
        assert_eq!(budget.try_take(4), None);
        assert_eq!(budget.try_take(3), Some(3));
        budget.give(7);
        assert_eq!(budget.try_take(7), Some(7));
    }

    #[test]
    fn more_than_there_is_counts_as_all() {
        let budget = Budget::new(10);
        assert_eq!(budget.try_take(11), Some(10));
        budget.give(10);
        assert_eq!(budget.take(u64::MAX), 10);
    }
}
