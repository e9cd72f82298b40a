//! File: a regular file while it is restored.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use copal_engine::path::TreePath;

use super::WriteError;

/// A file of the target, open for writing. What is never written stays a hole.
#[derive(Debug)]
pub struct TargetFile {
    path: TreePath,
    pub(super) file: File,
}

impl TargetFile {
    pub(super) fn new(path: TreePath, file: File) -> Self {
        Self { path, file }
    }

    /// Which entry it is.
    pub fn path(&self) -> &TreePath {
        &self.path
    }

    /// Gives it its length before its content: for files written in pieces or with holes.
    pub fn set_length(&self, bytes: u64) -> Result<(), WriteError> {
        self.file.set_len(bytes).map_err(|error| self.failed(error))
    }

    /// Writes a piece of the content where it belongs; from any thread, in any order.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), WriteError> {
        self.file.write_all_at(bytes, offset).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> WriteError {
        WriteError::io("write", &self.path, error)
    }
}
