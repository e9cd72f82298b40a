//! Change: whether a file is unchanged since the parent snapshot, so that it need not be read again.

use core::time::Duration;

use copal_format::time::Time;
use copal_format::tree::Entry;

/// The result of one statx call on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStat {
    /// st_mode with the type bits.
    pub mode: u32,
    /// The size of a regular file in bytes.
    pub size: u64,
    /// The last change of the content.
    pub mtime: Time,
    /// The last change of content or metadata.
    pub ctime: Time,
    /// The inode number.
    pub inode: u64,
}

/// Which signs of change count. All by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeDetection {
    /// A different inode means a different file. Off for file systems that do not keep inode numbers.
    pub inode: bool,
    /// A different ctime means a change. Off after tools that only touch metadata.
    pub ctime: bool,
    /// When the parent snapshot was begun. The times of a file touched less than 2 s before, or later, prove nothing:
    /// the file may have been written again within the same tick of the file system's clock.
    pub parent_begun: Option<Time>,
}

impl Default for ChangeDetection {
    fn default() -> Self {
        Self { inode: true, ctime: true, parent_begun: None }
    }
}

/// Whether the file's content is still as in `parent`. Ignores the device number, which changes with each mount.
pub fn is_unchanged(parent: &Entry, now: &FileStat, detection: ChangeDetection) -> bool {
    const TYPE: u32 = 0o170_000;
    let touched = if detection.ctime { parent.ctime.max(parent.mtime) } else { parent.mtime };
    if detection.parent_begun.is_some_and(|begun| touched > begun - TICK) {
        return false;
    }
    parent.mode.bits() & TYPE == now.mode & TYPE
        && parent.size == now.size
        && parent.mtime == now.mtime
        && (!detection.ctime || parent.ctime == now.ctime)
        && (!detection.inode || parent.inode == now.inode)
}

/// The longest tick of a file system's clock (FAT).
pub const TICK: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {

    use super::*;
    use copal_format::path::TreePath;
    use copal_format::tree::{Content, Mode};

    fn file(changed: i64) -> Entry {
        Entry {
            mtime: Time::from_unix(50, 0),
            ctime: Time::from_unix(changed, 0),
            inode: 7,
            size: 3,
            content: Content::Inline(b"abc".to_vec().into()),
            ..Entry::new(TreePath::new("f").unwrap(), Mode::from_bits(0o100_644).unwrap())
        }
    }

    fn look(entry: &Entry) -> FileStat {
        FileStat { mode: entry.mode.bits(), size: 3, mtime: entry.mtime, ctime: entry.ctime, inode: 7 }
    }

    #[test]
    fn every_sign_of_change_counts_unless_it_is_not_believed() {
        let parent = file(100);
        let now = look(&parent);
        assert!(is_unchanged(&parent, &now, ChangeDetection::default()));
        assert!(!is_unchanged(&parent, &FileStat { size: 4, ..now }, ChangeDetection::default()));
        assert!(!is_unchanged(&parent, &FileStat { mtime: Time(1), ..now }, ChangeDetection::default()));
        assert!(!is_unchanged(&parent, &FileStat { mode: 0o120_777, ..now }, ChangeDetection::default()));
        let other = FileStat { ctime: Time(1), ..now };
        assert!(!is_unchanged(&parent, &other, ChangeDetection::default()));
        assert!(is_unchanged(&parent, &other, ChangeDetection { ctime: false, ..ChangeDetection::default() }));
        let other = FileStat { inode: 8, ..now };
        assert!(!is_unchanged(&parent, &other, ChangeDetection::default()));
        assert!(is_unchanged(&parent, &other, ChangeDetection { inode: false, ..ChangeDetection::default() }));
    }

    #[test]
    fn a_file_touched_while_the_parent_snapshot_was_made_is_read_again() {
        let detection = ChangeDetection { parent_begun: Some(Time::from_unix(200, 0)), ..ChangeDetection::default() };
        let [settled, racy] = [file(190), file(199)];
        assert!(is_unchanged(&settled, &look(&settled), detection));
        assert!(!is_unchanged(&racy, &look(&racy), detection));
    }
}
