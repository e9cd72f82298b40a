//! Note: what this machine remembers of the last backup of a source with a list.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::places::{create_private_dir, write_private};

/// The last backup of a source that was given a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Walked {
    /// The snapshot, in hexadecimal digits.
    pub(crate) snapshot: String,
    /// Paths, exclusions and devices: if they change, the list is not believed.
    pub(crate) configuration: String,
    /// How many backups in a row a list has narrowed.
    pub(crate) narrowed: u32,
    /// Paths that the snapshot does not have as they were, in the tree's bytes. They are looked at again.
    pub(crate) troubles: Vec<Vec<u8>>,
}

impl Walked {
    /// Reads a note; none if it is malformed.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Writes the note. A failure is ignored: the next backup then walks everything.
    pub(crate) fn keep(&self, file: &Path) {
        put(file, &serde_json::to_vec(self).unwrap_or_default());
    }
}

/// Writes the file of the note; removes it if that fails.
pub(crate) fn put(file: &Path, bytes: &[u8]) {
    let there = file.parent().map_or(Ok(()), create_private_dir);
    if there.and_then(|()| write_private(file, bytes)).is_err() {
        let _ = fs::remove_file(file);
    }
}
