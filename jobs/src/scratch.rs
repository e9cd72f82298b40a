//! Scratch: temporary storage for job data whose size grows with a domain.

use std::path::PathBuf;
use std::sync::Arc;

use copal_format::room::{Lent, Memory, Room, Scratch};
use copal_store::fs::Unnamed;
use copal_store::{Store, copies};

use crate::objects::COPIED;

/// A store for one run that keeps copies of what it reads of index and state, in temporary files. Without room for
/// these, `store` itself.
pub fn with_copies(store: &Arc<dyn Store>) -> Arc<dyn Store> {
    match copies::begin(store.clone(), &std::env::temp_dir(), COPIED) {
        Ok(copies) => Arc::new(copies),
        Err(_) => store.clone(),
    }
}

/// Gives room in unnamed files of a directory. Small data, or data that does not fit there, stays in memory.
#[derive(Clone, Debug)]
pub struct Files {
    directory: PathBuf,
}

impl Files {
    /// Uses this directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }
}

impl Default for Files {
    /// Uses the system's directory for temporary files.
    fn default() -> Self {
        Self::new(std::env::temp_dir())
    }
}

impl Scratch for Files {
    fn room(&self, bytes: usize) -> Room {
        if bytes < LARGE {
            return Memory.room(bytes);
        }
        match Unnamed::new(&self.directory, bytes) {
            Ok(file) => Room::lent(Box::new(Mapped(file))),
            Err(error) => {
                tracing::debug!(%error, directory = %self.directory.display(), "no file for {bytes} bytes: they are held in memory");
                Memory.room(bytes)
            }
        }
    }
}

struct Mapped(Unnamed);

impl Lent for Mapped {
    fn bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.bytes_mut()
    }
}

/// Room of at least this many bytes goes into a file.
const LARGE: usize = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;
    use copal_format::room::Column;

    #[test]
    fn room_is_zeros_that_can_be_written_over_whatever_gives_it() {
        let directory = tempfile::tempdir().unwrap();
        for scratch in [Files::new(directory.path()), Files::new(directory.path().join("missing")), Files::default()] {
            for rows in [0, 10, LARGE] {
                let mut column: Column<u32> = Column::new(&scratch, rows);
                assert_eq!((column.len(), column.iter().max().unwrap_or(0)), (rows, 0));
                (0..rows).for_each(|at| column.set(at, at as u32));
                assert!(column.iter().eq(0..rows as u32));
            }
        }
    }
}
