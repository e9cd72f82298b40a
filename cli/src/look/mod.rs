//! Look: lists directories of snapshots, searches entries, compares snapshots, and shows single objects.
//!
//! Pages that cannot be read do not end a listing: the ranges of paths that they hide are reported at its end.

pub mod cat;
pub mod compare;
pub mod listing;
pub mod search;

use copal_client::reader::ReadError;
use copal_format::path::TreePath;
use copal_format::snapshot::SnapshotInfo;
use copal_format::tree::{Entry, EntryKind, LostRange, Mode};

use crate::report::field::{self, PathField, Stamp, TargetField};
use crate::report::human;
use crate::report::rows::LsRow;

pub fn row(entry: &Entry) -> LsRow {
    LsRow {
        path: PathField::of(&entry.path),
        kind: entry.kind(),
        size: entry.size,
        mode: entry.mode.permissions().into(),
        uid: entry.owner.uid,
        gid: entry.owner.gid,
        user: String::from_utf8_lossy(&entry.owner.user).into_owned(),
        group: String::from_utf8_lossy(&entry.owner.group).into_owned(),
        mtime: Stamp(entry.mtime),
        target: TargetField(entry.extras.link_target.clone()),
    }
}

/// Text for the user: which paths of a tree cannot be read, and why.
pub fn hidden(range: &LostRange, why: &ReadError) -> String {
    format!("{} cannot be listed: {why}", field::entries(range))
}

/// Texts for the user: what a snapshot lacks of what was backed up, and what may be a mixture of old and new in it.
pub fn troubles(info: &SnapshotInfo) -> Vec<String> {
    let recorded = &info.troubles;
    let kinds = [
        (info.summary.errors, &recorded.unreadable_paths, "could not be read when this snapshot was made"),
        (recorded.changing, &recorded.changing_paths, "changed each time it was read, and is as it was read last"),
    ];
    let told = kinds.into_iter().filter_map(|(count, paths, what)| {
        let first = paths.first()?;
        let first = if first.is_empty() { "/".to_owned() } else { human::path(first) };
        let others = match count.saturating_sub(1) {
            0 => String::new(),
            more => format!(
                ", and the same holds for {} (\"copal cat\" names more)",
                human::things(more, "other", "others")
            ),
        };
        Some(format!("{first} {what}{others}"))
    });
    told.collect()
}

pub(crate) fn is_directory(entry: &Entry) -> bool {
    entry.kind() == EntryKind::Directory
}

/// An entry for a directory of which the snapshot has only the content.
pub(crate) fn made_directory(path: TreePath) -> Entry {
    Entry::new(path, Mode::new(EntryKind::Directory, 0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_snapshot_lacks_is_told_by_name() {
        let mut info = SnapshotInfo::default();
        assert_eq!(troubles(&info), Vec::<String>::new());
        info.summary.errors = 3;
        info.troubles.unreadable(b"home/\x1b.key");
        info.troubles.changing(b"var/log");
        let told = [
            "home/\\x1b.key could not be read when this snapshot was made, and the same holds for 2 others (\"copal cat\" names \
             more)",
            "var/log changed each time it was read, and is as it was read last",
        ];
        assert_eq!(troubles(&info), told);
    }
}
