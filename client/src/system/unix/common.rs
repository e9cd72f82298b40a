//! Common: what Linux and FreeBSD have in common, and macOS does not.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use copal_format::time::Time;
use rustix::fs::{Advice, FileType, Mode, fadvise};

/// When an entry was made, for a restore that can set that. Here none can.
#[derive(Debug, Copy, Clone, Default)]
pub struct Birth;

impl From<Option<Time>> for Birth {
    fn from(_: Option<Time>) -> Self {
        Self
    }
}

impl Birth {
    /// Sets nothing.
    pub(crate) fn set(self, _: BorrowedFd<'_>) -> rustix::io::Result<()> {
        Ok(())
    }
}

/// Makes a FIFO or device with mode 0600.
pub(crate) fn mknodat(
    directory: impl AsFd,
    name: &CStr,
    kind: FileType,
    (major, minor): (u32, u32),
) -> rustix::io::Result<()> {
    let device = rustix::fs::makedev(major, minor);
    rustix::fs::mknodat(directory, name, kind, Mode::RUSR | Mode::WUSR, device)
}

/// Whether the entry that a name leads to has exactly this name: names that differ are never the same here.
pub(crate) fn has_this_name(_: impl AsFd, _: &CStr) -> io::Result<bool> {
    Ok(true)
}

/// Drops what the system keeps of a file in memory, so that reads show what the disk holds. Only advice, so a failure does
/// not matter.
pub(crate) fn forget_cached(file: &File) {
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}
