//! Progress: how far a command is. Workers count; a thread draws ten times a second.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::human::{self, count, size};

/// Counters of a running command. Workers never wait for the screen.
#[derive(Debug, Default)]
pub struct Progress {
    files_done: AtomicU64,
    files_total: AtomicU64,
    bytes_done: AtomicU64,
    bytes_total: AtomicU64,
    bytes_new: AtomicU64,
    bytes_stored: AtomicU64,
    bytes_claimed: AtomicU64,
    is_all_claimed: AtomicBool,
    errors: AtomicU64,
    current: Mutex<Vec<u8>>,
}

impl Progress {
    /// Sets the total amount of work, once known; zero means unknown.
    pub fn expect(&self, files: u64, bytes: u64) {
        self.files_total.store(files, Relaxed);
        self.bytes_total.store(bytes, Relaxed);
    }

    /// Counts a file that is done.
    pub fn file_done(&self) {
        self.files_done.fetch_add(1, Relaxed);
    }

    /// Counts bytes that were read, or known to be unchanged.
    pub fn add_done(&self, bytes: u64) {
        self.bytes_done.fetch_add(bytes, Relaxed);
    }

    /// Counts bytes that the repository did not have.
    pub fn add_new(&self, bytes: u64) {
        self.bytes_new.fetch_add(bytes, Relaxed);
    }

    /// Counts bytes that were written to the repository.
    pub fn add_stored(&self, bytes: u64) {
        self.bytes_stored.fetch_add(bytes, Relaxed);
    }

    /// Counts bytes of packs that a manifest names, so that no other run uploads them again.
    pub fn add_claimed(&self, bytes: u64, is_all: bool) {
        self.bytes_claimed.fetch_add(bytes, Relaxed);
        self.is_all_claimed.fetch_or(is_all, Relaxed);
    }

    /// A sentence that says how much a backup has kept if it ends now.
    pub fn kept(&self) -> String {
        match (self.is_all_claimed.load(Relaxed), self.bytes_claimed.load(Relaxed)) {
            (true, _) => "all of it is uploaded: the snapshot counts once it is accepted".into(),
            (false, 0) => "nothing new is kept of this run: the next one begins where this one did".into(),
            (false, bytes) => format!("{} of this run are kept: the next one does not upload them again", size(bytes)),
        }
    }

    /// Counts an entry that could not be read or written.
    pub fn add_error(&self) {
        self.errors.fetch_add(1, Relaxed);
    }

    /// Entries that could not be read or written.
    pub fn errors(&self) -> u64 {
        self.errors.load(Relaxed)
    }

    /// Sets the path that is worked on.
    pub fn now_at(&self, path: &[u8]) {
        // Another thread is setting it: its path will do.
        if let Ok(mut current) = self.current.try_lock() {
            current.clear();
            current.extend_from_slice(path);
        }
    }

    fn totals(&self, act: &'static str) -> Totals {
        Totals {
            act,
            files_done: self.files_done.load(Relaxed),
            files_total: self.files_total.load(Relaxed),
            bytes_done: self.bytes_done.load(Relaxed),
            bytes_total: self.bytes_total.load(Relaxed),
            bytes_new: self.bytes_new.load(Relaxed),
            bytes_stored: self.bytes_stored.load(Relaxed),
            errors: self.errors(),
            current: self.current.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

/// Shows progress until dropped.
#[derive(Debug)]
pub struct Watch {
    painter: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Watch {
    pub(super) fn begin(screen: &MultiProgress, act: &'static str, progress: Arc<Progress>) -> Self {
        if screen.is_hidden() {
            return Self { painter: None };
        }
        let style = || ProgressStyle::with_template("{wide_msg}").expect("the template is well-formed");
        let line = || ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_style(style());
        let bars = [screen.add(line()), screen.add(line())];
        let (stop, stopped) = channel();
        let painter = std::thread::spawn(move || {
            let mut rate = Rate::new();
            let start = Instant::now();
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let totals = progress.totals(act);
                rate.update(totals.bytes_done, start.elapsed());
                let lines = totals.lines(start.elapsed(), &rate);
                bars.iter().zip(lines).for_each(|(bar, line)| bar.set_message(line));
            }
            bars.iter().for_each(ProgressBar::finish_and_clear);
        });
        Self { painter: Some((stop, painter)) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some((stop, painter)) = self.painter.take() {
            drop(stop);
            // A painter that panicked has nothing left to clear.
            let _ = painter.join();
        }
    }
}

/// Bytes per second, averaged over the last few seconds.
#[derive(Debug)]
struct Rate {
    per_second: Option<f64>,
    bytes: u64,
    at: Duration,
}

impl Rate {
    fn new() -> Self {
        Self { per_second: None, bytes: 0, at: Duration::ZERO }
    }

    fn update(&mut self, bytes: u64, now: Duration) {
        let elapsed = now.saturating_sub(self.at).as_secs_f64();
        if elapsed <= 0.0 {
            return;
        }
        let latest = bytes.saturating_sub(self.bytes) as f64 / elapsed;
        let weight = 1.0 - (-elapsed / MEMORY_SECONDS).exp();
        self.per_second = Some(self.per_second.map_or(latest, |rate| rate + weight * (latest - rate)));
        (self.bytes, self.at) = (bytes, now);
    }

    fn per_second(&self) -> f64 {
        self.per_second.unwrap_or(0.0)
    }
}

/// The counters at one moment.
struct Totals {
    act: &'static str,
    files_done: u64,
    files_total: u64,
    bytes_done: u64,
    bytes_total: u64,
    bytes_new: u64,
    bytes_stored: u64,
    errors: u64,
    current: Vec<u8>,
}

impl Totals {
    fn lines(&self, elapsed: Duration, rate: &Rate) -> [String; 2] {
        let mut first = vec![format!("{} {}", self.act, human::clock(elapsed.as_secs()))];
        first.push(match self.files_total {
            0 => format!("{} files", count(self.files_done)),
            total => format!("{} of {} files", count(self.files_done), count(total)),
        });
        first.push(match self.bytes_total {
            0 => size(self.bytes_done),
            total => format!("{} of {}", size(self.bytes_done), size(total)),
        });
        first.push(format!("{}/s", size(rate.per_second() as u64)));
        first.extend(self.eta(rate).map(|eta| format!("ETA {}", human::clock(eta))));

        let mut second = Vec::new();
        if self.bytes_stored > 0 || self.bytes_new > 0 {
            let known = self.bytes_done.saturating_sub(self.bytes_new);
            second.push(format!("{} deduplicated, {} stored", size(known), size(self.bytes_stored)));
        }
        second.extend((self.errors > 0).then(|| human::things(self.errors, "error", "errors")));
        second.push(human::path(&self.current));
        [first.join("  "), second.join("  ")]
    }

    fn eta(&self, rate: &Rate) -> Option<u64> {
        let left = self.bytes_total.checked_sub(self.bytes_done).filter(|_| self.bytes_total > 0)?;
        (rate.per_second() >= 1.0).then(|| (left as f64 / rate.per_second()).ceil() as u64)
    }
}

const PERIOD: Duration = Duration::from_millis(100);
const MEMORY_SECONDS: f64 = 5.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_time_left_is_said_once_the_total_is_known() {
        let progress = Progress::default();
        let mut rate = Rate::new();
        progress.add_done(10 << 20);
        progress.file_done();
        progress.now_at(b"/a/\x1b");
        rate.update(10 << 20, seconds(10));
        let [first, second] = progress.totals("backup").lines(seconds(10), &rate);
        assert_eq!(first, "backup 0:10  1 files  10.0 MiB  1.00 MiB/s");
        assert_eq!(second, "/a/\\x1b");
        progress.expect(1_000, 70 << 20);
        progress.add_new(4 << 20);
        progress.add_stored(1 << 20);
        progress.add_error();
        let [first, second] = progress.totals("backup").lines(seconds(10), &rate);
        assert_eq!(first, "backup 0:10  1 of 1,000 files  10.0 MiB of 70.0 MiB  1.00 MiB/s  ETA 1:00");
        assert_eq!(second, "6.00 MiB deduplicated, 1.00 MiB stored  1 error  /a/\\x1b");
    }

    #[test]
    fn the_rate_follows_the_last_seconds() {
        let mut rate = Rate::new();
        rate.update(1_000, seconds(1));
        assert_eq!(rate.per_second(), 1_000.0);
        (2..60).for_each(|now| rate.update(1_000, seconds(now)));
        assert!(rate.per_second() < 1.0);
    }

    #[test]
    fn nothing_is_drawn_where_nobody_looks() {
        let hidden = MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
        assert!(Watch::begin(&hidden, "backup", Arc::default()).painter.is_none());
    }
}
