//! System: everything of this crate that differs between operating systems, and the only module that asks which one it is.
//!
//! The form is that of POSIX: an entry is found by an open directory and one name, names are bytes, errors are `Errno`.
//! `unix` has what POSIX has, `linux` and `bsd` the rest, and `windows` all of it in the same words.

pub(crate) mod event;
pub(crate) mod extras;
pub mod stat;

use std::ffi::CStr;

#[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "freebsd", windows)))]
compile_error!("this system has no module here (docs/decisions/0028-other-systems.md)");

#[cfg(any(target_os = "macos", target_os = "freebsd"))]
mod bsd;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(unix)]
mod unix;
#[cfg(not(target_os = "linux"))]
mod unwatched;
#[cfg(windows)]
mod windows;

#[cfg(any(target_os = "macos", target_os = "freebsd"))]
use bsd as beyond_unix;
#[cfg(target_os = "linux")]
use linux as beyond_unix;

#[cfg(unix)]
pub use beyond_unix::{Birth, holes_of, link_target, open};
#[cfg(unix)]
pub(crate) use beyond_unix::{
    Named, PATH, SEEN, attributes, expect_sequential, forget_cached, has_default_acl, has_this_name, is_mount_point,
    is_of_kernel, list, mknodat, renumbers_files, umask_told, write_back,
};

#[cfg(target_os = "linux")]
pub(crate) use linux::{Watches, clocks, is_locked, mount_table, mounts};
#[cfg(not(target_os = "linux"))]
pub(crate) use unwatched::{Watches, clocks, is_locked, mount_table, mounts};

#[cfg(unix)]
pub(crate) use unix::{
    AsFd, AtFlags, BorrowedFd, Call, Errno, FileExt, FileType, KEEPS_MODES, Mode, OFlags, Object, OwnedFd, TOP,
    append_at, ends_in_separator, ends_of, group, group_name, group_named, has_drive, home_of, host_name, is_root,
    keep_holes, kind_of, link_target_at, linkat, mkdirat, mode_of, open_directory, openat, private_directory,
    private_file, symlinkat, umask_asked, unlinkat, user, user_name, user_named,
};
#[cfg(unix)]
pub use unix::{bytes_of, os_string, path_of, source_of, tree_bytes};
#[cfg(windows)]
pub(crate) use windows::{
    AsFd, AtFlags, BorrowedFd, Errno, FileExt, FileType, KEEPS_MODES, Mode, OFlags, Object, OwnedFd, PATH, SEEN, TOP,
    append_at, attributes, ends_in_separator, ends_of, expect_sequential, forget_cached, group, group_name,
    group_named, has_default_acl, has_drive, has_this_name, home_of, host_name, is_mount_point, is_of_kernel, is_root,
    keep_holes, kind_of, link_target_at, linkat, list, mkdirat, mknodat, mode_of, open_directory, openat,
    private_directory, private_file, renumbers_files, symlinkat, umask_asked, umask_told, unlinkat, user, user_name,
    user_named, write_back,
};
#[cfg(windows)]
pub use windows::{Birth, bytes_of, holes_of, link_target, open, os_string, path_of, source_of, tree_bytes};

pub use extras::{Extras, Xattr};

/// The place of an entry: an open directory and a name in it.
#[derive(Copy, Clone)]
pub(crate) struct Place<'p> {
    pub(crate) directory: BorrowedFd<'p>,
    pub(crate) name: &'p CStr,
}

/// Most holes of an entry: its record stays small, however the file was written.
#[cfg(any(target_os = "linux", windows))]
pub(crate) const HOLES_MAX: usize = 16 << 10;

/// Major and minor number of a device, as Linux numbers them.
pub(crate) fn device_numbers(device: u64) -> (u32, u32) {
    let major = (device >> 32 & 0xFFFF_F000) | (device >> 8 & 0xFFF);
    let minor = (device >> 12 & 0xFFFF_FF00) | (device & 0xFF);
    (major as u32, minor as u32)
}
