//! Span: how far a rule looks back, in calendar units: `1y5m7d2h`.

use core::fmt;
use core::str::FromStr;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::time::Time;

/// Years, months, days and hours. A month back is the same day of the month before, or its last day.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs)]
pub struct Span {
    pub years: u32,
    pub months: u32,
    pub days: u32,
    pub hours: u32,
}

/// Why a text is not a span.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSpan {
    /// A number is missing, or the text is empty.
    #[error("a span is written as numbers and units, like 1y5m7d2h")]
    Form,
    /// A number without a unit, or with an unknown one.
    #[error("the units of a span are y, m, w, d and h")]
    Unit,
    /// The same unit twice.
    #[error("unit {0} is given twice")]
    Twice(char),
    /// A number too large.
    #[error("a number of {0} is too large")]
    Large(char),
}

impl Span {
    /// Parses numbers with units, each unit at most once; a week is 7 days.
    pub fn parse(text: &str) -> Result<Self, BadSpan> {
        let mut span = Self::default();
        let mut weeks = 0;
        let mut seen = String::new();
        let mut rest = text.trim();
        while !rest.is_empty() || seen.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (number, unit) = rest.split_at(digits);
            if number.is_empty() {
                return Err(BadSpan::Form);
            }
            let unit = unit.chars().next().ok_or(BadSpan::Unit)?;
            let field = match unit {
                'y' => &mut span.years,
                'm' => &mut span.months,
                'w' => &mut weeks,
                'd' => &mut span.days,
                'h' => &mut span.hours,
                _ => return Err(BadSpan::Unit),
            };
            if seen.contains(unit) {
                return Err(BadSpan::Twice(unit));
            }
            seen.push(unit);
            *field = number.parse().map_err(|_| BadSpan::Large(unit))?;
            rest = &rest[digits + unit.len_utf8()..];
        }
        let days = u32::checked_mul(weeks, 7).and_then(|days| days.checked_add(span.days));
        Ok(Self { days: days.ok_or(BadSpan::Large('w'))?, ..span })
    }

    /// Whether the span is zero.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// The instant this long before `time`; years, months and days follow the zone's calendar. Saturates.
    pub fn before(&self, time: Time, zone: &TimeZone) -> Time {
        let hours = i64::from(self.hours).saturating_mul(3_600_000_000_000);
        Time(self.calendar_before(time, zone).unwrap_or(i64::MIN).saturating_sub(hours))
    }

    fn calendar_before(&self, time: Time, zone: &TimeZone) -> Option<i64> {
        let span = jiff::Span::new().try_years(self.years).ok()?.try_months(self.months).ok()?;
        let span = span.try_days(self.days).ok()?;
        let local = zone.to_datetime(Timestamp::from_nanosecond(time.0.into()).ok()?);
        let instant = zone.to_timestamp(local.checked_sub(span).ok()?).ok()?;
        i64::try_from(instant.as_nanosecond()).ok()
    }
}

impl FromStr for Span {
    type Err = BadSpan;
    fn from_str(text: &str) -> Result<Self, BadSpan> {
        Self::parse(text)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, unit) in [(self.years, 'y'), (self.months, 'm'), (self.days, 'd'), (self.hours, 'h')] {
            if number > 0 || (unit == 'h' && self.is_zero()) {
                write!(f, "{number}{unit}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time(text: &str) -> Time {
        Time(text.parse::<Timestamp>().unwrap().as_nanosecond() as i64)
    }

    fn before(span: &str, at: &str, zone: &TimeZone) -> Time {
        Span::parse(span).unwrap().before(time(at), zone)
    }

    #[test]
    fn a_span_is_numbers_with_units_in_any_order() {
        assert_eq!(Span::parse("1y5m7d2h"), Ok(Span { years: 1, months: 5, days: 7, hours: 2 }));
        assert_eq!("2h1y".parse(), Ok(Span { years: 1, hours: 2, ..Span::default() }));
        assert_eq!(Span::parse("2w3d").unwrap().to_string(), "17d");
        assert_eq!(Span::parse("0d").unwrap().to_string(), "0h");
    }

    #[test]
    fn a_text_that_is_not_a_span_says_why() {
        for (text, error) in [
            ("", BadSpan::Form),
            ("y", BadSpan::Form),
            ("-3d", BadSpan::Form),
            ("7", BadSpan::Unit),
            ("7 d", BadSpan::Unit),
            ("7µ", BadSpan::Unit),
            ("1d2d", BadSpan::Twice('d')),
            ("4294967296h", BadSpan::Large('h')),
            ("4294967295w", BadSpan::Large('w')),
        ] {
            assert_eq!(Span::parse(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn months_are_calendar_months_and_hours_are_hours() {
        let utc = TimeZone::UTC;
        assert_eq!(before("1m", "2024-03-31T12:00:00Z", &utc), time("2024-02-29T12:00:00Z"));
        assert_eq!(before("1y1d", "2024-02-29T12:00:00Z", &utc), time("2023-02-27T12:00:00Z"));
        assert_eq!(before("30h", "2024-03-01T12:00:00Z", &utc), time("2024-02-29T06:00:00Z"));
    }

    #[test]
    fn a_day_back_is_the_same_wall_clock_time_where_clocks_change() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        assert_eq!(before("1d", "2024-03-31T10:00:00Z", &zone), time("2024-03-30T11:00:00Z"));
        assert_eq!(before("24h", "2024-03-31T10:00:00Z", &zone), time("2024-03-30T10:00:00Z"));
    }

    #[test]
    fn a_span_longer_than_all_time_reaches_its_beginning() {
        let longest = Span { years: u32::MAX, months: u32::MAX, days: u32::MAX, hours: u32::MAX };
        assert_eq!(longest.before(Time(i64::MAX), &TimeZone::UTC), Time(i64::MIN));
        assert_eq!(Span { years: 600, ..Span::default() }.before(Time(0), &TimeZone::UTC), Time(i64::MIN));
    }

    proptest! {
        #[test]
        fn any_text_gives_a_span_that_reads_back_or_an_error(text in "[0-9ymwdh ]{0,12}|.*") {
            if let Ok(span) = Span::parse(&text) {
                prop_assert_eq!(Span::parse(&span.to_string()), Ok(span));
            }
        }
    }
}
