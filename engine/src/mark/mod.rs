//! Mark: which ids are reached from which pages, over an inventory of one domain held as numbers instead of ids.

mod bits;
mod builder;
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

use crate::id::PackId;
use crate::layout::Place;
use crate::pack::PackKind;
use crate::room::Row;
use crate::state::PackRecord;
use crate::time::Time;

/// A pack of the domain, as the store and the state know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackItem {
    /// Its name.
    pub id: PackId,
    /// Where it lies.
    pub place: Place,
    /// What it holds.
    pub kind: PackKind,
    /// Its length in the store.
    pub length: u64,
    /// Whether its bytes are there and not known to be damaged.
    pub is_healthy: bool,
    /// How far its table is believed.
    pub trust: Trust,
    /// When it was accepted.
    pub accepted: Time,
}

impl PackItem {
    /// The pack of a record.
    pub fn of(id: PackId, record: &PackRecord, is_healthy: bool, trust: Trust) -> Self {
        let PackRecord { place, kind, length, accepted, .. } = *record;
        Self { id, place, kind, length, is_healthy, trust, accepted }
    }
}

/// How far the table of a pack is believed. The greater counts before the lesser.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// Its client was revoked, and the last good manifest came before the one that names it.
    Excluded,
    /// A full client has named it without the owner's signature, which it could have given.
    Doubted,
    /// A client that cannot read has named it, and nobody has compared it with its ids.
    Claimed,
    /// The owner has signed it, or prune has made it of such packs.
    Proven,
}

/// A block of a pack.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct BlockItem {
    /// Its pack, as a number in [`Inventory::packs`].
    pub pack: u32,
    /// Where it starts.
    pub offset: u32,
    /// Its stored bytes.
    pub length: u32,
    /// Entries it was made with, present in the index or not.
    pub entries: u32,
}

/// One present copy of an id: an entry of the index.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct CopyItem {
    /// The id, as a number in the inventory.
    pub id: u32,
    /// Its block, by its number in the inventory.
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
