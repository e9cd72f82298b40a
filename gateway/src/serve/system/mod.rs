//! System: everything of this crate that differs between operating systems, and the only module that asks which one it is.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{Ends, Reload, open_files_most};
#[cfg(windows)]
pub(super) use windows::{Ends, Reload, open_files_most};
