//! Record: what sorted parts of the index consist of. Each begins with an id.

use super::overlay::{Copied, Mark, RECORD, read_mark};
use super::rows::{ENTRY, RawEntry};
use crate::id::ChunkId;

/// A record that begins with an id.
pub trait Record: Copy + sealed::Sealed {
    /// Its bytes.
    const WIDTH: usize;
    /// By what the records ascend.
    type Key: Ord;

    /// Reads it; an error if no record is like that.
    fn read(bytes: &[u8], blocks: u32) -> Result<Self, &'static str>;
    /// The id it begins with.
    fn id(&self) -> ChunkId;
    /// Its key.
    fn key(&self) -> Self::Key;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::RawEntry {}
    impl Sealed for (super::Copied, super::Mark) {}
}

impl Record for RawEntry {
    const WIDTH: usize = ENTRY;
    type Key = (ChunkId, u32, u16);

    fn read(bytes: &[u8], blocks: u32) -> Result<Self, &'static str> {
        let raw = RawEntry::read(bytes.first_chunk().ok_or("an entry is missing")?);
        if raw.block >= blocks {
            return Err("an entry's block does not exist");
        }
        if !raw.has_sound_flags() {
            return Err("an entry's flags cannot be");
        }
        Ok(raw)
    }

    fn id(&self) -> ChunkId {
        self.id
    }

    fn key(&self) -> Self::Key {
        (self.id, self.block, self.ordinal)
    }
}

impl Record for (Copied, Mark) {
    const WIDTH: usize = RECORD;
    type Key = Copied;

    fn read(bytes: &[u8], _: u32) -> Result<Self, &'static str> {
        read_mark(bytes).ok_or("a mark has bits this program does not know")
    }

    fn id(&self) -> ChunkId {
        self.0.0
    }

    fn key(&self) -> Copied {
        self.0
    }
}
