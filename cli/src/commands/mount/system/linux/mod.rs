//! Linux: mounts by FUSE.

mod fuse;
mod holes;
mod passage;

use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use copal_client::browse::Browser;
use fuser::BackgroundSession;
use rustix::mount::{UnmountFlags, unmount};

use super::Audience;
use crate::report::Failure;
use crate::system::is_root;

pub(in super::super) use passage::{is_within, passes_through};

/// A mount.
pub(in super::super) struct Session(BackgroundSession);

impl Session {
    /// Mounts the tree on a directory and answers the kernel from other threads.
    pub(in super::super) fn begin(
        browser: Arc<Browser>,
        directory: &Path,
        source: String,
        audience: Audience,
    ) -> io::Result<Self> {
        fuse::mount(browser, directory, source, audience).map(Self)
    }

    /// Whether the tree was unmounted from outside.
    pub(in super::super) fn is_finished(&self) -> bool {
        self.0.guard.is_finished()
    }

    /// Unmounts the tree, and waits until it is no longer in use.
    pub(in super::super) fn end(self) -> io::Result<()> {
        self.0.umount_and_join()
    }
}

/// Whether this user can mount.
pub(in super::super) fn check() -> Result<(), Failure> {
    if !Path::new("/dev/fuse").exists() {
        return Err(Failure::Other(
            "this system has no /dev/fuse: load the kernel's module with \"modprobe fuse\", or use --webdav".into(),
        ));
    }
    if !is_root() && !FUSERMOUNT.iter().any(|name| has_program(name)) {
        return Err(Failure::Other(
            "only root may mount without fusermount3: install it (apt-get install fuse3), or use --webdav".into(),
        ));
    }
    Ok(())
}

/// Detaches the mount from a directory that is in use.
pub(in super::super) fn detach(directory: &Path) {
    if unmount(directory, UnmountFlags::DETACH).is_err() {
        // Only root may call unmount itself. If this fails too, the mount is dead when the process has ended.
        for name in FUSERMOUNT {
            if Command::new(name).args(["-u", "-z", "-q", "--"]).arg(directory).status().is_ok() {
                return;
            }
        }
    }
}

fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

/// The programs that mount for users other than root.
const FUSERMOUNT: [&str; 2] = ["fusermount3", "fusermount"];
