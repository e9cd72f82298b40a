//! Attributes: extended attributes, and modes of what cannot be opened. No call follows a link.

use std::ffi::CStr;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, XattrFlags, chmodat, flistxattr, fremovexattr, fsetxattr, llistxattr, lremovexattr,
    lsetxattr, openat,
};
use rustix::io::{Errno, Result};

use crate::system::{Call, Place};

/// Whether a backup contains this attribute; the system makes the others.
pub(crate) fn is_ours(name: &[u8]) -> bool {
    name.starts_with(b"user.") || name.starts_with(b"system.posix_acl_")
}

/// Whether setting it needs the right to write, which an entry's mode may not give.
pub(crate) fn needs_writing(name: &[u8]) -> bool {
    name.starts_with(b"user.")
}

/// Sets the mode of an entry by its name.
pub(crate) fn chmod(at: Place<'_>, mode: Mode) -> Result<()> {
    // A path through an O_PATH file names exactly this inode, even if its name changes meanwhile.
    let inode = openat(at.directory, at.name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    chmodat(CWD, format!("/proc/self/fd/{}", inode.as_raw_fd()), mode, AtFlags::empty())
}

pub(crate) fn set(object: Call<'_>, name: &CStr, value: &[u8]) -> Result<()> {
    match object {
        Call::File(file) => fsetxattr(file, name, value, XattrFlags::empty()),
        Call::Name(at) => lsetxattr(path(at), name, value, XattrFlags::empty()),
    }
}

pub(crate) fn remove(object: Call<'_>, name: &CStr) -> Result<()> {
    match object {
        Call::File(file) => fremovexattr(file, name),
        Call::Name(at) => lremovexattr(path(at), name),
    }
}

/// The names of the attributes, each with a zero byte after it.
pub(crate) fn names(object: Call<'_>) -> Result<Vec<u8>> {
    whole(|buffer| match object {
        Call::File(file) => flistxattr(file, buffer),
        Call::Name(at) => llistxattr(path(at), buffer),
    })
}

/// The result of a call that fails with ERANGE if its buffer is too small.
pub(crate) fn whole(call: impl Fn(&mut [u8]) -> Result<usize>) -> Result<Vec<u8>> {
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

/// A path for calls that take no directory. It goes through the open one, so that only the last name is looked up.
fn path(at: Place<'_>) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let directory = PathBuf::from(format!("/proc/self/fd/{}", at.directory.as_raw_fd()));
    directory.join(std::ffi::OsStr::from_bytes(at.name.to_bytes()))
}

/// The error of a call that reads or removes an attribute which the entry does not have.
pub(crate) const ABSENT: Errno = Errno::NODATA;
/// Linux's limit for a value, and for the list of names, in bytes.
const XATTR_BYTES: usize = 64 << 10;
