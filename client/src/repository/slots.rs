//! Slots: the key slots as the owner manages them. Reads both copies of each, and says what is wrong with them.

use std::collections::BTreeSet;

use copal_format::id::SlotId;
use copal_format::keys::slot::{Slot, SlotError, SlotInput};
use copal_format::layout;
use copal_jobs::objects;
use copal_store::{Store, StoreError};

use crate::wait::wait;

/// A key slot and the state of its copies.
pub struct KeySlot {
    /// Its id, which names its copies.
    pub id: SlotId,
    /// The slot; none if no copy is whole.
    pub slot: Option<Slot>,
    /// The copies that are not whole, and why.
    pub faults: Vec<(String, SlotFault)>,
}

/// What is wrong with a copy of a key slot.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SlotFault {
    /// The copy does not exist.
    #[error("it is missing")]
    Missing,
    /// The copy is not a valid key slot.
    #[error(transparent)]
    Bad(#[from] SlotError),
    /// The copy is a valid slot, but another one than its name says.
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
            Some(Ok(slot)) => found.faults.push((name, SlotFault::Misplaced(slot.id()))),
            Some(Err(error)) => found.faults.push((name, error.into())),
            None => found.faults.push((name, SlotFault::Missing)),
        }
    }
    Ok(found)
}

/// Whether both copies of a slot are stored whole, and the slot opens.
pub fn proves(store: &dyn Store, id: SlotId, input: &SlotInput) -> Result<bool, StoreError> {
    let stored = read_slot(store, id)?;
    Ok(stored.faults.is_empty() && stored.slot.is_some_and(|slot| slot.open(input).is_ok()))
}

/// Deletes both copies of a key slot. The caller makes sure that it is not the last slot.
pub fn remove_slot(store: &dyn Store, id: SlotId) -> Result<(), StoreError> {
    layout::slot(id).into_iter().try_for_each(|name| wait(store.delete(&objects::key(name))))
}
