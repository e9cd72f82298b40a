//! Where a repository is: what is no address makes no directory, and a place keeps the repository that was met there.

mod kit;

use std::fs;

use kit::{Machine, PASSPHRASE, Ran, Run};

#[test]
fn what_only_looks_like_an_address_makes_no_directory_and_what_was_meant_is_named() {
    let machine = Machine::bare();
    let listed = || fs::read_dir(machine.path("")).unwrap().count();
    let before = listed();
    for (text, meant) in [
        ("s3:host/b", "s3://host/b"),
        ("sftp:me@host:/r", "ssh://me@host/r"),
        ("ssh:h/x", "ssh://h/x"),
        ("s3//b", "s3://b"),
        ("~/r", "$HOME/r"),
    ] {
        let by_option = machine.command(&["init", "-r", text]).env("COPAL_PASSWORD", "x").ran();
        let by_variable = machine.command(&["backup", "--init", "source"]).env("COPAL_REPOSITORY", text).ran();
        for ran in [by_option, by_variable] {
            let ran = ran.exits(2);
            assert!(ran.err.contains(&format!("did you mean {meant}?")), "{text}: {ran}");
        }
        assert_eq!(listed(), before, "{text}");
    }
    machine.command(&["init", "-r", "./s3:host"]).env("COPAL_PASSWORD", "x").ran().ok();
    assert!(machine.path("s3:host/copal").exists());
}

/// A backup that makes the repository if there is none.
fn backup(machine: &Machine, more: &[&str]) -> Ran {
    let words = [&["backup", "--init", "source", "--json"], more].concat();
    machine.command(&words).env("COPAL_PASSWORD", PASSPHRASE).ran()
}

#[test]
fn where_a_disk_is_not_mounted_no_new_repository_is_made() {
    let machine = Machine::new();
    machine.write("file", "1");
    machine.backup(&[]);
    fs::rename(machine.path("repository"), machine.path("unmounted")).unwrap();
    for is_mount_point_there in [false, true] {
        if is_mount_point_there {
            fs::create_dir(machine.path("repository")).unwrap();
        }
        let init = machine.command(&["init", "--json"]).env("COPAL_PASSWORD", PASSPHRASE).ran();
        for ran in [backup(&machine, &[]), init, machine.run(&["snapshots", "--json"])] {
            let ran = ran.exits(10);
            assert!(ran.kind() == "no_repository" && ran.err.contains("mount its disk"), "{ran}");
        }
        let made = fs::read_dir(machine.path("repository")).map_or(0, |entries| entries.count());
        assert_eq!((machine.path("repository").exists(), made), (is_mount_point_there, 0));
    }
    backup(&machine, &["--another"]).ok();
    backup(&machine, &[]).ok();
    // The two disks take turns.
    fs::rename(machine.path("repository"), machine.path("second")).unwrap();
    fs::rename(machine.path("unmounted"), machine.path("repository")).unwrap();
    backup(&machine, &[]).ok();
}

#[test]
fn another_repository_in_the_place_of_the_one_that_was_met_is_not_saved_to() {
    let machine = Machine::new();
    machine.write("file", "1");
    machine.backup(&[]);
    machine.command(&["init", "-r", "other"]).env("COPAL_PASSWORD", PASSPHRASE).ran().ok();
    fs::rename(machine.path("repository"), machine.path("unmounted")).unwrap();
    fs::rename(machine.path("other"), machine.path("repository")).unwrap();
    let before = machine.names("manifests/");
    for options in [&["backup", "source", "--json"][..], &["backup", "--init", "source", "--json"]] {
        let ran = machine.run_with(PASSPHRASE, options).exits(1);
        assert!(ran.kind() == "another_repository" && ran.err.contains("--another"), "{ran}");
    }
    assert_eq!(machine.names("manifests/"), before);
    machine.run_with(PASSPHRASE, &["snapshots"]).ok();
    machine.run_with(PASSPHRASE, &["backup", "source"]).exits(1);
    machine.run_with(PASSPHRASE, &["backup", "source", "--another"]).ok();
    machine.run_with(PASSPHRASE, &["backup", "source"]).ok();
}
