//! Named: an entry of a restore's target that is not open for reading: a link, FIFO or device, or a file without that
//! right.

use std::io;

use rustix::fs::{AtFlags, Gid, Mode, Timestamps, Uid, chmodat, chownat, utimensat};
use rustix::io::Result;

use crate::system::Place;
use crate::system::stat::EntryStat;

/// A name that each call looks up again: macOS cannot open every entry without an effect on it.
pub(crate) struct Named<'p>(pub(super) Place<'p>);

impl<'p> Named<'p> {
    /// Whether every call reaches the same entry.
    pub(crate) const IS_HELD: bool = false;

    pub(crate) fn at(at: Place<'p>) -> Result<Self> {
        Ok(Self(at))
    }

    pub(crate) fn stat(&self) -> io::Result<EntryStat> {
        EntryStat::at(self.0.directory, self.0.name)
    }

    pub(crate) fn chown(&self, owner: Option<Uid>, group: Option<Gid>) -> Result<()> {
        chownat(self.0.directory, self.0.name, owner, group, AtFlags::SYMLINK_NOFOLLOW)
    }

    pub(crate) fn chmod(&self, mode: Mode) -> Result<()> {
        chmodat(self.0.directory, self.0.name, mode, AtFlags::SYMLINK_NOFOLLOW)
    }

    pub(crate) fn set_times(&self, times: &Timestamps) -> Result<()> {
        utimensat(self.0.directory, self.0.name, times, AtFlags::SYMLINK_NOFOLLOW)
    }
}
