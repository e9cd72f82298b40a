//! Open: walks a path name by name, as every Unix can.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use crate::system::PATH;

/// Opens a path without following a link. If it must stay beneath the directory where it starts, `..` and a slash at its
/// beginning are refused.
pub(crate) fn name_by_name(
    start: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    stays_beneath: bool,
) -> io::Result<OwnedFd> {
    let mut reached: Option<OwnedFd> = None;
    let mut rest = path;
    loop {
        let from = reached.as_ref().map_or(start, |fd| fd.as_fd());
        let (name, after) = split_at_name(rest);
        if stays_beneath && (name == "/" || name == "..") {
            return Err(Errno::XDEV.into());
        }
        let flags = ALWAYS | if after.is_empty() { flags } else { PATH.union(OFlags::DIRECTORY) };
        // FreeBSD has another error for a link that is not followed.
        let opened = openat(from, name, flags, Mode::empty())
            .map_err(|errno| if errno == Errno::MLINK { Errno::LOOP } else { errno })?;
        if after.is_empty() {
            return Ok(opened);
        }
        (reached, rest) = (Some(opened), after);
    }
}

fn split_at_name(path: &[u8]) -> (&OsStr, &[u8]) {
    match path.iter().position(|&byte| byte == b'/') {
        Some(0) => (OsStr::new("/"), &path[1..]),
        Some(at) => (OsStr::from_bytes(&path[..at]), &path[at + 1..]),
        None => (OsStr::from_bytes(path), &[]),
    }
}

/// How each part of a path is opened.
pub(crate) const ALWAYS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW);
