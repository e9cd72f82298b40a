//! Extent: about how large a snapshot is and how much was stored for it, told in the clear: so that whoever has no key
//! can see that a snapshot is unlike the one before.

use crate::block::padme;
use crate::wire::DecodeError;
use crate::wire::cbor::{Reader, Writer};

/// About how large a snapshot is. Only the order of magnitude and a few digits are told, as of sealed blocks.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Extent {
    /// Entries of its tree.
    pub entries: u64,
    /// The sum of its files' sizes.
    pub bytes: u64,
    /// Bytes of the packs that were claimed for it, with it or before it, since the claim before.
    pub stored: u64,
}

impl Extent {
    /// Rounds everything as the lengths of sealed blocks are rounded, at most 12 % up.
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
