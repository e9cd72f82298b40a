//! Extent: a snapshot's approximate size and stored bytes, in the clear, so that services without a key can see that a
//! snapshot is unlike the one before.

use serde::Serialize;

use crate::block::padme;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};

/// The approximate size of a snapshot, rounded like the lengths of sealed blocks.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Extent {
    /// The number of entries in its tree.
    pub entries: u64,
    /// The total size of its files in bytes.
    pub bytes: u64,
    /// Bytes of the packs that the run claimed for it, in this manifest or earlier ones, since its previous checkpoint.
    pub stored: u64,
}

impl Extent {
    /// Rounds all values up like the lengths of sealed blocks, by at most 12 %.
    pub fn about(entries: u64, bytes: u64, stored: u64) -> Self {
        Self { entries: padme(entries), bytes: padme(bytes), stored: padme(stored) }
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.array(3).uint(self.entries).uint(self.bytes).uint(self.stored);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.tuple(3)?;
        Ok(Self { entries: reader.wide()?, bytes: reader.wide()?, stored: reader.wide()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_tells_no_exact_number() {
        let about = Extent::about(78_611, 1_300_000_001, 207_654_321);
        assert_eq!(about, Extent { entries: 79_872, bytes: 1_308_622_848, stored: 209_715_200 });
        assert_eq!(Extent::about(about.entries, about.bytes, about.stored), about);
        assert_eq!(Extent::about(0, 1, 3), Extent { entries: 0, bytes: 1, stored: 3 });
    }
}
