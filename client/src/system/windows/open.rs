//! Open: opens paths of any length.

use std::io;
use std::path::Path;

use copal_windows::{AsFd, BorrowedFd, Errno, Mode, OFlags, OwnedFd, open_path, openat};

/// Opens an absolute path. Does not follow a link in the last name. Windows follows earlier ones, so whoever may
/// replace a directory of the source by a junction during the scan decides what is read.
pub fn absolute(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    Ok(open_path(path, flags)?)
}

/// Opens a path below a directory. The path is relative, without `.` or `..`; an empty one is the directory itself.
/// Links, or anything else, cannot lead out of the directory.
pub fn beneath(directory: BorrowedFd<'_>, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    let mut reached = openat(directory, ".", flags, Mode::empty())?;
    for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
        let name = std::ffi::CString::new(name).map_err(|_| Errno::INVAL)?;
        reached = openat(reached.as_fd(), &name, flags | OFlags::DIRECTORY, Mode::empty())?;
        // `A` must not get what belongs into `a`.
        if !copal_windows::is_named(&reached, name.to_bytes())? {
            return Err(Errno::NOENT.into());
        }
    }
    Ok(reached)
}

/// Opens an absolute path for reading. Whether that changes the access time is the system's setting; by default it does
/// not.
pub fn quietly(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    absolute(path, OFlags::RDONLY | flags)
}
