//! Progress: shows how far a command is, ten times a second.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use copal_client::progress::{KeptSoFar, Progress, Totals};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::human::{self, count, size};

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
        let ending = bars.clone();
        let paint = move |totals: &Totals, elapsed, rate: &Rate| {
            let lines = lines(act, totals, elapsed, rate);
            bars.iter().zip(lines).for_each(|(bar, line)| bar.set_message(line));
        };
        Self::every(PERIOD, progress, paint, move || ending.iter().for_each(ProgressBar::finish_and_clear))
    }

    /// Writes a line of JSON each second until dropped.
    pub(super) fn telling(act: &'static str, progress: Arc<Progress>) -> Self {
        let tell = move |totals: &Totals, elapsed, rate: &Rate| {
            let status = Status::of(act, totals, elapsed, rate);
            // An error of standard error cannot be reported.
            let _ = writeln!(io::stderr().lock(), "{}", super::json(&status));
        };
        Self::every(Duration::from_secs(1), progress, tell, || {})
    }

    fn every(
        period: Duration,
        progress: Arc<Progress>,
        tell: impl Fn(&Totals, Duration, &Rate) + Send + 'static,
        end: impl FnOnce() + Send + 'static,
    ) -> Self {
        let (stop, stopped) = channel();
        let painter = std::thread::spawn(move || {
            let mut rate = Rate::new();
            let start = Instant::now();
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                let totals = progress.totals();
                rate.update(totals.bytes_settled(), start.elapsed());
                tell(&totals, start.elapsed(), &rate);
            }
            end();
        });
        Self { painter: Some((stop, painter)) }
    }
}

/// How far a command is, as one line of JSON. The names are restic's.
#[derive(Serialize)]
struct Status<'a> {
    message_type: &'static str,
    act: &'a str,
    seconds_elapsed: u64,
    seconds_remaining: Option<u64>,
    percent_done: Option<f64>,
    files_done: u64,
    total_files: Option<u64>,
    bytes_done: u64,
    total_bytes: Option<u64>,
    is_estimate: bool,
    error_count: u64,
    current_files: Vec<String>,
}

impl<'a> Status<'a> {
    fn of(act: &'a str, totals: &Totals, elapsed: Duration, rate: &Rate) -> Self {
        let known = |total: u64| Some(total).filter(|total| *total > 0);
        let share = |total: u64| (totals.bytes_settled() as f64 / total as f64).min(1.0);
        Self {
            message_type: "status",
            act,
            seconds_elapsed: elapsed.as_secs(),
            seconds_remaining: eta(totals, rate),
            percent_done: known(totals.bytes_total).map(share),
            files_done: totals.files_done,
            total_files: known(totals.files_total),
            bytes_done: totals.bytes_done,
            total_bytes: known(totals.bytes_total),
            is_estimate: totals.is_estimate && totals.bytes_total > 0,
            error_count: totals.errors,
            current_files: match totals.current.is_empty() {
                true => Vec::new(),
                false => vec![String::from_utf8_lossy(&totals.current).into_owned()],
            },
        }
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

/// Bytes per second, averaged over the last minute, because packs are stored in bursts.
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
        // Until there is enough to remember, the plain average.
        let weight = (1.0 - (-elapsed / MEMORY_SECONDS).exp()).max(elapsed / now.as_secs_f64());
        self.per_second = Some(self.per_second.map_or(latest, |rate| rate + weight * (latest - rate)));
        (self.bytes, self.at) = (self.bytes.max(bytes), now);
    }

    fn per_second(&self) -> f64 {
        self.per_second.unwrap_or(0.0)
    }
}

/// A sentence that says how much a backup has kept if it ends now.
pub fn kept(kept: KeptSoFar) -> String {
    match kept {
        KeptSoFar::All => "all of it is uploaded: the snapshot counts once it is accepted".into(),
        KeptSoFar::Nothing => "nothing new is kept of this run: the next one begins where this one did".into(),
        KeptSoFar::Part { bytes } => {
            format!("{} of this run are kept: the next one does not upload them again", size(bytes))
        }
    }
}

fn lines(act: &str, totals: &Totals, elapsed: Duration, rate: &Rate) -> [String; 2] {
    let mut first = vec![format!("{} {}", act, human::clock(elapsed.as_secs()))];
    first.push(match totals.files_total {
        0 => human::things(totals.files_done, "file", "files"),
        total => format!("{} of {} files", count(totals.files_done), count(total)),
    });
    first.push(match totals.bytes_total {
        0 => size(totals.bytes_done),
        total if totals.is_estimate => format!("{} of about {}", size(totals.bytes_done), size(total)),
        total => format!("{} of {}", size(totals.bytes_done), size(total)),
    });
    first.push(format!("{}/s", size(rate.per_second() as u64)));
    first.extend(eta(totals, rate).map(|eta| format!("ETA {}", human::clock(eta))));

    let mut second = Vec::new();
    if totals.bytes_stored > 0 || totals.bytes_new > 0 {
        let known = totals.bytes_done.saturating_sub(totals.bytes_new);
        second.push(format!("{} deduplicated, {} stored", size(known), size(totals.bytes_stored)));
    }
    second.extend((totals.bytes_waiting > 0).then(|| format!("{} on the way", size(totals.bytes_waiting))));
    second.extend((totals.errors > 0).then(|| human::things(totals.errors, "error", "errors")));
    second.push(human::path(&totals.current));
    [first.join("  "), second.join("  ")]
}

fn eta(totals: &Totals, rate: &Rate) -> Option<u64> {
    let left = totals.bytes_total.checked_sub(totals.bytes_settled()).filter(|_| totals.bytes_total > 0)?;
    (rate.per_second() >= 1.0).then(|| (left as f64 / rate.per_second()).ceil() as u64)
}

const PERIOD: Duration = Duration::from_millis(100);
const MEMORY_SECONDS: f64 = 60.0;

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
        let [first, second] = lines("backup", &progress.totals(), seconds(10), &rate);
        assert_eq!(first, "backup 0:10  1 file  10.0 MiB  1.00 MiB/s");
        assert_eq!(second, "/a/\\x1b");
        progress.estimate(40 << 20);
        let [first, _] = lines("backup", &progress.totals(), seconds(10), &rate);
        assert_eq!(first, "backup 0:10  1 file  10.0 MiB of about 40.0 MiB  1.00 MiB/s  ETA 0:30");
        progress.estimate(9 << 20);
        assert_eq!(progress.totals().bytes_total, 0, "more is done than there was");
        progress.expect(1_000, 70 << 20);
        progress.add_new(4 << 20);
        progress.add_settled(3 << 20);
        progress.add_stored(1 << 20);
        progress.add_error();
        let [first, second] = lines("backup", &progress.totals(), seconds(10), &rate);
        assert_eq!(first, "backup 0:10  1 of 1,000 files  10.0 MiB of 70.0 MiB  1.00 MiB/s  ETA 1:01");
        assert_eq!(second, "6.00 MiB deduplicated, 1.00 MiB stored  1.00 MiB on the way  1 error  /a/\\x1b");
    }

    #[test]
    fn the_rate_follows_the_last_seconds() {
        let mut rate = Rate::new();
        rate.update(1_000, seconds(1));
        assert_eq!(rate.per_second(), 1_000.0);
        (2..300).for_each(|now| rate.update(1_000, seconds(now)));
        assert!(rate.per_second() < 1.0);
        rate.update(0, seconds(300));
        rate.update(1_000, seconds(301));
        assert!(rate.per_second() < 1.0, "what was counted before counts once");
    }

    #[test]
    fn all_is_done_once_all_is_stored() {
        let progress = Progress::default();
        progress.expect(1, 100);
        progress.add_done(100);
        progress.add_new(60);
        let share = || Status::of("backup", &progress.totals(), seconds(1), &Rate::new()).percent_done;
        assert_eq!(share(), Some(0.4));
        progress.add_done(100);
        assert_eq!(share(), Some(0.4), "the file was read again");
        progress.add_settled(60);
        assert_eq!(share(), Some(1.0));
    }

    #[test]
    fn nothing_is_drawn_where_nobody_looks() {
        let hidden = MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
        assert!(Watch::begin(&hidden, "backup", Arc::default()).painter.is_none());
    }
}
