//! Windows as the other crates see it: names as bytes, and files opened by a directory and a name.
//!
//! The host crates are written against POSIX: names are bytes, an entry is found by an open directory and one name, errors
//! are `Errno`. This crate gives Windows the same form, as far as its native calls have it. [`names`] and [`places`] are
//! plain conversions, built and tested everywhere. All else exists on Windows only; the unsafe code is in `calls`.
#![deny(unsafe_code)]

pub mod names;
pub mod places;
pub mod wtf8;

#[cfg(windows)]
mod calls;
#[cfg(windows)]
mod errno;
#[cfg(windows)]
mod file;
#[cfg(windows)]
mod flags;
#[cfg(windows)]
mod handle;
#[cfg(windows)]
pub mod text;

#[cfg(windows)]
pub use errno::Errno;
#[cfg(windows)]
pub use file::{
    FileExt, Listed, Stat, allocated, delete, final_path, free_bytes, host_name, is_elsewhere, is_named, link_target,
    list, make_hard_link, make_link, make_sparse, posix_time, put_attributes, put_times, rename_new, stat,
    sync_directory, ticks,
};
#[cfg(windows)]
pub use flags::{AtFlags, FileType, Mode, OFlags};
#[cfg(windows)]
pub use handle::{AsFd, BorrowedFd, OwnedFd, open_path, openat};
