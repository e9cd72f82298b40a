//! Run directory: for the copies of one run; it tells whether that run is still alive.

use std::fs::File;
use std::io;
use std::path::Path;

use tempfile::TempDir;

use crate::system::to_lock;

/// A directory that only this user can write to, deleted when dropped. Mapped files stay readable.
#[derive(Debug)]
pub(crate) struct RunDirectory {
    /// Shows that the owner of the directory is alive: the system releases the lock when the process ends. Dropped
    /// first, because Windows deletes no file that is open.
    _lock: File,
    directory: TempDir,
}

impl RunDirectory {
    /// Makes one below the temporary directory.
    pub(crate) fn make(temporary: &Path) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix(NAME).tempdir_in(temporary)?;
        let lock = to_lock(directory.path())?;
        lock.try_lock()?;
        Ok(Self { directory, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Deletes directories whose processes have ended. A new one that is not locked yet may be deleted too: its run then
/// holds the index in memory.
pub(crate) fn remove_left_over(temporary: &Path) {
    let found = std::fs::read_dir(temporary).into_iter().flatten().flatten();
    for entry in found.filter(|entry| entry.file_name().to_string_lossy().starts_with(NAME)) {
        // A directory of another user may not open; one that cannot be deleted only takes space.
        if to_lock(&entry.path()).is_ok_and(|directory| directory.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// The prefix of the directories' names.
const NAME: &str = "copal-copies-";
