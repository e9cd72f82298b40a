//! The server's clock, as its answers show it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use crate::StoreTime;

/// The latest time in the server's answers, to the second. It never runs backwards, although the server's machines
/// differ a little and some update the date only once a second.
///
/// It may advance as fast as local time. A date further ahead counts only once the next answers agree: this machine may
/// have slept, but a single wrong date would end every grace period for good. An object's time moves the clock by a few
/// seconds at most, because a wrong server clock or a copy may have put it into the future.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(Arc<Mutex<Times>>);

/// Seconds since 1970.
#[derive(Debug, Default)]
struct Times {
    /// The last date that answers agreed on, and when it came; local time counts from there.
    agreed: Option<Told>,
    /// The latest date that counts.
    latest: i64,
    /// A date further ahead, and how many answers in a row agree on it.
    doubted: Option<(Told, u32)>,
    /// The latest time of an object that is not too far ahead of the clock.
    object: i64,
}

/// The date of an answer, and when it came.
#[derive(Clone, Copy, Debug)]
struct Told {
    seconds: i64,
    came: Instant,
}

impl Told {
    /// The date that an answer should have at `now`.
    fn at(&self, now: Instant) -> i64 {
        let passed = now.saturating_duration_since(self.came).as_secs();
        self.seconds.saturating_add_unsigned(passed)
    }
}

/// What the answers so far say about the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The time.
    Time(StoreTime),
    /// The last answers do not agree: another request is needed.
    Doubtful,
    /// No answer had a date.
    None,
}

impl Clock {
    /// The latest time.
    pub(crate) fn read(&self) -> Reading {
        let times = self.times();
        match (&times.agreed, &times.doubted) {
            (_, Some(_)) => Reading::Doubtful,
            (Some(_), None) => Reading::Time(StoreTime(times.latest.max(times.object).saturating_mul(SECOND))),
            (None, None) => Reading::None,
        }
    }

    /// An object's time in whole seconds, as in headers; some servers' listings are finer. Advances the clock to it,
    /// unless it is more than [`AHEAD`] seconds ahead.
    pub(crate) fn object_time(&self, seconds: i64) -> StoreTime {
        let mut times = self.times();
        if times.agreed.is_some() && seconds <= times.latest.saturating_add(AHEAD) {
            times.object = times.object.max(seconds);
        }
        StoreTime(seconds.saturating_mul(SECOND))
    }

    /// Takes the date of a successful answer: an error may come from a proxy in front of the server.
    pub(crate) fn tell(&self, seconds: i64, came: Instant) {
        self.times().tell(Told { seconds, came });
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.0.lock().expect("nothing panics while it holds the times")
    }
}

impl Times {
    fn tell(&mut self, told: Told) {
        if self.agreed.is_some_and(|agreed| told.seconds <= agreed.at(told.came).saturating_add(AHEAD)) {
            // A doubted date further ahead was wrong.
            self.doubted = None;
            self.latest = self.latest.max(told.seconds);
            return;
        }
        let agrees = |first: &Told| told.seconds.abs_diff(first.at(told.came)) <= AHEAD.unsigned_abs();
        let (first, answers) = match self.doubted {
            Some((first, answers)) if agrees(&first) => (first, answers + 1),
            _ => (told, 1),
        };
        if answers < if self.agreed.is_some() { AGREEING } else { AGREEING_FIRST } {
            self.doubted = Some((first, answers));
        } else {
            (self.agreed, self.doubted) = (Some(told), None);
            self.latest = self.latest.max(told.seconds);
        }
    }
}

const SECOND: i64 = 1_000_000_000;
/// Seconds by which an answer's date may be behind the time of a new object, or behind another answer.
const AHEAD: i64 = 5;
/// How many answers in a row must agree on the first date, and on one that is too far ahead.
const AGREEING_FIRST: u32 = 2;
const AGREEING: u32 = 3;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const DAY: i64 = 24 * 3_600;

    /// A clock after answers with these dates, each at its second after the start.
    fn told(answers: &[(i64, u64)]) -> Clock {
        let (clock, start) = (Clock::default(), Instant::now());
        for (date, after) in answers {
            clock.tell(*date, start + Duration::from_secs(*after));
        }
        clock
    }

    fn time(seconds: i64) -> Reading {
        Reading::Time(StoreTime(seconds * SECOND))
    }

    #[test]
    fn the_clock_never_runs_backwards_and_counts_whole_seconds() {
        assert_eq!(Clock::default().read(), Reading::None);
        let clock = told(&[(6, 0), (6, 0), (6, 0), (5, 0)]);
        assert_eq!(clock.read(), time(6));
        assert_eq!(clock.object_time(7), StoreTime(7 * SECOND));
        assert_eq!(clock.object_time(5), StoreTime(5 * SECOND));
        assert_eq!(clock.read(), time(7), "an object that was just made is not in the future");
    }

    #[test]
    fn objects_from_the_future_do_not_move_the_clock() {
        let clock = Clock::default();
        assert_eq!(clock.object_time(DAY), StoreTime(DAY * SECOND));
        assert_eq!(clock.read(), Reading::None, "no answer was dated");
        let clock = told(&[(DAY, 0); 3]);
        for ahead in [AHEAD, 2 * AHEAD, 3 * AHEAD, 3_650 * DAY] {
            clock.object_time(DAY + ahead);
        }
        assert_eq!(clock.read(), time(DAY + AHEAD), "nor step by step");
    }

    #[test]
    fn an_answer_from_the_future_does_not_move_the_clock() {
        for first in [&[(DAY, 0); 3][..], &[]] {
            let wrong = [first, &[(3_650 * DAY, 1)]].concat();
            assert_eq!(told(&wrong).read(), Reading::Doubtful);
            let right = [&wrong[..], &[(DAY + 1, 1), (DAY + 2, 2), (3_650 * DAY, 3), (3_650 * DAY, 3), (DAY + 3, 3)]];
            assert_eq!(told(&right.concat()).read(), time(DAY + 3));
        }
        let creeping: Vec<(i64, u64)> = (0..100).map(|step| (DAY + AHEAD * step, 0)).collect();
        let right = [&[(DAY, 0); 3][..], &creeping, &[(DAY, 0)]].concat();
        assert_eq!(told(&right).read(), time(DAY + AHEAD), "nor by small steps");
    }

    #[test]
    fn after_a_sleep_the_clock_goes_by_what_further_answers_agree_on() {
        let slept = [(DAY, 0), (DAY, 0), (DAY, 0), (2 * DAY, 1), (2 * DAY + 1, 2)];
        assert_eq!(told(&slept).read(), Reading::Doubtful);
        assert_eq!(told(&[&slept[..], &[(2 * DAY + 1, 3)]].concat()).read(), time(2 * DAY + 1));
    }

    #[test]
    fn the_clock_goes_on_as_time_passes_here() {
        let start = told(&[(DAY, 0), (DAY, 0), (DAY, 0), (2 * DAY, DAY.unsigned_abs())]);
        assert_eq!(start.read(), time(2 * DAY));
    }
}
