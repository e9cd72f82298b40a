//! File: a regular file while it is written.

use std::fs::File;
use std::io;
use std::sync::Arc;

use copal_format::path::TreePath;

use super::WriteError;
use super::directory::Directory;
use crate::stat::{EntryStat, FileId};
use crate::system::{FileExt, Mode, keep_holes};

/// A file of the target, open for writing. Parts that are not written stay holes.
pub struct TargetFile {
    /// Its path in the target.
    pub path: TreePath,
    pub(super) file: File,
    /// Its directory and initial mode if it was just made; `None` if it existed before.
    pub(super) made: Option<(Arc<Directory>, Mode)>,
}

impl TargetFile {
    /// Sets its length before its content, for files written in pieces or with holes.
    pub fn set_length(&self, bytes: u64) -> Result<(), WriteError> {
        self.file.set_len(bytes).map_err(|error| self.failed(error))
    }

    /// What identifies it.
    pub fn id(&self) -> Result<FileId, WriteError> {
        EntryStat::of(&self.file).map(|stat| stat.id()).map_err(|error| self.failed(error))
    }

    /// Lets parts that are not written take no space, before the length is set.
    pub fn keep_holes(&self) -> Result<(), WriteError> {
        keep_holes(&self.file).map_err(|error| self.failed(error))
    }

    /// Writes a piece of the content; from any thread, in any order.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), WriteError> {
        self.file.write_all_at(bytes, offset).map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> WriteError {
        WriteError::io("write", &self.path, error)
    }
}
