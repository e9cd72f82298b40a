//! BSD: what macOS and FreeBSD have beside the rest of Unix.

#[cfg_attr(target_os = "macos", path = "macos.rs")]
#[cfg_attr(target_os = "freebsd", path = "freebsd.rs")]
pub(crate) mod attributes;
mod named;
pub mod open;
mod stat;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, fstat, readlinkat, statat};
use rustix::io::Errno;

pub use attributes::Birth;
pub(crate) use attributes::{PATH, SEEN, forget_cached, has_this_name, mknodat, write_back};
pub(crate) use named::Named;

/// Gives each name of an open directory to a function, until that returns false. After an error the names so far stand.
pub(crate) fn list(directory: impl AsFd, mut take: impl FnMut(&[u8], FileType) -> bool) -> io::Result<()> {
    for entry in Dir::read_from(directory)? {
        match entry {
            Ok(entry) if !take(entry.file_name().to_bytes(), entry.file_type()) => return Ok(()),
            Ok(_) => {}
            // The directory was removed while it was open.
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The target of a symbolic link, as raw bytes.
pub fn link_target(path: &Path) -> io::Result<Vec<u8>> {
    let (directory, name) = open::beside(path)?;
    Ok(readlinkat(directory.as_ref().map_or(CWD, |directory| directory.as_fd()), name, Vec::new())?.into_bytes())
}

/// The holes of an open file: none, because no report is believed; they are read as zeros. macOS gives the next data
/// even for a position that has data, and reports a file that it keeps compressed or elsewhere as one hole. FreeBSD
/// 14.0 had a ZFS that reported holes where there was data.
pub fn holes_of(_: impl AsFd, _: u64) -> io::Result<Vec<Range<u64>>> {
    Ok(Vec::new())
}

/// Whether new entries of a directory inherit an ACL. Restored entries have none here, so nobody looks.
pub(crate) fn has_default_acl(_: impl AsFd) -> bool {
    false
}

/// Whether the kernel makes the files there when they are read; only Linux is asked.
pub(crate) fn is_of_kernel(_: &Path) -> bool {
    false
}

/// Whether the file system may give a file another inode number once nobody has it open: it keeps none itself.
pub(crate) fn renumbers_files(file: impl AsFd) -> bool {
    let Ok(stat) = rustix::fs::fstatfs(file) else { return false };
    let letters = stat.f_fstypename.iter().map(|letter| letter.to_ne_bytes()[0]);
    let name: Vec<u8> = letters.take_while(|&letter| letter != 0).collect();
    RENUMBERING.iter().any(|kind| name.starts_with(kind))
}

/// How the names of such file systems begin: FAT, exFAT, SMB, WebDAV and what programs serve.
const RENUMBERING: [&[u8]; 7] = [b"msdos", b"exfat", b"smbfs", b"webdav", b"fuse", b"macfuse", b"osxfuse"];

/// Whether the directory is a mount point: what is above it lies on another device, or is the same directory.
pub(crate) fn is_mount_point(directory: impl AsFd) -> io::Result<bool> {
    let (here, above) = (fstat(&directory)?, statat(&directory, c"..", AtFlags::empty())?);
    Ok(here.st_dev != above.st_dev || here.st_ino == above.st_ino)
}

/// The system notices by itself that a file is read from its start to its end.
pub(crate) fn expect_sequential(_: &File) {}

/// The permissions that new files do not get, where the system tells them: here it does not.
pub(crate) fn umask_told() -> Option<u32> {
    None
}
