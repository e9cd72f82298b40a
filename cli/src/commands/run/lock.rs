//! Lock: held while a profile is run. The system frees it when the process ends, however it ends.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use copal_client::places::create_private_dir;

use crate::report::Failure;
use crate::system::lock_file;

/// An exclusive lock, held until dropped. Child processes do not inherit it, not even one that outlives its hook.
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a profile, without waiting. The file stays, so that no two processes lock different files.
    pub(super) fn take(state: &Path, profile: &str) -> Result<Self, Failure> {
        let (file, path) = open(state, &format!("{profile}.lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Failure::Busy { profile: profile.to_owned() }),
            Err(TryLockError::Error(cause)) => Err(Failure::io("lock", &path, cause)),
        }
    }

    /// Waits for the lock on the memory of all profiles. It is held only while a small file is read and written.
    pub(super) fn of_memory(state: &Path) -> Result<Self, Failure> {
        let (file, path) = open(state, ".memory")?;
        file.lock().map_err(|cause| Failure::io("lock", &path, cause))?;
        Ok(Self { _file: file })
    }
}

fn open(state: &Path, name: &str) -> Result<(File, PathBuf), Failure> {
    let directory = state.join("run");
    create_private_dir(&directory)?;
    let path = directory.join(name);
    Ok((lock_file(&path).map_err(|cause| Failure::io("lock", &path, cause))?, path))
}
