//! What a summary says: what was done, and what is missing or comes later.

use super::*;

#[test]
fn a_backup_says_what_was_saved_or_that_nothing_was() {
    let mut summary = BackupSummary { files_new: 1, dirs: 2, bytes_new: 5, ..BackupSummary::default() };
    assert!(human_of(&summary).contains("no snapshot made"));
    summary.snapshot_id = Some(snapshot());
    assert!(human_of(&summary).contains("uploaded; the service has not verified it yet"));
    summary.accepted_by = Some(IngestBy::Service);
    assert!(human_of(&summary).contains("snapshot abababab saved, verified by the service"));
    summary.accepted_by = Some(IngestBy::Client);
    says(&human_of(&summary), "1 file (1 new, 0 changed), 2 directories|snapshot abababab saved");
    summary.dry_run = true;
    assert!(human_of(&summary).ends_with("5 B would be new; nothing was saved (dry run)\n"));
}

#[test]
fn a_summary_says_how_many_entries_are_missing() {
    let saved = BackupSummary {
        snapshot_id: Some(snapshot()),
        accepted_by: Some(IngestBy::Client),
        errors: 2,
        ..BackupSummary::default()
    };
    says(&human_of(&saved), "snapshot abababab saved, without 2 entries named above");
    let mut restored = restore_summary();
    assert!(!human_of(&restored).contains("not restored"));
    restored.tally.errors = 1;
    says(&human_of(&restored), "1 entry is not restored, or not whole");
}

#[test]
fn a_backup_of_small_changes_speaks_only_of_what_is_stored() {
    let mut saved = BackupSummary { bytes_stored: 3 << 10, ..BackupSummary::default() };
    says(&human_of(&saved), "\n3.00 KiB stored\n");
    saved.bytes_new = 1 << 10;
    says(&human_of(&saved), "\n1.00 KiB new, 3.00 KiB stored\n");
    assert!(human_of(&BackupSummary::default()).contains("nothing new to store"));
}

#[test]
fn a_prune_that_rewrites_says_that_nothing_less_is_stored_yet() {
    let rewritten = |after| PruneReport {
        bytes_rewritten: 9,
        bytes_before: Some(58 << 20),
        bytes_after: Some(after),
        ..PruneReport::default()
    };
    says(&human_of(&rewritten(60 << 20)), "packs take 60.0 MiB, were 58.0 MiB: nothing less until a later prune");
    assert!(human_of(&rewritten(29 << 20)).ends_with("packs take 29.0 MiB, were 58.0 MiB\n"));
    let dry = PruneReport { packs_deleted: 1, dry_run: true, ..rewritten(0) };
    says(&human_of(&dry), "0 B would be freed: 1 pack deleted, 0 packs rewritten for it (dry run)");
}
