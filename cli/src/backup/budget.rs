//! Budget: bounds the bytes that are read and not yet taken.

use std::sync::{Condvar, Mutex};

/// A number of bytes that may be out at once.
pub(super) struct Budget {
    left: Mutex<u64>,
    freed: Condvar,
    all: u64,
}

impl Budget {
    pub(super) fn new(all: u64) -> Self {
        Self { left: Mutex::new(all), freed: Condvar::new(), all }
    }

    /// Takes bytes, waiting until they are there; more than all there are counts as all. Gives what was taken.
    pub(super) fn take(&self, bytes: u64) -> u64 {
        let bytes = bytes.min(self.all);
        let mut left = self.left.lock().expect("nobody panics with the budget");
        while *left < bytes {
            left = self.freed.wait(left).expect("nobody panics with the budget");
        }
        *left -= bytes;
        bytes
    }

    /// Gives bytes back.
    pub(super) fn give(&self, bytes: u64) {
        *self.left.lock().expect("nobody panics with the budget") += bytes;
        self.freed.notify_all();
    }
}
