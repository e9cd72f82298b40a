//! Leaving: the entries that leave a domain's index, because a prune removes them or moves their block.

use core::cmp::Ordering;
use std::collections::HashMap;

use copal_engine::plan::{Plan, replaces};
use copal_format::id::{ChunkId, PackId};
use copal_format::index::Entry;
use copal_format::room::{List, Row, Scratch};
use copal_format::time::Time;

use super::inventory::Inventory;
use super::repack::Moved;

/// The entries that leave, by id and place. They lie in scratch storage, because there may be as many as the index has.
pub(super) struct Leaving {
    rows: List<LeavingRow>,
    /// The numbers of the packs that hold them.
    packs: HashMap<PackId, u32>,
}

impl Leaving {
    /// The entries of an inventory that leave.
    pub(super) fn of(inventory: &Inventory<'_>, plan: &Plan, moved: &Moved, scratch: &dyn Scratch) -> Self {
        let mut leaving = Self { rows: List::default(), packs: HashMap::new() };
        if plan.removed.iter().next().is_none() && moved.blocks.is_empty() {
            return leaving;
        }
        let (mut of_id, mut staying, mut is_moved_on, mut oldest) = (Vec::new(), Vec::new(), false, None::<Time>);
        let mut copies = inventory.copies_with_ids().peekable();
        while let Some((copy, id, item)) = copies.next() {
            let (is_removed, is_moved) = (plan.removed.has(copy), moved.blocks.contains_key(&item.block));
            let pack = inventory.pack_of(&item);
            match (is_removed, is_moved) {
                (true, _) if pack.is_healthy => oldest = oldest.min(Some(pack.accepted)).or(Some(pack.accepted)),
                (true, _) => {}
                (false, true) => is_moved_on = true,
                (false, false) => staying.push(pack),
            }
            if is_removed || is_moved {
                let block = inventory.block(item.block);
                leaving.packs.entry(inventory.packs[block.pack as usize].id).or_insert(block.pack);
                of_id.push((block.pack, block.offset, item.ordinal));
            }
            if copies.peek().is_none_or(|(_, next, _)| *next != id) {
                // The rows are binary searched, and an id may have very many copies, so these are sorted too.
                of_id.sort_unstable();
                let has_heir = is_moved_on || staying.drain(..).any(|pack| replaces(pack, oldest));
                for (pack, offset, ordinal) in of_id.drain(..) {
                    leaving.rows.push(scratch, LeavingRow { id, pack, offset, ordinal, has_heir });
                }
                staying.clear();
                (is_moved_on, oldest) = (false, None);
            }
        }
        leaving
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether this entry leaves.
    pub(super) fn has(&self, entry: &Entry) -> bool {
        let place = &entry.location;
        let Some(pack) = self.packs.get(&place.pack) else { return false };
        let wanted = (entry.id, *pack, place.offset, place.ordinal);
        self.search(|row| (row.id, row.pack, row.offset, row.ordinal).cmp(&wanted)).is_ok()
    }

    /// Whether a copy of this id leaves.
    pub(super) fn holds(&self, id: &ChunkId) -> bool {
        self.search(|row| row.id.cmp(id)).is_ok()
    }

    /// Whether copies of this id leave, and no copy that may replace them stays or is written elsewhere.
    pub(super) fn ends(&self, id: &ChunkId) -> bool {
        self.search(|row| row.id.cmp(id)).is_ok_and(|at| !self.rows.get(at).has_heir)
    }

    /// The position of a row; otherwise where it would be.
    fn search(&self, order: impl Fn(&LeavingRow) -> Ordering) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.rows.len());
        while low < high {
            let middle = low.midpoint(high);
            match order(&self.rows.get(middle)) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }
}

#[derive(Copy, Clone)]
struct LeavingRow {
    id: ChunkId,
    pack: u32,
    offset: u32,
    ordinal: u16,
    /// Whether a copy of the id is written elsewhere, or one stays that may replace it.
    has_heir: bool,
}

impl Row for LeavingRow {
    const LEN: usize = ChunkId::LEN + 4 + 4 + 2 + 1;

    fn read(bytes: &[u8]) -> Self {
        let (id, rest) = bytes.split_at(ChunkId::LEN);
        let mut known = [0; ChunkId::LEN];
        known.copy_from_slice(id);
        let (pack, offset) = (u32::read(rest), u32::read(&rest[4..]));
        Self { id: ChunkId(known), pack, offset, ordinal: u16::read(&rest[8..]), has_heir: rest[10] == 1 }
    }

    fn write(self, bytes: &mut [u8]) {
        let (id, rest) = bytes.split_at_mut(ChunkId::LEN);
        id.copy_from_slice(&self.id.0);
        self.pack.write(&mut rest[..4]);
        self.offset.write(&mut rest[4..8]);
        self.ordinal.write(&mut rest[8..10]);
        rest[10] = u8::from(self.has_heir);
    }
}
