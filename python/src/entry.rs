//! Entries of a snapshot.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::sync::{Mutex, PoisonError};

use copal_client::browse::{BrowseError, Walk};
use copal_client::format::tree::{self, EntryKind};
use pyo3::prelude::*;

use crate::error::raised;

/// One file, directory, link or device of a snapshot.
#[pyclass(frozen, get_all, module = "copal")]
pub(crate) struct Entry {
    /// The path, without a leading slash.
    path: OsString,
    /// `file`, `dir`, `symlink`, `fifo`, `chardev`, `blockdev` or `socket`.
    kind: &'static str,
    /// The twelve permission bits.
    mode: u16,
    uid: u32,
    gid: u32,
    user: String,
    group: String,
    size: u64,
    /// Nanoseconds of the Unix clock.
    mtime_ns: i64,
    /// Where a symbolic link leads.
    target: Option<OsString>,
}

impl From<tree::Entry> for Entry {
    fn from(entry: tree::Entry) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            path: OsString::from_vec(entry.path.as_bytes().to_vec()),
            kind: kind(entry.kind()),
            mode: entry.mode.permissions(),
            uid: entry.owner.uid,
            gid: entry.owner.gid,
            user: text(&entry.owner.user),
            group: text(&entry.owner.group),
            size: entry.size,
            mtime_ns: entry.mtime.0,
            target: entry.extras.link_target.clone().map(OsString::from_vec),
        }
    }
}

#[pymethods]
impl Entry {
    fn __repr__(&self) -> String {
        format!("Entry({:?}, {}, {} bytes)", self.path, self.kind, self.size)
    }
}

fn kind(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::File => "file",
        EntryKind::Directory => "dir",
        EntryKind::Symlink => "symlink",
        EntryKind::Fifo => "fifo",
        EntryKind::CharDevice => "chardev",
        EntryKind::BlockDevice => "blockdev",
        EntryKind::Socket => "socket",
    }
}

/// Entries in tree order. Raises where a part of the tree is damaged; the next call goes on behind it.
#[pyclass(frozen, module = "copal")]
pub(crate) struct Entries(pub(crate) Mutex<Walk>);

#[pymethods]
impl Entries {
    fn __iter__(own: Bound<'_, Self>) -> Bound<'_, Self> {
        own
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Entry>> {
        let next = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next());
        next.map(|entry| entry.map(Entry::from).map_err(|error| raised(BrowseError::from(error)))).transpose()
    }
}
