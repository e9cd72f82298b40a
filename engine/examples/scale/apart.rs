//! Room that is counted apart from the program's own memory, as if it lay in files.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use copal_format::room::{Lent, Room, Scratch};

use super::counting::set_apart;

/// Gives such room, and counts it.
#[derive(Clone, Default)]
pub(crate) struct Apart(Arc<Counts>);

#[derive(Default)]
struct Counts {
    used: AtomicUsize,
    most: AtomicUsize,
}

impl Apart {
    /// The most bytes that were given at once since the last time this was asked.
    pub(crate) fn most(&self) -> usize {
        self.0.most.swap(self.0.used.load(Relaxed), Relaxed)
    }
}

impl Scratch for Apart {
    fn room(&self, bytes: usize) -> Room {
        set_apart(bytes.cast_signed());
        let used = self.0.used.fetch_add(bytes, Relaxed) + bytes;
        self.0.most.fetch_max(used, Relaxed);
        Room::lent(Box::new(Given { bytes: vec![0; bytes], counts: self.0.clone() }))
    }
}

struct Given {
    bytes: Vec<u8>,
    counts: Arc<Counts>,
}

impl Lent for Given {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        let length = self.bytes.len();
        drop(std::mem::take(&mut self.bytes));
        set_apart(-length.cast_signed());
        self.counts.used.fetch_sub(length, Relaxed);
    }
}
