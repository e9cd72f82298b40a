//! Sweep: a scan that runs in its own thread, ahead of its receiver.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use copal_format::time::Time;
use crossbeam_channel::{Receiver, bounded};

use super::{Scan, ScanEvent, Totals};
use crate::clock::now;

/// A running scan. It pauses when it is `BATCHES` batches ahead, and ends when this is dropped.
pub struct Sweep {
    /// When the scan began: no entry was looked at earlier.
    pub started: Time,
    /// The events, in tree order and in batches.
    pub events: Receiver<Vec<ScanEvent>>,
    thread: JoinHandle<Totals>,
}

impl Scan {
    /// Starts a scan with this many worker threads.
    pub fn begin(self: &Arc<Self>, threads: usize) -> Sweep {
        let scan = self.clone();
        let started = now();
        let (sink, events) = bounded(BATCHES);
        let thread = thread::spawn(move || scan.run(threads, &sink));
        Sweep { started, events, thread }
    }
}

impl Sweep {
    /// Ends the scan, wherever it is.
    ///
    /// # Panics
    /// If the scan panicked: its events are then not the whole tree.
    pub fn finish(self) -> Totals {
        drop(self.events);
        self.thread.join().expect("scanning does not panic")
    }
}

/// Batches that may wait for the receiver.
const BATCHES: usize = 4;
