//! Sweep: a scan that runs by itself, ahead of whoever takes what it finds.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use copal_engine::time::Time;
use crossbeam_channel::{Receiver, bounded};

use super::{Scan, ScanEvent, Totals};
use crate::clock::now;

/// A run of a scan. It stops and waits when it is some way ahead, and ends when this is dropped.
pub struct Sweep {
    started: Time,
    events: Receiver<Vec<ScanEvent>>,
    thread: JoinHandle<Totals>,
}

impl Scan {
    /// Begins a run, with so many threads that look.
    pub fn begin(self: &Arc<Self>, threads: usize) -> Sweep {
        let scan = self.clone();
        let started = now();
        let (sink, events) = bounded(BATCHES);
        let thread = thread::spawn(move || scan.run(threads, &sink));
        Sweep { started, events, thread }
    }
}

impl Sweep {
    /// When it began: nothing was looked at earlier.
    pub fn started(&self) -> Time {
        self.started
    }

    /// What it finds, in tree order, in batches.
    pub fn events(&self) -> &Receiver<Vec<ScanEvent>> {
        &self.events
    }

    /// Ends it, wherever it is.
    ///
    /// # Panics
    /// If the scan did: what it sent is not the whole tree then.
    pub fn finish(self) -> Totals {
        drop(self.events);
        self.thread.join().expect("scanning does not panic")
    }
}

/// Batches that wait to be taken.
const BATCHES: usize = 4;
