//! Keyring: the key slots of a repository as its owner manages them: both copies of each, and which may be removed.

use std::collections::BTreeSet;

use crate::id::SlotId;
use crate::keys::slot::{Slot, SlotError};
use crate::layout;

/// A key slot and the state of its copies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySlot {
    /// Its id, which names its copies.
    pub id: SlotId,
    /// The slot: the first copy that is whole. None if no copy is.
    pub slot: Option<Slot>,
    /// The copies that are not whole, or not copies of `slot`, and why.
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
    /// The copy is a valid slot of this id, but not what the first copy is. Whether it opens is unknown, so nobody
    /// deletes it in favour of the first one.
    #[error("it is whole, but differs from the first copy, which is the one that counts")]
    Differs,
}

impl KeySlot {
    /// Reads both copies of a slot, in the order of their names; none if a copy does not exist.
    pub fn read(id: SlotId, copies: [Option<&[u8]>; 2]) -> Self {
        let mut found = Self { id, slot: None, faults: Vec::new() };
        for (name, copy) in layout::slot(id).into_iter().zip(copies) {
            match copy.map(Slot::parse) {
                Some(Ok(slot)) if slot.id() != id => found.faults.push((name, SlotFault::Misplaced(slot.id()))),
                Some(Ok(slot)) => match &found.slot {
                    None => found.slot = Some(slot),
                    Some(first) if *first == slot => {}
                    Some(_) => found.faults.push((name, SlotFault::Differs)),
                },
                Some(Err(error)) => found.faults.push((name, error.into())),
                None => found.faults.push((name, SlotFault::Missing)),
            }
        }
        found
    }
}

/// The slots that have a copy in a listing of `keys/`.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<SlotId> {
    names.into_iter().filter_map(|name| SlotId::from_hex(name.split('/').nth(1)?).ok()).collect()
}

/// Whether a slot may be removed by whoever has opened the repository with the slot `used`. That one stays: opening the
/// repository with it has proven that it works, and no other slot is known to.
pub fn may_remove(slots: &[KeySlot], id: SlotId, used: SlotId) -> Result<(), Kept> {
    let whole = |id: SlotId| slots.iter().any(|slot| slot.id == id && slot.slot.is_some());
    match id == used {
        true => Err(Kept::InUse { is_only: slots.iter().filter(|slot| slot.slot.is_some()).count() == 1 }),
        false if !whole(used) => Err(Kept::Gone),
        false => Ok(()),
    }
}

/// Why a slot is not removed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Kept {
    /// It is the one that has opened the repository.
    #[error("the repository was opened with this key")]
    InUse {
        /// Whether there is no other.
        is_only: bool,
    },
    /// The slot that has opened the repository is not there any more.
    #[error("the key that has opened the repository was removed meanwhile")]
    Gone,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::RepositoryId;
    use crate::keys::owner::OwnerSecret;
    use crate::keys::secret::Secret;
    use crate::keys::slot::{Argon2Params, SlotInput, SlotParams, seal};
    use crate::time::Time;

    fn stored(id: u8) -> Vec<u8> {
        stored_at(id, Time(id.into()))
    }

    fn stored_at(id: u8, created: Time) -> Vec<u8> {
        let secret = |byte| Secret::new([byte; 32]);
        let owner = OwnerSecret::new(RepositoryId([1; 16]), secret(2), secret(3), secret(4));
        let argon2 = Argon2Params::default();
        let params = SlotParams { id: SlotId([id; 16]), created, nonce: [0; 12], salt: [0; 16], argon2 };
        seal(&SlotInput::KeyFile(secret(7)), &params, &owner)
    }

    fn slot(id: u8) -> KeySlot {
        let bytes = stored(id);
        KeySlot::read(SlotId([id; 16]), [Some(&bytes), Some(&bytes)])
    }

    #[test]
    fn a_slot_is_whole_with_one_copy_and_the_other_is_named_with_what_is_wrong_with_it() {
        assert_eq!(slot(5).faults, []);
        let (bytes, others) = (stored(5), stored(6));
        let id = SlotId([5; 16]);
        let [first, second] = layout::slot(id);
        for (copies, fault) in [
            ([Some(&bytes[..]), None], (second.clone(), SlotFault::Missing)),
            ([None, Some(&bytes[..])], (first, SlotFault::Missing)),
            ([Some(&bytes[..]), Some(&bytes[1..])], (second.clone(), SlotFault::Bad(SlotError::Damaged))),
            ([Some(&bytes[..]), Some(&others[..])], (second, SlotFault::Misplaced(SlotId([6; 16])))),
        ] {
            let found = KeySlot::read(id, copies);
            assert_eq!((found.slot.map(|slot| slot.id()), found.faults), (Some(id), vec![fault]));
        }
        assert_eq!(KeySlot::read(id, [None, Some(&others)]).slot, None);
    }

    #[test]
    fn of_two_whole_copies_that_differ_the_first_counts_and_the_second_is_named() {
        let (one, other) = (stored_at(5, Time(1)), stored_at(5, Time(2)));
        let id = SlotId([5; 16]);
        let [_, second] = layout::slot(id);
        for (copies, created) in [([&one, &other], 1), ([&other, &one], 2)] {
            let found = KeySlot::read(id, copies.map(|copy| Some(copy.as_slice())));
            assert_eq!(found.slot.map(|slot| slot.created()), Some(Time(created)));
            assert_eq!(found.faults, [(second.clone(), SlotFault::Differs)]);
        }
    }

    #[test]
    fn a_listing_names_each_slot_once_and_nothing_else() {
        let [first, second] = layout::slot(SlotId([5; 16]));
        assert_eq!(listed([first.as_str(), &second, "keys/", "keys/zz/a"]), BTreeSet::from([SlotId([5; 16])]));
    }

    #[test]
    fn the_slot_that_has_opened_the_repository_is_never_removed_and_no_other_without_it() {
        let (mine, other) = (SlotId([5; 16]), SlotId([6; 16]));
        assert_eq!(may_remove(&[slot(5), slot(6)], other, mine), Ok(()));
        assert_eq!(may_remove(&[slot(5), slot(6)], mine, mine), Err(Kept::InUse { is_only: false }));
        assert_eq!(may_remove(&[slot(5)], mine, mine), Err(Kept::InUse { is_only: true }));
        assert_eq!(may_remove(&[slot(6)], other, mine), Err(Kept::Gone));
    }
}
