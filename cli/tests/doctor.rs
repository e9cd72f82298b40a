//! `doctor`: what it looks at, and what it finds amiss.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::kit::{Harm, Machine, Ran, Run, text};

/// What `doctor` warns of, and the remedies.
fn warnings(ran: &Ran) -> Vec<(String, String)> {
    let rows = ran.json().as_array().unwrap().clone();
    let amiss = rows.iter().filter(|row| row["ok"] == false);
    amiss.map(|row| (text(&row["check"]), format!("{}; {}", row["found"], row["remedy"]))).collect()
}

#[track_caller]
fn warns(ran: &Ran, check: &str, words: &str) {
    let found = warnings(ran);
    assert!(matches!(found.as_slice(), [(of, told)] if of == check && told.contains(words)), "{found:?}");
}

fn machine() -> Machine {
    let machine = private();
    machine.write("file", "1");
    machine.backup(&[]);
    machine
}

/// A machine that is a copy, with the rights that the first one has made.
fn private() -> Machine {
    let machine = Machine::new();
    fs::set_permissions(machine.path("home/.local/state/copal"), fs::Permissions::from_mode(0o700)).unwrap();
    machine
}

fn doctor(machine: &Machine) -> Ran {
    machine.run(&["doctor", "--json"])
}

#[test]
fn a_machine_on_which_all_is_well_is_told_so_and_nothing_is_changed() {
    let machine = machine();
    let before = machine.objects();
    let told = machine.run(&["doctor"]).ok();
    assert!(told.text().lines().count() == 11 && told.text().ends_with("all is well\n"), "{told}");
    assert_eq!(machine.objects(), before);
}

#[test]
fn what_is_amiss_is_named_with_a_remedy() {
    let machine = machine();
    let state = machine.path("home/.local/state/copal");
    let open = |mode| fs::set_permissions(&state, fs::Permissions::from_mode(mode)).unwrap();
    open(0o755);
    warns(&doctor(&machine).exits(1), "state directory", "chmod 700");
    open(0o700);
    let late = machine.with_key(&["doctor", "--json"]).env("COPAL_CLOCK_WRONG_BY", "-7200").ran().exits(1);
    warns(&late, "clock", " behind");
    let nowhere = machine.with_key(&["doctor", "--json"]).env("COPAL_REPOSITORY", "none").ran().exits(10);
    warns(&nowhere, "repository", "copal init");
    warns(&machine.run_with("wrong", &["doctor", "--json"]).exits(12), "key", "try again");
    let code =
        machine.json(&["key", "list"]).as_array().unwrap().iter().find(|key| key["kind"] == "recovery_code").cloned();
    machine.ok(&["key", "remove", &text(&code.unwrap()["slot"])]);
    warns(&doctor(&machine).exits(1), "key", "copal key recovery");
}

#[test]
fn a_machine_without_a_snapshot_is_told_to_make_one() {
    warns(&doctor(&private()).exits(1), "backup", "run \\\"copal backup\\\"");
}

#[test]
fn damage_and_an_older_state_are_damage() {
    let damaged = machine();
    damaged.damage(&damaged.packs(0).first().cloned().unwrap_or_else(|| damaged.packs(1)[0].clone()), Harm::Delete);
    damaged.check(&[]);
    warns(&doctor(&damaged).exits(4), "packs", "copal check --full");
    let older = machine();
    let before = older.copy();
    older.backup(&["--force"]);
    fs::remove_dir_all(older.path("repository")).unwrap();
    fs::rename(before.path("repository"), older.path("repository")).unwrap();
    warns(&doctor(&older).exits(4), "state", "copal rebuild-index");
}

#[test]
fn pipes_in_place_of_what_a_machine_keeps_for_itself_hang_nothing() {
    let machine = machine();
    machine.ok(&["snapshots"]);
    let mut kept = Vec::new();
    for folder in ["home/.local/state/copal", "home/.cache/copal"] {
        let repositories = fs::read_dir(machine.path(folder)).unwrap().map(|entry| entry.unwrap().path());
        let files = repositories.filter(|path| path.is_dir()).flat_map(|path| fs::read_dir(path).unwrap());
        kept.extend(files.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()));
    }
    let names: Vec<String> = kept.iter().map(|path| path.file_name().unwrap().display().to_string()).collect();
    assert!(["client", "met", "snapshots.json"].iter().all(|name| names.iter().any(|kept| kept == name)), "{names:?}");
    for path in &kept {
        fs::remove_file(path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }
    for command in [&["snapshots"][..], &["check"]] {
        machine.ok(command);
    }
    warns(&doctor(&machine).exits(1), "backup", "no snapshot");
    let ran = machine.run(&["backup", &machine.path("source").display().to_string()]).exits(1);
    assert!(ran.err.contains("client") && ran.err.contains("not a regular file"), "{ran}");
}
