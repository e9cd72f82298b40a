//! Show: prints snapshots and entries as lines of text that no name can forge.

use std::io::Write;

use copal_format::path::TreePath;
use copal_format::shown;
use copal_format::tree::{Entry, EntryKind};

use crate::failure::Failure;
use crate::history::{History, Snapshot};
use crate::pages::{Entries, Pages};
use crate::report::Report;
use crate::stamp::stamp;

pub(crate) fn list(history: &History, output: &mut dyn Write) -> Result<(), Failure> {
    for snapshot in &history.snapshots {
        let forgotten = if snapshot.is_forgotten { "  (forgotten)" } else { "" };
        writeln!(output, "{}{forgotten}", snapshot.sentence())?;
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
