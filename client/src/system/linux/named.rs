//! Named: an entry of a restore's target that is not open for reading: a link, FIFO or device, or a file without that
//! right.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Timestamps, Uid, chmodat, chownat, openat, utimensat};
use rustix::io::{Errno, Result};

use crate::system::Place;
use crate::system::stat::EntryStat;

/// The entry that had a name when it was looked up, as an `O_PATH` file: its name may lead to another entry meanwhile.
/// Other systems keep the place instead, hence the lifetime.
pub(crate) struct Named<'p>(OwnedFd, PhantomData<Place<'p>>);

impl<'p> Named<'p> {
    /// Whether every call reaches the same entry.
    pub(crate) const IS_HELD: bool = true;

    pub(crate) fn at(at: Place<'p>) -> Result<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(openat(at.directory, at.name, flags, Mode::empty())?, PhantomData))
    }

    pub(crate) fn stat(&self) -> io::Result<EntryStat> {
        EntryStat::of(&self.0)
    }

    pub(crate) fn chown(&self, owner: Option<Uid>, group: Option<Gid>) -> Result<()> {
        chownat(&self.0, c"", owner, group, AtFlags::EMPTY_PATH)
    }

    pub(crate) fn chmod(&self, mode: Mode) -> Result<()> {
        chmodat(CWD, self.path(), mode, AtFlags::empty())
    }

    pub(crate) fn set_times(&self, times: &Timestamps) -> Result<()> {
        match utimensat(&self.0, c"", times, AtFlags::EMPTY_PATH) {
            // Linux before 5.8.
            Err(Errno::INVAL) => utimensat(CWD, self.path(), times, AtFlags::empty()),
            set => set,
        }
    }

    /// A path for calls that take no `O_PATH` file. Calls that follow it reach the entry, even if that is a link.
    pub(crate) fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }
}
