//! Handle: the target file of a file during its restore. Only so many are open at once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::materialize::TargetFile;
use crate::stat::FileId;

/// The target file of a file during its restore.
#[derive(Default)]
pub(super) enum Handle {
    /// Not created yet.
    #[default]
    None,
    Open(Arc<TargetFile>),
    /// Created, and closed to save file descriptors.
    Closed(FileId),
    /// It could not be created.
    Failed,
    Finished,
}

/// Open files that wait for more pieces, oldest first.
#[derive(Default)]
pub(super) struct OpenFiles {
    files: Mutex<VecDeque<Weak<Mutex<Handle>>>>,
}

impl OpenFiles {
    /// Keeps a file open and closes the oldest if there are too many.
    pub(super) fn add(&self, file: &Arc<Mutex<Handle>>) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.push_back(Arc::downgrade(file));
        let eldest = if files.len() > OPEN { files.pop_front() } else { None };
        drop(files);
        if let Some(eldest) = eldest.and_then(|eldest| eldest.upgrade()) {
            let mut handle = eldest.lock().unwrap_or_else(PoisonError::into_inner);
            // A file that cannot be told from others stays open.
            if let Handle::Open(file) = &*handle
                && let Ok(id) = file.id()
            {
                *handle = Handle::Closed(id);
            }
        }
    }
}

/// Most files kept open.
const OPEN: usize = 256;
