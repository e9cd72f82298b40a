//! Unlock: finds the key slot that the user's secret opens.

use std::collections::BTreeMap;

use copal_format::id::{RepositoryId, SlotId};
use copal_format::keys::attempts::{Attempt, Attempts, Doubt};
use copal_format::keys::owner::OwnerSecret;
use copal_format::keys::slot::{Argon2Params, STORED_BYTES, Slot, SlotError, SlotInput};
use copal_jobs::objects;
use copal_store::{Store, StoreError};

use super::OpenError;
use crate::location::Location;
use crate::wait::wait;

/// A slot as the store has it: its first whole copy, or what is wrong with its copies.
pub struct FoundSlot {
    /// The name of that copy.
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
    // Read neither large objects nor very many: they would fill the memory.
    let (small, large): (Vec<_>, Vec<_>) = listed.iter().partition(|listed| listed.stat.length <= STORED_BYTES as u64);
    for listed in large {
        let object = listed.key.as_str().to_owned();
        if let Some((folder, _)) = object.clone().rsplit_once('/') {
            slots.insert(folder.to_owned(), FoundSlot { object, slot: Err(SlotError::Damaged) });
        }
    }
    let names: Vec<String> =
        small.into_iter().take(OBJECTS_READ).map(|listed| listed.key.as_str().to_owned()).collect();
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
    // A copy that could not be read might be the whole one: fail if its slot has no other.
    unread.retain(|folder, _| slots.get(folder).is_none_or(|found| found.slot.is_err()));
    if let Some((_, error)) = unread.pop_first() {
        return Err(error);
    }
    Ok(slots.into_values().collect())
}

/// A slot that is tried only if the user agrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("key slot {slot} asks for {} MiB of memory and {} passes: {doubt}", cost.m_kib >> 10, cost.t)]
pub struct Costly {
    /// The slot.
    pub slot: SlotId,
    /// The cost that it asks for.
    pub cost: Argon2Params,
    /// Why the user is asked.
    pub doubt: Doubt,
}

/// Tries the slots of the right kind, the cheapest first; returns the owner secret and the slot that opened. `agrees`
/// is asked about slots that cost much, or that belong to another repository.
pub fn unlock(
    location: &Location,
    slots: Vec<FoundSlot>,
    input: &SlotInput,
    repository: Option<RepositoryId>,
    agrees: &dyn Fn(&Costly) -> bool,
) -> Result<(OwnerSecret, SlotId), OpenError> {
    let kind = input.kind().to_string();
    let (mut damaged, mut refused, mut is_tried, mut is_refused) = (None, None, false, false);
    let (mut objects, mut whole) = (BTreeMap::new(), Vec::new());
    for found in slots {
        match found.slot {
            Ok(slot) => {
                objects.insert(slot.id(), found.object);
                whole.push(slot);
            }
            Err(source) => damaged = Some((found.object, source)),
        }
    }
    let mut attempts = Attempts::new(whole, input.kind(), repository);
    while let Some(attempt) = attempts.poll() {
        let slot = match attempt {
            Attempt::Open(slot) => slot,
            Attempt::Ask(slot, doubt) => {
                let costly = slot.cost().map(|cost| Costly { slot: slot.id(), cost, doubt });
                if let Some(costly) = costly.filter(|costly| !agrees(costly)) {
                    refused.get_or_insert(costly);
                    continue;
                }
                slot
            }
        };
        is_tried = true;
        match slot.open(input) {
            Ok(owner) => return Ok((owner, slot.id())),
            Err(SlotError::WrongSecret { .. }) => is_refused = true,
            Err(source) => damaged = objects.remove(&slot.id()).map(|object| (object, source)),
        }
    }
    match (damaged, refused) {
        (Some((object, source)), _) => Err(OpenError::DamagedSlot { object, is_refused, source }),
        (None, Some(costly)) => Err(OpenError::Costly(costly)),
        (None, None) if is_tried => Err(OpenError::WrongSecret { location: location.clone(), kind }),
        (None, None) => Err(OpenError::NoSlot { location: location.clone(), kind }),
    }
}

/// Most objects below `keys/` that are read: two for each slot.
const OBJECTS_READ: usize = 2_048;
