//! Place: what exists where an entry is to be restored, and whether to keep, reuse or remove it.

use std::io;

use copal_format::path::TreePath;
use copal_format::time::Time;

use super::metadata::Metadata;
use super::target::{At, Target};
use super::{Overwrite, WriteError};
use crate::stat::EntryStat;
use crate::system::{self, FileType, KEEPS_MODES, has_this_name, link_target_at};

/// The entry to be written.
#[derive(Debug, Copy, Clone)]
pub struct Wanted<'w> {
    /// Its metadata and kind; not of a directory.
    pub metadata: Metadata<'w>,
    /// Bytes of a regular file.
    pub size: u64,
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
            Overwrite::Changed | Overwrite::Newer if matches(&at, &stat, wanted) => {
                match self.may_take(&stat, &wanted.metadata) {
                    true => TargetState::Same,
                    false => TargetState::Taken,
                }
            }
            Overwrite::Newer if stat.mtime >= wanted.metadata.mtime => TargetState::Kept,
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
            // On a file system that ignores case, another entry may have the name.
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

    /// Whether an entry that was there before may get this metadata. Another user may have put it there. Then root would
    /// hand him a file with the rights of somebody else. And a further name of the file may lie outside the target.
    pub(super) fn may_take(&self, stat: &EntryStat, metadata: &Metadata<'_>) -> bool {
        let is_right = || !KEEPS_MODES || self.is_alike(stat, metadata);
        let has_one_name = stat.links <= 1 || is_right();
        if !system::is_root() || self.options.no_owner {
            return has_one_name;
        }
        has_one_name
            && stat.uid == metadata.uid
            && (!metadata.gives_rights() || (is_right() && !metadata.has_capability()))
    }
}

/// Whether an entry has the wanted content, as far as this can be seen without reading it.
fn matches(at: &At, stat: &EntryStat, wanted: &Wanted<'_>) -> bool {
    let kind = wanted.metadata.kind();
    let is_same = match kind {
        FileType::RegularFile => stat.size == wanted.size && has_time(stat, wanted.metadata.mtime),
        FileType::Symlink => {
            let points_to = link_target_at(&at.directory, &at.name).ok();
            points_to.as_deref() == wanted.points_to
        }
        FileType::CharacterDevice | FileType::BlockDevice => Some(stat.rdev) == wanted.device,
        _ => true,
    };
    stat.kind() == kind && is_same && !(wanted.is_alone && stat.links > 1)
}

/// Whether an entry last changed at a time, as exactly as its file system stores times. A coarse file system shows in
/// the ctime, which nobody chooses. If mtime and ctime are the same, the entry may have been written to at that moment,
/// instead of getting its mtime afterwards.
fn has_time(stat: &EntryStat, wanted: Time) -> bool {
    let cut = |time: Time, grain| Time(time.0.saturating_sub(time.0.rem_euclid(grain)));
    let is_cut = |&grain: &i64| stat.ctime == cut(stat.ctime, grain) && stat.mtime == cut(wanted, grain);
    stat.mtime == wanted || (stat.ctime > stat.mtime && GRAINS.iter().any(is_cut))
}

/// Nanoseconds between times that file systems can hold: NTFS; UDF; ext2, ext3 and HFS+.
const GRAINS: [i64; 3] = [100, 1_000, 1_000_000_000];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_the_same_if_the_file_system_has_cut_it_and_only_then() {
        let of_folder = EntryStat::of_path(&std::env::temp_dir()).unwrap();
        let has =
            |mtime, ctime| has_time(&EntryStat { mtime: Time(mtime), ctime: Time(ctime), ..of_folder.clone() }, WANTED);
        const WANTED: Time = Time(1_600_000_001_234_567_891);
        let now = 1_700_000_000_000_000_000;
        for (mtime, grain) in [
            (1_600_000_001_234_567_891, 1),
            (1_600_000_001_234_567_800, 100),
            (1_600_000_001_234_567_000, 1_000),
            (1_600_000_001_000_000_000, 1_000_000_000),
        ] {
            assert!(has(mtime, now), "{grain}");
            assert_eq!(has(mtime, now + 1), grain == 1, "a finer file system has the time that somebody set: {grain}");
            assert!(!has(mtime + 1_000_000_000, now), "{grain}");
            assert!(!has(mtime - 1_000_000_000, now), "{grain}");
            assert_eq!(has(mtime, mtime), grain == 1, "it may have been written to then: {grain}");
        }
        // A snapshot may name any time.
        assert!(!has_time(&of_folder, Time(i64::MIN)));
    }
}
