//! Seen: the ids a session has given out itself.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use crate::id::ChunkId;

/// A set of ids, 24 bytes and a little each.
#[derive(Debug, Default)]
pub(super) struct Seen(HashSet<ChunkId, BuildHasherDefault<IdHasher>>);

impl Seen {
    pub(super) fn insert(&mut self, id: &ChunkId) {
        self.0.insert(*id);
    }

    pub(super) fn contains(&self, id: &ChunkId) -> bool {
        self.0.contains(id)
    }
}

/// Ids are uniform already: their first bytes are their hash.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        if let Some(first) = bytes.first_chunk::<8>() {
            self.0 ^= u64::from_le_bytes(*first);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
