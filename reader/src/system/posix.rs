//! POSIX and WASI: names are bytes.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use std::os::unix::ffi::OsStrExt;
#[cfg(target_os = "wasi")]
use std::os::wasi::ffi::OsStrExt;

use copal_format::path::TreePath;
use copal_format::time::Time;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT, symlinkat, utimensat};

/// The place of an entry below a directory.
pub(crate) fn below(root: &Path, path: &TreePath) -> io::Result<PathBuf> {
    Ok(if path.is_top() { root.to_owned() } else { root.join(OsStr::from_bytes(path.as_bytes())) })
}

/// Makes a symbolic link.
pub(crate) fn make_link(target: &[u8], real: &Path) -> io::Result<()> {
    Ok(symlinkat(target, CWD, real)?)
}

/// Sets the modification time, also of a symbolic link itself.
pub(crate) fn set_time(real: &Path, time: Time) -> io::Result<()> {
    let (seconds, nanoseconds) = time.to_unix();
    let last_access = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let last_modification = Timespec { tv_sec: seconds, tv_nsec: nanoseconds as _ };
    let times = Timestamps { last_access, last_modification };
    Ok(utimensat(CWD, real, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}
