//! Place: what exists where an entry is to be restored, and whether to keep, reuse or remove it.

use std::io;

use copal_format::path::TreePath;
use copal_format::time::Time;

use super::target::{At, Target};
use super::{Overwrite, WriteError};
use crate::stat::EntryStat;
use crate::system::{FileType, has_this_name, link_target_at};

/// The entry to be written.
#[derive(Debug, Copy, Clone)]
pub struct Wanted<'w> {
    /// Its kind; not a directory.
    pub kind: FileType,
    /// Bytes of a regular file.
    pub size: u64,
    /// When the content last changed.
    pub mtime: Time,
    /// Where a symbolic link points.
    pub points_to: Option<&'w [u8]>,
    /// Major and minor number of a device.
    pub device: Option<(u32, u32)>,
    /// Whether the entry is the only name of its file: then an existing file with several names does not match.
    pub is_alone: bool,
}

/// The state of the place where an entry is to be written.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub enum TargetState {
    /// Nothing: create the entry.
    Free,
    /// An entry with the right content: set its metadata.
    Same,
    /// An entry that is left as it is.
    Kept,
    /// An entry that must be removed first.
    Taken,
}

impl Target {
    /// Examines the place of an entry, as far as the options require.
    pub fn look(&self, path: &TreePath, wanted: &Wanted<'_>) -> Result<TargetState, WriteError> {
        let Some((at, stat)) = self.find(path)? else { return Ok(TargetState::Free) };
        Ok(match self.options.overwrite {
            Overwrite::Never => TargetState::Kept,
            Overwrite::Changed | Overwrite::Newer if matches(&at, &stat, wanted) => TargetState::Same,
            Overwrite::Newer if stat.mtime >= wanted.mtime => TargetState::Kept,
            Overwrite::Changed | Overwrite::Newer | Overwrite::Always => TargetState::Taken,
        })
    }

    /// Examines the place of an entry, and removes what must be removed from it.
    pub fn make_way(&self, path: &TreePath, wanted: &Wanted<'_>) -> Result<TargetState, WriteError> {
        match self.look(path, wanted)? {
            TargetState::Taken => self.remove_existing(path).map(|()| TargetState::Free),
            place => Ok(place),
        }
    }

    /// Whether the wanted entry exists, whatever the overwrite option says.
    pub fn has(&self, path: &TreePath, wanted: &Wanted<'_>) -> Result<bool, WriteError> {
        Ok(self.find(path)?.is_some_and(|(at, stat)| matches(&at, &stat, wanted)))
    }

    /// The stat of an entry of the target, if it exists.
    pub fn existing(&self, path: &TreePath) -> Result<Option<EntryStat>, WriteError> {
        Ok(self.find(path)?.map(|(_, stat)| stat))
    }

    fn find(&self, path: &TreePath) -> Result<Option<(At, EntryStat)>, WriteError> {
        let look = || -> io::Result<(At, EntryStat, bool)> {
            let at = self.at(path)?;
            let stat = EntryStat::at(&at.directory, &at.name)?;
            // Where letters of either case are the same, another entry may have the name.
            let is_this = has_this_name(&at.directory, &at.name)?;
            Ok((at, stat, is_this))
        };
        match look() {
            Ok((_, _, false)) => Err(WriteError::InTheWay { path: path.clone() }),
            Ok((at, stat, true)) => Ok(Some((at, stat))),
            Err(error) if super::target::is_blocked(&error) => Ok(None),
            Err(error) => Err(WriteError::io("look at", path, error)),
        }
    }
}

/// Whether an entry has the wanted content, as far as this can be seen without reading it.
fn matches(at: &At, stat: &EntryStat, wanted: &Wanted<'_>) -> bool {
    let is_same = match wanted.kind {
        FileType::RegularFile => (stat.size, stat.mtime) == (wanted.size, wanted.mtime),
        FileType::Symlink => {
            let points_to = link_target_at(&at.directory, &at.name).ok();
            points_to.as_deref() == wanted.points_to
        }
        FileType::CharacterDevice | FileType::BlockDevice => Some(stat.rdev) == wanted.device,
        _ => true,
    };
    stat.kind() == wanted.kind && is_same && !(wanted.is_alone && stat.links > 1)
}
