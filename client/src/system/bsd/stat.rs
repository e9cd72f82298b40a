//! Stat: an entry's metadata, from a single `fstatat`.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use copal_format::time::Time;
use rustix::fs::{AtFlags, Stat, fstat, major, minor, statat};

use super::open;
use crate::system::stat::EntryStat;

impl EntryStat {
    /// Reads the entry `name` of an open directory; does not follow a link.
    pub fn at(directory: impl AsFd, name: &CStr) -> io::Result<Self> {
        Ok(statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?.into())
    }

    /// Reads an open file.
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        Ok(fstat(file)?.into())
    }

    /// Reads the entry at a path; does not follow a final link.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        let (directory, name) = open::beside(path)?;
        let directory = directory.as_ref().map_or(rustix::fs::CWD, |directory| directory.as_fd());
        Ok(statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?.into())
    }
}

#[allow(clippy::unnecessary_cast, reason = "the fields have other types on each system")]
impl From<Stat> for EntryStat {
    fn from(raw: Stat) -> Self {
        // Before 1970, macOS counts the nanoseconds backwards.
        let time =
            |seconds, nanoseconds| Time(i64::saturating_add(i64::saturating_mul(seconds, 1_000_000_000), nanoseconds));
        let birth = time(raw.st_birthtime as i64, raw.st_birthtime_nsec as i64);
        Self {
            mode: raw.st_mode.into(),
            uid: raw.st_uid,
            gid: raw.st_gid,
            size: raw.st_size as u64,
            mtime: time(raw.st_mtime as i64, raw.st_mtime_nsec as i64),
            ctime: time(raw.st_ctime as i64, raw.st_ctime_nsec as i64),
            // A file system that does not know it reports 0, or -1 on FreeBSD.
            birth: Some(birth).filter(|_| raw.st_birthtime > 0),
            inode: raw.st_ino,
            device: raw.st_dev as u64,
            links: raw.st_nlink as u64,
            rdev: (major(raw.st_rdev) as u32, minor(raw.st_rdev) as u32),
            blocks: raw.st_blocks as u64,
        }
    }
}
