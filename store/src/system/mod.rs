//! System: everything of this crate that differs between operating systems, and the only module that asks which one it is.

#[cfg(target_os = "linux")]
mod direct;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{Errno, FileExt, Root, allocate, free_bytes, make_directory, populate, to_lock};
#[cfg(unix)]
pub use unix::{sync, sync_directory};
#[cfg(windows)]
pub(crate) use windows::{Errno, FileExt, Root, allocate, free_bytes, make_directory, populate, to_lock};
#[cfg(windows)]
pub use windows::{sync, sync_directory};

#[cfg(target_os = "linux")]
pub(crate) use direct::write_direct;
/// Elsewhere no file system says how to write directly.
#[cfg(not(target_os = "linux"))]
pub(crate) fn write_direct(file: &mut std::fs::File, bytes: &[u8]) -> std::io::Result<()> {
    std::io::Write::write_all(file, bytes)
}

/// What is at a path.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    Other,
}

impl Kind {
    pub(crate) fn of(file_type: std::fs::FileType) -> Kind {
        match (file_type.is_file(), file_type.is_dir()) {
            (true, _) => Kind::File,
            (_, true) => Kind::Directory,
            _ => Kind::Other,
        }
    }
}
