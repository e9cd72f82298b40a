//! Stat: an entry's metadata, from a single `statx`.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use copal_format::time::Time;
use rustix::fs::{AtFlags, CWD, Statx, StatxFlags};

use crate::system::stat::EntryStat;

impl EntryStat {
    /// Reads the entry `name` of an open directory; does not follow a link.
    pub fn at(directory: impl AsFd, name: &CStr) -> io::Result<Self> {
        // No AT_STATX_DONT_SYNC: local file systems ignore it, and on NFS or FUSE it may answer from a stale cache, so
        // that a changed file would pass as unchanged.
        Ok(rustix::fs::statx(directory, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, wanted())?.into())
    }

    /// Reads an open file.
    pub fn of(file: impl AsFd) -> io::Result<Self> {
        Ok(rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, wanted())?.into())
    }

    /// Reads the entry at a path; does not follow a final link.
    pub fn of_path(path: &Path) -> io::Result<Self> {
        Ok(rustix::fs::statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, wanted())?.into())
    }
}

impl From<Statx> for EntryStat {
    fn from(raw: Statx) -> Self {
        let is_told = StatxFlags::from_bits_retain(raw.stx_mask).contains(StatxFlags::BTIME);
        let birth = Time::from_unix(raw.stx_btime.tv_sec, raw.stx_btime.tv_nsec);
        Self {
            mode: raw.stx_mode.into(),
            uid: raw.stx_uid,
            gid: raw.stx_gid,
            size: raw.stx_size,
            mtime: Time::from_unix(raw.stx_mtime.tv_sec, raw.stx_mtime.tv_nsec),
            ctime: Time::from_unix(raw.stx_ctime.tv_sec, raw.stx_ctime.tv_nsec),
            // Some file systems report time 0 for an unknown birth time.
            birth: Some(birth).filter(|birth| is_told && birth.0 != 0),
            inode: raw.stx_ino,
            device: rustix::fs::makedev(raw.stx_dev_major, raw.stx_dev_minor),
            links: raw.stx_nlink.into(),
            rdev: (raw.stx_rdev_major, raw.stx_rdev_minor),
            blocks: raw.stx_blocks,
        }
    }
}

fn wanted() -> StatxFlags {
    StatxFlags::BASIC_STATS | StatxFlags::BTIME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_birth_at_the_beginning_of_time_is_none() {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let mut raw = rustix::fs::statx(CWD, "/", flags, wanted()).unwrap();
        raw.stx_mask |= StatxFlags::BTIME.bits();
        raw.stx_btime.tv_sec = 1_600_000_000;
        raw.stx_btime.tv_nsec = 5;
        assert_eq!(EntryStat::from(raw).birth, Some(Time::from_unix(1_600_000_000, 5)));
        raw.stx_btime.tv_sec = 0;
        raw.stx_btime.tv_nsec = 0;
        assert_eq!(EntryStat::from(raw).birth, None);
    }
}
