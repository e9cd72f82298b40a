//! Linux: files without names, and the supervisor.

use std::fs::File;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A file without a name, and how it gets one.
pub mod nameless {
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};

    use super::File;

    /// Makes a file without a name in a directory; none if the file system has none, or the file could get no name later.
    pub fn make(directory: &Path) -> Option<File> {
        let (flags, mode) = (OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
        let file = openat(CWD, directory, flags, mode).map(File::from).ok()?;
        link_of(&file).exists().then_some(file)
    }

    /// Gives the file a name that nothing has.
    pub fn name(file: &File, path: &Path) -> io::Result<()> {
        Ok(linkat(CWD, link_of(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// By this path an open file gets a name; it exists where `/proc` is mounted.
    fn link_of(file: &File) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
}

/// Tells systemd how far a run is, as sd_notify does, if it asks for that. A failure does not matter to the run.
pub fn tell_supervisor(state: &str) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET") else { return };
    let address = match name.as_bytes() {
        [b'@', abstracted @ ..] => SocketAddr::from_abstract_name(abstracted),
        _ => SocketAddr::from_pathname(&name),
    };
    let _ = address.and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
}
