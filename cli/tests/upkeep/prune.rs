//! What prune frees, when, and what it leaves alone.

use crate::kit::{Harm, Place, noise};

/// Two snapshots: the first holds a large file that the second does not.
fn two() -> (Place, [String; 2]) {
    let place = Place::new();
    place.write("large", noise(1, 300_000));
    place.write("small", "small");
    let first = place.backup(&["--time", "2026-01-01 10:00:00"]);
    place.remove("large");
    place.write("other", noise(2, 5_000));
    let second = place.backup(&["--time", "2026-01-02 10:00:00"]);
    (place, [first, second])
}

#[test]
fn what_nothing_needs_is_freed_and_the_rest_is_whole() {
    let (place, ids) = two();
    let before = place.names("packs/");
    place.ok(&["forget", &ids[0]]);
    let report = place.json(&["prune", "--grace", "0s"]);
    assert!(report["bytes_freed"].as_u64().unwrap() > 300_000, "{report}");
    assert!(report["packs_deleted"].as_u64().unwrap() >= 1, "{report}");
    assert_eq!(report["bytes_pending"], 0);
    let after = place.names("packs/");
    assert!(before.iter().any(|name| !after.contains(name)), "a pack is gone");
    let (code, check) = place.check(&["--full"]);
    assert_eq!((code, &check["ok"]), (0, &true.into()), "{check}");
    assert_eq!(place.snapshots(), ids[1..]);
    place.ok(&["restore", "latest:source", "--target", "restored"]);
    assert_eq!(std::fs::read(place.path("restored/other")).unwrap(), noise(2, 5_000));
    assert_eq!(std::fs::read(place.path("restored/small")).unwrap(), b"small");
    assert!(!place.path("restored/large").exists());
}

#[test]
fn nothing_is_deleted_before_the_grace_period_is_over() {
    let (place, ids) = two();
    let packs = place.names("packs/");
    let forgotten = place.json(&["forget", &ids[0]]);
    assert!(forgotten["freeable_bytes"].as_u64().unwrap() > 300_000, "{forgotten}");
    let first = place.json(&["prune"]);
    assert!(first["entries_flagged"].as_u64().unwrap() > 0, "{first}");
    let second = place.json(&["prune"]);
    assert_eq!(second["entries_flagged"], 0, "flagged once");
    for report in [&first, &second] {
        assert_eq!((&report["packs_deleted"], &report["entries_removed"]), (&0.into(), &0.into()), "{report}");
        assert!(report["bytes_pending"].as_u64().unwrap() > 300_000 && report["pending_until"].is_string(), "{report}");
    }
    assert_eq!(place.names("packs/"), packs);
    // What was flagged long enough ago for a shorter grace period is freed.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let third = place.json(&["prune", "--grace", "1s"]);
    assert!(third["bytes_freed"].as_u64().unwrap() > 300_000, "{third}");
    assert_eq!(place.check(&["--full"]).0, 0);
}

#[test]
fn a_dry_run_changes_nothing() {
    let (place, ids) = two();
    place.ok(&["forget", &ids[0]]);
    let before = place.objects();
    let report = place.json(&["prune", "--dry-run", "--grace", "0s"]);
    assert!(report["bytes_freed"].as_u64().unwrap() > 300_000 && report["dry_run"] == true, "{report}");
    place.ok(&["prune", "--dry-run"]);
    place.ok(&["forget", "--dry-run", "--prune", "--keep-last", "1"]);
    assert!(place.objects() == before, "no object was made, changed or deleted");
}

#[test]
fn forget_says_when_how_much_becomes_free_and_how_to_free_it_now() {
    let (place, ids) = two();
    let text = place.ok(&["forget", &ids[0]]);
    for words in ["About 29", "becomes free", "copal prune", "24 h", "copal prune --grace 0s"] {
        assert!(text.contains(words), "{words:?} in\n{text}");
    }
    let text = place.ok(&["forget", "--keep-last", "1", "--prune"]);
    assert!(text.contains("more can be freed by a prune after") && text.contains("--grace 0s"), "{text}");
}

#[test]
fn pruning_without_grace_warns() {
    let (place, _) = two();
    assert!(place.run(&["prune", "--grace", "0s"]).err.contains("a backup that runs at the same time"));
    assert!(place.run(&["prune"]).err.is_empty());
}

#[test]
fn without_the_key_a_sparse_pack_is_written_anew_unless_that_is_too_much() {
    let place = Place::new();
    for n in 0..40 {
        place.write(&format!("{n:02}"), noise(n, 100_000));
    }
    let first = place.backup(&["--time", "2026-01-01 10:00:00"]);
    for n in 0..40 {
        if n != 7 {
            place.remove(&format!("{n:02}"));
        }
    }
    place.backup(&["--time", "2026-01-02 10:00:00"]);
    place.ok(&["forget", &first]);
    let report = place.json(&["prune", "--grace", "0s", "--keyless", "--max-repack", "1k"]);
    assert_eq!((&report["packs_rewritten"], &report["bytes_rewritten"]), (&0.into(), &0.into()), "{report}");
    let report = place.json(&["prune", "--grace", "0s", "--keyless"]);
    assert!(report["packs_rewritten"].as_u64().unwrap() >= 1 && !place.names("moved/").is_empty(), "{report}");
    assert!(report["bytes_freed"].as_u64().unwrap() > 2_000_000, "{report}");
    let (code, check) = place.check(&["--full"]);
    assert_eq!(code, 0, "{check}");
}

/// A repository of which all but a sixth was forgotten, most of it in blocks that live on.
fn mostly_forgotten() -> Place {
    let place = Place::new();
    for n in 0..60 {
        place.write(&format!("{n:02}"), noise(n, 30_000));
    }
    place.backup(&["--time", "2026-01-01 10:00:00"]);
    for n in (0..60).filter(|n| n % 6 != 0) {
        place.remove(&format!("{n:02}"));
    }
    place.backup(&["--time", "2026-01-02 10:00:00"]);
    place.ok(&["forget", "--keep-last", "1"]);
    place
}

fn stored(place: &Place) -> usize {
    place.objects().iter().map(|(_, bytes)| bytes.len()).sum()
}

#[test]
fn what_is_wanted_is_uploaded_again_and_frees_the_block_it_lay_in() {
    let place = mostly_forgotten();
    let report = place.json(&["prune", "--grace", "0s", "--keyless"]);
    let trapped = report["bytes_trapped"].as_u64().unwrap();
    assert!(report["chunks_wanted"].as_u64().unwrap() > 0 && trapped > 1_000_000, "{report}");
    place.backup(&["--time", "2026-01-03 10:00:00", "--rewrite-budget", "100%"]);
    place.ok(&["forget", "--keep-last", "1"]);
    let report = place.json(&["prune", "--grace", "0s", "--keyless"]);
    assert!(report["bytes_trapped"].as_u64().unwrap() < trapped / 2, "{report}");
    assert!(report["bytes_freed"].as_u64().unwrap() > 1_000_000, "{report}");
    let (code, check) = place.check(&["--full"]);
    assert_eq!(code, 0, "{check}");
}

#[test]
fn with_the_key_sparse_blocks_are_written_anew_at_once_and_the_old_ones_freed() {
    let place = mostly_forgotten();
    let before = stored(&place);
    let dry = place.json(&["prune", "--grace", "0s", "--dry-run"]);
    assert!(dry["bytes_rewritten"].as_u64().unwrap() > 250_000, "{dry}");
    let limited = place.json(&["prune", "--grace", "0s", "--max-repack", "1k"]);
    assert_eq!(limited["bytes_rewritten"], 0, "{limited}");
    let report = place.json(&["prune", "--grace", "0s"]);
    assert!(report["bytes_rewritten"].as_u64().unwrap() > 250_000, "{report}");
    assert_eq!((&report["chunks_wanted"], &report["bytes_trapped"]), (&0.into(), &0.into()), "{report}");
    assert!(stored(&place) < before / 4, "{before} bytes have become {}", stored(&place));
    let (code, check) = place.check(&["--full"]);
    assert_eq!(code, 0, "{check}");
    place.ok(&["restore", "latest:source", "--target", "restored"]);
    assert_eq!(std::fs::read(place.path("restored/06")).unwrap(), noise(6, 30_000));
    let objects = place.objects();
    place.ok(&["prune", "--grace", "0s"]);
    assert!(place.objects() == objects, "nothing is left to be done");
}

#[test]
fn with_a_grace_period_what_was_written_anew_frees_the_old_blocks_when_it_is_over() {
    let place = mostly_forgotten();
    let packs = place.names("packs/");
    let report = place.json(&["prune"]);
    assert!(report["bytes_rewritten"].as_u64().unwrap() > 250_000 && report["packs_deleted"] == 0, "{report}");
    assert!(packs.iter().all(|pack| place.names("packs/").contains(pack)));
    let again = place.json(&["prune"]);
    assert_eq!(again["bytes_rewritten"], 0, "what waits to be removed is not written anew again: {again}");
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let report = place.json(&["prune", "--grace", "1s"]);
    assert!(report["bytes_freed"].as_u64().unwrap() > 1_000_000, "{report}");
    assert_eq!(place.check(&["--full"]).0, 0);
}

#[test]
fn what_cannot_be_opened_is_told_and_stays_while_the_rest_is_freed() {
    let place = mostly_forgotten();
    let length = |name: &String| std::fs::metadata(place.object(name)).unwrap().len();
    let largest = place.names("packs/").into_iter().max_by_key(length).unwrap();
    place.damage(&largest, Harm::Flip);
    let done = place.run(&["prune", "--grace", "0s"]);
    assert!(done.err.contains("could not be read and stay"), "{}", done.err);
    assert_eq!(place.check(&["--read-data"]).0, 4);
}
