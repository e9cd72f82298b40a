//! Calendar: when a profile runs, as systemd writes it (`OnCalendar`).

use std::ops::RangeInclusive;

/// Reads a calendar. Only its signs are taken, because the text goes into a unit.
pub(super) fn when(text: &str) -> Result<String, String> {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || " *,:/.~_-".contains(sign);
    match text.chars().all(is_sign) && is_calendar(text) {
        true => Ok(text.trim().to_owned()),
        false => Err("a calendar is like daily, 03:30 or \"Mon..Fri 22:00\" (systemd.time explains it)".into()),
    }
}

/// A word for it, or days of the week, a date and a time, of which two may be missing. A zone may follow: only systemd
/// knows whether it exists.
fn is_calendar(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let mut words = text.split_whitespace().peekable();
    let mut is_next = |is_part: fn(&str) -> bool| words.next_if(|word| is_part(word)).is_some();
    let is_there = is_next(is_word) || [is_next(are_days), is_next(is_date), is_next(is_time)].contains(&true);
    is_next(is_zone);
    is_there && words.next().is_none()
}

fn is_word(word: &str) -> bool {
    WORDS.contains(&word)
}

/// Days of the week, whole or by their first three letters.
fn are_days(word: &str) -> bool {
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let is_day = |part: &str| part.is_empty() || days.iter().any(|day| part == *day || part == &day[..3]);
    word.contains(|sign: char| sign.is_ascii_alphabetic()) && word.split([',', '.', '-']).all(is_day)
}

/// Year, month and day, the year being optional; a `~` before the day counts from the end of the month.
fn is_date(word: &str) -> bool {
    let Some((above, day)) = word.rsplit_once(['-', '~']) else { return false };
    let (year, month) = above.split_once('-').unwrap_or(("*", above));
    is_field(year, 0..=2199) && is_field(month, 1..=12) && is_field(day, 1..=31)
}

/// Hours, minutes and maybe seconds, which may have a fraction.
fn is_time(word: &str) -> bool {
    match word.split(':').collect::<Vec<_>>()[..] {
        [hour, minute] => is_field(hour, 0..=23) && is_field(minute, 0..=59),
        [hour, minute, second] => is_field(hour, 0..=23) && is_field(minute, 0..=59) && are_seconds(second),
        _ => false,
    }
}

fn is_zone(word: &str) -> bool {
    word.starts_with(|sign: char| sign.is_ascii_alphabetic()) && !is_word(word) && !are_days(word)
}

/// A list of numbers and of ranges like `1..5`, each maybe with a step like `/2`; or a star.
fn is_field(text: &str, bounds: RangeInclusive<u32>) -> bool {
    let number = |text: &str| text.parse::<u32>().ok().filter(|number| bounds.contains(number));
    let is_part = |part: &str| {
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let (first, last) = range.split_once("..").unwrap_or((range, range));
        let is_ascending = number(first).zip(number(last)).is_some_and(|(first, last)| first <= last);
        is_ascending && step.parse::<u32>().is_ok_and(|step| step > 0)
    };
    text == "*" || text.split(',').all(is_part)
}

/// Like [`is_field`]; what follows a single point is not looked at.
fn are_seconds(text: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_digit() || ",./*".contains(sign);
    let has_fraction = text.replace("..", "").contains('.');
    if has_fraction { text.chars().all(is_sign) } else { is_field(text, 0..=59) }
}

/// The words of systemd for a calendar.
const WORDS: [&str; 13] = [
    "minutely",
    "hourly",
    "daily",
    "weekly",
    "monthly",
    "quarterly",
    "semiannually",
    "semi-annually",
    "biannually",
    "bi-annually",
    "yearly",
    "annually",
    "anually",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendars_hold_nothing_that_ends_their_line() {
        assert_eq!(when(" Mon..Fri *-*-* 22:00 ").as_deref(), Ok("Mon..Fri *-*-* 22:00"));
        for bad in ["", "daily\nExecStart=/bin/x", "daily%h", "$(x)", "daily;", "03:30;"] {
            assert!(when(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_calendar_is_what_systemd_takes() {
        let words =
            ["daily", "Weekly", "Mon,Wed..Fri", "sunday 3:00", "mon-fri", "weekly Europe/Berlin", "Mon,Fri, 3:00"];
        let times = ["03:30", "4,16:00", "*:0/15", "0..23/2:30", "1:02:03", "*:*:0/2.5", "22:00 UTC", "00:00..10"];
        let dates = ["12-25", "2026-01-31", "*-*~1", "05~03", "*-*-1..7 18:00", "Mon 2026..2028-1,7-* 8:00 UTC"];
        for good in words.iter().chain(&times).chain(&dates) {
            assert_eq!(when(good).as_deref(), Ok(*good));
        }
    }

    #[test]
    fn what_no_clock_or_calendar_shows_is_refused() {
        let words = ["sometimes", "funday UTC", ".", "Mon Tue", "daily 3:00", "3:00 daily", "UTC"];
        let times =
            ["25:99", "24:00", "3:60", "1:2:60", "Mon..Fri 99:00", "3:", "5..3:00", "0/0:00", "1:2:3:4", "*", "12"];
        let dates = ["2026-13-01", "*-*-32", "*-*-0", "1-2-3-4", "2026-", "-1", "3:00 2026-01-31", "2026-01-31T10:00"];
        for bad in words.iter().chain(&times).chain(&dates) {
            assert!(when(bad).is_err(), "{bad:?}");
        }
    }
}
