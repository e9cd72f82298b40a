//! Open: opens paths of any length, name by name, without following symbolic links.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, openat};

/// Opens an absolute path. If somebody replaces one of its directories by a link meanwhile, this fails instead of
/// opening another directory.
pub fn absolute(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let top = openat(CWD, "/", PASSING, Mode::empty())?;
    beneath(top.as_fd(), path.as_os_str().as_bytes(), flags)
}

/// Opens a path below a directory. The path is without `.` or `..`; an empty one is the directory itself. Links, or anything
/// else, cannot lead out of the directory.
pub fn beneath(directory: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    let mut names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).peekable();
    if names.peek().is_none() {
        return Ok(openat(directory, ".", flags | ALWAYS, Mode::empty())?);
    }
    let mut reached: Option<OwnedFd> = None;
    while let Some(name) = names.next() {
        if name == b".." {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let flags = if names.peek().is_none() { flags | ALWAYS } else { PASSING };
        let from = reached.as_ref().map_or(directory, |fd| fd.as_fd());
        reached = Some(openat(from, OsStr::from_bytes(name), flags, Mode::empty())?);
    }
    Ok(reached.expect("the path has a name"))
}

/// Opens an absolute path for reading. The access time changes as the file system has it.
pub fn quietly(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    absolute(path, OFlags::RDONLY | flags)
}

const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW);
const PASSING: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(ALWAYS);
