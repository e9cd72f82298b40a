//! Unlocking: finding the key slot that opens with what the user has.

use std::collections::BTreeMap;

use copal_engine::id::SlotId;
use copal_engine::keys::owner::OwnerSecret;
use copal_engine::keys::slot::{Slot, SlotError, SlotInput};
use copal_service::objects;
use copal_store::{Store, StoreError};

use super::OpenError;
use crate::location::Location;
use crate::wait::wait;

/// A slot as the store has it: the first of its two copies that is whole, or what is wrong with them.
pub struct FoundSlot {
    /// The name of the copy.
    pub object: String,
    /// The slot, if a copy is whole.
    pub slot: Result<Slot, SlotError>,
}

/// All key slots. Each is stored twice; one whole copy is enough.
pub fn find_slots(store: &dyn Store) -> Result<Vec<FoundSlot>, StoreError> {
    wait(read_slots(store))
}

pub(super) async fn read_slots(store: &dyn Store) -> Result<Vec<FoundSlot>, StoreError> {
    let mut slots: BTreeMap<String, FoundSlot> = BTreeMap::new();
    let listed = objects::list(store, "keys/").await?;
    let names: Vec<String> = listed.iter().map(|listed| listed.key.as_str().to_owned()).collect();
    let mut unread: BTreeMap<String, StoreError> = BTreeMap::new();
    for (object, read) in names.iter().zip(objects::read_many(store, &names).await) {
        let Some((folder, _)) = object.rsplit_once('/') else { continue };
        if slots.get(folder).is_some_and(|found| found.slot.is_ok()) {
            continue;
        }
        match read {
            Ok(Some(bytes)) => {
                let found = FoundSlot { slot: Slot::parse(&bytes), object: object.clone() };
                slots.insert(folder.to_owned(), found);
            }
            Ok(None) => {}
            Err(error) => {
                unread.insert(folder.to_owned(), error);
            }
        }
    }
    // What cannot be read might be the copy that is whole.
    unread.retain(|folder, _| slots.get(folder).is_none_or(|found| found.slot.is_err()));
    if let Some((_, error)) = unread.pop_first() {
        return Err(error);
    }
    Ok(slots.into_values().collect())
}

/// Tries the slots of the right kind, one after another; tells which one opened.
pub fn unlock(
    location: &Location,
    slots: Vec<FoundSlot>,
    input: &SlotInput,
) -> Result<(OwnerSecret, SlotId), OpenError> {
    let kind = input.kind().to_string();
    let mut damaged = None;
    let mut is_tried = false;
    for found in slots {
        match found.slot {
            Ok(slot) if slot.kind() == input.kind() => {
                is_tried = true;
                match slot.open(input) {
                    Ok(owner) => return Ok((owner, slot.id())),
                    Err(SlotError::WrongSecret { .. }) => {}
                    Err(source) => damaged = Some((found.object, source)),
                }
            }
            Ok(_) => {}
            Err(source) => damaged = Some((found.object, source)),
        }
    }
    match damaged {
        Some((object, source)) => Err(OpenError::DamagedSlot { object, source }),
        None if is_tried => Err(OpenError::WrongSecret { location: location.clone(), kind }),
        None => Err(OpenError::NoSlot { location: location.clone(), kind }),
    }
}
