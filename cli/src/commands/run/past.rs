//! Past: what a machine remembers of earlier runs of a profile, and which events follow from a new one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use copal_client::places::{private_text, write_private};
use serde::{Deserialize, Serialize};

use crate::args::profile::Event;
use crate::config::Act;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::run::ProfileReport;

/// The memory of a profile's runs, as a file. Times are seconds of the Unix clock. A field that the file lacks is 0.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub(super) struct Past {
    /// Whether the last run failed.
    pub(super) failing: bool,
    /// When a backup was last saved; 0 before the first one.
    pub(super) saved: i64,
    /// When the profile was first met.
    met: i64,
    /// When the last `Stale` notification was sent.
    stale_told: i64,
    /// The start of the week that the next summary covers.
    week: i64,
    pub(super) runs: u32,
    pub(super) failures: u32,
}

impl Past {
    /// Reads the file. If it cannot be read, the memory is empty: at worst a notification comes twice.
    pub(super) fn read(path: &Path) -> Self {
        let text = private_text(path).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        Ok(write_private(path, serde_json::to_string(self).expect("plain fields become JSON").as_bytes())?)
    }

    pub(super) fn take(&mut self, report: &ProfileReport, now: i64) -> Vec<Event> {
        self.meet(now);
        let is_good = matches!(report.exit, Exit::Done | Exit::Partial);
        // A backup counts even if a later act fails or is interrupted.
        let saves = |act: &&crate::report::run::ActReport| act.act == Act::Backup;
        if report.acts.iter().find(saves).is_some_and(|act| matches!(act.own, Exit::Done | Exit::Partial)) {
            self.saved = now;
        }
        let mut events = Vec::new();
        match report.exit {
            // Another process runs the profile, or the user stopped it: neither a success nor a failure.
            Exit::Busy | Exit::Interrupted => return events,
            _ if !is_good => events.push(Event::Failure),
            _ if self.failing => events.extend([Event::Recovery, Event::Success]),
            _ => events.push(Event::Success),
        }
        self.failing = !is_good;
        self.runs = self.runs.saturating_add(1);
        self.failures = self.failures.saturating_add(u32::from(!is_good));
        events
    }

    /// The events that are due at `now`, whether or not the profile ran: `Stale` at most once a day, `Weekly` once a week,
    /// when the numbers of runs begin anew.
    pub(super) fn by_clock(&mut self, now: i64, stale_after: Duration) -> Vec<Event> {
        self.meet(now);
        let mut events = Vec::new();
        if self.age(now) > i64::try_from(stale_after.as_secs()).unwrap_or(i64::MAX)
            && now.saturating_sub(self.stale_told) >= DAY
        {
            self.stale_told = now;
            events.push(Event::Stale);
        }
        if now.saturating_sub(self.week) >= 7 * DAY {
            (self.week, self.runs, self.failures) = (now, 0, 0);
            events.push(Event::Weekly);
        }
        events
    }

    /// The age of the newest backup in seconds; before the first one, the time since the profile was first met.
    pub(super) fn age(&self, now: i64) -> i64 {
        now.saturating_sub(if self.saved == 0 { self.met } else { self.saved })
    }

    /// Starts the clocks of a profile that is seen for the first time, and sets times from the future back to now.
    fn meet(&mut self, now: i64) {
        for time in [&mut self.saved, &mut self.met, &mut self.week, &mut self.stale_told] {
            // A clock that was ahead once must not silence what is due now.
            if *time > now {
                *time = now;
            }
        }
        for time in [&mut self.met, &mut self.week] {
            if *time == 0 {
                *time = now;
            }
        }
    }
}

/// The file about a profile, beside its lock.
pub(super) fn path(state: &Path, profile: &str) -> PathBuf {
    state.join("run").join(format!("{profile}.json"))
}

pub(super) const DAY: i64 = 86_400;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::run::ActReport;

    const STALE: Duration = Duration::from_secs(3 * 86_400);

    fn report(exit: Exit) -> ProfileReport {
        let mut report = ProfileReport::new("home", false);
        report.add(ActReport {
            exit,
            own: exit,
            ..ActReport::new(Act::Backup, jiff::Timestamp::UNIX_EPOCH, Vec::new())
        });
        report
    }

    #[test]
    fn a_failure_is_told_each_time_and_a_recovery_once() {
        let mut past = Past::default();
        let mut told = |exit| past.take(&report(exit), 1_000);
        assert_eq!(told(Exit::Done), [Event::Success]);
        assert_eq!(told(Exit::Damage), [Event::Failure]);
        assert_eq!(told(Exit::Interrupted), []);
        assert_eq!(told(Exit::Failed), [Event::Failure]);
        assert_eq!(told(Exit::Busy), []);
        assert_eq!(told(Exit::Partial), [Event::Recovery, Event::Success]);
        assert_eq!(told(Exit::Done), [Event::Success]);
        assert_eq!((past.runs, past.failures), (5, 2));
    }

    #[test]
    fn a_backup_is_saved_also_if_the_hook_after_it_fails() {
        let mut report = ProfileReport::new("home", false);
        report.add(ActReport {
            exit: Exit::Failed,
            ..ActReport::new(Act::Backup, jiff::Timestamp::UNIX_EPOCH, Vec::new())
        });
        let mut past = Past::default();
        assert_eq!((past.take(&report, 1_000), past.saved), (vec![Event::Failure], 1_000));
    }

    #[test]
    fn a_backup_is_saved_also_if_an_act_after_it_is_interrupted() {
        let mut report = report(Exit::Done);
        report.add(ActReport {
            exit: Exit::Interrupted,
            ..ActReport::new(Act::Prune, jiff::Timestamp::UNIX_EPOCH, Vec::new())
        });
        let mut past = Past::default();
        assert_eq!((past.take(&report, 1_000), past.saved), (vec![], 1_000));
    }

    #[test]
    fn that_there_is_no_backup_is_told_once_a_day() {
        let mut past = Past::default();
        past.take(&report(Exit::Done), 1_000);
        assert_eq!(past.by_clock(1_000 + 3 * DAY, STALE), []);
        assert_eq!(past.by_clock(1_001 + 3 * DAY, STALE), [Event::Stale]);
        assert_eq!(past.by_clock(1_002 + 3 * DAY, STALE), []);
        past.take(&report(Exit::Failed), 4 * DAY);
        assert_eq!(past.by_clock(1_001 + 4 * DAY, STALE), [Event::Stale]);
        past.take(&report(Exit::Done), 5 * DAY);
        assert_eq!(past.by_clock(6 * DAY, STALE), []);
    }

    #[test]
    fn a_profile_that_never_saved_anything_has_no_time_of_a_backup() {
        let mut past = Past::default();
        past.take(&report(Exit::Failed), 1_000);
        assert_eq!((past.saved, past.age(1_000 + 2 * DAY)), (0, 2 * DAY));
        assert_eq!(past.by_clock(1_001 + 3 * DAY, STALE), [Event::Stale]);
    }

    #[test]
    fn a_clock_that_was_ahead_silences_nothing() {
        let mut past = Past::default();
        past.take(&report(Exit::Done), 900 * DAY);
        assert_eq!(past.by_clock(10 * DAY, STALE), []);
        assert_eq!(past.by_clock(14 * DAY, STALE), [Event::Stale]);
    }

    #[test]
    fn a_summary_comes_after_a_week_and_its_numbers_begin_anew() {
        let mut past = Past::default();
        past.take(&report(Exit::Done), 1_000);
        assert_eq!(past.by_clock(1_000 + 7 * DAY, Duration::MAX), [Event::Weekly]);
        assert_eq!((past.by_clock(1_001 + 7 * DAY, Duration::MAX), past.runs), (Vec::new(), 0));
    }
}
