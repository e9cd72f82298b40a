//! Lock: held while a profile is run. The system frees it when the process ends, however it ends.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use copal_client::places::create_private_dir;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::report::Failure;

/// Nobody else runs the profile while this lives.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a profile, without waiting. The file stays, so that no two processes lock different files.
    pub(super) fn take(state: &Path, profile: &str) -> Result<Self, Failure> {
        let directory = state.join("run");
        create_private_dir(&directory)?;
        let path = directory.join(format!("{profile}.lock"));
        // Children do not inherit it: what a hook leaves running holds no lock.
        let flags = (OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK).bits().cast_signed();
        let opened =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).custom_flags(flags).open(&path);
        let file = opened.map_err(|cause| Failure::io("lock", &path, cause))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { _file: file }),
            Err(Errno::WOULDBLOCK) => Err(Failure::Busy { profile: profile.to_owned() }),
            Err(error) => Err(Failure::io("lock", &path, error.into())),
        }
    }
}
