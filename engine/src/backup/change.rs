//! Change: whether an entry is what the basis says it was, so that its content need not be read again.

use crate::time::Time;
use crate::tree::{Content, Entry, EntryKind};

/// What one look at a file (one statx) tells about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// st_mode with the type bits.
    pub mode: u32,
    /// Bytes of a regular file.
    pub size: u64,
    /// Time of the last change of the content.
    pub mtime: Time,
    /// Time of the last change of content or metadata.
    pub ctime: Time,
    /// Number of the inode.
    pub inode: u64,
}

/// Which signs of change are believed. All of them by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signs {
    /// A file with another inode is another file; off for file systems that number anew.
    pub inode: bool,
    /// A file with another ctime has changed; off after tools that touch metadata only.
    pub ctime: bool,
}

impl Default for Signs {
    fn default() -> Self {
        Self { inode: true, ctime: true }
    }
}

/// Whether the basis still tells the truth about a file's content. The device number is never compared: it changes
/// when a file system is mounted again.
pub fn is_unchanged(basis: &Entry, now: &Look, signs: Signs) -> bool {
    const TYPE: u32 = 0o170_000;
    basis.mode.bits() & TYPE == now.mode & TYPE
        && basis.size == now.size
        && basis.mtime == now.mtime
        && (!signs.ctime || basis.ctime == now.ctime)
        && (!signs.inode || basis.inode == now.inode)
}

/// Whether everything an entry's content refers to may be referred to again. `is_good` says of one chunk or page that
/// the repository has a copy that is neither flagged nor wanted nor lost.
pub fn is_reusable(basis: &Entry, mut is_good: impl FnMut(&crate::id::ChunkId) -> bool) -> bool {
    match &basis.content {
        Content::None | Content::Inline(_) => true,
        Content::Chunks(pieces) => pieces.iter().all(|piece| is_good(&piece.id)),
        Content::List { root, .. } => is_good(root),
    }
}

/// Whether the entry has content of its own to read.
pub fn has_content(entry: &Entry) -> bool {
    entry.kind() == EntryKind::File && entry.size > 0
}
