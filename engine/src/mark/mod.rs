//! Mark: finds which ids are reachable from which pages, over an inventory of one domain as numbers.

mod bits;
mod blocks;
mod builder;
mod by_page;
mod graph;
mod inventory;
mod marks;
mod merged;
mod reach;
mod shuffle;

pub use bits::Bits;
pub use builder::InventoryBuilder;
pub use graph::Graph;
pub use inventory::Inventory;
pub use marks::{Mark, Marks};
pub use merged::InventoryLimit;
pub use reach::Reach;

use copal_format::id::PackId;
use copal_format::layout::Place;
use copal_format::pack::PackKind;
use copal_format::room::Row;
use copal_format::state::PackRecord;
use copal_format::time::Time;

/// A pack of the domain, from its record and the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackItem {
    /// Its name.
    pub id: PackId,
    /// The folder in which it is stored.
    pub place: Place,
    /// Whether it holds chunks or pages.
    pub kind: PackKind,
    /// Its length in the store.
    pub length: u64,
    /// Whether its bytes exist and are not known to be damaged.
    pub is_healthy: bool,
    /// How far its table is believed.
    pub trust: Trust,
    /// When it was accepted.
    pub accepted: Time,
    /// The bytes of its blocks that have no entry in the index. The inventory computes this.
    pub unlisted: u64,
}

impl PackItem {
    /// Makes an item from a pack's record.
    pub fn of(id: PackId, record: &PackRecord, is_healthy: bool, trust: Trust) -> Self {
        let PackRecord { place, kind, length, accepted, .. } = *record;
        Self { id, place, kind, length, is_healthy, trust, accepted, unlisted: 0 }
    }
}

/// How far a pack's table is trusted. A greater value takes precedence.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// The pack's client is revoked, and the claim came after its last good manifest.
    Excluded,
    /// A full client claimed the pack without the owner's signature, which it could have added.
    Doubted,
    /// A client without read access claimed the pack, and nobody has compared its content with its ids.
    Claimed,
    /// The owner signed the pack, or prune made it from such packs.
    Proven,
}

/// A block of a pack.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct BlockItem {
    /// Its pack, as a number in [`Inventory::packs`].
    pub pack: u32,
    /// Its offset in the pack.
    pub offset: u32,
    /// Its stored length in bytes.
    pub length: u32,
    /// The number of items in it, whether in the index or not.
    pub entries: u32,
}

/// A copy of an id: an entry of the index.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CopyItem {
    /// The id's number in the inventory.
    pub id: u32,
    /// The block's number in the inventory.
    pub block: u32,
    /// Its position in the block.
    pub ordinal: u16,
}

impl Row for BlockItem {
    const LEN: usize = 16;

    fn read(bytes: &[u8]) -> Self {
        let number = |at: usize| u32::read(&bytes[4 * at..]);
        Self { pack: number(0), offset: number(1), length: number(2), entries: number(3) }
    }

    fn write(self, bytes: &mut [u8]) {
        let numbers = [self.pack, self.offset, self.length, self.entries];
        bytes.chunks_exact_mut(4).zip(numbers).for_each(|(bytes, number)| number.write(bytes));
    }
}

#[cfg(test)]
mod tests;
