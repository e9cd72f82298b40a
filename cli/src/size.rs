//! Size: a number of bytes as people write it.

/// A text that is no size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSize {
    /// It does not start with a number.
    #[error("{0:?} is not a size: write a number and a unit, such as 10M or 2GiB")]
    Number(String),
    /// The unit after the number is unknown.
    #[error(
        "{text:?} ends in an unknown unit {unit:?}: use B, K, M, G, T or P (1024 each), or KB, MB, GB, TB, PB (1000 each)"
    )]
    Unit {
        /// The whole text.
        text: String,
        /// What follows the number.
        unit: String,
    },
    /// More bytes than 64 bits can count.
    #[error("{0:?} is too large")]
    Large(String),
}

/// Reads a size such as `512`, `10M`, `2GiB` or `1.5 G`. `K` and `KiB` are 1024 bytes, `KB` is 1000.
pub fn parse(text: &str) -> Result<u64, BadSize> {
    let trimmed = text.trim();
    let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(digits);
    let unit = unit.trim();
    let factor = factor(unit).ok_or_else(|| BadSize::Unit { text: text.into(), unit: unit.into() });
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() || fraction.is_empty() || fraction.len() > FRACTION_DIGITS || fraction.contains('.') {
        return Err(BadSize::Number(text.into()));
    }
    let (factor, large) = (factor?, || BadSize::Large(text.into()));
    let whole: u64 = whole.parse().map_err(|_| large())?;
    let scale = 10u128.pow(fraction.len() as u32);
    let part = u128::from(fraction.parse::<u64>().map_err(|_| large())?) * u128::from(factor) / scale;
    let bytes = u128::from(whole) * u128::from(factor) + part;
    u64::try_from(bytes).map_err(|_| large())
}

/// Writes a size for people: three digits and a unit, `1.21 GiB`.
pub fn human(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let places = match (unit, value) {
        (0, _) => 0,
        (_, value) if value < 9.995 => 2,
        (_, value) if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.places$} {}", UNITS[unit])
}

fn factor(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_lowercase();
    let Some(first) = unit.chars().next() else { return Some(1) };
    if unit == "b" {
        return Some(1);
    }
    let power = "kmgtp".find(first)? as u32 + 1;
    match &unit[1..] {
        "" | "ib" => Some(1024u64.pow(power)),
        "b" => Some(1000u64.pow(power)),
        _ => None,
    }
}

/// More digits after the point than anyone needs, and few enough for the arithmetic.
const FRACTION_DIGITS: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("512B", 512),
            ("10M", 10 << 20),
            ("10m", 10 << 20),
            ("2GiB", 2 << 30),
            ("2 GiB", 2 << 30),
            ("3KB", 3_000),
            ("1.5G", 3 << 29),
            ("16P", 16 << 50),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn a_bad_size_says_what_is_wrong() {
        for text in ["", "M", "-1", "ten", ".5", "1.", "1.2.3", "1.0000000001"] {
            assert_eq!(parse(text), Err(BadSize::Number(text.into())), "{text:?}");
        }
        for text in ["10X", "10MiBB", "1 000", "3é"] {
            assert!(matches!(parse(text), Err(BadSize::Unit { .. })), "{text:?}");
        }
        for text in ["16384P", "99999999999999999999"] {
            assert_eq!(parse(text), Err(BadSize::Large(text.into())), "{text:?}");
        }
    }

    #[test]
    fn people_see_three_digits() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "0.98 KiB"),
            (10 << 20, "10.0 MiB"),
            (1_300_000_000, "1.21 GiB"),
            (500 << 30, "500 GiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(human(bytes), text);
        }
    }
}
