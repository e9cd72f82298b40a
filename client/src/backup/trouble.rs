//! Trouble: an entry that a backup did not save, or not completely.

use std::path::PathBuf;

use crate::scan::Skip;
use crate::system::{bytes_of, tree_bytes};

/// An entry that was not saved, or not completely.
#[derive(Debug)]
pub struct Trouble {
    /// The path by which the entry lies on this machine.
    pub path: PathBuf,
    /// The kind of trouble.
    pub kind: TroubleKind,
    /// The reason, as text.
    pub why: String,
}

impl Trouble {
    /// Its path as the tree has it: that of the system without the root.
    pub(super) fn tree_bytes(&self) -> Vec<u8> {
        tree_bytes(&self.path).unwrap_or_else(|| bytes_of(self.path.as_os_str())).into_owned()
    }
}

/// The kind of trouble with an entry.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    /// The entry is missing from the snapshot, or its content or an attribute is.
    Unreadable,
    /// The file changed each time it was read. The snapshot has what was read last.
    Changing,
    /// The entry is saved as it is. It has changed, and the lists of changes since the last whole walk did not have it.
    Unlisted,
    /// The entry was left out on purpose.
    Skipped(SkipKind),
}

/// Why an entry was left out on purpose.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum SkipKind {
    /// A path to back up that is itself excluded.
    Excluded,
    /// Something that the user may not expect, such as a socket.
    Noted,
    /// Everything else. Reported only on request.
    Quiet,
}

impl From<&Skip> for SkipKind {
    fn from(skip: &Skip) -> Self {
        match skip {
            Skip::ExcludedRoot => SkipKind::Excluded,
            Skip::Socket | Skip::KernelFileSystem => SkipKind::Noted,
            _ => SkipKind::Quiet,
        }
    }
}
