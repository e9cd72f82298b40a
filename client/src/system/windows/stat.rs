//! Stat: an entry's metadata, from an open handle.

use std::ffi::CStr;
use std::io;
use std::path::Path;

use copal_format::time::Time;
use copal_windows::{AsFd, FileType, Mode, OFlags, open_path, openat};

use crate::system::stat::EntryStat;

impl EntryStat {
    /// Reads the entry `name` of an open directory; does not follow a link.
    pub fn at(directory: impl AsFd, name: &CStr) -> io::Result<Self> {
        Self::of(openat(directory, name, OFlags::PATH, Mode::empty())?)
    }

    /// Reads an open file.
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        Ok(copal_windows::stat(file)?.into())
    }

    /// Reads the entry at a path; does not follow a final link.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        Self::of(open_path(path, OFlags::PATH)?)
    }
}

impl From<copal_windows::Stat> for EntryStat {
    fn from(known: copal_windows::Stat) -> Self {
        let mode = match known.kind {
            FileType::Directory => 0o040_755,
            FileType::Symlink => 0o120_777,
            _ => 0o100_644,
        };
        Self {
            mode,
            uid: 0,
            gid: 0,
            size: known.size,
            mtime: time(known.write),
            ctime: time(known.change),
            birth: (known.creation != 0).then(|| time(known.creation)),
            inode: known.number,
            device: known.volume.into(),
            links: known.links.into(),
            rdev: (0, 0),
            blocks: known.allocated.div_ceil(512),
        }
    }
}

fn time(ticks: i64) -> Time {
    let (seconds, nanoseconds) = copal_windows::posix_time(ticks);
    Time::from_unix(seconds, nanoseconds)
}
