//! Watched: a backup looks at what a watcher has noted, and makes the snapshot that a whole walk makes.

use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::Value;

use crate::changed::{Numbers, change, differs, folders};
use crate::kit::{Machine, Running, needs_root, text, until};

/// Starts a watcher, which has looked through all directories.
fn watching(machine: &Machine, options: &[&str]) -> Running {
    let (watcher, line) = Running::announced(&mut machine.command(&[&["watch"], options].concat()));
    assert!(line.starts_with("watching "), "{line}");
    watcher
}

/// Changes more than the system keeps for the watcher, and at last `d5/lost/deep/file`.
fn lose_events(machine: &Machine, watcher: &Running) {
    let most = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    watcher.signal("STOP");
    for number in 0..most.trim().parse::<u32>().unwrap() {
        let file = machine.source(format!("d0/{}", number % 2));
        fs::write(&file, "x").unwrap();
        fs::remove_file(&file).unwrap();
    }
    machine.write("d5/lost/deep/file", "lost");
    watcher.signal("CONT");
}

/// Unmounts what a failed test has left.
struct Unmounted(PathBuf);

impl Drop for Unmounted {
    fn drop(&mut self) {
        let mut left = Command::new("umount");
        let _ = left.args(["-q", "-l", "-R"]).arg(&self.0).stderr(Stdio::null()).status();
    }
}

fn saved(machine: &Machine, options: &[&str]) -> Value {
    machine.json(&[&["backup", "source", "--watched"], options].concat())
}

/// A machine with directories of files, a watcher of them, and a backup that it knows of.
fn begun() -> (Machine, Running) {
    let machine = folders();
    let watcher = watching(&machine, &["source"]);
    let first = saved(&machine, &[]);
    assert_eq!(first["narrowed"], false);
    assert!(text(&first["gap"]).contains("has not seen all"), "{first}");
    (machine, watcher)
}

#[test]
fn whatever_changes_the_snapshot_is_the_one_that_a_whole_walk_makes() {
    let (machine, _watcher) = begun();
    for seed in 100..112 {
        let mut numbers = Numbers(seed);
        for _ in 0..1 + numbers.below(6) {
            change(&machine, &mut numbers);
        }
        let made = saved(&machine, &[]);
        assert_eq!(made["narrowed"], true, "{seed}: {made}");
        assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "", "{seed}");
    }
}

#[test]
fn only_what_has_changed_is_looked_at_and_what_a_failed_backup_was_told_comes_again() {
    let (machine, _watcher) = begun();
    machine.write("d1/e1/f1", "changed");
    // A dry run and a backup of something else are no backups of it.
    assert_eq!(saved(&machine, &["-n"])["files_changed"], 1);
    assert_eq!(saved(&machine, &["--label", "other"])["narrowed"], false);
    machine.write("d3/new/a/b", "new");
    let made = saved(&machine, &[]);
    assert_eq!((&made["narrowed"], &made["files_changed"], &made["files_new"]), (&true.into(), &1.into(), &1.into()));
    let made = saved(&machine, &[]);
    assert_eq!((&made["narrowed"], &made["files_changed"], &made["files_new"]), (&true.into(), &0.into(), &0.into()));
    // Both series have a watcher's list of their own.
    let other = saved(&machine, &["--label", "other"]);
    assert_eq!((&other["narrowed"], &other["files_new"]), (&true.into(), &1.into()));
}

#[test]
fn a_directory_above_that_is_replaced_changes_all_of_it() {
    let machine = Machine::new();
    fs::create_dir_all(machine.path("above/source")).unwrap();
    fs::write(machine.path("above/source/old"), "old").unwrap();
    let _watcher = watching(&machine, &["above/source"]);
    let backup = || machine.json(&["backup", "above/source", "--watched"]);
    backup();
    assert_eq!(backup()["narrowed"], true);
    fs::rename(machine.path("above"), machine.path("before")).unwrap();
    fs::create_dir_all(machine.path("above/source")).unwrap();
    fs::write(machine.path("above/source/new"), "new").unwrap();
    let made = backup();
    assert!(text(&made["gap"]).contains("was replaced") && made["files_new"] == 1, "{made}");
    // A change in the new directory is in the next list; one in the directory that was moved away is in no snapshot.
    fs::write(machine.path("above/source/later"), "later").unwrap();
    fs::write(machine.path("before/source/later"), "later").unwrap();
    let made = backup();
    assert_eq!((&made["narrowed"], &made["files_new"]), (&true.into(), &1.into()), "{made}");
    let listed = machine.ok(&["ls", &text(&made["snapshot_id"]), "--recursive"]);
    assert!(listed.contains("/new") && listed.contains("/later") && !listed.contains("/old"), "{listed}");
}

#[test]
fn after_more_changes_than_the_system_keeps_for_the_watcher_everything_is_looked_at_once() {
    let (machine, watcher) = begun();
    assert_eq!(saved(&machine, &[])["narrowed"], true);
    lose_events(&machine, &watcher);
    let made = saved(&machine, &[]);
    assert!(text(&made["gap"]).contains("has not seen all"), "{made}");
    assert_eq!(made["files_new"], 1);
    // Directories that it was not told of are watched from then on.
    machine.write("d5/lost/deep/file", "later");
    let made = saved(&machine, &[]);
    assert_eq!((&made["narrowed"], &made["files_changed"]), (&true.into(), &1.into()), "{made}");
}

#[test]
fn without_a_watcher_and_after_a_new_one_everything_is_looked_at() {
    let (machine, watcher) = begun();
    drop(watcher);
    machine.write("d1/e1/f1", "unseen");
    let made = saved(&machine, &[]);
    assert!(text(&made["gap"]).contains("no \"copal watch\" of these paths runs"), "{made}");
    assert_eq!(made["files_changed"], 1);
    let _watcher = watching(&machine, &["source"]);
    machine.write("d1/e1/f1", "again");
    let made = saved(&machine, &[]);
    assert!(text(&made["gap"]).contains("has not seen all"), "{made}");
    assert_eq!(made["files_changed"], 1);
    // One is enough.
    let second = machine.run(&["watch", "source"]);
    assert_eq!(second.code, 11, "{second}");
    assert_eq!(saved(&machine, &[])["narrowed"], true);
}

#[test]
fn a_watcher_that_does_not_answer_keeps_no_backup_from_being_made() {
    let (machine, watcher) = begun();
    watcher.signal("STOP");
    machine.write("d1/e1/f1", "unseen");
    let made = saved(&machine, &[]);
    assert!(text(&made["gap"]).contains("does not answer"), "{made}");
    assert_eq!(made["files_changed"], 1);
    watcher.signal("CONT");
    // Its last list follows an older snapshot than the last one.
    let made = saved(&machine, &[]);
    assert_eq!((&made["narrowed"], &made["files_changed"]), (&false.into(), &0.into()), "{made}");
    assert_eq!(saved(&machine, &[])["narrowed"], true);
}

#[test]
fn directories_that_change_places_are_both_watched_afterwards() {
    let (machine, _watcher) = begun();
    for (one, other) in [("d1", "d2"), ("d3/e0", "d4/e1"), ("d1", "d2/e0")] {
        let (one, other) = (machine.source(one), machine.source(other));
        if other.starts_with(machine.source("d2/e0")) {
            fs::rename(&one, other.join("moved in")).unwrap();
            fs::rename(other.join("moved in"), &one).unwrap();
        } else {
            renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
        }
        let made = saved(&machine, &[]);
        assert_eq!((&made["narrowed"], differs(&machine, &text(&made["snapshot_id"]))), (&true.into(), String::new()));
        fs::write(one.join("later"), other.as_os_str().as_bytes()).unwrap();
        fs::write(other.join("later"), one.as_os_str().as_bytes()).unwrap();
        let made = saved(&machine, &[]);
        assert_eq!((&made["narrowed"], differs(&machine, &text(&made["snapshot_id"]))), (&true.into(), String::new()));
    }
}

#[test]
fn a_file_that_is_written_by_a_name_that_it_lost_is_looked_at_by_the_one_that_it_has() {
    let (machine, _watcher) = begun();
    let mut log = fs::File::create(machine.source("d1/log")).unwrap();
    log.write_all(b"1").unwrap();
    saved(&machine, &[]);
    fs::hard_link(machine.source("d1/log"), machine.source("d1/log.1")).unwrap();
    fs::remove_file(machine.source("d1/log")).unwrap();
    saved(&machine, &[]);
    log.write_all(b"2").unwrap();
    let made = saved(&machine, &[]);
    assert_eq!((&made["narrowed"], &made["files_changed"]), (&true.into(), &1.into()), "{made}");
}

#[test]
fn a_watcher_whose_own_directory_is_below_what_it_watches_goes_on_answering() {
    let machine = folders();
    let state = machine.source("state");
    let place = state.display().to_string();
    let watcher = watching(&machine, &["source", "--state-dir", &place]);
    let backup = || saved(&machine, &["--exclude", "state", "--state-dir", &place]);
    let narrowed = || {
        let made = backup();
        assert_eq!(made["narrowed"], true, "{made}");
    };
    backup();
    narrowed();
    fs::rename(&state, machine.source("moved")).unwrap();
    fs::rename(machine.source("moved"), &state).unwrap();
    narrowed();
    lose_events(&machine, &watcher);
    let made = backup();
    assert!(text(&made["gap"]).contains("has not seen all"), "{made}");
    narrowed();
}

#[test]
fn what_is_mounted_and_unmounted_is_looked_at_whole_also_above_the_paths() {
    needs_root("mount file systems");
    let (machine, _watcher) = begun();
    let _left =
        [Unmounted(machine.source("d2/e2")), Unmounted(machine.source("d1/e1/f1")), Unmounted(machine.path("source"))];
    let act = |words: &[&str]| assert!(Command::new(words[0]).args(&words[1..]).status().unwrap().success());
    let same = |step: &str, is_narrowed: bool| {
        let made = saved(&machine, &[]);
        assert_eq!(made["narrowed"], is_narrowed, "{step}: {made}");
        assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "", "{step}");
    };
    let below = machine.source("d2/e2").display().to_string();
    act(&["mount", "-t", "tmpfs", "none", &below]);
    same("mounted", true);
    machine.write("d2/e2/on another device", "1");
    same("written there", true);
    machine.write("d2/e2/on another device", "2");
    same("written again", true);
    act(&["umount", &below]);
    same("unmounted", true);
    let (file, inside) = (machine.path("outside"), machine.source("d1/e1/f1").display().to_string());
    fs::write(&file, "1").unwrap();
    act(&["mount", "--bind", &file.display().to_string(), &inside]);
    same("a file on a file", true);
    fs::write(&file, "22").unwrap();
    same("written where it lies", true);
    act(&["umount", &inside]);
    same("the file below", true);
    machine.write("d2/e2/f2", "below the mount");
    same("written below", true);
    // The same directory is mounted over itself, then something else over it.
    let source = machine.path("source").display().to_string();
    act(&["mount", "--bind", &source, &source]);
    same("bound", true);
    machine.write("d2/e2/f2", "again");
    same("written through it", true);
    act(&["mount", "-t", "tmpfs", "none", &source]);
    machine.write("new", "1");
    same("another device", false);
    machine.write("new", "2");
    same("written on it", true);
    act(&["umount", &source]);
    same("the first again", false);
    act(&["umount", &source]);
    machine.write("d2/e2/f2", "at last");
    same("without mounts", true);
}

#[test]
fn a_watcher_that_answers_late_answers_each_question_with_what_changed_before_it() {
    let (machine, watcher) = begun();
    let asked = || {
        let handovers = fs::read_dir(machine.path("home/.local/state/copal/watch")).unwrap();
        let names = handovers.flat_map(|entry| fs::read_dir(entry.unwrap().path()).unwrap());
        names.filter(|name| name.as_ref().unwrap().file_name().to_str().unwrap().starts_with("ask-")).count()
    };
    let backup = || Running::start(&mut machine.with_key(&["backup", "source", "--watched", "--json"]));
    watcher.signal("STOP");
    let interrupted = backup();
    until("it has asked", || (asked() == 1).then_some(()));
    drop(interrupted);
    machine.write("d3/late", "late");
    let both = [backup(), backup()];
    until("all have asked", || (asked() == 3).then_some(()));
    watcher.signal("CONT");
    for backup in both {
        let made = backup.end().ok().json();
        assert_eq!((&made["narrowed"], &made["gap"]), (&true.into(), &Value::Null), "{made}");
        assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "");
    }
}
