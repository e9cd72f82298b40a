//! Object: an entry of the target, named by an open directory and one name, or open itself.

use std::ffi::CStr;
use std::os::fd::{BorrowedFd, OwnedFd};

use copal_format::time::Time;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid, chmodat, chownat, fchmod, fchown, futimens,
    openat, utimensat,
};
use rustix::io::{Errno, Result};

use crate::system::Birth;

/// The place of an entry: an open directory and a name in it.
#[derive(Copy, Clone)]
pub(crate) struct Place<'p> {
    pub(crate) directory: BorrowedFd<'p>,
    pub(crate) name: &'p CStr,
}

/// An entry whose metadata is set: how to call the system. No call follows a link.
pub(crate) enum Object<'o> {
    /// An open file.
    Open(BorrowedFd<'o>),
    /// A directory or file that was opened for this object.
    Opened(OwnedFd),
    /// A link, FIFO or device, or an entry that cannot be opened.
    Named(Place<'o>),
}

impl<'o> Object<'o> {
    /// The object at a place: opened if that has no side effect and succeeds, else by name.
    pub(crate) fn at(at: Place<'o>, is_openable: bool) -> Self {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = is_openable.then(|| openat(at.directory, at.name, flags, Mode::empty()).ok());
        opened.flatten().map_or(Self::Named(at), Self::Opened)
    }

    pub(crate) fn chown(&self, owner: Option<u32>, group: Option<u32>) -> Result<()> {
        let (owner, group) = (owner.map(Uid::from_raw), group.map(Gid::from_raw));
        match self.call() {
            Call::File(file) => fchown(file, owner, group),
            Call::Name(at) => chownat(at.directory, at.name, owner, group, AtFlags::SYMLINK_NOFOLLOW),
        }
    }

    pub(crate) fn chmod(&self, mode: Mode) -> Result<()> {
        match self.call() {
            Call::File(file) => fchmod(file, mode),
            Call::Name(at) => chmodat(at.directory, at.name, mode, AtFlags::SYMLINK_NOFOLLOW),
        }
    }

    pub(crate) fn set_xattr(&self, name: &CStr, value: &[u8]) -> Result<()> {
        match self.call() {
            Call::File(file) => set_xattr(file, name, value),
            Call::Name(_) => Err(Errno::NOTSUP),
        }
    }

    pub(crate) fn remove_xattr(&self, name: &CStr) -> Result<()> {
        match self.call() {
            Call::File(file) => remove_xattr(file, name),
            Call::Name(_) => Err(Errno::NOTSUP),
        }
    }

    /// The names of its extended attributes, each with a zero byte after it.
    pub(crate) fn xattr_names(&self) -> Result<Vec<u8>> {
        match self.call() {
            Call::File(file) => xattr_names(file),
            Call::Name(_) => Ok(Vec::new()),
        }
    }

    pub(crate) fn set_times(&self, mtime: Time, _: Birth) -> Result<()> {
        let (seconds, nanoseconds) = mtime.to_unix();
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() },
        };
        match self.call() {
            Call::File(file) => futimens(file, &times),
            Call::Name(at) => utimensat(at.directory, at.name, &times, AtFlags::SYMLINK_NOFOLLOW),
        }
    }

    fn call(&self) -> Call<'_> {
        use std::os::fd::AsFd;
        match self {
            Self::Open(file) => Call::File(*file),
            Self::Opened(file) => Call::File(file.as_fd()),
            Self::Named(at) => Call::Name(*at),
        }
    }
}

enum Call<'c> {
    File(BorrowedFd<'c>),
    Name(Place<'c>),
}

#[cfg(target_vendor = "apple")]
fn set_xattr(file: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> Result<()> {
    rustix::fs::fsetxattr(file, name, value, rustix::fs::XattrFlags::empty())
}

#[cfg(target_vendor = "apple")]
fn remove_xattr(file: BorrowedFd<'_>, name: &CStr) -> Result<()> {
    rustix::fs::fremovexattr(file, name)
}

#[cfg(target_vendor = "apple")]
fn xattr_names(file: BorrowedFd<'_>) -> Result<Vec<u8>> {
    let mut names = vec![0; 64 << 10];
    let length = rustix::fs::flistxattr(file, &mut names)?;
    names.truncate(length);
    Ok(names)
}

#[cfg(not(target_vendor = "apple"))]
fn set_xattr(_: BorrowedFd<'_>, _: &CStr, _: &[u8]) -> Result<()> {
    Err(Errno::NOTSUP)
}

#[cfg(not(target_vendor = "apple"))]
fn remove_xattr(_: BorrowedFd<'_>, _: &CStr) -> Result<()> {
    Err(Errno::NOTSUP)
}

#[cfg(not(target_vendor = "apple"))]
fn xattr_names(_: BorrowedFd<'_>) -> Result<Vec<u8>> {
    Ok(Vec::new())
}
