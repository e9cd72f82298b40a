//! `repair`: reports what has healed and what is still lost, and restores redundant copies.

use std::collections::{BTreeMap, BTreeSet};

use copal_client::history::{History, Snapshot};
use copal_client::losses::Losses;
use copal_client::progress::Progress;
use copal_client::repository::{
    Repository, RestoredCopies, clear_damaged, restore_descriptor, restore_record_copies, restore_slots,
};
use copal_client::verify::{Hits, look_again, walk};
use copal_client::wait::wait;
use copal_engine::retention::Series;
use copal_format::id::{ChunkId, DomainId};
use copal_format::index::{Bits, Status};
use copal_jobs::check::Needed;
use copal_jobs::view::View;

use super::context::Context;
use crate::args::check::Repair;
use crate::exit::Exit;
use crate::report::Failure;
use crate::report::field::PathsField;
use crate::report::human;
use crate::report::upkeep::RepairReport;

pub(super) fn run(context: &Context<'_>, options: &Repair) -> Result<Exit, Failure> {
    let mut repository = context.open_bare()?;
    context.is_met(repository.backend(), repository.id())?;
    let mut copies = RestoredCopies::default();
    restore_slots(repository.store().as_ref(), &mut copies)?;
    restore_record_copies(&repository, &mut copies)?;
    if let Some(name) = restore_descriptor(&repository)? {
        copies.restored.push(name);
        repository = context.open_bare()?;
    }
    context.ingest_anyway(&repository)?;
    let before = context.view(&repository)?;
    clear_damaged(&repository, &before, &mut copies)?;
    if repository.descriptor.is_some() {
        context.prove(&repository, u64::MAX)?;
    }
    let fates = look_again(&repository, &before)?;
    let view = context.view(&repository)?;
    let history = context.history(&repository, &view)?;
    let lost_before = lost(&before);
    let mut hits = Hits::default();
    if !fates.are_all_good(&view) || !lost_before.is_empty() {
        let needed = wait(Needed::of(&repository.job(), &view))?;
        hits = walk(&repository, (&view, &needed), &history, &fates, &Progress::default())?;
    }
    let is_back = |(domain, id): &&(DomainId, ChunkId)| {
        view.index(*domain).is_some_and(|index| !matches!(index.status(id), Status::Lost | Status::Absent))
    };
    let accepted = if options.accept_loss { accept(context, &repository, &view)? } else { Vec::new() };
    let report = RepairReport {
        healed: lost_before.iter().filter(is_back).count() as u64,
        lost: hits.lost.len() as u64,
        snapshots: hits.snapshots().into_iter().collect(),
        paths: PathsField::of(hits.paths()),
        restored: copies.restored,
        deleted: copies.deleted,
        damaged: copies.damaged,
        accepted,
    };
    context.report.answer(&report)?;
    advise(context, &history, &hits);
    Ok(if is_whole(&report) { context.exit_of(&history) } else { Exit::Damage })
}

/// Whether everything is there. A page that does not fit its tree harms snapshots although nothing is lost.
fn is_whole(report: &RepairReport) -> bool {
    report.lost == 0 && report.damaged.is_empty() && report.snapshots.is_empty()
}

/// Accepts that manifests and changes are lost for good; returns their names.
fn accept(context: &Context<'_>, repository: &Repository, view: &View) -> Result<Vec<String>, Failure> {
    let losses = Losses::find(repository)?;
    if let Some(listed) = losses.listed(view).first() {
        return Err(Failure::Usage(format!(
            "the index still lists the snapshot of {listed}: run \"copal rebuild-index\" first, then accept what is lost"
        )));
    }
    context.change(repository, losses.accepted())?;
    Ok(losses.names())
}

/// Chunks and pages that a check marked as lost and that prune has not removed from the index yet.
fn lost(view: &View) -> BTreeSet<(DomainId, ChunkId)> {
    let marks =
        view.indexes.iter().flat_map(|(domain, index)| index.overlay().marks().map(move |mark| (*domain, mark)));
    let lost = marks.filter(|(_, (_, mark))| mark.bits.contains(Bits::LOST));
    lost.map(|(domain, ((id, _), _))| (domain, id)).collect()
}

/// Suggests the backups that may bring back lost data.
fn advise(context: &Context<'_>, history: &History, hits: &Hits) {
    let mut sources: BTreeMap<Series, &Snapshot> = BTreeMap::new();
    let hit = hits.snapshots();
    for snapshot in history.snapshots.iter().filter(|snapshot| hit.contains(&snapshot.id)) {
        sources.insert(snapshot.series(), snapshot);
    }
    for snapshot in sources.into_values() {
        let (host, label) = (human::text(snapshot.machine()), human::text(&snapshot.info.label));
        let paths: Vec<String> = PathsField::of(&snapshot.sources()).0.iter().map(|path| human::path(path)).collect();
        let label = if label.is_empty() { String::new() } else { format!(" --label {label}") };
        let command = format!("copal backup{label} {}", paths.join(" "));
        context.report.note(&format!("on {host}, \"{command}\" restores the data that is still there"));
    }
}

#[cfg(test)]
mod tests {
    use copal_format::id::SnapshotId;

    use super::*;

    #[test]
    fn a_snapshot_that_cannot_be_restored_whole_is_damage_although_nothing_is_lost() {
        let harmed = RepairReport { snapshots: vec![SnapshotId([1; 16])], ..RepairReport::default() };
        assert!(is_whole(&RepairReport::default()) && !is_whole(&harmed));
    }
}
