//! Proof: opens packs that no key holder has opened yet; the owner vouches for the sound ones. Before that, prune lets
//! no copy in them displace an older copy, and moves nothing (decision 0013).

use copal_format::change::Operation;
use copal_format::id::PackId;
use copal_format::layout::Place;
use copal_format::state::PackRecord;
use copal_jobs::check::Harm;
use copal_jobs::error::JobError;
use copal_jobs::view::View;
use copal_store::StoreError;

use super::{noted, packs};
use crate::changes::{self, ChangeError};
use crate::progress::Progress;
use crate::repository::{LocalClient, Repository};

/// The result of opening unproven packs.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Proved {
    /// Packs that the owner vouches for now.
    pub packs: u64,
    /// Packs that do not hold what their tables say.
    pub forged: u64,
}

/// Opens packs and vouches for the sound ones.
pub fn prove(
    repository: &Repository,
    client: &LocalClient,
    (view, packs): (&View, &[(PackId, &PackRecord)]),
    threads: usize,
) -> Result<Proved, ChangeError> {
    let opened = packs::open(repository, packs, threads, &Progress::default())?;
    let mut harm = Harm::default();
    opened.tell(&mut harm);
    let forged = opened.forged().count() as u64;
    let packs = vouch(repository, client, opened.whole().collect())?;
    if forged > 0 {
        match noted(repository, view, &harm) {
            Ok(_) | Err(JobError::Store(StoreError::Denied { .. })) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Proved { packs, forged })
}

/// Signs, as the owner, that these packs hold what their tables say; returns how many. The caller has opened them.
pub fn vouch(repository: &Repository, client: &LocalClient, packs: Vec<PackId>) -> Result<u64, ChangeError> {
    let operations: Vec<Operation> =
        packs.chunks(PACKS).map(|packs| Operation::prove(&repository.owner, packs.to_vec())).collect();
    if !operations.is_empty() {
        changes::hand_in(repository, client, operations)?;
    }
    Ok(packs.len() as u64)
}

/// Whether a pack is unproven: its client may have written a false table.
pub(super) fn is_unproven(record: &PackRecord) -> bool {
    record.place == Place::Packs && !record.is_proven && !record.is_missing && !record.is_damaged
}

/// The unproven packs in the order of acceptance, as many as fit into `most` bytes.
pub fn unproven(view: &View, most: u64) -> Vec<(PackId, &PackRecord)> {
    let mut packs: Vec<(PackId, &PackRecord)> =
        view.state.packs.iter().filter(|(_, record)| is_unproven(record)).map(|(id, record)| (*id, record)).collect();
    packs.sort_by_key(|(id, record)| (record.accepted, *id));
    let mut left = most;
    packs.retain(|(_, record)| {
        let fits = record.length <= left;
        left = left.saturating_sub(record.length);
        fits
    });
    packs
}

/// Packs per operation: about 1 MB of a change.
const PACKS: usize = 1 << 15;
