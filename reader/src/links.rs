//! Links: finds entries that are names of the same file.

use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use copal_format::tree::{Content, Entry};

/// Finds entries that are names of the same file.
#[derive(Default)]
pub struct Identities {
    hasher: RandomState,
}

impl Identities {
    /// A key that all names of one file share: its group and a digest of its metadata and content, so that no other
    /// file matches. `None` if the entry is its only name.
    pub fn of(&self, entry: &Entry) -> Option<(u64, u64)> {
        let group = entry.extras.hardlink?;
        let mut hasher = self.hasher.build_hasher();
        describe(entry, &mut hasher);
        Some((group, hasher.finish()))
    }
}

/// Feeds what all names of one file share to a hasher: metadata and content.
pub fn describe(entry: &Entry, mut hasher: &mut impl Hasher) {
    (entry.mode.bits(), entry.size, entry.mtime.0).hash(&mut hasher);
    (&entry.extras.link_target, entry.extras.device).hash(&mut hasher);
    match &entry.content {
        Content::None => {}
        Content::Inline(content) => content.hash(&mut hasher),
        Content::Chunks(pieces) => pieces.hash(&mut hasher),
        Content::List { root, height } => (root.as_bytes(), height).hash(&mut hasher),
    }
}
