//! Stat: an entry's metadata.

use std::io;

use copal_format::time::Time;

use super::{FileType, kind_of};

/// An entry's metadata, as far as one call (on Linux a `statx`) returns it.
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
    /// The kind of entry.
    pub fn kind(&self) -> FileType {
        kind_of(self.mode)
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

/// Whether an error says that there is nothing at a path.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
