//! Object: an entry of the target, named by an open directory and one name, or open itself.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use copal_format::time::Time;

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid, XattrFlags, chmodat, chownat, fchmod,
    fchown, flistxattr, fremovexattr, fsetxattr, futimens, llistxattr, lremovexattr, lsetxattr, openat, utimensat,
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
            // A path through an O_PATH file names exactly this inode, even if its name changes meanwhile.
            Call::Name(at) => {
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let inode = openat(at.directory, at.name, flags, Mode::empty())?;
                chmodat(CWD, format!("/proc/self/fd/{}", inode.as_raw_fd()), mode, AtFlags::empty())
            }
        }
    }

    pub(crate) fn set_xattr(&self, name: &CStr, value: &[u8]) -> Result<()> {
        match self.call() {
            Call::File(file) => fsetxattr(file, name, value, XattrFlags::empty()),
            Call::Name(at) => lsetxattr(path(at), name, value, XattrFlags::empty()),
        }
    }

    pub(crate) fn remove_xattr(&self, name: &CStr) -> Result<()> {
        match self.call() {
            Call::File(file) => fremovexattr(file, name),
            Call::Name(at) => lremovexattr(path(at), name),
        }
    }

    /// The names of its extended attributes, each with a zero byte after it.
    pub(crate) fn xattr_names(&self) -> Result<Vec<u8>> {
        let list = |buffer: &mut [u8]| match self.call() {
            Call::File(file) => flistxattr(file, buffer),
            Call::Name(at) => llistxattr(path(at), buffer),
        };
        let mut buffer = vec![0; 256];
        let length = match list(&mut buffer) {
            Err(Errno::RANGE) => {
                buffer.resize(64 << 10, 0);
                list(&mut buffer)?
            }
            length => length?,
        };
        buffer.truncate(length);
        Ok(buffer)
    }

    /// Sets when the content last changed. No call sets when an entry was made.
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

/// A path for calls that take no directory. It goes through the open one, so that only the last name is looked up.
fn path(at: Place<'_>) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let directory = PathBuf::from(format!("/proc/self/fd/{}", at.directory.as_raw_fd()));
    directory.join(std::ffi::OsStr::from_bytes(at.name.to_bytes()))
}
