//! Human: numbers, times, paths and tables as text for people.

use std::io::{self, Write};

pub use copal_format::shown::{path, text};
use copal_format::time::Time;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A number of bytes with about three digits: `1.21 GiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut value, mut unit) = (bytes as f64 / 1024.0, 0);
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// A number with separators: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 file`, `2 files`.
pub fn things(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A duration: `3.2 s`, `4:05`, `1:02:03`, `12 days`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        ..60.0 => format!("{seconds:.1} s"),
        ..DAYS_FROM => clock(seconds as u64),
        _ => things(seconds as u64 / DAY, "day", "days"),
    }
}

/// Seconds as a clock shows them: `0:07`, `1:02:03`.
pub fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// A time to the second, in a zone: `2026-01-31 17:05:00`.
pub fn time_in(time: Time, zone: &TimeZone) -> String {
    timestamp(time).to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A time to the second, in this machine's time zone.
pub fn time(time: Time) -> String {
    time_in(time, &TimeZone::system())
}

/// A time as the name of a file, in this machine's zone: without colons, which some systems refuse.
pub fn time_name(time: Time) -> String {
    timestamp(time).to_zoned(TimeZone::system()).strftime("%Y-%m-%dT%H-%M-%S").to_string()
}

/// A time in RFC 3339 in a zone, with a fraction if it has one.
pub fn rfc3339_in(time: Time, zone: &TimeZone) -> String {
    timestamp(time).to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string()
}

/// Type and permissions as `ls -l` writes them: `drwxr-xr-x`.
pub fn mode(mode: u32) -> String {
    let kind = match mode & 0o170_000 {
        0o040_000 => 'd',
        0o120_000 => 'l',
        0o010_000 => 'p',
        0o140_000 => 's',
        0o020_000 => 'c',
        0o060_000 => 'b',
        _ => '-',
    };
    let mut text = String::from(kind);
    for (shift, special, with_x, without_x) in [(6, 0o4000, 's', 'S'), (3, 0o2000, 's', 'S'), (0, 0o1000, 't', 'T')] {
        let bits = mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (mode & special != 0, bits & 1 != 0) {
            (true, true) => with_x,
            (true, false) => without_x,
            (false, true) => 'x',
            (false, false) => '-',
        });
    }
    text
}

/// Rows under headings; a cell may have several lines.
pub struct Table {
    rows: Vec<Vec<Vec<String>>>,
    right: Vec<bool>,
}

impl Table {
    /// A table with these headings, or without if all are empty; a `>` before a heading aligns its column to the right.
    pub fn new(headings: &[&str]) -> Self {
        let right = headings.iter().map(|heading| heading.starts_with('>')).collect();
        let mut table = Self { rows: Vec::new(), right };
        let headings: Vec<String> = headings.iter().map(|heading| heading.trim_start_matches('>').to_owned()).collect();
        if headings.iter().any(|heading| !heading.is_empty()) {
            table.row(headings);
        }
        table
    }

    /// Adds a row; a line feed begins another line of a cell.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells.into_iter().map(|cell| cell.split('\n').map(str::to_owned).collect()).collect());
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Writes the rows, each column as wide as its widest cell.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.flatten().map(|line| line.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.right.len()).map(width).collect();
        for row in &self.rows {
            for line in 0..row.iter().map(Vec::len).max().unwrap_or(0) {
                let mut text = String::new();
                for (column, &width) in widths.iter().enumerate() {
                    let cell = row.get(column).and_then(|cell| cell.get(line)).map_or("", String::as_str);
                    let gap = if column == 0 { "" } else { "  " };
                    match self.right[column] {
                        true => text.push_str(&format!("{gap}{cell:>width$}")),
                        false => text.push_str(&format!("{gap}{cell:<width$}")),
                    }
                }
                writeln!(out, "{}", text.trim_end())?;
            }
        }
        Ok(())
    }
}

fn timestamp(time: Time) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(time.0)).expect("the years 1678 to 2262 are within jiff's range")
}

/// Seconds.
const DAY: u64 = 86_400;
/// Seconds from which on a duration is told in days.
const DAYS_FROM: f64 = 4.0 * DAY as f64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        let sizes = [0, 1023, 1024, 10 << 10, 1023 << 10, 1_300_000_000, u64::MAX].map(size);
        assert_eq!(sizes, ["0 B", "1023 B", "1.00 KiB", "10.0 KiB", "1.00 MiB", "1.21 GiB", "16.0 EiB"]);
    }

    #[test]
    fn numbers_have_their_thousands_apart() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([things(1, "file", "files"), things(0, "file", "files")], ["1 file", "0 files"]);
        assert_eq!([duration(3.21), duration(245.0), clock(3723)], ["3.2 s", "4:05", "1:02:03"]);
        assert_eq!([duration(345_599.0), duration(345_600.0)], ["95:59:59", "4 days"]);
    }

    #[test]
    fn times_are_local_and_name_their_offset() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(time_in(Time(0), &zone), "1970-01-01 02:00:00");
        assert_eq!(rfc3339_in(Time(0), &zone), "1970-01-01T02:00:00+02:00");
        assert_eq!(rfc3339_in(Time(1_500_000_000), &TimeZone::UTC), "1970-01-01T00:00:01.5+00:00");
        assert_eq!(rfc3339_in(Time(i64::MIN), &TimeZone::UTC), "1677-09-21T00:12:43.145224192+00:00");
    }

    #[test]
    fn modes_read_as_ls_writes_them() {
        let modes = [0o100_644, 0o040_755, 0o120_777, 0o104_755, 0o041_777, 0o102_640].map(mode);
        assert_eq!(modes, ["-rw-r--r--", "drwxr-xr-x", "lrwxrwxrwx", "-rwsr-xr-x", "drwxrwxrwt", "-rw-r-S---"]);
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&["ID", "Paths", ">Size"]);
        table.row(["ab", "/a\n/long/b", "1 B"].map(str::to_owned).to_vec());
        table.row(["cdef", "/c", "10 B"].map(str::to_owned).to_vec());
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        let expected = "ID    Paths    Size\nab    /a        1 B\n      /long/b\ncdef  /c       10 B\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
