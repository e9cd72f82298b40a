//! `mover`: each of its calls may be repeated, and says in one line how it ended.

use std::fs;

use serde_json::{Value, json};

use crate::kit::{Machine, Ran, assert_same};
use crate::managed::world::{upload, with_camera};

/// The only line that a call has written.
fn status(ran: &Ran) -> Value {
    let lines: Vec<&str> = std::str::from_utf8(&ran.out).unwrap().lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let status: Value = serde_json::from_str(lines[0]).unwrap();
    assert_eq!(status["exit_code"], ran.code, "{status}");
    status
}

fn moved(machine: &Machine, arguments: &[&str]) -> Value {
    status(&machine.run(&[&["mover"], arguments].concat()).ok())
}

#[test]
fn a_volume_is_saved_restored_and_cleaned_up_however_often_each_is_asked_for() {
    let machine = Machine::with([("a/letter", "dear all")]);
    let volume = machine.path("source").display().to_string();
    let first = moved(&machine, &["backup", "--id", "one", &volume]);
    assert_eq!(
        [&first["act"], &first["id"], &first["state"], &first["again"], &first["retry"], &first["error"]],
        [&json!("backup"), &json!("one"), &json!("done"), &json!(false), &json!(false), &Value::Null]
    );
    assert_eq!(first["result"]["files_new"], 1);
    assert_eq!(first["snapshot"], first["result"]["snapshot_id"]);
    machine.write("later", "not in it");
    let again = moved(&machine, &["backup", "--id", "one", &volume]);
    assert_eq!(
        [&again["again"], &again["snapshot"], &again["result"]],
        [&json!(true), &first["snapshot"], &Value::Null]
    );
    machine.remove("later");
    moved(&machine, &["backup", "--id", "two", &volume]);
    assert_eq!(machine.snapshots_that(&["--tag", "mover:one"]).len(), 1);

    // Into another mount point, and once more after a change there.
    let elsewhere = machine.path("elsewhere").display().to_string();
    let restored = moved(&machine, &["restore", "--id", "one", &elsewhere]);
    assert_eq!([&restored["snapshot"], &restored["result"]["files_restored"]], [&first["snapshot"], &json!(1)]);
    assert_same(&machine.path("source/a"), &machine.path("elsewhere/a"));
    assert_eq!(moved(&machine, &["restore", "--id", "one", &elsewhere])["result"]["files_restored"], 0);
    fs::write(machine.path("elsewhere/a/letter"), "harmed").unwrap();
    moved(&machine, &["restore", "--id", "one", &elsewhere]);
    assert_same(&machine.path("source/a"), &machine.path("elsewhere/a"));

    let gone = moved(&machine, &["cleanup", "--id", "one"]);
    assert_eq!([&gone["snapshot"], &gone["again"]], [&first["snapshot"], &json!(false)]);
    let again = moved(&machine, &["cleanup", "--id", "one"]);
    assert_eq!([&again["snapshot"], &again["again"]], [&Value::Null, &json!(true)]);
    assert_eq!(machine.snapshots_that(&[]).len(), 1);
}

#[test]
fn a_backup_that_lacks_entries_is_partial_each_time_it_is_asked_for() {
    let machine = Machine::new();
    // In it are files that nobody may read, root neither.
    let save = || status(&machine.run(&["mover", "backup", "--id", "one", "/proc/sys/vm"]).exits(3));
    let (first, again) = (save(), save());
    assert_eq!([&first["state"], &first["again"]], [&json!("partial"), &json!(false)]);
    assert_eq!([&again["state"], &again["again"], &again["retry"]], [&json!("partial"), &json!(true), &json!(false)]);
    assert_eq!([&again["snapshot"], &again["result"]], [&first["snapshot"], &Value::Null]);
    assert_eq!(machine.snapshots().len(), 1);
}

#[test]
fn a_volume_that_has_lost_all_its_files_is_saved_only_if_that_is_allowed() {
    let machine = Machine::with([("letter", "dear all")]);
    let volume = machine.path("source").display().to_string();
    moved(&machine, &["backup", "--id", "one", &volume]);
    machine.remove("letter");
    let refused = status(&machine.run(&["mover", "backup", "--id", "two", &volume]).exits(1));
    assert_eq!(refused["error"]["kind"], "emptied");
    let saved = moved(&machine, &["backup", "--id", "two", "--allow-empty", &volume]);
    assert_eq!([&saved["state"], &saved["again"]], [&json!("done"), &json!(false)]);
    assert_eq!(machine.snapshots().len(), 2);
}

#[test]
fn what_a_write_only_machine_saves_under_an_id_is_not_taken_for_the_backup() {
    let (owner, machine) = with_camera();
    machine.write("letter", "forged");
    upload(&machine, &["--tag", "mover:one"]).ok();
    owner.ok(&["ingest"]);
    assert_eq!(owner.snapshots_that(&["--tag", "mover:one"]).len(), 1);
    let restored = status(&owner.run(&["mover", "restore", "--id", "one", "out"]).exits(1));
    assert_eq!(restored["error"]["kind"], "no_snapshot");
    assert!(!owner.path("out").exists());
    assert_eq!(moved(&owner, &["cleanup", "--id", "one"])["again"], true);
    assert_eq!(owner.snapshots_that(&[]).len(), 1);
}

#[test]
fn a_failure_says_in_the_same_line_whether_another_call_may_help() {
    let machine = Machine::new();
    let missing = machine.run(&["mover", "restore", "--id", "none", "/nowhere"]);
    let status = status(&missing);
    assert_eq!((missing.code, &status["state"], &status["retry"]), (1, &json!("failed"), &json!(true)));
    assert_eq!((&status["error"]["kind"], &status["snapshot"]), (&json!("no_snapshot"), &Value::Null));
    assert!(missing.err.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{}", missing.err);

    fs::rename(machine.path("repository"), machine.path("away")).unwrap();
    let away = machine.run(&["mover", "backup", "--id", "one", "/"]);
    let status = self::status(&away);
    assert_eq!((away.code, &status["state"], &status["retry"]), (10, &json!("failed"), &json!(false)));
}
