//! Open: opens paths of any length without following symbolic links.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{CWD, OFlags};
use rustix::io::Errno;

use crate::system::PATH;
use crate::system::unix::open::name_by_name;

/// Opens an absolute path. If somebody replaces one of its directories by a link meanwhile, this fails instead of
/// opening another directory.
pub fn absolute(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    name_by_name(CWD, path.as_os_str().as_bytes(), flags, false)
}

/// Opens a path below a directory. The path is relative, without `.` or `..`; an empty one is the directory itself.
/// Links, or anything else, cannot lead out of the directory.
pub fn beneath(directory: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    name_by_name(directory, if path.is_empty() { b"." } else { path }, flags, true)
}

/// Opens an absolute path for reading. The access time changes as the file system is mounted.
pub fn quietly(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    absolute(path, OFlags::RDONLY | flags)
}

/// The directory of an entry, and how to name the entry there. The whole path stays the name if the system takes it.
pub(super) fn beside(path: &Path) -> io::Result<(Option<OwnedFd>, &OsStr)> {
    if path.as_os_str().as_bytes().len() < PATH_MAX {
        return Ok((None, path.as_os_str()));
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::NAMETOOLONG.into());
    };
    Ok((Some(absolute(parent, PATH | OFlags::DIRECTORY)?), name))
}

/// The longest path that the system accepts, with its zero byte.
const PATH_MAX: usize = 1024;
