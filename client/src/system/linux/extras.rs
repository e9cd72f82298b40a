//! Extras: extended attributes and link targets, read only for entries that are new or changed.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, readlinkat};
use rustix::io::Errno;

use super::open;
use crate::system::extras::Extras;
use crate::system::unix::extras::collect;

impl Extras {
    /// Reads the attributes of an entry by path: a directory, link or device. Does not follow a final link.
    pub fn read(path: &Path) -> Self {
        match reachable(path) {
            Ok((path, _directory)) => collect(
                |buffer| rustix::fs::llistxattr(&path, buffer),
                |name, buffer| rustix::fs::lgetxattr(&path, name, buffer),
                is_stored,
            ),
            Err(error) => Self { xattrs: Vec::new(), unreadable: vec![(Vec::new(), error)] },
        }
    }

    /// Reads the attributes of an open file.
    pub fn of_file(file: impl AsFd) -> Self {
        collect(
            |buffer| rustix::fs::flistxattr(&file, buffer),
            |name, buffer| rustix::fs::fgetxattr(&file, name, buffer),
            is_stored,
        )
    }
}

/// The target of a symbolic link, as raw bytes.
pub fn link_target(path: &Path) -> io::Result<Vec<u8>> {
    let (path, _directory) = reachable(path)?;
    Ok(readlinkat(CWD, &path, Vec::new())?.into_bytes())
}

/// Whether the file system stores this attribute; some, such as `system.nfs4_acl`, are generated on request.
fn is_stored(name: &[u8]) -> bool {
    const SPACES: [&[u8]; 4] = [b"user.", b"trusted.", b"security.", b"btrfs."];
    matches!(name, b"system.posix_acl_access" | b"system.posix_acl_default")
        || SPACES.iter().any(|space| name.starts_with(space))
}

/// A path short enough for the kernel. A long path is reached through an open directory, returned with it.
fn reachable(path: &Path) -> io::Result<(PathBuf, Option<impl AsFd + use<>>)> {
    if path.as_os_str().as_bytes().len() < LONG {
        return Ok((path.into(), None));
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::NAMETOOLONG.into());
    };
    let directory = open::absolute(parent, OFlags::PATH | OFlags::DIRECTORY)?;
    Ok((through(directory.as_fd()).join(name), Some(directory)))
}

/// A path to an open directory, through `/proc`.
fn through(directory: BorrowedFd<'_>) -> PathBuf {
    format!("/proc/self/fd/{}", directory.as_raw_fd()).into()
}

/// Paths shorter than this go to the kernel unchanged.
const LONG: usize = 4096;
