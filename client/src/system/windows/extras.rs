//! Extras: the attributes of Windows, kept as the extended attribute under which NTFS drivers of Linux show them.

use std::io;
use std::path::Path;

use copal_windows::{AsFd, FileType, OFlags, OwnedFd, Stat, open_path};

use crate::system::extras::Extras;

/// The attribute bits, as four bytes, the lowest first: the name and form are those of ntfs-3g.
pub(super) const ATTRIBUTES: &[u8] = b"system.ntfs_attrib";

/// Whether a backup contains this attribute; the system makes the others.
pub(crate) fn is_ours(name: &[u8]) -> bool {
    name == ATTRIBUTES
}

/// Whether setting it needs the right to write, which an entry's mode may not give: there are no modes.
pub(crate) fn needs_writing(_: &[u8]) -> bool {
    false
}

impl Extras {
    /// Reads the attributes of an entry by path: a directory, link or device. Does not follow a final link.
    pub fn read(path: &Path) -> Self {
        match open_path(path, OFlags::PATH) {
            Ok(opened) => Self::of_file(opened),
            Err(error) => Self { xattrs: Vec::new(), unreadable: vec![(Vec::new(), error.into())] },
        }
    }

    /// Reads the attributes of an open file.
    pub fn of_file(file: impl AsFd) -> Self {
        match copal_windows::stat(file) {
            Ok(stat) => {
                let kept = kept(&stat);
                let value = (kept != 0).then(|| (ATTRIBUTES.to_vec(), kept.to_le_bytes().to_vec()));
                Self { xattrs: value.into_iter().collect(), unreadable: Vec::new() }
            }
            Err(error) => Self { xattrs: Vec::new(), unreadable: vec![(Vec::new(), error.into())] },
        }
    }
}

/// Where a link points.
pub fn link_target(path: &Path) -> io::Result<Vec<u8>> {
    let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let directory: OwnedFd = open_path(parent, OFlags::PATH | OFlags::DIRECTORY)?;
    copal_windows::link_target(&directory, name)
}

/// The bits worth keeping: not those that every entry of its kind has, nor those that other fields tell.
pub(super) fn kept(stat: &Stat) -> u32 {
    match stat.kind {
        // Whether a link leads to a directory is part of the link here.
        FileType::Symlink => stat.attributes & (KEPT | DIRECTORY),
        _ => stat.attributes & KEPT,
    }
}

/// Read-only, hidden, system, offline, not indexed.
pub(super) const KEPT: u32 = 0x1 | 0x2 | 0x4 | 0x1000 | 0x2000;
pub(super) const DIRECTORY: u32 = 0x10;
