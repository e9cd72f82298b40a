//! Copies: restores missing second copies. Key slots are stored twice, so that one damaged object does not lock
//! everybody out. So are client records, because a client's snapshots cannot be verified without them.

use std::collections::BTreeSet;

use copal_format::id::SlotId;
use copal_format::keys::slot::Slot;
use copal_format::layout;
use copal_jobs::error::JobError;
use copal_jobs::{clients, objects};
use copal_store::{Store, StoreError};

use super::Repository;
use crate::wait::wait;

/// The copies that were missing or damaged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoredCopies {
    /// Names of copies that were missing and are written again.
    pub restored: Vec<String>,
    /// Names of damaged copies. They stay, because objects are never replaced.
    pub damaged: Vec<String>,
}

/// Writes missing copies of client records again, from the whole ones.
pub fn restore_record_copies(repository: &Repository) -> Result<RestoredCopies, JobError> {
    let (store, job) = (repository.store().as_ref(), repository.job());
    let mut copies = RestoredCopies::default();
    for client in wait(clients::below(store, "clients/"))? {
        let survey = wait(clients::survey(&job, client))?;
        wait(clients::write(store, &survey.missing))?;
        copies.restored.extend(survey.missing.into_iter().map(|copy| copy.name));
        copies.damaged.extend(survey.damaged);
    }
    Ok(copies)
}

/// Writes missing copies of key slots again, from the whole ones.
pub fn restore_copies(store: &dyn Store) -> Result<RestoredCopies, StoreError> {
    let listed = wait(objects::list(store, "keys/"))?;
    let id = |name: &str| SlotId::from_hex(name.split('/').nth(1)?).ok();
    let slots: BTreeSet<SlotId> = listed.iter().filter_map(|object| id(object.key.as_str())).collect();
    let mut copies = RestoredCopies::default();
    for slot in slots {
        let mut whole = None;
        let mut missing = Vec::new();
        for name in layout::slot(slot) {
            match wait(objects::read(store, &name))? {
                Some(bytes) if Slot::parse(&bytes).is_ok_and(|parsed| parsed.id() == slot) => whole = Some(bytes),
                Some(_) => copies.damaged.push(name),
                None => missing.push(name),
            }
        }
        let Some(bytes) = whole else { continue };
        for name in missing {
            wait(store.create(&objects::key(name.as_str()), bytes.clone()))?;
            copies.restored.push(name);
        }
    }
    Ok(copies)
}
