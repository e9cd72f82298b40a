//! Noted: records findings about packs in the state. Behind a gateway only the service writes the state, and it trusts
//! no client's findings: it is asked to check the packs itself.

use std::collections::BTreeSet;

use copal_format::id::PackId;
use copal_jobs::check::{Harm, note};
use copal_jobs::error::JobError;
use copal_jobs::view::View;
use copal_store::StoreError;

use crate::repository::Repository;
use crate::wait::wait;

/// Records the findings; returns how many packs the service was asked to check instead. `before` is the checked state.
pub fn noted(repository: &Repository, before: &View, harm: &Harm) -> Result<u64, JobError> {
    match wait(note(&repository.job(), harm)) {
        Err(refused @ JobError::Store(StoreError::Denied { .. })) => {
            let known = before.state.packs.iter().filter(|(_, record)| record.is_missing || record.is_damaged);
            let healed = known.map(|(id, _)| id).filter(|id| harm.whole.contains_key(id) || harm.returned.contains(id));
            let packs: BTreeSet<PackId> = harm.missing.iter().chain(&harm.damaged).chain(healed).copied().collect();
            let packs: Vec<PackId> = packs.into_iter().collect();
            let gateway = repository.backend().gateway().ok_or(refused)?;
            wait(gateway.suspect(&packs))?;
            Ok(packs.len() as u64)
        }
        noted => noted.map(|()| 0),
    }
}
