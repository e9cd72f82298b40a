//! Flags: verifies that no writer but prune has flagged entries, or made flags older.

use std::collections::BTreeSet;

use copal_format::id::DomainId;
use copal_format::index::Bits;

use crate::context::JobContext;
use crate::error::JobError;
use crate::view::{self, View};

/// Compares flags with the baseline's: each must exist there and be no older now. Reads only overlays that differ.
pub(super) async fn compare(job: &JobContext<'_>, before: &View, view: &View) -> Result<Result<(), String>, JobError> {
    let domains: BTreeSet<DomainId> = view.state.overlays.keys().map(|(domain, _)| *domain).collect();
    for domain in domains {
        if before.state.overlays_of(domain) == view.state.overlays_of(domain) {
            continue;
        }
        let old = view::overlay_of(job.store, &before.state, domain).await?;
        let new = view::overlay_of(job.store, &view.state, domain).await?;
        for ((id, tag), mark) in new.marks().filter(|(_, mark)| mark.bits.contains(Bits::FLAGGED)) {
            let known = old.mark(&id, tag);
            if !known.bits.contains(Bits::FLAGGED) || mark.time < known.time {
                return Ok(Err(format!("no prune has flagged {id} as early as it says")));
            }
        }
    }
    Ok(Ok(()))
}
