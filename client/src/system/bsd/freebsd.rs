//! Attributes: FreeBSD's extended attributes are not saved; and calls that macOS does not have.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use copal_format::snapshot::MetadataSeen;
use rustix::fs::{Advice, FileType, Mode, OFlags, fadvise};
use rustix::io::{Errno, Result};

use crate::system::Call;
use crate::system::extras::Extras;
pub use crate::system::unix::birth::Birth;

/// What a backup here sees of its entries: everything but extended attributes, ACLs and holes.
pub(crate) const SEEN: MetadataSeen = MetadataSeen(255 - 8 - 16 - 32);

/// How to open a directory to find entries in it: without the right to list it.
pub(crate) const PATH: OFlags = OFlags::PATH;

impl Extras {
    /// The attributes of an entry: none are read.
    pub fn read(_: &Path) -> Self {
        Self::default()
    }

    /// The attributes of an open file: none are read.
    pub fn of_file(_: impl AsFd) -> Self {
        Self::default()
    }
}

/// Whether a backup contains this attribute: none.
pub(crate) fn is_ours(_: &[u8]) -> bool {
    false
}

/// Whether setting it needs the right to write: it is never set.
pub(crate) fn needs_writing(_: &[u8]) -> bool {
    false
}

pub(crate) fn set(_: Call<'_>, _: &CStr, _: &[u8]) -> Result<()> {
    Err(Errno::NOTSUP)
}

pub(crate) fn remove(_: Call<'_>, _: &CStr) -> Result<()> {
    Err(Errno::NOTSUP)
}

pub(crate) fn names(_: Call<'_>) -> Result<Vec<u8>> {
    Ok(Vec::new())
}

/// Makes a FIFO or device with mode 0600.
pub(crate) fn mknodat(directory: impl AsFd, name: &CStr, kind: FileType, (major, minor): (u32, u32)) -> Result<()> {
    rustix::fs::mknodat(directory, name, kind, Mode::RUSR | Mode::WUSR, rustix::fs::makedev(major, minor))
}

/// Whether the entry that a name leads to has exactly this name: names that differ are never the same here.
pub(crate) fn has_this_name(_: impl AsFd, _: &CStr) -> io::Result<bool> {
    Ok(true)
}

/// Drops what the system keeps of a file in memory. Only advice, so a failure does not matter.
pub(crate) fn forget_cached(file: &File) {
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}

/// Writes everything to the disk.
pub(crate) fn write_back(_: impl AsFd) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}
