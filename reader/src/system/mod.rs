//! System: everything in this crate that differs between operating systems. Only this module asks which one it is.

#[cfg(any(unix, target_os = "wasi"))]
mod posix;
#[cfg(windows)]
mod windows;

#[cfg(any(unix, target_os = "wasi"))]
pub(crate) use posix::{below, make_link, set_time};
#[cfg(windows)]
pub(crate) use windows::{below, make_link, set_time};
