//! What prune frees, when, and what it leaves alone.

use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use crate::kit::{Harm, Machine, Running, assert_same, noise, signal, until};

/// Two snapshots: the first holds a large file that the second does not.
fn two() -> (Machine, [String; 2]) {
    let machine = Machine::new();
    machine.write("large", noise(1, 300_000));
    machine.write("small", "small");
    let first = machine.backup(&["--time", "2026-01-01 10:00:00"]);
    machine.remove("large");
    machine.write("other", noise(2, 5_000));
    let second = machine.backup(&["--time", "2026-01-02 10:00:00"]);
    (machine, [first, second])
}

#[test]
fn what_nothing_needs_is_freed_and_the_rest_is_whole() {
    let (machine, ids) = two();
    let before = machine.names("packs/");
    machine.ok(&["forget", &ids[0]]);
    let report = machine.json(&["prune", "--grace", "0s"]);
    assert!(report["bytes_freed"].as_u64().unwrap() > 300_000, "{report}");
    assert!(report["packs_deleted"].as_u64().unwrap() >= 1, "{report}");
    assert_eq!(report["bytes_pending"], 0);
    let after = machine.names("packs/");
    assert!(before.iter().any(|name| !after.contains(name)), "a pack is gone");
    let (code, check) = machine.check(&["--full"]);
    assert_eq!((code, &check["ok"]), (0, &true.into()), "{check}");
    assert_eq!(machine.snapshots(), ids[1..]);
    machine.ok(&["restore", "latest:source", "--target", "restored"]);
    assert_eq!(std::fs::read(machine.path("restored/other")).unwrap(), noise(2, 5_000));
    assert_eq!(std::fs::read(machine.path("restored/small")).unwrap(), b"small");
    assert!(!machine.path("restored/large").exists());
}

/// Many small packs, which the next prune makes one of.
fn scattered() -> Machine {
    let machine = Machine::new();
    for at in 0..12 {
        machine.write(&format!("{at:02}"), noise(at, 200_000));
        machine.backup(&[]);
    }
    machine
}

/// Prunes; all packs lie elsewhere then.
fn prune_all(machine: &Machine) {
    let before = machine.packs(0);
    machine.ok(&["prune", "--grace", "0s"]);
    assert!(before.iter().all(|pack| !machine.names("packs/").contains(pack)), "{before:?}");
}

#[test]
fn a_restore_beside_a_prune_finds_what_that_moves() {
    let machine = scattered();
    let slowly = ["restore", &machine.whole(), "-t", "out", "--limit-download", "400k"];
    let mut restore = Running::start(&mut machine.with_key(&slowly));
    let restored = || (0..12).filter(|at| machine.path(&format!("out/{at:02}")).exists()).count();
    until("something is restored", || (restored() > 0).then_some(()));
    // Stopped, it does not come to its end meanwhile.
    signal(restore.child(), "STOP");
    assert!(restored() < 8, "it is over already");
    prune_all(&machine);
    signal(restore.child(), "CONT");
    restore.end().ok();
    assert_same(&machine.path("source"), &machine.path("out"));
}

#[test]
fn a_dump_beside_a_prune_finds_what_that_moves() {
    let machine = scattered();
    let dump = ["dump", &machine.whole()];
    let mut dump = machine.with_key(&dump).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It cannot go on before somebody takes more than a pipe holds.
    let mut first = [0; 1];
    dump.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    prune_all(&machine);
    let ended = dump.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(ended.stdout.len() > 12 * 200_000, "{}", ended.stdout.len());
}

#[test]
fn nothing_is_deleted_before_the_grace_period_is_over() {
    let (machine, ids) = two();
    let packs = machine.names("packs/");
    let forgotten = machine.json(&["forget", &ids[0]]);
    assert!(forgotten["freeable_bytes"].as_u64().unwrap() > 300_000, "{forgotten}");
    let first = machine.json(&["prune"]);
    assert!(first["entries_flagged"].as_u64().unwrap() > 0, "{first}");
    let second = machine.json(&["prune"]);
    assert_eq!(second["entries_flagged"], 0, "flagged once");
    for report in [&first, &second] {
        assert_eq!((&report["packs_deleted"], &report["entries_removed"]), (&0.into(), &0.into()), "{report}");
        assert!(report["bytes_pending"].as_u64().unwrap() > 300_000 && report["pending_until"].is_string(), "{report}");
    }
    assert_eq!(machine.names("packs/"), packs);
    // What was flagged long enough ago for a shorter grace period is freed.
    std::thread::sleep(Duration::from_millis(1_100));
    let third = machine.json(&["prune", "--grace", "1s"]);
    assert!(third["bytes_freed"].as_u64().unwrap() > 300_000, "{third}");
    let [before, after] = ["bytes_before", "bytes_after"].map(|field| third[field].as_u64().unwrap());
    let left: usize =
        machine.objects().iter().filter(|(name, _)| name.starts_with("packs/")).map(|(_, pack)| pack.len()).sum();
    assert!(before - after > 300_000 && after == left as u64, "{third}, {left} bytes are left");
    assert_eq!(machine.check(&["--full"]).0, 0);
}

#[test]
fn the_grace_period_is_the_policys_unless_one_says_otherwise() {
    let (machine, ids) = two();
    machine.ok(&["forget", &ids[0]]);
    let freed = |report: serde_json::Value| report["bytes_freed"].as_u64().unwrap();
    assert_eq!(freed(machine.json(&["prune"])), 0);
    std::thread::sleep(Duration::from_millis(1_100));
    assert_eq!(freed(machine.json(&["prune"])), 0, "it is a day without a policy");
    machine.set_policy("keep-last = 5\ngrace = \"1s\"\n");
    assert_eq!(freed(machine.json(&["prune", "--grace", "1h"])), 0);
    assert!(freed(machine.json(&["prune"])) > 300_000);
}

#[test]
fn a_dry_run_changes_nothing() {
    let (machine, ids) = two();
    machine.ok(&["forget", &ids[0]]);
    let before = machine.objects();
    let report = machine.json(&["prune", "--dry-run", "--grace", "0s"]);
    assert!(report["bytes_freed"].as_u64().unwrap() > 300_000 && report["dry_run"] == true, "{report}");
    assert!(report["bytes_before"].is_null() && report["bytes_after"].is_null(), "{report}");
    let told = machine.ok(&["prune", "--dry-run"]);
    assert!(told.contains("would be freed") && !told.contains("packs take"), "{told}");
    machine.ok(&["forget", "--dry-run", "--prune", "--keep-last", "1"]);
    assert!(machine.objects() == before, "no object was made, changed or deleted");
}

#[test]
fn forget_says_when_how_much_becomes_free_and_how_to_free_it_now() {
    let (machine, ids) = two();
    let text = machine.ok(&["forget", &ids[0]]);
    for words in ["About 29", "becomes free", "copal prune", "grace period", "copal prune --grace 0s"] {
        assert!(text.contains(words), "{words:?} in\n{text}");
    }
    let text = machine.ok(&["forget", "--keep-last", "1", "--prune"]);
    assert!(text.contains("can be freed by a prune after") && text.contains("--grace 0s"), "{text}");
}

#[test]
fn pruning_without_grace_warns() {
    let (machine, _) = two();
    assert!(machine.run(&["prune", "--grace", "0s"]).err.contains("a backup that runs at the same time"));
    assert!(machine.run(&["prune"]).err.is_empty());
}

#[test]
fn without_the_key_a_sparse_pack_is_written_anew_unless_that_is_too_much() {
    let machine = Machine::new();
    for n in 0..40 {
        machine.write(&format!("{n:02}"), noise(n, 100_000));
    }
    let first = machine.backup(&["--time", "2026-01-01 10:00:00"]);
    for n in 0..40 {
        if n != 7 {
            machine.remove(&format!("{n:02}"));
        }
    }
    machine.backup(&["--time", "2026-01-02 10:00:00"]);
    machine.ok(&["forget", &first]);
    let report = machine.json(&["prune", "--grace", "0s", "--keyless", "--max-repack", "1k"]);
    assert_eq!((&report["packs_rewritten"], &report["bytes_rewritten"]), (&0.into(), &0.into()), "{report}");
    let report = machine.json(&["prune", "--grace", "0s", "--keyless"]);
    assert!(report["packs_rewritten"].as_u64().unwrap() >= 1 && !machine.names("moved/").is_empty(), "{report}");
    assert!(report["bytes_freed"].as_u64().unwrap() > 2_000_000, "{report}");
    machine.ok(&["check", "--full"]);
}

/// A repository of which all but a sixth was forgotten, most of it in blocks that live on.
fn mostly_forgotten() -> Machine {
    mostly_forgotten_after(Duration::ZERO)
}

/// The same, with files that are so old when they are backed up.
fn mostly_forgotten_after(age: Duration) -> Machine {
    let machine = Machine::new();
    for n in 0..60 {
        machine.write(&format!("{n:02}"), noise(n, 30_000));
    }
    std::thread::sleep(age);
    machine.backup(&["--time", "2026-01-01 10:00:00"]);
    for n in (0..60).filter(|n| n % 6 != 0) {
        machine.remove(&format!("{n:02}"));
    }
    machine.backup(&["--time", "2026-01-02 10:00:00"]);
    machine.ok(&["forget", "--keep-last", "1"]);
    machine
}

fn stored(machine: &Machine) -> usize {
    // Room that is kept for a full disk is no part of what is saved.
    let saved = machine.objects().into_iter().filter(|(name, _)| !name.starts_with("work/"));
    saved.map(|(_, bytes)| bytes.len()).sum()
}

#[test]
fn what_is_wanted_is_uploaded_again_and_frees_the_block_it_lay_in() {
    let machine = mostly_forgotten();
    let report = machine.json(&["prune", "--grace", "0s", "--keyless"]);
    let trapped = report["bytes_trapped"].as_u64().unwrap();
    assert!(report["chunks_wanted"].as_u64().unwrap() > 0 && trapped > 1_000_000, "{report}");
    machine.backup(&["--time", "2026-01-03 10:00:00", "--rewrite-budget", "100%"]);
    machine.ok(&["forget", "--keep-last", "1"]);
    let report = machine.json(&["prune", "--grace", "0s", "--keyless"]);
    assert!(report["bytes_trapped"].as_u64().unwrap() < trapped / 2, "{report}");
    assert!(report["bytes_freed"].as_u64().unwrap() > 1_000_000, "{report}");
    machine.ok(&["check", "--full"]);
}

#[test]
fn the_rewrite_budget_is_a_part_of_the_source() {
    // Younger ones are read again anyway.
    let machine = mostly_forgotten_after(Duration::from_millis(2_050));
    let report = machine.json(&["prune", "--grace", "0s", "--keyless"]);
    assert!(report["chunks_wanted"].as_u64().unwrap() >= 10, "everything of the source: {report}");
    for (budget, expected) in [("0%", 0..1), ("50%", 120_000..150_001), ("100%", 120_000..180_001)] {
        let summary = machine.json(&["backup", "source", "--rewrite-budget", budget]);
        let new = summary["bytes_new"].as_u64().unwrap();
        assert!(expected.contains(&new), "{budget} of {}: {summary}", summary["bytes_scanned"]);
    }
}

#[test]
fn with_the_key_sparse_blocks_are_written_anew_at_once_and_the_old_ones_freed() {
    let machine = mostly_forgotten();
    let before = stored(&machine);
    let dry = machine.json(&["prune", "--grace", "0s", "--dry-run"]);
    assert!(dry["bytes_rewritten"].as_u64().unwrap() > 250_000, "{dry}");
    let limited = machine.json(&["prune", "--grace", "0s", "--max-repack", "1k"]);
    assert_eq!(limited["bytes_rewritten"], 0, "{limited}");
    let report = machine.json(&["prune", "--grace", "0s"]);
    assert!(report["bytes_rewritten"].as_u64().unwrap() > 250_000, "{report}");
    assert_eq!((&report["chunks_wanted"], &report["bytes_trapped"]), (&0.into(), &0.into()), "{report}");
    assert!(stored(&machine) < before / 4, "{before} bytes have become {}", stored(&machine));
    machine.ok(&["check", "--full"]);
    machine.ok(&["restore", "latest:source", "--target", "restored"]);
    assert_eq!(std::fs::read(machine.path("restored/06")).unwrap(), noise(6, 30_000));
    // The check has noted what it read: so much more is the baseline now.
    machine.ok(&["prune", "--grace", "0s"]);
    let objects = machine.objects();
    machine.ok(&["prune", "--grace", "0s"]);
    assert!(machine.objects() == objects, "nothing is left to be done");
}

#[test]
fn with_a_grace_period_what_was_written_anew_frees_the_old_blocks_when_it_is_over() {
    let machine = mostly_forgotten();
    let packs = machine.names("packs/");
    let report = machine.json(&["prune"]);
    assert!(report["bytes_rewritten"].as_u64().unwrap() > 250_000 && report["packs_deleted"] == 0, "{report}");
    assert!(packs.iter().all(|pack| machine.names("packs/").contains(pack)));
    let again = machine.json(&["prune"]);
    assert_eq!(again["bytes_rewritten"], 0, "what waits to be removed is not written anew again: {again}");
    std::thread::sleep(Duration::from_millis(1_100));
    let report = machine.json(&["prune", "--grace", "1s"]);
    assert!(report["bytes_freed"].as_u64().unwrap() > 1_000_000, "{report}");
    assert_eq!(machine.check(&["--full"]).0, 0);
}

#[test]
fn what_cannot_be_opened_is_told_and_stays_while_the_rest_is_freed() {
    let machine = mostly_forgotten();
    let length = |name: &String| std::fs::metadata(machine.object(name)).unwrap().len();
    let largest = machine.names("packs/").into_iter().max_by_key(length).unwrap();
    machine.damage(&largest, Harm::Flip);
    let done = machine.run(&["prune", "--grace", "0s"]);
    assert!(done.err.contains("could not be read and stay"), "{}", done.err);
    assert_eq!(machine.check(&["--read-data"]).0, 4);
}
