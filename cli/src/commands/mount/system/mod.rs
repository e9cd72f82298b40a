//! System: mounts by the kernel, which only Linux has here.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod not_linux;

#[cfg(target_os = "linux")]
pub(super) use linux::{Session, check, detach, is_within, passes_through};
#[cfg(not(target_os = "linux"))]
pub(super) use not_linux::{Session, check, detach, is_within, passes_through};

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    /// The user who mounts, who holds the key: everything.
    Owner,
    /// Every user, what modes and owners permit.
    Permitted,
    /// Every user, everything.
    All,
}
