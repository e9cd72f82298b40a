//! Attributes: extended attributes. No call follows a link.

use std::ffi::CStr;

use rustix::fs::{XattrFlags, flistxattr, fremovexattr, fsetxattr, listxattr, removexattr, setxattr};
use rustix::io::{Errno, Result};

use crate::system::Call;

/// Whether a restore removes this attribute if the snapshot lacks it. It leaves those that the system makes, and those that a
/// backup without privileges does not see: `trusted.*`.
pub(crate) fn is_ours(name: &[u8]) -> bool {
    name.starts_with(b"user.") || name.starts_with(b"system.posix_acl_") || name == b"security.capability"
}

/// Whether setting it needs the right to write, which an entry's mode may not give.
pub(crate) fn needs_writing(name: &[u8]) -> bool {
    name.starts_with(b"user.")
}

pub(crate) fn set(object: Call<'_>, name: &CStr, value: &[u8]) -> Result<()> {
    match object {
        Call::File(file) => fsetxattr(file, name, value, XattrFlags::empty()),
        Call::Name(named) => setxattr(named.path(), name, value, XattrFlags::empty()),
    }
}

pub(crate) fn remove(object: Call<'_>, name: &CStr) -> Result<()> {
    match object {
        Call::File(file) => fremovexattr(file, name),
        Call::Name(named) => removexattr(named.path(), name),
    }
}

/// The names of the attributes, each with a zero byte after it.
pub(crate) fn names(object: Call<'_>) -> Result<Vec<u8>> {
    whole(|buffer| match object {
        Call::File(file) => flistxattr(file, buffer),
        Call::Name(named) => listxattr(named.path(), buffer),
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

/// The error of a call that reads or removes an attribute which the entry does not have.
pub(crate) const ABSENT: Errno = Errno::NODATA;
/// Linux's limit for a value, and for the list of names, in bytes.
const XATTR_BYTES: usize = 64 << 10;
