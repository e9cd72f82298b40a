//! Copies: brings back second copies, and clears away small objects that are damaged and that something else replaces.
//! Key slots are stored twice, so that one damaged object does not lock everybody out. So are client records, because a
//! client's snapshots cannot be verified without them.

use std::collections::BTreeSet;

use bytes::Bytes;
use copal_format::id::SlotId;
use copal_format::keys::slot::Slot;
use copal_format::layout;
use copal_format::receipt::Receipt;
use copal_format::repository::{Descriptor, DescriptorError};
use copal_format::root::{Deletion, Root};
use copal_format::wire::record::RecordError;
use copal_jobs::error::JobError;
use copal_jobs::view::View;
use copal_jobs::witness::refusal;
use copal_jobs::{clients, objects};
use copal_store::{Store, StoreError};

use super::Repository;
use crate::wait::wait;

/// What became of small objects that were missing or damaged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoredCopies {
    /// Names of copies that were missing or damaged and are written again.
    pub restored: Vec<String>,
    /// Names of damaged objects that are deleted, because nothing needs them.
    pub deleted: Vec<String>,
    /// Names of damaged objects that stay, because no other copy is whole or the store lets nobody delete them.
    pub damaged: Vec<String>,
}

impl RestoredCopies {
    /// Writes a copy again. A damaged one is deleted first: the other copy is whole meanwhile.
    fn write(&mut self, store: &dyn Store, name: String, whole: &Bytes, is_damaged: bool) -> Result<(), StoreError> {
        if is_damaged && !deleted(store, &name)? {
            self.damaged.push(name);
            return Ok(());
        }
        wait(store.create(&objects::key(name.as_str()), whole.clone()))?;
        self.restored.push(name);
        Ok(())
    }

    /// Deletes a damaged object, if it still reads as these bytes: the store may have given it wrongly once.
    fn clear(&mut self, store: &dyn Store, name: &str, damaged: &Bytes) -> Result<(), StoreError> {
        if wait(objects::read(store, name))?.as_ref() != Some(damaged) {
            return Ok(());
        }
        let list = if deleted(store, name)? { &mut self.deleted } else { &mut self.damaged };
        list.push(name.to_owned());
        Ok(())
    }
}

/// Deletes an object; returns whether the store lets this machine do so.
fn deleted(store: &dyn Store, name: &str) -> Result<bool, StoreError> {
    match wait(store.delete(&objects::key(name))) {
        Ok(()) => Ok(true),
        Err(StoreError::Denied { .. } | StoreError::ReadOnly { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes missing and damaged copies of client records again, from the whole ones.
pub fn restore_record_copies(repository: &Repository, copies: &mut RestoredCopies) -> Result<(), JobError> {
    let (store, job) = (repository.store().as_ref(), repository.job());
    for client in wait(clients::below(store, "clients/"))? {
        let survey = match wait(clients::survey(&job, client)) {
            Ok(survey) => survey,
            // There is no whole copy to write again.
            Err(error) => {
                error.blame()?;
                continue;
            }
        };
        let missing = survey.missing.into_iter().map(|copy| (copy, false));
        let unreadable = survey.unreadable.into_iter().map(|(copy, _)| copy);
        let damaged = survey.damaged.into_iter().chain(unreadable).map(|copy| (copy, true));
        for (copy, is_damaged) in missing.chain(damaged) {
            copies.write(store, copy.name, &copy.bytes, is_damaged)?;
        }
    }
    Ok(())
}

/// Writes missing and damaged copies of key slots again, from the whole ones.
pub fn restore_slots(store: &dyn Store, copies: &mut RestoredCopies) -> Result<(), StoreError> {
    let listed = wait(objects::list(store, "keys/"))?;
    let id = |name: &str| SlotId::from_hex(name.split('/').nth(1)?).ok();
    let slots: BTreeSet<SlotId> = listed.iter().filter_map(|object| id(object.key.as_str())).collect();
    for slot in slots {
        let mut whole = None;
        let mut others = Vec::new();
        for name in layout::slot(slot) {
            match wait(objects::read(store, &name)) {
                Ok(Some(bytes)) if Slot::parse(&bytes).is_ok_and(|parsed| parsed.id() == slot) => {
                    whole = Some((name, bytes));
                }
                Ok(found) => others.push((name, found.is_some())),
                // A copy that the store does not give is damaged: the other one may be whole.
                Err(error) if refusal(&error).is_some() => others.push((name, true)),
                Err(error) => return Err(error),
            }
        }
        for (name, is_damaged) in others {
            match &whole {
                Some((of, bytes)) => {
                    copies.write(store, name.clone(), bytes, is_damaged)?;
                    // Somebody may be removing this key: what they have deleted must not come back.
                    if wait(objects::read(store, of))?.is_none() {
                        deleted(store, &name)?;
                    }
                }
                None if is_damaged => copies.damaged.push(name),
                None => {}
            }
        }
    }
    Ok(())
}

/// Deletes damaged objects that nothing needs: descriptors and roots older than the newest, and receipts and deletion
/// records of what the newest root knows. Others are evidence of a root that is lost. A rebuild writes receipts again.
/// A record that a newer version of this program has written does not count as damaged.
pub fn clear_damaged(repository: &Repository, view: &View, copies: &mut RestoredCopies) -> Result<(), JobError> {
    let store = repository.store().as_ref();
    let Some((root, _)) = &view.root else { return Ok(()) };
    let is_descriptor = |name: &str, bytes: &Bytes| {
        let read = Descriptor::decode(layout::trailing_number(name)?, bytes);
        Some(!matches!(read, Err(DescriptorError::Record(error)) if is_damage(&error)))
    };
    if let Some(newest) = &repository.descriptor {
        clear(store, "copal/", copies, |name, bytes| {
            let is_older = layout::trailing_number(name).is_some_and(|version| version < newest.version);
            is_older && is_descriptor(name, bytes) == Some(false)
        })?;
    }
    clear(store, "receipts/", copies, |name, bytes| {
        let (Some(client), Some(number)) = (layout::client_of(name), layout::trailing_number(name)) else {
            return false;
        };
        let is_known = view.state.heads.get(&client).is_some_and(|head| number <= head.number);
        is_known && Receipt::decode(client, number, bytes).is_err_and(|error| is_damage(&error))
    })?;
    clear(store, "roots/", copies, |name, bytes| {
        let Some(number) = layout::root_number(name) else { return false };
        let is_needed = number >= root.number || root.base.is_some_and(|(base, _)| base == number);
        !is_needed && Root::decode(number, bytes).is_err_and(|error| is_damage(&error))
    })?;
    clear(store, "deletions/", copies, |name, bytes| {
        let is_known = layout::deletion_root(name).is_some_and(|number| number <= root.number);
        is_known && Deletion::decode(bytes).is_err_and(|error| is_damage(&error))
    })
}

/// Deletes the objects below a prefix that are damaged and not needed.
fn clear(
    store: &dyn Store,
    prefix: &str,
    copies: &mut RestoredCopies,
    is_useless: impl Fn(&str, &Bytes) -> bool,
) -> Result<(), JobError> {
    let listed = wait(objects::list(store, prefix))?;
    let names: Vec<String> = listed.iter().map(|listed| listed.key.as_str().to_owned()).collect();
    for names in names.chunks(AT_ONCE) {
        for (name, read) in names.iter().zip(wait(objects::read_many(store, names))) {
            if let Ok(Some(bytes)) = read
                && is_useless(name, &bytes)
            {
                copies.clear(store, name, &bytes)?;
            }
        }
    }
    Ok(())
}

/// Whether an error says that the bytes are not what was written.
fn is_damage(error: &RecordError) -> bool {
    !matches!(error, RecordError::Version { .. })
}

/// Records that are held in memory at a time.
const AT_ONCE: usize = 1_000;

#[cfg(test)]
mod tests {
    use copal_format::id::RepositoryId;
    use copal_format::keys::owner::OwnerSecret;
    use copal_format::keys::secret::Secret;
    use copal_format::keys::slot::{Argon2Params, SlotInput, SlotParams, seal};
    use copal_format::time::Time;
    use copal_store::Op;
    use copal_store::fault::{Call, Fate, Fault};
    use copal_store::memory::MemoryStore;

    use super::*;

    #[test]
    fn a_copy_of_a_slot_that_cannot_be_read_is_written_again_from_the_other_one() {
        let secret = |byte| Secret::new([byte; 32]);
        let owner = OwnerSecret::new(RepositoryId([1; 16]), secret(2), secret(3), secret(4));
        let (id, argon2) = (SlotId([5; 16]), Argon2Params::default());
        let params = SlotParams { id, created: Time(0), nonce: [0; 12], salt: [0; 16], argon2 };
        let slot = Bytes::from(seal(&SlotInput::KeyFile(secret(7)), &params, &owner));
        for bad in layout::slot(id) {
            let inner = MemoryStore::new();
            for name in layout::slot(id) {
                wait(inner.create(&objects::key(name), slot.clone())).unwrap();
            }
            let key = bad.clone();
            let store = Fault::at(&inner, move |call: &Call<'_>| call.op == Op::Read && call.key == key, Fate::broken);
            let mut copies = RestoredCopies::default();
            restore_slots(&store, &mut copies).unwrap();
            assert_eq!(copies, RestoredCopies { restored: vec![bad.clone()], ..RestoredCopies::default() });
            assert_eq!(wait(objects::read(&inner, &bad)).unwrap(), Some(slot.clone()));
        }
    }
}
