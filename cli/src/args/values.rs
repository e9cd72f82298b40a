//! Values: what options mean, checked once where the command line is read.

use core::num::NonZeroU32;
use core::str::FromStr;
use core::time::Duration;

use clap::ValueEnum;
use copal_client::compression::Compression;
use copal_client::filter::{BadPattern, Case, FilterBuilder};
use copal_format::time::Time;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::spec::{BadSpec, Which};

/// A text that an option cannot take.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadValue {
    #[error("a size is a number and a unit, like 500k, 10M, 2GiB or 1.5TB")]
    Size,
    #[error("a length of time is numbers and units (s, min, h, d, w, mo, y), like 0s, 24h, 7d or 1y6mo")]
    Span,
    #[error("\"m\" could be minutes or months: write \"min\" or \"mo\"")]
    Month,
    #[error("a percentage lies between 0% and 100%, like 2% or 0.5%")]
    Percent,
    #[error("a share is PART/PARTS, like 3/30: the third of thirty, each read on another day")]
    Share,
    #[error("a time is like 2026-01-31, \"2026-01-31 17:05:00\" (local) or 2026-01-31T17:05:00Z")]
    Time,
    #[error("a time lies in the years 1678 to 2262")]
    Year,
    #[error("compression is auto, fast, max, or a level from 0 (none) to 19")]
    Compression,
    #[error("snapshots are grouped by a list of host, paths, tags and label, like host,paths; or by none")]
    Group,
}

#[derive(ValueEnum, Copy, Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A tar archive, with all metadata.
    Tar,
    /// The same, compressed by Zstandard.
    #[value(name = "tar.zst")]
    TarZst,
    /// A zip archive, with modes, times and links.
    Zip,
}

/// A number of bytes. `K M G T` and `KiB MiB GiB TiB` are powers of 1,024, `KB MB GB TB` powers of 1,000.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let (number, unit) = split_number(text.trim()).ok_or(BadValue::Size)?;
        let unit: u64 = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kib" => 1 << 10,
            "m" | "mib" => 1 << 20,
            "g" | "gib" => 1 << 30,
            "t" | "tib" => 1 << 40,
            "kb" => 1_000,
            "mb" => 1_000_000,
            "gb" => 1_000_000_000,
            "tb" => 1_000_000_000_000,
            _ => return Err(BadValue::Size),
        };
        Ok(Self(number.times(unit).ok_or(BadValue::Size)?))
    }
}

/// A length of time; a month counts 30 days, a year 365.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let mut rest = text.trim();
        let mut seconds = 0_u64;
        if rest.is_empty() {
            return Err(BadValue::Span);
        }
        while !rest.is_empty() {
            let (number, after) = split_number(rest).ok_or(BadValue::Span)?;
            let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
            let unit = match &after[..end] {
                "s" => 1,
                "min" => 60,
                "h" => 3_600,
                "d" => 86_400,
                "w" => 7 * 86_400,
                "mo" => 30 * 86_400,
                "y" => 365 * 86_400,
                "m" => return Err(BadValue::Month),
                _ => return Err(BadValue::Span),
            };
            seconds = number.times(unit).and_then(|s| seconds.checked_add(s)).ok_or(BadValue::Span)?;
            rest = after[end..].trim_start();
        }
        Ok(Self(Duration::from_secs(seconds)))
    }
}

/// Reads a share of a hundred, like `2%`; gives it as a part of 1.
pub fn percent(text: &str) -> Result<f64, BadValue> {
    let (number, sign) = split_number(text.trim()).ok_or(BadValue::Percent)?;
    let hundredths = number.times(100).filter(|&n| n <= WHOLE && matches!(sign.trim(), "" | "%"));
    hundredths.map(|n| n as f64 / WHOLE as f64).ok_or(BadValue::Percent)
}

/// Reads the first digits of a snapshot's id, or `@` and the name of a file.
pub fn since(text: &str) -> Result<String, BadSpec> {
    if text.starts_with('@') {
        return Ok(text.to_owned());
    }
    match Which::parse(text.as_bytes())? {
        Which::Prefix(digits) => Ok(digits),
        Which::Latest => Err(BadSpec::Which),
    }
}

/// Reads one of several equal parts, counted from 1, like `3/30`; gives how many there are.
pub fn parts(text: &str) -> Result<u32, BadValue> {
    let (part, parts) = text.split_once('/').ok_or(BadValue::Share)?;
    let number = |text: &str| text.trim().parse::<NonZeroU32>().map_err(|_| BadValue::Share);
    let (part, parts) = (number(part)?, number(parts)?);
    if part <= parts { Ok(parts.get()) } else { Err(BadValue::Share) }
}

/// Reads a pattern of paths.
pub fn glob(text: &str) -> Result<String, BadPattern> {
    FilterBuilder::new().add(text, Case::Exact).map(|()| text.to_owned())
}

/// Reads an instant; without an offset it is in the zone of this machine.
pub fn instant(text: &str) -> Result<Time, BadValue> {
    instant_in(text, TimeZone::system())
}

/// Reads an instant, or a length of time before now.
pub fn moment(text: &str) -> Result<Time, BadValue> {
    let Ok(Span(span)) = text.parse() else { return instant(text) };
    let ago = i64::try_from(span.as_nanos()).map_err(|_| BadValue::Year)?;
    let now = i64::try_from(jiff::Timestamp::now().as_nanosecond()).map_err(|_| BadValue::Year)?;
    Ok(Time(now.saturating_sub(ago)))
}

pub fn compression(text: &str) -> Result<Compression, BadValue> {
    Ok(match text {
        "auto" => Compression::Auto,
        "fast" => Compression::Level(1),
        "max" => Compression::Level(19),
        level => match level.parse() {
            Ok(0) => Compression::Off,
            Ok(level @ 1..=19) => Compression::Level(level),
            _ => return Err(BadValue::Compression),
        },
    })
}

/// What the snapshots of one group have in common.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct GroupBy {
    pub host: bool,
    pub paths: bool,
    pub tags: bool,
    pub label: bool,
}

impl FromStr for GroupBy {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let mut group = Self { host: false, paths: false, tags: false, label: false };
        if matches!(text.trim(), "" | "none") {
            return Ok(group);
        }
        for word in text.split(',') {
            match word.trim() {
                "host" | "hosts" => group.host = true,
                "path" | "paths" => group.paths = true,
                "tag" | "tags" => group.tags = true,
                "label" | "labels" => group.label = true,
                _ => return Err(BadValue::Group),
            }
        }
        Ok(group)
    }
}

/// A decimal number, exact: `value` over a power of ten.
#[derive(Copy, Clone)]
struct Decimal {
    value: u64,
    scale: u64,
}

impl Decimal {
    /// The number of whole units, rounded down; none if it does not fit.
    fn times(self, unit: u64) -> Option<u64> {
        u64::try_from(u128::from(self.value) * u128::from(unit) / u128::from(self.scale)).ok()
    }
}

/// The decimal number at the start of a text, and what follows it.
fn split_number(text: &str) -> Option<(Decimal, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (whole, fraction) = text[..end].split_once('.').unwrap_or((&text[..end], ""));
    if whole.is_empty() || fraction.len() > 6 || fraction.contains('.') {
        return None;
    }
    let scale = 10_u64.pow(fraction.len() as u32);
    let fraction: u64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let value = whole.parse::<u64>().ok()?.checked_mul(scale)?.checked_add(fraction)?;
    Some((Decimal { value, scale }, &text[end..]))
}

fn instant_in(text: &str, zone: TimeZone) -> Result<Time, BadValue> {
    let text = text.trim();
    let timestamp = match text.parse::<jiff::Timestamp>() {
        Ok(timestamp) => timestamp,
        Err(_) => {
            let local: DateTime = text.parse().map_err(|_| BadValue::Time)?;
            zone.to_timestamp(local).map_err(|_| BadValue::Year)?
        }
    };
    i64::try_from(timestamp.as_nanosecond()).map(Time).map_err(|_| BadValue::Year)
}

/// Hundredths of a percent.
const WHOLE: u64 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_name_their_unit() {
        let size = |text: &str| text.parse::<Size>().map(|size| size.0);
        for (text, bytes) in [
            ("0", 0),
            ("512", 512),
            ("512B", 512),
            ("10M", 10 << 20),
            ("10m", 10 << 20),
            ("2GiB", 2 << 30),
            ("2 GiB", 2 << 30),
            ("1.5 k", 1536),
            ("1.5G", 3 << 29),
            ("3MB", 3_000_000),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for bad in "|M|-1|ten|.5|1.2.3|1.0000000001|10X|10MiBB|1 000|1e9|3é|99999999999999999999|20000000T".split('|')
        {
            assert_eq!(size(bad), Err(BadValue::Size), "{bad:?}");
        }
    }

    #[test]
    fn lengths_of_time_are_sums_of_units() {
        let span = |text: &str| text.parse::<Span>().map(|span| span.0.as_secs());
        for (text, seconds) in [
            ("0s", 0),
            ("90s", 90),
            ("15min", 900),
            ("24h", 86_400),
            ("7d", 604_800),
            ("2w", 1_209_600),
            ("1d12h", 129_600),
            ("1d 12h", 129_600),
            ("1y6mo", (365 + 180) * 86_400),
            ("1.5h 30min", 7_200),
        ] {
            assert_eq!(span(text), Ok(seconds), "{text}");
        }
        for bad in "|5|h|1x|-1d|1d-|1d5|3 days|99999999999999y|99999999999999999999s|9999999999999999999w".split('|') {
            assert_eq!(span(bad), Err(BadValue::Span), "{bad:?}");
        }
    }

    #[test]
    fn an_m_alone_is_refused_because_minutes_and_months_are_far_apart() {
        assert_eq!("6m".parse::<Span>(), Err(BadValue::Month));
    }

    #[test]
    fn percentages_are_parts_of_a_whole() {
        assert_eq!(["2%", "0.5", "100%"].map(percent), [Ok(0.02), Ok(0.005), Ok(1.0)]);
        for bad in ["", "101%", "-1%", "2 percent"] {
            assert_eq!(percent(bad), Err(BadValue::Percent), "{bad:?}");
        }
    }

    #[test]
    fn a_share_lies_within_its_parts() {
        assert_eq!(parts("3/30"), Ok(30));
        for bad in ["3", "0/3", "4/3", "1/0", "a/b", "-1/3"] {
            assert_eq!(parts(bad), Err(BadValue::Share), "{bad:?}");
        }
    }

    #[test]
    fn times_without_an_offset_are_local() {
        let zone = || TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(instant_in("1970-01-01T00:00:01Z", zone()), Ok(Time(1_000_000_000)));
        assert_eq!(instant_in("1970-01-01 02:00:01", zone()), Ok(Time(1_000_000_000)));
        assert_eq!(instant_in("1970-01-02", zone()), Ok(Time(22 * 3_600 * 1_000_000_000)));
        assert_eq!(instant_in("yesterday", zone()), Err(BadValue::Time));
    }

    #[test]
    fn a_moment_may_be_counted_back_from_now() {
        let now = jiff::Timestamp::now().as_nanosecond() as i64;
        let hour_ago = moment("1h").unwrap().0;
        assert!((0..60_000_000_000).contains(&(hour_ago - (now - 3_600_000_000_000))), "{hour_ago}");
        assert_eq!(moment("1970-01-01T00:00:01Z"), Ok(Time(1_000_000_000)));
        assert_eq!(moment("300y"), Err(BadValue::Year), "a time has 64 bits of nanoseconds");
        assert_eq!(instant_in("2400-01-01", TimeZone::UTC), Err(BadValue::Year));
        assert_eq!(moment("tomorrow"), Err(BadValue::Time));
    }

    #[test]
    fn groups_are_lists_of_properties() {
        let group: GroupBy = "host,paths".parse().unwrap();
        assert_eq!(group, GroupBy { host: true, paths: true, tags: false, label: false });
        assert_eq!("none".parse::<GroupBy>(), "".parse());
        assert_eq!("host;paths".parse::<GroupBy>(), Err(BadValue::Group));
    }
}
