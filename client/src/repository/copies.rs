//! Copies: brings back second copies, and clears away small objects that are damaged and that something else replaces.
//! Key slots are stored twice, so that one damaged object does not lock everybody out. So are client records, because a
//! client's snapshots cannot be verified without them.

use std::collections::BTreeSet;

use bytes::Bytes;
use copal_format::id::SlotId;
use copal_format::keys::slot::Slot;
use copal_format::layout;
use copal_format::receipt::Receipt;
use copal_format::root::{Deletion, Root};
use copal_jobs::error::JobError;
use copal_jobs::view::View;
use copal_jobs::{clients, objects};
use copal_store::{Store, StoreError};

use super::{Repository, list_descriptors};
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

    /// Deletes a damaged object.
    fn clear(&mut self, store: &dyn Store, name: String) -> Result<(), StoreError> {
        let list = if deleted(store, &name)? { &mut self.deleted } else { &mut self.damaged };
        list.push(name);
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
        let survey = wait(clients::survey(&job, client))?;
        let missing = survey.missing.into_iter().map(|copy| (copy, false));
        for (copy, is_damaged) in missing.chain(survey.damaged.into_iter().map(|copy| (copy, true))) {
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
            match wait(objects::read(store, &name))? {
                Some(bytes) if Slot::parse(&bytes).is_ok_and(|parsed| parsed.id() == slot) => whole = Some(bytes),
                found => others.push((name, found.is_some())),
            }
        }
        for (name, is_damaged) in others {
            match &whole {
                Some(bytes) => copies.write(store, name, bytes, is_damaged)?,
                None if is_damaged => copies.damaged.push(name),
                None => {}
            }
        }
    }
    Ok(())
}

/// Deletes damaged objects that nothing needs: descriptors and roots older than the newest, deletion records, and
/// receipts. Nobody signs the last two, so a damaged one tells nothing. A rebuild writes receipts again.
pub fn clear_damaged(repository: &Repository, view: &View, copies: &mut RestoredCopies) -> Result<(), JobError> {
    let store = repository.store().as_ref();
    if repository.descriptor.is_some() {
        let damaged = list_descriptors(store)?.into_iter().filter(|(_, read)| read.is_err());
        damaged.map(|(name, _)| name).try_for_each(|name| copies.clear(store, name))?;
    }
    // The newest root may need an older one as its base.
    let needed = view.root.as_ref().map(|(root, _)| (root.base.map(|(base, _)| base), root.number));
    for (prefix, is_whole) in SMALL_RECORDS {
        let listed = wait(objects::list(store, prefix))?;
        let names: Vec<String> = listed.iter().map(|listed| listed.key.as_str().to_owned()).collect();
        for names in names.chunks(AT_ONCE) {
            for (name, read) in names.iter().zip(wait(objects::read_many(store, names))) {
                let is_needed = layout::root_number(name)
                    .is_some_and(|number| needed.is_none_or(|(base, newest)| number >= newest || base == Some(number)));
                if let Ok(Some(bytes)) = read
                    && is_whole(name, &bytes) == Some(false)
                    && !is_needed
                {
                    copies.clear(store, name.clone())?;
                }
            }
        }
    }
    Ok(())
}

/// Prefixes of records without a signature, and whether the bytes under a name are such a record; none for other names.
type IsWhole = fn(&str, &[u8]) -> Option<bool>;
const SMALL_RECORDS: [(&str, IsWhole); 3] = [
    ("receipts/", |name, bytes| {
        Some(Receipt::decode(layout::client_of(name)?, layout::trailing_number(name)?, bytes).is_ok())
    }),
    ("roots/", |name, bytes| Some(Root::decode(layout::root_number(name)?, bytes).is_ok())),
    ("deletions/", |_, bytes| Some(Deletion::decode(bytes).is_ok())),
];

/// Records that are held in memory at a time.
const AT_ONCE: usize = 1_000;
