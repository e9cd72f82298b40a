//! Slots: reads, proves and removes the key slots that the owner manages.

use bytes::Bytes;
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

/// Deletes both copies of a key slot. `own` is a slot that is known to open; the caller makes sure that it is another one.
///
/// Two people may remove each other's slots at the same moment. Each needs both copies of `own` to begin with, deletes
/// one copy of the other slot, looks for both copies of `own` again, and only then deletes the other copy. Whoever
/// deletes later sees a copy of `own` missing, and puts back what it has deleted.
pub fn remove_slot(store: &dyn Store, id: SlotId, own: SlotId) -> Result<(), RemoveError> {
    let copies = |id: SlotId| -> Result<Vec<(String, Bytes)>, StoreError> {
        let read = |name: String| Ok(wait(objects::read(store, &name))?.map(|bytes| (name, bytes)));
        layout::slot(id).into_iter().filter_map(|name| read(name).transpose()).collect()
    };
    let is_whole = || Ok::<_, StoreError>(copies(own)?.len() == layout::slot(own).len());
    if !is_whole()? {
        return Err(RemoveError::Overtaken { own });
    }
    let target = copies(id)?;
    let Some((name, bytes)) = target.first() else { return Ok(()) };
    wait(store.delete(&objects::key(name.clone())))?;
    if !is_whole()? {
        wait(store.create(&objects::key(name.clone()), bytes.clone()))?;
        return Err(RemoveError::Overtaken { own });
    }
    // Looks again until nothing is left: a repair may have written the deleted copy anew meanwhile.
    for _ in 0..LOOKS {
        let left = copies(id)?;
        if left.is_empty() {
            return Ok(());
        }
        left.into_iter().try_for_each(|(name, _)| wait(store.delete(&objects::key(name))))?;
    }
    Err(RemoveError::Stays { id })
}

/// Removes slots that were added in vain. A store that deletes nothing keeps them.
pub(super) fn take_back(store: &dyn Store, added: &[SlotId]) {
    for name in added.iter().flat_map(|id| layout::slot(*id)) {
        let _ = wait(store.delete(&objects::key(name)));
    }
}

/// Why a slot was not removed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum RemoveError {
    /// A copy of the slot that was known to open is missing: nothing was removed.
    #[error("a copy of key {own}, which has opened the repository, is missing: somebody may be removing it")]
    Overtaken { own: SlotId },
    /// The slot was deleted several times and is still there.
    #[error("key {id} is still there: the store does not delete it, or somebody writes it anew")]
    Stays { id: SlotId },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How many times a slot is deleted: a repair may write a copy of it again, but not for ever.
const LOOKS: usize = 8;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use copal_store::fault::{Call, Fate, Fault};
    use copal_store::memory::MemoryStore;
    use copal_store::{Key, Op};
    use futures::FutureExt;

    use super::*;

    const OWN: SlotId = SlotId([1; 16]);
    const OTHER: SlotId = SlotId([2; 16]);

    fn put(store: &dyn Store, id: SlotId) {
        for name in layout::slot(id) {
            wait(store.create(&objects::key(name), Bytes::from_static(b"a slot"))).unwrap();
        }
    }

    fn left(store: &dyn Store, id: SlotId) -> usize {
        layout::slot(id).into_iter().filter(|name| wait(objects::read(store, name)).unwrap().is_some()).count()
    }

    #[test]
    fn a_slot_goes_with_all_copies_that_there_are() {
        for missing in [None, Some(0), Some(1)] {
            let store = MemoryStore::new();
            put(&store, OWN);
            put(&store, OTHER);
            if let Some(copy) = missing {
                wait(store.delete(&objects::key(layout::slot(OTHER)[copy].clone()))).unwrap();
            }
            remove_slot(&store, OTHER, OWN).unwrap();
            assert_eq!((left(&store, OWN), left(&store, OTHER)), (2, 0), "{missing:?}");
        }
    }

    #[test]
    fn nothing_is_removed_by_whom_a_copy_of_the_own_slot_is_missing() {
        for gone in [&[0usize][..], &[1], &[0, 1]] {
            let store = MemoryStore::new();
            put(&store, OWN);
            put(&store, OTHER);
            for copy in gone {
                wait(store.delete(&objects::key(layout::slot(OWN)[*copy].clone()))).unwrap();
            }
            let refused = remove_slot(&store, OTHER, OWN);
            assert!(matches!(refused, Err(RemoveError::Overtaken { own: OWN })), "{refused:?}");
            assert_eq!(left(&store, OTHER), 2, "{gone:?}");
        }
    }

    #[test]
    fn of_two_slots_that_remove_each_other_one_stays() {
        let inner = Arc::new(MemoryStore::new());
        put(inner.as_ref(), OWN);
        put(inner.as_ref(), OTHER);
        // The other side has just deleted its first copy when ours is deleted.
        let beside = inner.clone();
        let store = Fault::new(inner.clone(), move |call: &Call<'_>| {
            if call.op == Op::Delete {
                let taken = Key::new(layout::slot(OWN)[0].clone()).unwrap();
                beside.delete(&taken).now_or_never().expect("memory answers at once").unwrap();
            }
            Fate::Proceed
        });
        let overtaken = remove_slot(&store, OTHER, OWN);
        assert!(matches!(overtaken, Err(RemoveError::Overtaken { own: OWN })), "{overtaken:?}");
        assert_eq!((left(inner.as_ref(), OWN), left(inner.as_ref(), OTHER)), (1, 2));
    }

    #[test]
    fn a_copy_that_a_repair_writes_meanwhile_goes_too() {
        let inner = Arc::new(MemoryStore::new());
        put(inner.as_ref(), OWN);
        put(inner.as_ref(), OTHER);
        let beside = inner.clone();
        let store = Fault::new(inner.clone(), move |call: &Call<'_>| {
            // The repair has seen the first copy missing and the second one whole.
            if call.op == Op::Delete && call.key == layout::slot(OTHER)[1] {
                let missing = Key::new(layout::slot(OTHER)[0].clone()).unwrap();
                let written = beside.create(&missing, Bytes::from_static(b"a slot"));
                written.now_or_never().expect("memory answers at once").unwrap();
            }
            Fate::Proceed
        });
        remove_slot(&store, OTHER, OWN).unwrap();
        assert_eq!((left(inner.as_ref(), OWN), left(inner.as_ref(), OTHER)), (2, 0));
    }
}
