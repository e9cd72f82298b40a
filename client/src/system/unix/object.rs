//! Object: an entry of the target, named by an open directory and one name, or open itself.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use copal_format::time::Time;

use rustix::fs::{Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid, fchmod, fchown, futimens, openat};
use rustix::io::Result;

use crate::system::stat::EntryStat;
use crate::system::{Birth, Named, Place, attributes};

/// An entry whose metadata is set: how to call the system. No call follows a link.
pub(crate) enum Object<'o> {
    /// An open file.
    Open(BorrowedFd<'o>),
    /// A directory or file that was opened for this object.
    Opened(OwnedFd),
    /// A link, FIFO or device, or an entry that cannot be opened.
    Named(Named<'o>),
}

impl<'o> Object<'o> {
    /// The object at a place: opened if that has no side effect and succeeds, else by name.
    pub(crate) fn at(at: Place<'o>, is_openable: bool) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        match is_openable.then(|| openat(at.directory, at.name, flags, Mode::empty())) {
            Some(Ok(file)) => Ok(Self::Opened(file)),
            _ => Named::at(at).map(Self::Named),
        }
    }

    pub(crate) fn chown(&self, owner: Option<u32>, group: Option<u32>) -> Result<()> {
        let (owner, group) = (owner.map(Uid::from_raw), group.map(Gid::from_raw));
        match self.call() {
            Call::File(file) => fchown(file, owner, group),
            Call::Name(named) => named.chown(owner, group),
        }
    }

    /// Whether it is open, so that nobody can exchange it.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open(_) | Self::Opened(_))
    }

    /// Whether every call reaches the entry that was looked up, whatever its name leads to by now.
    pub(crate) fn is_held(&self) -> bool {
        self.is_open() || Named::IS_HELD
    }

    pub(crate) fn stat(&self) -> std::io::Result<EntryStat> {
        match self.call() {
            Call::File(file) => EntryStat::of(file),
            Call::Name(named) => named.stat(),
        }
    }

    pub(crate) fn chmod(&self, mode: Mode) -> Result<()> {
        match self.call() {
            Call::File(file) => fchmod(file, mode),
            Call::Name(named) => named.chmod(mode),
        }
    }

    pub(crate) fn set_xattr(&self, name: &CStr, value: &[u8]) -> Result<()> {
        attributes::set(self.call(), name, value)
    }

    pub(crate) fn remove_xattr(&self, name: &CStr) -> Result<()> {
        attributes::remove(self.call(), name)
    }

    /// The names of its extended attributes, each with a zero byte after it.
    pub(crate) fn xattr_names(&self) -> Result<Vec<u8>> {
        attributes::names(self.call())
    }

    /// Sets when the content last changed, and when the entry was made if the system has a call for that.
    pub(crate) fn set_times(&self, mtime: Time, birth: Birth) -> Result<()> {
        let (seconds, nanoseconds) = mtime.to_unix();
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() },
        };
        match self.call() {
            // In this order: an entry of macOS is never older than its content.
            Call::File(file) => futimens(file, &times).and_then(|()| birth.set(file)),
            Call::Name(named) => named.set_times(&times),
        }
    }

    fn call(&self) -> Call<'_> {
        match self {
            Self::Open(file) => Call::File(*file),
            Self::Opened(file) => Call::File(file.as_fd()),
            Self::Named(named) => Call::Name(named),
        }
    }
}

/// How a call names an object.
#[derive(Copy, Clone)]
pub(crate) enum Call<'c> {
    File(BorrowedFd<'c>),
    Name(&'c Named<'c>),
}
