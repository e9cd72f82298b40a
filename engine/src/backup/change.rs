//! Change: whether a file is unchanged since the parent snapshot (the basis), so that it need not be read again.

use core::time::Duration;

use crate::time::Time;
use crate::tree::Entry;

/// The result of one statx call on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
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
pub struct Signs {
    /// A different inode means a different file. Off for file systems that do not keep inode numbers.
    pub inode: bool,
    /// A different ctime means a change. Off after tools that only touch metadata.
    pub ctime: bool,
    /// When the parent snapshot was begun. If a file was touched less than 2 s before, or later, its times prove
    /// nothing: it may have been written again within the same tick of the file system's clock.
    pub basis_begun: Option<Time>,
}

impl Default for Signs {
    fn default() -> Self {
        Self { inode: true, ctime: true, basis_begun: None }
    }
}

/// Whether the file's content is still as in `basis`. Ignores the device number, which changes with each mount.
pub fn is_unchanged(basis: &Entry, now: &Look, signs: Signs) -> bool {
    const TYPE: u32 = 0o170_000;
    let touched = if signs.ctime { basis.ctime.max(basis.mtime) } else { basis.mtime };
    if signs.basis_begun.is_some_and(|begun| touched > begun - TICK) {
        return false;
    }
    basis.mode.bits() & TYPE == now.mode & TYPE
        && basis.size == now.size
        && basis.mtime == now.mtime
        && (!signs.ctime || basis.ctime == now.ctime)
        && (!signs.inode || basis.inode == now.inode)
}

/// The longest tick of a file system's clock (FAT).
const TICK: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::path::TreePath;
    use crate::tree::{Content, Extras, Mode};

    fn file(changed: i64) -> Entry {
        Entry {
            path: TreePath::new("f").unwrap(),
            mode: Mode::from_bits(0o100_644).unwrap(),
            owner: Arc::default(),
            mtime: Time::from_unix(50, 0),
            ctime: Time::from_unix(changed, 0),
            birth: None,
            inode: 7,
            size: 3,
            content: Content::Inline(b"abc".to_vec().into()),
            extras: Extras::default(),
        }
    }

    fn look(entry: &Entry) -> Look {
        Look { mode: entry.mode.bits(), size: 3, mtime: entry.mtime, ctime: entry.ctime, inode: 7 }
    }

    #[test]
    fn every_sign_of_change_counts_unless_it_is_not_believed() {
        let basis = file(100);
        let now = look(&basis);
        assert!(is_unchanged(&basis, &now, Signs::default()));
        assert!(!is_unchanged(&basis, &Look { size: 4, ..now }, Signs::default()));
        assert!(!is_unchanged(&basis, &Look { mtime: Time(1), ..now }, Signs::default()));
        assert!(!is_unchanged(&basis, &Look { mode: 0o120_777, ..now }, Signs::default()));
        let other = Look { ctime: Time(1), ..now };
        assert!(!is_unchanged(&basis, &other, Signs::default()));
        assert!(is_unchanged(&basis, &other, Signs { ctime: false, ..Signs::default() }));
        let other = Look { inode: 8, ..now };
        assert!(!is_unchanged(&basis, &other, Signs::default()));
        assert!(is_unchanged(&basis, &other, Signs { inode: false, ..Signs::default() }));
    }

    #[test]
    fn a_file_touched_while_the_basis_was_made_is_read_again() {
        let signs = Signs { basis_begun: Some(Time::from_unix(200, 0)), ..Signs::default() };
        let [settled, racy] = [file(190), file(199)];
        assert!(is_unchanged(&settled, &look(&settled), signs));
        assert!(!is_unchanged(&racy, &look(&racy), signs));
    }
}
