//! What is forgotten, and what is kept whatever the rules say.

use crate::kit::{Machine, number, text, texts};

/// A repository with snapshots of these times.
fn history(times: &[&str]) -> (Machine, Vec<String>) {
    let machine = Machine::new();
    let ids = times.iter().enumerate().map(|(at, time)| {
        machine.write("file", format!("{at}"));
        machine.backup(&["--time", time])
    });
    let ids = ids.collect();
    (machine, ids)
}

/// Positions, among all, of the snapshots that the rules keep.
fn kept(machine: &Machine, ids: &[String], rules: &[&str]) -> Vec<usize> {
    let report = machine.json(&[&["forget", "--dry-run"], rules].concat());
    let rows = report["snapshots"].as_array().unwrap();
    let kept: Vec<&str> =
        rows.iter().filter(|row| row["keep"] == true).map(|row| row["id"].as_str().unwrap()).collect();
    assert!(rows.iter().all(|row| row["keep"] == !row["reasons"].as_array().unwrap().is_empty()), "{report}");
    (0..ids.len()).filter(|&at| kept.contains(&ids[at].as_str())).collect()
}

#[test]
fn rules_keep_what_the_table_says() {
    let (machine, ids) = history(&[
        "2025-12-30 10:00:00", // 0: a Tuesday, in the first week of 2026
        "2026-01-01 09:00:00", // 1
        "2026-01-01 21:00:00", // 2
        "2026-01-02 10:10:00", // 3
        "2026-01-02 10:50:00", // 4
        "2026-02-10 10:00:00", // 5
    ]);
    for (rules, expected) in [
        (&["--keep-last", "2"][..], &[4, 5][..]),
        (&["--keep-hourly", "2"], &[4, 5]),
        (&["--keep-daily", "3"], &[2, 4, 5]),
        (&["--keep-weekly", "2"], &[4, 5]),
        (&["--keep-monthly", "2"], &[4, 5]),
        // Buckets are left over, so the oldest stays too.
        (&["--keep-yearly", "9"], &[0, 5]),
        // Counted from the newest snapshot, not from now.
        (&["--keep-within", "1d"], &[5]),
        (&["--keep-within", "39d"], &[3, 4, 5]),
        (&["--keep-last", "1", "--keep-within", "1h", "--keep-monthly", "1"], &[5]),
    ] {
        assert_eq!(kept(&machine, &ids, rules), expected, "{rules:?}");
    }
    assert_eq!(machine.snapshots(), ids, "nothing was forgotten");
}

#[test]
fn rules_that_match_nothing_forget_nothing() {
    let (machine, ids) = history(&["2026-01-01 10:00:00", "2026-01-02 10:00:00"]);
    machine.ok(&["pin", &ids[0]]);
    std::fs::create_dir(machine.path("other")).unwrap();
    let others: Vec<String> = (0..2).map(|_| text(&machine.json(&["backup", "other"])["snapshot_id"])).collect();
    machine.ok(&["tag", "--add", "release", &others[1]]);
    let ran = machine.run(&["forget", "--json", "--keep-tag", "relaese"]).ok();
    assert!(
        ran.err.contains("no rule keeps anything in 2 groups of snapshots") && ran.err.contains("mistyped"),
        "{ran}"
    );
    assert_eq!((number(&ran, "forgotten"), machine.snapshots().len()), (0, 4));
    // One group that the rules match does not lend its match to another.
    let ran = machine.run(&["forget", "--json", "--keep-tag", "release"]).ok();
    assert!(ran.err.contains("1 group of snapshots") && ran.err.contains(&ids[0][..8]), "{ran}");
    assert_eq!(machine.snapshots(), [&ids[..], &others[1..]].concat());
    machine.ok(&["forget", &ids[1]]);
    assert_eq!(machine.snapshots().len(), 2);
    let ran = machine.run(&["forget", "--host", "nobody", "--keep-last", "1"]).ok();
    assert!(ran.err.contains("no snapshot matches: nothing is forgotten"), "{ran}");
}

#[test]
fn a_snapshot_dated_in_the_future_is_no_newer_than_one_made_after_it() {
    let (machine, mut ids) = history(&["2100-01-01 10:00:00"]);
    machine.write("file", "the newest");
    ids.push(machine.backup(&[]));
    assert_eq!(machine.snapshots(), ids, "the oldest first");
    assert_eq!(texts(&machine.json(&["snapshots", "--latest", "1"]), "id"), ids[1..]);
    let status = machine.json(&["status"]);
    assert_eq!(texts(&status["series"], "snapshot"), ids[1..]);
    machine.ok(&["restore", &machine.whole(), "-t", "out"]);
    assert_eq!(std::fs::read(machine.path("out/file")).unwrap(), b"the newest");
    assert_eq!(kept(&machine, &ids, &["--keep-last", "1"]), [1]);
}

#[test]
fn groups_are_looked_at_one_by_one() {
    let (machine, mut ids) = history(&["2026-01-01 10:00:00", "2026-01-02 10:00:00"]);
    ids.push(machine.backup(&["--time", "2026-01-01 11:00:00", "--label", "other"]));
    ids.push(machine.backup(&["--time", "2026-01-01 12:00:00", "--host", "elsewhere"]));
    assert_eq!(kept(&machine, &ids, &["--keep-last", "1"]), [1, 2, 3]);
    assert_eq!(kept(&machine, &ids, &["--keep-last", "1", "--group-by", "host"]), [1, 3]);
    assert_eq!(kept(&machine, &ids, &["--keep-last", "1", "--group-by", "none"]), [1]);
    let narrowed = machine.json(&["forget", "--dry-run", "--keep-last", "1", "--host", "elsewhere"]);
    assert_eq!(texts(&narrowed["snapshots"], "id"), [ids[3].clone()]);
}

#[test]
fn tags_and_pins_keep_snapshots() {
    let (machine, ids) = history(&["2026-01-01 10:00:00", "2026-01-02 10:00:00", "2026-01-03 10:00:00"]);
    machine.ok(&["tag", &ids[0], "--add", "gold", "--add", "odd"]);
    machine.ok(&["tag", &ids[0], "--remove", "odd"]);
    machine.ok(&["pin", &ids[1]]);
    assert_eq!(kept(&machine, &ids, &["--keep-last", "1"]), [1, 2]);
    assert_eq!(kept(&machine, &ids, &["--keep-tag", "gold"]), [0, 1]);
    assert_eq!(kept(&machine, &ids, &["--keep-tag", "odd"]), [0, 1, 2], "no snapshot has the tag");
    machine.ok(&["forget", "--keep-tag", "gold"]);
    machine.ok(&["prune", "--grace", "0s"]);
    assert_eq!(machine.snapshots(), ids[..2]);
    assert_eq!(machine.json(&["snapshots"])[0]["tags"], serde_json::json!(["gold"]));
    assert_eq!(machine.json(&["snapshots"])[1]["pinned"], true);
    machine.ok(&["unpin", &ids[1]]);
    assert_eq!(kept(&machine, &ids, &["--keep-tag", "gold"]), [0]);
}

#[test]
fn a_pinned_snapshot_is_not_forgotten_even_by_name() {
    let (machine, ids) = history(&["2026-01-01 10:00:00"]);
    machine.ok(&["pin", "latest"]);
    let run = machine.run(&["forget", "latest"]);
    assert!(run.code == 0 && run.err.contains("is pinned and stays"), "{run:?}");
    assert_eq!(machine.snapshots(), ids);
}

#[test]
fn a_change_that_changes_nothing_is_not_written() {
    let (machine, ids) = history(&["2026-01-01 10:00:00"]);
    let change = |words: &[&str]| machine.json(words)["change"].clone();
    assert_eq!(change(&["tag", &ids[0], "--add", "a"]), 1);
    assert_eq!(change(&["tag", &ids[0], "--add", "a"]), serde_json::Value::Null);
    assert_eq!(change(&["tag", &ids[0], "--remove", "b"]), serde_json::Value::Null);
    assert_eq!(change(&["unpin", &ids[0]]), serde_json::Value::Null);
    assert_eq!(change(&["undelete", &ids[0]]), serde_json::Value::Null);
    assert_eq!(machine.names("changes/").len(), 1);
}

#[test]
fn rules_that_keep_nothing_are_refused() {
    let (machine, ids) = history(&["2026-01-01 10:00:00"]);
    for words in [&["forget"][..], &["forget", "--keep-last", "0"], &["forget", "--prune"]] {
        assert_eq!(machine.run(words).code, 2, "{words:?}");
    }
    assert_eq!(machine.snapshots(), ids);
}

#[test]
fn a_forgotten_snapshot_comes_back_until_prune_has_freed_it() {
    let (machine, ids) = history(&["2026-01-01 10:00:00", "2026-01-02 10:00:00"]);
    machine.ok(&["forget", &ids[0][..12]]);
    assert_eq!(machine.snapshots(), ids[1..]);
    let forgotten = || texts(&machine.json(&["snapshots", "--forgotten"]), "id");
    assert_eq!(forgotten(), ids[..1]);
    assert_eq!(machine.run(&["forget", &ids[0]]).code, 1, "it is forgotten already");
    machine.ok(&["undelete", "latest"]);
    assert_eq!(machine.snapshots(), ids);
    machine.ok(&["forget", &ids[0]]);
    machine.ok(&["prune"]);
    machine.ok(&["undelete", &ids[0]]);
    assert_eq!(machine.snapshots(), ids);
    machine.ok(&["forget", &ids[0]]);
    machine.ok(&["prune", "--grace", "0s"]);
    assert_eq!(machine.run(&["undelete", &ids[0]]).code, 1);
    assert_eq!((forgotten(), machine.snapshots()), (vec![], ids[1..].to_vec()));
    assert_eq!(machine.check(&["--full"]).0, 0);
}
