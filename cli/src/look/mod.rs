//! Look: lists directories of snapshots, searches entries, compares snapshots, and shows single objects.
//!
//! Pages that cannot be read do not end a listing: the ranges of paths that they hide are reported at its end.

pub mod cat;
pub mod chunks;
pub mod compare;
pub mod listing;
pub mod search;

use copal_client::reader::ReadError;
use copal_format::tree::{Entry, EntryKind, LostRange};

use crate::report::field::{self, PathField, Stamp, TargetField};
use crate::report::rows::LsRow;

/// An entry as a row of a list.
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

fn is_directory(entry: &Entry) -> bool {
    entry.kind() == EntryKind::Directory
}
