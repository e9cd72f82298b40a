//! Extras: extended attributes and link targets, read only for entries that are new or changed.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, OFlags, readlinkat};
use rustix::io::Errno;

use super::open;
use crate::system::extras::Extras;

impl Extras {
    /// Reads the attributes of an entry by path: a directory, link or device. Does not follow a final link.
    pub fn read(path: &Path) -> Self {
        match reachable(path) {
            Ok((path, _directory)) => collect(
                |buffer| rustix::fs::llistxattr(&path, buffer),
                |name, buffer| rustix::fs::lgetxattr(&path, name, buffer),
            ),
            Err(error) => Self { xattrs: Vec::new(), unreadable: vec![(Vec::new(), error)] },
        }
    }

    /// Reads the attributes of an open file.
    pub fn of_file(file: impl AsFd) -> Self {
        collect(
            |buffer| rustix::fs::flistxattr(&file, buffer),
            |name, buffer| rustix::fs::fgetxattr(&file, name, buffer),
        )
    }
}

/// The target of a symbolic link, as raw bytes.
pub fn link_target(path: &Path) -> io::Result<Vec<u8>> {
    let (path, _directory) = reachable(path)?;
    Ok(readlinkat(CWD, &path, Vec::new())?.into_bytes())
}

fn collect(
    list: impl Fn(&mut [u8]) -> rustix::io::Result<usize>,
    value: impl Fn(&CString, &mut [u8]) -> rustix::io::Result<usize>,
) -> Extras {
    let mut extras = Extras::default();
    let names = match whole(&list) {
        Ok(names) => names,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return extras,
        Err(error) => {
            extras.unreadable.push((Vec::new(), error.into()));
            return extras;
        }
    };
    for name in names.split(|&byte| byte == 0).filter(|name| is_stored(name)) {
        let c_name = CString::new(name).expect("the list was split at its zero bytes");
        match whole(|buffer| value(&c_name, buffer)) {
            Ok(value) => extras.xattrs.push((name.into(), value)),
            // The attribute was removed after it was listed.
            Err(Errno::NODATA) => {}
            Err(error) => extras.unreadable.push((name.into(), error.into())),
        }
    }
    extras.xattrs.sort_unstable();
    extras
}

/// The result of a call that fails with ERANGE if its buffer is too small.
fn whole(call: impl Fn(&mut [u8]) -> rustix::io::Result<usize>) -> rustix::io::Result<Vec<u8>> {
    let mut small = [0; 256];
    match call(&mut small) {
        Ok(length) => Ok(small[..length].to_vec()),
        Err(Errno::RANGE) => {
            let mut large = vec![0; XATTR_BYTES];
            let length = call(&mut large)?;
            large.truncate(length);
            large.shrink_to_fit();
            Ok(large)
        }
        Err(error) => Err(error),
    }
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

/// Linux's limit for a value, and for the list of names, in bytes.
const XATTR_BYTES: usize = 64 << 10;
/// Paths shorter than this go to the kernel unchanged.
const LONG: usize = 4096;
