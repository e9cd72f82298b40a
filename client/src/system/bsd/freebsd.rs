//! Attributes: FreeBSD's extended attributes are not saved; and calls that macOS does not have.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use copal_format::snapshot::MetadataSeen;
use rustix::fs::OFlags;
use rustix::io::{Errno, Result};

use crate::system::Call;
use crate::system::extras::Extras;
pub use crate::system::unix::common::Birth;
pub(crate) use crate::system::unix::common::{forget_cached, has_this_name, mknodat};

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

/// Writes everything to the disk.
pub(crate) fn write_back(_: impl AsFd) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}
