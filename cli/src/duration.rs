//! Duration: a span of time as people write it.

use std::time::Duration;

/// A text that is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadDuration {
    /// Something is not a number followed by a unit.
    #[error("{0:?} is not a duration: write numbers and units, such as 24h, 7d or 1d12h")]
    Form(String),
    /// The unit after a number is unknown.
    #[error("{text:?} has an unknown unit {unit:?}: use s, m (minutes), h, d or w")]
    Unit {
        /// The whole text.
        text: String,
        /// What follows the number.
        unit: String,
    },
    /// More seconds than 64 bits can count.
    #[error("{0:?} is too long")]
    Long(String),
}

/// Reads a duration such as `24h`, `7d`, `1d12h` or `0s`.
pub fn parse(text: &str) -> Result<Duration, BadDuration> {
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(BadDuration::Form(text.into()));
    }
    let mut total = 0u64;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
        let (unit, after) = after.split_at(after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len()));
        if number.is_empty() || unit.is_empty() {
            return Err(BadDuration::Form(text.into()));
        }
        let number: u64 = number.parse().map_err(|_| BadDuration::Long(text.into()))?;
        let seconds =
            seconds(unit.trim()).ok_or_else(|| BadDuration::Unit { text: text.into(), unit: unit.trim().into() })?;
        total = number
            .checked_mul(seconds)
            .and_then(|part| total.checked_add(part))
            .ok_or_else(|| BadDuration::Long(text.into()))?;
        rest = after;
    }
    Ok(Duration::from_secs(total))
}

/// Writes a duration for people: its two largest units, `2h 5m`.
pub fn human(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 10 {
        return format!("{:.1}s", (duration.as_millis() / 100) as f64 / 10.0);
    }
    let parts = [("d", seconds / 86_400), ("h", seconds / 3_600 % 24), ("m", seconds / 60 % 60), ("s", seconds % 60)];
    let first = parts.iter().position(|(_, count)| *count > 0).unwrap_or(parts.len() - 1);
    let shown = parts[first..].iter().take(2).filter(|(_, count)| *count > 0);
    shown.map(|(unit, count)| format!("{count}{unit}")).collect::<Vec<_>>().join(" ")
}

fn seconds(unit: &str) -> Option<u64> {
    match unit {
        "s" | "sec" => Some(1),
        "m" | "min" => Some(60),
        "h" => Some(3_600),
        "d" => Some(86_400),
        "w" => Some(7 * 86_400),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, seconds) in [
            ("0", 0),
            ("0s", 0),
            ("90s", 90),
            ("15m", 900),
            ("24h", 86_400),
            ("7d", 604_800),
            ("2w", 1_209_600),
            ("1d12h", 129_600),
            ("1d 12h", 129_600),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
    }

    #[test]
    fn a_bad_duration_says_what_is_wrong() {
        for text in ["", "5", "d", "-1d", "1d5"] {
            assert_eq!(parse(text), Err(BadDuration::Form(text.into())), "{text:?}");
        }
        for text in ["1y", "1.5h", "3 days"] {
            assert!(matches!(parse(text), Err(BadDuration::Unit { .. })), "{text:?}");
        }
        assert!(matches!(parse("99999999999999999999s"), Err(BadDuration::Long(_))));
        assert!(matches!(parse("9999999999999999999w"), Err(BadDuration::Long(_))));
    }

    #[test]
    fn people_see_the_two_largest_units() {
        for (millis, text) in [
            (0, "0.0s"),
            (1_250, "1.2s"),
            (59_900, "59s"),
            (3_600_000, "1h"),
            (7_500_000, "2h 5m"),
            (176_461_000, "2d 1h"),
        ] {
            assert_eq!(human(Duration::from_millis(millis)), text);
        }
    }
}
