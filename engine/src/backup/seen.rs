//! Seen: the ids that a session has given out.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use copal_format::id::ChunkId;

/// A set of ids; each costs little more than 24 bytes.
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

/// Ids are uniformly distributed: their first 8 bytes serve as the hash.
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
