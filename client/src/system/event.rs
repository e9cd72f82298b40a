//! Event: what a system tells of watched directories.

use std::path::PathBuf;

/// What the system tells.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing is watched there"))]
pub(crate) enum Event {
    /// Some events were dropped: anything may have changed.
    Lost,
    /// A directory is watched no more.
    Ended { directory: i32 },
    /// An entry of a directory has changed; without a name the directory itself.
    Changed { directory: i32, name: Option<PathBuf>, is_directory: bool, is_new: bool, is_gone: bool },
}
