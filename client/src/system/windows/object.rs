//! Object: an entry of a restore's target, named by an open directory and one name, or open itself.

use std::ffi::CStr;

use copal_format::time::Time;
use copal_windows::{AsFd, BorrowedFd, Errno, FileType, Mode, OFlags, OwnedFd, openat};

use super::extras::{ATTRIBUTES, DIRECTORY, KEPT, kept};
use crate::system::stat::EntryStat;
use crate::system::{Birth, Place};

/// An entry whose metadata is set: how to call the system. No call follows a link.
pub(crate) enum Object<'o> {
    /// An open file.
    Open(BorrowedFd<'o>),
    /// An entry by name.
    Named(Place<'o>),
}

impl<'o> Object<'o> {
    pub(crate) fn at(at: Place<'o>, _: bool) -> Result<Self, Errno> {
        Ok(Self::Named(at))
    }

    /// Users of Windows have no numbers: only "nobody in particular" can be set.
    pub(crate) fn chown(&self, owner: Option<u32>, group: Option<u32>) -> Result<(), Errno> {
        if owner.unwrap_or(0) == 0 && group.unwrap_or(0) == 0 { Ok(()) } else { Err(Errno::OPNOTSUPP) }
    }

    /// Windows has no bits or attributes that give a program more rights.
    pub(crate) fn is_open(&self) -> bool {
        true
    }

    /// Nobody restores with rights here that others could use by exchanging an entry.
    pub(crate) fn is_held(&self) -> bool {
        true
    }

    pub(crate) fn stat(&self) -> std::io::Result<EntryStat> {
        match self {
            Self::Open(file) => EntryStat::of(file),
            Self::Named(at) => EntryStat::at(at.directory, at.name),
        }
    }

    /// Windows keeps no permissions of this form: only those that it shows for everything can be set.
    pub(crate) fn chmod(&self, mode: Mode) -> Result<(), Errno> {
        let plain = [0o644, 0o755, 0o777].contains(&mode.bits());
        if plain { Ok(()) } else { Err(Errno::OPNOTSUPP) }
    }

    /// Sets the attributes of Windows; there are no others.
    pub(crate) fn set_xattr(&self, name: &CStr, value: &[u8]) -> Result<(), Errno> {
        if name.to_bytes() != ATTRIBUTES {
            return Err(Errno::OPNOTSUPP);
        }
        let bits = u32::from_le_bytes(value.try_into().map_err(|_| Errno::INVAL)?);
        if let Self::Named(at) = self {
            self.make_link_of_kind(*at, bits)?;
        }
        self.change(|fd| copal_windows::put_attributes(fd, bits & KEPT | ARCHIVE))
    }

    pub(crate) fn remove_xattr(&self, name: &CStr) -> Result<(), Errno> {
        if name.to_bytes() == ATTRIBUTES {
            self.change(|fd| copal_windows::put_attributes(fd, ARCHIVE))
        } else {
            Ok(())
        }
    }

    /// The names of its extended attributes, each with a zero byte after it.
    pub(crate) fn xattr_names(&self) -> Result<Vec<u8>, Errno> {
        let stat = match self {
            Self::Open(file) => copal_windows::stat(file)?,
            Self::Named(at) => copal_windows::stat(openat(at.directory, at.name, OFlags::PATH, Mode::empty())?)?,
        };
        // Whether a link leads to a directory cannot be taken away.
        Ok(if kept(&stat) & KEPT == 0 { Vec::new() } else { [ATTRIBUTES, &[0]].concat() })
    }

    /// Sets when the content last changed, and when the entry was made.
    pub(crate) fn set_times(&self, mtime: Time, birth: Birth) -> Result<(), Errno> {
        self.change(|fd| copal_windows::put_times(fd, ticks(mtime), birth.0.map(ticks)))
    }

    /// A link was made before it was known whether it leads to a directory: makes it anew if that was wrong.
    fn make_link_of_kind(&self, at: Place<'_>, bits: u32) -> Result<(), Errno> {
        let stat = copal_windows::stat(openat(at.directory, at.name, OFlags::PATH, Mode::empty())?)?;
        if stat.kind != FileType::Symlink || (stat.attributes ^ bits) & DIRECTORY == 0 {
            return Ok(());
        }
        let again = |error: std::io::Error| super::errno(&error);
        let target = copal_windows::link_target(at.directory, at.name).map_err(again)?;
        copal_windows::delete(at.directory, at.name, false)?;
        copal_windows::make_link(at.directory, at.name, &target, bits & DIRECTORY != 0).map_err(again)
    }

    fn change(&self, act: impl FnOnce(BorrowedFd<'_>) -> Result<(), Errno>) -> Result<(), Errno> {
        match self {
            // It was opened to be written, which allows this, too.
            Self::Open(file) => act(*file),
            Self::Named(at) => {
                let opened: OwnedFd = openat(at.directory, at.name, OFlags::ATTRIBUTES, Mode::empty())?;
                act(opened.as_fd())
            }
        }
    }
}

fn ticks(time: Time) -> i64 {
    copal_windows::ticks(time.to_unix())
}

/// Entries that programs make have it.
const ARCHIVE: u32 = 0x20;
