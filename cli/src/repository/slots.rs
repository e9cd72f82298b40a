//! Key slots as their owner manages them: each with its two copies, and what is wrong with either.

use std::collections::BTreeSet;

use copal_engine::id::SlotId;
use copal_engine::keys::slot::{Slot, SlotError, SlotInput};
use copal_engine::layout;
use copal_service::objects;
use copal_store::{Store, StoreError};

use crate::wait::wait;

/// A key slot, as far as its copies are whole.
pub struct KeySlot {
    /// Its id, which its copies are named by.
    pub id: SlotId,
    /// The slot; none if no copy is whole.
    pub slot: Option<Slot>,
    /// The copies that are not whole, and why.
    pub faults: Vec<(String, Fault)>,
}

/// What is wrong with a copy of a key slot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// There is only the other copy.
    #[error("it is missing")]
    Missing,
    /// It does not read as a key slot.
    #[error(transparent)]
    Bad(#[from] SlotError),
    /// It is a whole slot under another one's name.
    #[error("it holds key slot {0}")]
    Misplaced(SlotId),
}

/// All key slots, the oldest first; both copies of each are read.
pub fn survey_slots(store: &dyn Store) -> Result<Vec<KeySlot>, StoreError> {
    let listed = wait(objects::list(store, "keys/"))?;
    let id = |name: &str| SlotId::from_hex(name.split('/').nth(1)?).ok();
    let ids: BTreeSet<SlotId> = listed.iter().filter_map(|object| id(object.key.as_str())).collect();
    let slots: Result<Vec<KeySlot>, StoreError> = ids.into_iter().map(|id| read_slot(store, id)).collect();
    let mut slots = slots?;
    slots.sort_by_key(|slot| (slot.slot.as_ref().map(Slot::created), slot.id));
    Ok(slots)
}

/// Reads both copies of a key slot.
pub fn read_slot(store: &dyn Store, id: SlotId) -> Result<KeySlot, StoreError> {
    let mut found = KeySlot { id, slot: None, faults: Vec::new() };
    for name in layout::slot(id) {
        match wait(objects::read(store, &name))?.map(|bytes| Slot::parse(&bytes)) {
            Some(Ok(slot)) if slot.id() == id => found.slot = Some(slot),
            Some(Ok(slot)) => found.faults.push((name, Fault::Misplaced(slot.id()))),
            Some(Err(error)) => found.faults.push((name, error.into())),
            None => found.faults.push((name, Fault::Missing)),
        }
    }
    Ok(found)
}

/// Whether a slot that was just written is stored whole and opens.
pub fn proves(store: &dyn Store, id: SlotId, input: &SlotInput) -> Result<bool, StoreError> {
    let stored = read_slot(store, id)?;
    Ok(stored.faults.is_empty() && stored.slot.is_some_and(|slot| slot.open(input).is_ok()))
}

/// Deletes both copies of a key slot. Only the owner may, and never the last slot.
pub fn remove_slot(store: &dyn Store, id: SlotId) -> Result<(), StoreError> {
    layout::slot(id).into_iter().try_for_each(|name| wait(store.delete(&objects::key(name))))
}
