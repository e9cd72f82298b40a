//! Stat: an entry's metadata, from a single `stat`.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use copal_format::time::Time;
use rustix::fs::{AtFlags, CWD, Stat, fstat, statat};

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
        Ok(statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?.into())
    }
}

#[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the systems have different types")]
impl From<Stat> for EntryStat {
    fn from(raw: Stat) -> Self {
        let time = |seconds, nanoseconds| Time::from_unix(seconds, nanoseconds as u32);
        let birth = time(raw.st_birthtime, raw.st_birthtime_nsec);
        Self {
            mode: raw.st_mode.into(),
            uid: raw.st_uid,
            gid: raw.st_gid,
            size: raw.st_size.cast_unsigned(),
            mtime: time(raw.st_mtime, raw.st_mtime_nsec),
            ctime: time(raw.st_ctime, raw.st_ctime_nsec),
            birth: Some(birth).filter(|birth| birth.0 > 0),
            inode: raw.st_ino,
            device: raw.st_dev as u64,
            links: raw.st_nlink.into(),
            rdev: numbers(raw.st_rdev as u64),
            blocks: raw.st_blocks.cast_unsigned(),
        }
    }
}

/// Major and minor number of a device.
#[cfg(target_vendor = "apple")]
fn numbers(device: u64) -> (u32, u32) {
    ((device >> 24 & 0xFF) as u32, (device & 0xFF_FFFF) as u32)
}

/// Major and minor number of a device.
#[cfg(not(target_vendor = "apple"))]
fn numbers(device: u64) -> (u32, u32) {
    let major = (device >> 32 & 0xFFFF_FF00) | (device >> 8 & 0xFF);
    let minor = (device >> 24 & 0xFF00) | (device & 0xFFFF_00FF);
    (major as u32, minor as u32)
}
