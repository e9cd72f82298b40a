//! Show: prints snapshots and entries as lines of text that no name can forge.

use std::io::Write;

use copal_engine::client::Role;
use copal_engine::path::TreePath;
use copal_engine::shown;
use copal_engine::time::Time;
use copal_engine::tree::{Entry, EntryKind};

use crate::failure::Failure;
use crate::history::{History, Signer, Snapshot};
use crate::pages::{Entries, Pages};
use crate::report::Report;

/// Prints the snapshots, one per line.
pub(crate) fn list(history: &History, output: &mut dyn Write) -> Result<(), Failure> {
    for snapshot in &history.snapshots {
        let forgotten = if snapshot.is_forgotten { "  (forgotten)" } else { "" };
        writeln!(output, "{}{forgotten}", sentence(snapshot))?;
    }
    Ok(())
}

/// Prints a snapshot's entries at or below a path, one per line.
pub(crate) fn entries(
    pages: &mut Pages<'_>,
    snapshot: &Snapshot,
    path: &TreePath,
    output: &mut dyn Write,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let mut entries = Entries::new(snapshot.root, path);
    let mut is_empty = true;
    while let Some(entry) = entries.next(pages, report) {
        writeln!(output, "{}", line(&entry))?;
        is_empty = false;
    }
    if is_empty && !path.is_top() {
        return Err(Failure::Snapshot(format!("the snapshot holds no /{}", shown::path(path.as_bytes()))));
    }
    Ok(())
}

/// A snapshot in one line.
pub(crate) fn sentence(snapshot: &Snapshot) -> String {
    let mut words = vec![snapshot.id.to_string(), stamp(snapshot.time)];
    match &snapshot.info {
        None => words.extend([
            "(its description cannot be opened)".to_owned(),
            machine(&snapshot.signer, &snapshot.signer.name),
        ]),
        Some(info) => {
            words.push(format!("{} files", info.counts.files));
            words.push(format!("{} bytes", info.counts.bytes));
            words.push(machine(&snapshot.signer, &info.host));
            words.extend(info.paths.iter().map(|path| format!("/{}", shown::path(path))));
            words.extend(Some(&info.label).filter(|label| !label.is_empty()).map(|label| shown::text(label)));
            words.extend(info.tags.iter().map(|tag| format!("#{}", shown::text(tag))));
        }
    }
    words.join("  ")
}

/// The machine that a snapshot is from, and the client that signed it.
fn machine(signer: &Signer, claimed: &str) -> String {
    let machine = signer.role.machine(claimed, &signer.name);
    let role = match signer.role {
        Role::Full => "full".to_owned(),
        Role::WriteOnly if machine == claimed => "write-only".to_owned(),
        Role::WriteOnly => format!("write-only, says it is \"{}\"", shown::text(claimed)),
    };
    let [machine, name] = [machine, &signer.name].map(shown::text);
    format!("{machine}  by {name} ({role})")
}

fn line(entry: &Entry) -> String {
    let kind = match entry.kind() {
        EntryKind::File => '-',
        EntryKind::Directory => 'd',
        EntryKind::Symlink => 'l',
        EntryKind::Fifo => 'p',
        EntryKind::Socket => 's',
        EntryKind::CharDevice => 'c',
        EntryKind::BlockDevice => 'b',
    };
    let target =
        entry.extras.link_target.as_ref().map_or(String::new(), |target| format!(" -> {}", shown::path(target)));
    let (mode, size, path) = (entry.mode.permissions(), entry.size, shown::path(entry.path.as_bytes()));
    format!("{kind}{mode:04o} {size:>14} {} /{path}{target}", stamp(entry.mtime))
}

/// A time in UTC, to the second.
fn stamp(time: Time) -> String {
    let (seconds, _) = time.to_unix();
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

/// The date of a day counted from 1970-01-01. The calendar repeats every 400 years (146,097 days); counting years from
/// March puts the leap day at the end.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, date)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_utc() {
        let at = |seconds| stamp(Time::from_unix(seconds, 0));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(-1), "1969-12-31T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(4_107_542_399), "2100-02-28T23:59:59Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
