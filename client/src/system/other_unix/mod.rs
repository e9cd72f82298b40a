//! Other Unix: what macOS and FreeBSD have beside the rest of Unix. Not compiled yet, and never run.

mod extras;
mod object;
pub mod open;
mod stat;

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

pub use extras::link_target;
pub(crate) use object::{Object, Place};

/// How to open a directory to find entries in it. Not all of these systems can do that without the right to list it.
pub(crate) const PATH: OFlags = OFlags::RDONLY;

/// Gives each name of an open directory to a function, until that returns false. After an error the names so far stand.
pub(crate) fn list(directory: impl AsFd, mut take: impl FnMut(&[u8], FileType) -> bool) -> io::Result<()> {
    let again = openat(directory, c".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for entry in Dir::new(again)? {
        match entry {
            // The directory was removed while it was open.
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
            Ok(entry) if !take(entry.file_name().to_bytes(), entry.file_type()) => return Ok(()),
            Ok(_) => {}
        }
    }
    Ok(())
}

/// Makes a FIFO or device: not here yet.
pub(crate) fn mknodat(_: impl AsFd, _: &CStr, _: FileType, _: (u32, u32)) -> rustix::io::Result<()> {
    Err(Errno::NOTSUP)
}

/// The permissions of some bits of a mode.
pub(crate) fn mode_of(bits: u32) -> Mode {
    Mode::from_bits_truncate((bits & 0o7777) as u16)
}

/// The kind that the type bits of a mode name.
pub(crate) fn kind_of(mode: u32) -> FileType {
    FileType::from_raw_mode(mode as u16)
}

/// Inherited ACLs are not examined here.
pub(crate) fn has_default_acl(_: BorrowedFd<'_>) -> bool {
    false
}

/// The number of the device tells, which the caller compares.
pub(crate) fn is_mount_point(_: impl AsFd) -> io::Result<bool> {
    Ok(false)
}

/// Not advised here.
pub(crate) fn expect_sequential(_: &File) {}

/// Not possible here.
pub(crate) fn forget_cached(_: &File) {}

/// Not possible for one file system here.
pub(crate) fn write_back(_: impl AsFd) -> io::Result<()> {
    Ok(())
}

/// Not told here.
pub(crate) fn umask_told() -> Option<u32> {
    None
}

/// The permissions that new files do not get. To tell them, the process has none for a moment.
pub(crate) fn umask_asked() -> u32 {
    let mask = rustix::process::umask(Mode::empty());
    rustix::process::umask(mask);
    mask.bits().into()
}
