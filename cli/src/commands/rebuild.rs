//! `rebuild-index`: makes the state again from the objects that clients and prunes have written.

use copal_client::repository::Met;
use copal_client::verify::genuine;
use copal_client::wait::wait;
use copal_jobs::rebuild::{Report, rebuild_with, unnamed_packs};

use super::context::{CLIENTS, Context};
use crate::exit::Exit;
use crate::report::upkeep::RebuildReport;
use crate::report::{Failure, human};

pub(super) fn run(context: &Context<'_>) -> Result<Exit, Failure> {
    let repository = context.open_bare()?;
    if repository.backend().is_behind_gateway() {
        return Err(Failure::NotThere("rebuild the index"));
    }
    if repository.descriptor.is_none() {
        return Err(Failure::no_descriptor());
    }
    context.is_met(repository.backend(), repository.id())?;
    // Packs of lost manifests still exist, and the keys tell which are genuine.
    let unnamed = wait(unnamed_packs(&repository.job()))?;
    let genuine = genuine(&repository, unnamed)?;
    // Number the new root above the newest one met, so that other machines do not take it for an older state.
    let known = Met::of_machine(repository.state_dir()).root_number();
    let rebuilt = wait(rebuild_with(&repository.job(), &genuine, known))?;
    tell(context, &rebuilt);
    context.ingest_anyway(&repository)?;
    context.remember(repository.store().as_ref(), repository.state_dir(), CLIENTS)?;
    context.report.answer(&RebuildReport {
        root: rebuilt.root,
        packs: rebuilt.packs,
        entries: rebuilt.entries,
        snapshots: rebuilt.snapshots,
        lost: rebuilt.lost,
    })?;
    context.report.note("run \"copal check --full\" to see that everything is whole");
    Ok(exit(&rebuilt))
}

/// Damage if something is lost or damaged, or if a manifest does not count.
pub(super) fn exit(rebuilt: &Report) -> Exit {
    let is_damaged = !rebuilt.packs_damaged.is_empty() || !rebuilt.packs_forged.is_empty();
    let is_left_out = !rebuilt.manifests_left_out.is_empty() || !rebuilt.packs_lost.is_empty();
    let is_harmed = rebuilt.lost > 0 || is_damaged || is_left_out || !rebuilt.unreadable.is_empty();
    if is_harmed { Exit::Damage } else { Exit::Done }
}

pub(super) fn tell(context: &Context<'_>, rebuilt: &Report) {
    for (object, why) in rebuilt.packs_left_out.iter().chain(&rebuilt.manifests_left_out) {
        context.report.warn(&format!("{object} does not count: {why}"));
    }
    if !rebuilt.packs_left_out.is_empty() {
        context
            .report
            .note("packs that do not count stay for 7 days and for the grace period; then a prune deletes them");
    }
    if rebuilt.packs_recorded > 0 {
        let packs = human::things(rebuilt.packs_recorded, "pack is", "packs are");
        context.report.note(&format!(
            "{packs} still there although a prune has recorded the deletion: such packs stay for 7 days and for the \
             grace period; then a prune deletes them"
        ));
    }
    for (object, why) in &rebuilt.expiries_left_out {
        context.report.warn(&format!("{object} does not count, or not as a whole: {why}"));
    }
    for pack in &rebuilt.packs_lost {
        context.report.warn(&format!("{pack} is not there, or cannot be read, and no prune has deleted it"));
    }
    for pack in &rebuilt.packs_damaged {
        context
            .report
            .warn(&format!("{pack} is damaged, or cannot be read: its bytes do not have the hash it is named by"));
    }
    for pack in &rebuilt.packs_forged {
        context.report.warn(&format!("{pack} holds something else than it says, as a check with the key has found"));
    }
    for snapshot in &rebuilt.snapshots_harmed {
        context.report.warn(&format!("snapshot {snapshot} stays, but something that it needs is lost"));
    }
    for (object, why) in &rebuilt.unreadable {
        context.report.warn(&format!("{object} is lost or damaged, and with it what it said: {why}"));
    }
    if let Some(change) = &rebuilt.policy_unread {
        context.report.warn(&format!(
            "{change} may have held a newer policy than any that can be read: nothing expires and no prune runs until \"copal policy set\" signs another"
        ));
    }
}
