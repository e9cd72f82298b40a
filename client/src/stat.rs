//! Stat: an entry's metadata, from a single `statx`.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use copal_format::time::Time;
use rustix::fs::{AtFlags, CWD, FileType, Statx, StatxFlags};

/// An entry's metadata, as far as one `statx` returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryStat {
    /// `st_mode`, with the type bits.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The owning group.
    pub gid: u32,
    /// Bytes of a regular file or of a link's target. For other entries, what the file system reports.
    pub size: u64,
    /// When the content last changed.
    pub mtime: Time,
    /// When content or metadata last changed.
    pub ctime: Time,
    /// When the entry was created, if the file system knows.
    pub birth: Option<Time>,
    /// The number of the inode.
    pub inode: u64,
    /// The device that holds the inode. Never used for change detection, because a remount changes it.
    pub device: u64,
    /// Number of hard links to the inode.
    pub links: u64,
    /// Major and minor number of a device file.
    pub rdev: (u32, u32),
    /// Units of 512 bytes that the content takes.
    pub blocks: u64,
}

/// What identifies an inode for as long as the machine runs.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The device that holds the inode.
    pub device: u64,
    /// The number of the inode.
    pub inode: u64,
    /// When it was created, if the file system knows. Tells inodes apart when a deleted inode's number is reused.
    pub birth: Option<Time>,
}

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

    /// The kind of entry.
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.mode)
    }

    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        self.kind() == FileType::Directory
    }

    /// The identity of its inode.
    pub fn id(&self) -> FileId {
        FileId { device: self.device, inode: self.inode, birth: self.birth }
    }

    /// Whether size, times and inode equal those of `earlier`: the content was most likely not written to since.
    pub fn is_unchanged_since(&self, earlier: &EntryStat) -> bool {
        (self.size, self.mtime, self.ctime, self.inode) == (earlier.size, earlier.mtime, earlier.ctime, earlier.inode)
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
