//! Note: what this machine remembers of the last backup that a list may narrow.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::places::{create_private, create_private_dir, read_private};

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
    /// Reads the note; none if there is none that can be read.
    pub(crate) fn read(file: &Path) -> Option<Self> {
        serde_json::from_slice(&read_private(file).ok()?).ok()
    }

    /// Writes the note where none is. If there is one, two backups have overlapped, and neither may have what the other
    /// was told: then none stays, and the next backup walks everything, as after any other failure.
    pub(crate) fn keep(&self, file: &Path) {
        let text = serde_json::to_vec(self).unwrap_or_default();
        let there = file.parent().map_or(Ok(()), create_private_dir);
        if there.and_then(|()| create_private(file, &text)).is_err() {
            let _ = fs::remove_file(file);
        }
    }
}
