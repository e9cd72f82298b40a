//! A file system of its own, in a file that a loop device mounts until the volume is dropped.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use super::{Machine, Run};

pub(crate) struct Volume {
    pub(crate) at: PathBuf,
}

/// Fails a test that needs what only root may do. It must not pass without having tested anything.
#[track_caller]
pub(crate) fn needs_root(to: &str) {
    assert!(rustix::process::geteuid().is_root(), "the tests run as root: this one has to {to}");
}

impl Volume {
    /// A file system that a command makes, mounted at a path of a machine.
    #[track_caller]
    pub(crate) fn mount(machine: &Machine, name: &str, mkfs: &[&str]) -> Self {
        needs_root("mount a file system");
        let (image, at) = (machine.path("image"), machine.path(name));
        fs::create_dir(&at).unwrap();
        File::create(&image).unwrap().set_len(128 << 20).unwrap();
        Command::new(mkfs[0]).args(&mkfs[1..]).arg(&image).ran().ok();
        Command::new("mount").args(["-o", "loop"]).args([&image, &at]).ran().ok();
        Self { at }
    }

    /// What is mounted at a path.
    pub(crate) fn at(at: PathBuf) -> Self {
        Self { at }
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
    }
}
