//! `import restic`: snapshots of Debian's restic.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kit::{Machine, Ran, Run, assert_same, copy, files, name, noise, set_xattr, text, texts};

const SECRET: &str = "restic's own";

fn restic(machine: &Machine, arguments: &[&str]) -> Ran {
    let mut command = Command::new("restic");
    command.args(["--no-cache", "-r", "restic"]).args(arguments).current_dir(machine.path("")).env_clear();
    command.env("HOME", machine.path("home")).env("RESTIC_PASSWORD", SECRET).ran().ok()
}

fn imports(machine: &Machine, options: &[&str]) -> Ran {
    let mut command = machine.with_key(&[&["import", "restic", "restic", "--json"], options].concat());
    command.env("RESTIC_PASSWORD", SECRET).ran()
}

/// A source with all that both programs save.
fn fill(machine: &Machine) {
    machine.write("dir/below/large", [noise(1, 3_000_000), vec![0; 5_000_000], noise(2, 100_000)].concat());
    machine.write("dir/below/text", "a line\n".repeat(50_000));
    machine.write("dir.and", "sorts between dir and dir/below");
    machine.write("empty", "");
    machine.write("small", "small");
    for odd in [&b"\xff\xfe\x01"[..], b"quote\"back\\slash", b"new\nline", "\u{fc}n\u{ef}\u{2028}".as_bytes(), b"\\x41"]
    {
        fs::write(machine.source(name(odd)), odd).unwrap();
    }
    symlink("dir/below/text", machine.source("link")).unwrap();
    symlink("no\nwhere", machine.source("dangling")).unwrap();
    fs::hard_link(machine.source("small"), machine.source("second name")).unwrap();
    fs::hard_link(machine.source("dir/below/large"), machine.source("dir/other large")).unwrap();
    set_xattr(&machine.source("dir"), "user.note", b"\0=\n");
    set_xattr(&machine.source("small"), "user.b", b"2");
    set_xattr(&machine.source("small"), "user.a", b"");
    let mode = Mode::from_bits_truncate(0o640);
    mknodat(CWD, machine.source("fifo"), FileType::Fifo, mode, 0).unwrap();
    if rustix::process::geteuid().is_root() {
        mknodat(CWD, machine.source("device"), FileType::CharacterDevice, mode, rustix::fs::makedev(300, 70_000))
            .unwrap();
        std::os::unix::fs::chown(machine.source("empty"), Some(4_000_000_000), Some(7)).unwrap();
    }
    fs::set_permissions(machine.source("small"), fs::Permissions::from_mode(0o6711)).unwrap();
    fs::set_permissions(machine.source("dir/below"), fs::Permissions::from_mode(0o1775)).unwrap();
    let old = File::options().write(true).open(machine.source("empty")).unwrap();
    old.set_modified(UNIX_EPOCH - Duration::from_millis(1500)).unwrap();
}

/// A machine with a restic repository of version 2 and two snapshots. Restic takes its time, so it is made once.
fn saved() -> Machine {
    static FIRST: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, first) = FIRST.get_or_init(|| {
        let machine = made("2");
        let place = machine.path("restic");
        (machine.into_directory(), place)
    });
    let machine = Machine::new();
    copy(first, &machine.path("restic"));
    machine
}

/// The same, with this version.
fn made(version: &str) -> Machine {
    let machine = Machine::new();
    fill(&machine);
    restic(&machine, &["init", "--repository-version", version]);
    let backup = ["backup", "source", "--host", "old-host", "--tag", "one,two"];
    restic(&machine, &[&backup[..], &["--time", "2019-05-01 12:00:00"]].concat());
    machine.write("small", "larger now");
    machine.remove("dir.and");
    machine.write("new", noise(3, 200_000));
    restic(&machine, &[&backup[..], &["--time", "2020-05-01 12:00:00"]].concat());
    machine
}

/// Restores a snapshot with both programs, and compares.
fn assert_restores_alike(machine: &Machine, theirs: &str, ours: &str) {
    let place = |program: &str| machine.path(&format!("{program}-{}", &ours[..8]));
    restic(machine, &["restore", theirs, "--target", place("restic").to_str().unwrap()]);
    machine.ok(&["restore", ours, "-t", place("copal").to_str().unwrap()]);
    let [theirs, ours] = ["restic", "copal"].map(place);
    // It is no entry of the snapshot.
    for top in [&theirs, &ours] {
        fs::set_permissions(top, fs::Permissions::from_mode(0o700)).unwrap();
        File::open(top).unwrap().set_modified(UNIX_EPOCH).unwrap();
    }
    assert_same(&theirs, &ours);
}

fn rows(value: &Value) -> Vec<(String, String)> {
    let copied = value["copied"].as_array().unwrap().iter();
    copied.map(|row| (text(&row["source_id"]), text(&row["snapshot_id"]))).collect()
}

/// Files of the restic repository below a folder, the largest first.
fn largest(machine: &Machine, folder: &str) -> Vec<PathBuf> {
    let mut found = files(&machine.path("restic").join(folder));
    found.sort_by_key(|place| std::cmp::Reverse(fs::metadata(place).unwrap().len()));
    found
}

fn rewrite(place: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(place).unwrap();
    change(&mut bytes);
    let _ = fs::remove_file(place);
    fs::write(place, bytes).unwrap();
}

#[test]
fn every_snapshot_restores_as_restic_restores_it_and_none_is_imported_twice() {
    let machine = made("2");
    let before = largest(&machine, "");
    let planned = imports(&machine, &["-n"]).ok().json();
    assert_eq!((planned["copied"].as_array().unwrap().len(), machine.snapshots().len()), (2, 0));
    let made = imports(&machine, &[]).ok().json();
    let copies = rows(&made);
    assert_eq!(copies.len(), 2);
    copies.iter().for_each(|(theirs, ours)| assert_restores_alike(&machine, theirs, ours));
    let listed = machine.json(&["snapshots", "--host", "old-host"]);
    for (row, time) in listed.as_array().unwrap().iter().zip(["2019-05-01T12", "2020-05-01T12"]) {
        assert!(text(&row["time"]).starts_with(time), "{row}");
        assert_eq!((&row["tags"], &row["paths"]), (&json!(["one", "two"]), &json!([machine.path("source")])));
    }
    let read: Vec<_> = numbers_of(&made, "files_read");
    assert!(read[0] >= 10 && read[1] == 2, "only what changed is read: {read:?}");
    let again = imports(&machine, &[]).ok().json();
    assert_eq!((&again["copied"], &again["already_there"]), (&json!([]), &json!(2)));
    assert!(before.iter().all(|place| place.exists()), "nothing is changed there");
    machine.ok(&["check", "--full"]);
}

#[test]
fn a_repository_of_version_1_is_read_too() {
    let machine = made("1");
    let copies = rows(&imports(&machine, &[]).ok().json());
    assert_restores_alike(&machine, &copies[1].0, &copies[1].1);
}

fn numbers_of(made: &Value, field: &str) -> Vec<u64> {
    made["copied"].as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).collect()
}

#[test]
fn snapshots_may_be_chosen_and_a_wrong_password_is_told_as_such() {
    let machine = saved();
    let listed: Value = serde_json::from_slice(&restic(&machine, &["snapshots", "--json"]).out).unwrap();
    let ids = texts(&listed, "id");
    let made = imports(&machine, &[&ids[1][..8], "--label", "old"]).ok().json();
    assert_eq!(rows(&made)[0].0, ids[1]);
    assert_eq!(machine.json(&["snapshots", "--host", "old-host"])[0]["label"], "old");
    let ran = imports(&machine, &["ffffffffff00"]).exits(1);
    assert!(ran.err.contains("restic snapshots"), "{ran}");
    let wrong = |secret: &str, from: &str| {
        machine.with_key(&["import", "restic", from, "--json"]).env("RESTIC_PASSWORD", secret).ran()
    };
    let ran = wrong("other", "restic").exits(12);
    assert!(ran.kind() == "wrong_passphrase" && ran.err.contains("RESTIC_PASSWORD"), "{ran}");
    let ran = wrong(SECRET, "source").exits(10);
    assert!(ran.err.contains("no repository of restic"), "{ran}");
    machine.write("config", "[repository]\n");
    wrong(SECRET, "source").exits(10);
    wrong(SECRET, "nowhere").exits(10);
    wrong(SECRET, "https://backup.example").exits(2);
    let ran = machine.run(&["import", "restic", "restic"]).exits(1);
    assert!(ran.err.contains("no password of the restic repository"), "{ran}");
    fs::write(machine.path("password"), SECRET).unwrap();
    machine.ok(&["import", "restic", "restic", "--from-password-file", "password"]);
}

#[test]
fn a_damaged_pack_costs_the_files_in_it_and_a_later_import_brings_them() {
    let machine = saved();
    let pack = largest(&machine, "data").remove(0);
    let whole = fs::read(&pack).unwrap();
    rewrite(&pack, |bytes| bytes[1_000_000] ^= 1);
    let ran = imports(&machine, &[]).exits(4);
    assert!(ran.err.contains("dir/below/large") && ran.err.contains("data/"), "{ran}");
    assert_eq!(machine.snapshots_that(&["--host", "old-host"]).len(), 2);
    assert!(machine.ok(&["ls", "-R", "latest:/", "--host", "old-host"]).contains("dir/below/text"));
    assert_eq!(rows_made(&imports(&machine, &[]).exits(4)), 0, "no more can be read than before");
    fs::write(&pack, whole).unwrap();
    let copies = rows(&imports(&machine, &[]).ok().json());
    assert_eq!(copies.len(), 2);
    copies.iter().for_each(|(theirs, ours)| assert_restores_alike(&machine, theirs, ours));

    fs::remove_file(&pack).unwrap();
    fs::write(machine.path("restic/snapshots").join("0".repeat(64)), "not sealed").unwrap();
    fs::write(machine.path("restic/index").join("1".repeat(64)), noise(1, 500)).unwrap();
    let ran = imports(&machine, &[]).exits(4);
    assert!(ran.err.contains("snapshots/000") && ran.err.contains("index/111"), "{ran}");
    assert_eq!(ran.json()["already_there"], 2);
}

#[test]
fn a_pack_that_cannot_be_read_costs_the_files_in_it() {
    let machine = saved();
    let pack = largest(&machine, "data").remove(0);
    fs::remove_file(&pack).unwrap();
    mknodat(CWD, &pack, FileType::Fifo, Mode::from_bits_truncate(0o600), 0).unwrap();
    let ran = imports(&machine, &[]).exits(4);
    assert!(ran.err.contains("dir/below/large") && ran.err.contains("something else is in its place"), "{ran}");
    assert_eq!(rows_made(&ran), 2);
    assert!(machine.ok(&["ls", "-R", "latest:/", "--host", "old-host"]).contains("source/new\n"));
}

#[test]
fn a_snapshot_of_more_paths_than_a_copy_can_name_names_the_directory_above_them() {
    let machine = Machine::new();
    let paths: Vec<String> = (0..5_000).map(|at| format!("source/{at}{}", "n".repeat(200))).collect();
    paths.iter().for_each(|path| fs::write(machine.path(path), "").unwrap());
    fs::write(machine.path("paths"), paths.join("\n")).unwrap();
    restic(&machine, &["init"]);
    restic(&machine, &["backup", "--files-from-verbatim", "paths", "--host", "old-host"]);
    let ran = machine.with_key(&["import", "restic", "restic"]).env("RESTIC_PASSWORD", SECRET).ran().ok();
    assert!(ran.err.contains("5000 paths"), "{ran}");
    assert!(String::from_utf8_lossy(&ran.out).contains("5,000 files"), "{ran}");
    let row = machine.json(&["snapshots", "--host", "old-host"])[0].clone();
    assert_eq!(row["paths"], json!([machine.path("source")]));
    assert_eq!(imports(&machine, &[]).ok().json()["already_there"], 1);
}

#[test]
fn a_snapshot_under_the_name_of_another_is_none() {
    let machine = saved();
    let mut snapshots = largest(&machine, "snapshots");
    let (one, other) = (snapshots.remove(0), snapshots.remove(0));
    let _ = fs::remove_file(&one);
    fs::copy(&other, &one).unwrap();
    let ran = imports(&machine, &[]).exits(4);
    assert!(ran.err.contains("hash that names it") && rows_made(&ran) == 1, "{ran}");
}

fn rows_made(ran: &Ran) -> usize {
    ran.json()["copied"].as_array().unwrap().iter().filter(|row| !row["snapshot_id"].is_null()).count()
}

#[test]
fn whatever_is_changed_in_the_repository_nothing_panics_and_nothing_wrong_is_saved() {
    let machine = saved();
    let whole = imports(&machine, &[]).ok();
    assert_eq!(rows(&whole.json()).len(), 2);
    let (small, keys) = (largest(&machine, "data").pop().unwrap(), largest(&machine, "keys").remove(0));
    let places =
        [largest(&machine, "index").remove(0), largest(&machine, "snapshots").remove(0), machine.path("restic/config")];
    for place in places.iter().chain([&small]) {
        let kept = fs::read(place).unwrap();
        for change in [|bytes: &mut Vec<u8>| bytes.truncate(20), |bytes: &mut Vec<u8>| bytes[10] ^= 1] {
            rewrite(place, change);
            let ran = imports(&machine, &["--label", "odd", "-n"]);
            assert!([0, 4].contains(&ran.code), "{}: {ran}", place.display());
        }
        fs::write(place, kept).unwrap();
    }
    let key: Value = serde_json::from_slice(&fs::read(&keys).unwrap()).unwrap();
    for (field, value) in [("N", json!(1u64 << 40)), ("N", json!(3)), ("r", json!(1 << 30)), ("data", json!("?"))] {
        let mut key = key.clone();
        key[field] = value;
        rewrite(&keys, |bytes| *bytes = key.to_string().into_bytes());
        imports(&machine, &[]).exits(4);
    }
}
