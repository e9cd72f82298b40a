//! Slots: reads, proves and removes the key slots that the owner manages.

use copal_format::id::SlotId;
use copal_format::keyring::{KeySlot, listed};
use copal_format::keys::slot::{Slot, SlotInput};
use copal_format::layout;
use copal_jobs::objects;
use copal_store::{Store, StoreError};

use crate::wait::wait;

/// All key slots, the oldest first; both copies of each are read.
pub fn survey_slots(store: &dyn Store) -> Result<Vec<KeySlot>, StoreError> {
    let names = wait(objects::list(store, "keys/"))?;
    let ids = listed(names.iter().map(|object| object.key.as_str()));
    let slots: Result<Vec<KeySlot>, StoreError> = ids.into_iter().map(|id| read_slot(store, id)).collect();
    let mut slots = slots?;
    slots.sort_by_key(|slot| (slot.slot.as_ref().map(Slot::created), slot.id));
    Ok(slots)
}

/// Reads both copies of a key slot.
pub fn read_slot(store: &dyn Store, id: SlotId) -> Result<KeySlot, StoreError> {
    let [first, second] = layout::slot(id).map(|name| wait(objects::read(store, &name)));
    let (first, second) = (first?, second?);
    Ok(KeySlot::read(id, [first.as_deref(), second.as_deref()]))
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
