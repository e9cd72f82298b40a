//! Where a repository is: what is no address makes no directory, and a place keeps the repository that was met there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::kit::{COPAL, Machine, PASSPHRASE, Ran, Run, run_by};

#[test]
fn what_only_looks_like_an_address_makes_no_directory_and_what_was_meant_is_named() {
    let machine = Machine::bare();
    let listed = || fs::read_dir(machine.path("")).unwrap().count();
    let before = listed();
    for (text, meant) in [
        ("s3:host/b", "s3://host/b"),
        ("sftp:me@host:/r", "sftp://me@host/r"),
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
    let machine = Machine::saved([("file", "1")]);
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
    let machine = Machine::saved([("file", "1")]);
    machine.command(&["init", "-r", "other"]).env("COPAL_PASSWORD", PASSPHRASE).ran().ok();
    fs::rename(machine.path("repository"), machine.path("unmounted")).unwrap();
    fs::rename(machine.path("other"), machine.path("repository")).unwrap();
    let before = machine.names("manifests/");
    for options in [&["backup", "source", "--json"][..], &["backup", "--init", "source", "--json"]] {
        let ran = machine.run_with(PASSPHRASE, options).exits(1);
        assert!(ran.kind() == "another_repository" && ran.err.contains("--another"), "{ran}");
    }
    assert_eq!(machine.names("manifests/"), before);
    let read = machine.run_with(PASSPHRASE, &["snapshots"]).ok();
    assert!(read.err.contains("and this machine has met"), "{read}");
    machine.run_with(PASSPHRASE, &["backup", "source"]).exits(1);
    fs::write(machine.path("reader.wasm"), b"\0asm\x01\0\0\0").unwrap();
    for words in [
        &["prune"][..],
        &["forget", "--keep-last", "1"],
        &["key", "add", "--new-key-file", "new"],
        &["client", "add", "--name", "x", "--role", "full"],
        &["reader", "--reader", "reader.wasm"],
        &["ingest"],
        &["compact"],
        &["repair"],
        &["rebuild-index"],
    ] {
        let ran = machine.run_with(PASSPHRASE, words).exits(1);
        assert!(ran.err.contains("run the command once with --another"), "{words:?}: {ran}");
    }
    machine.run_with(PASSPHRASE, &["prune", "--another"]).ok();
    machine.run_with(PASSPHRASE, &["backup", "source"]).ok();
}

/// A user of this machine, with a umask that keeps everything to itself; the same one twice if the tests may not be others.
fn as_user(machine: &Machine, number: u32, words: &[&str]) -> Ran {
    let mut shell = run_by("sh", &["-c", "umask 077; exec \"$0\" \"$@\"", "./copal"], &machine.command(words));
    shell.env("COPAL_PASSWORD", PASSPHRASE).env("HOME", machine.path(&format!("home{number}")));
    shell.env("COPAL_HOST", format!("user{number}"));
    if rustix::process::geteuid().is_root() {
        shell.uid(12_000 + number).gid(GROUP);
    }
    shell.ran()
}

const GROUP: u32 = 12_000;

#[test]
fn a_repository_that_users_of_a_group_share_stays_usable_for_each() {
    let machine = Machine::bare();
    machine.write("file", "1");
    assert!(Command::new("cp").arg(COPAL).arg(machine.path("copal")).status().unwrap().success());
    for open in ["", "disk", "home1", "home2"] {
        fs::create_dir_all(machine.path(open)).unwrap();
        fs::set_permissions(machine.path(open), fs::Permissions::from_mode(0o777)).unwrap();
    }
    as_user(&machine, 1, &["init", "-r", "disk/shared", "--shared"]).ok();
    let mut first = "0".to_owned();
    for turn in 0..2 {
        for user in [1, 2] {
            machine.write("file", format!("{turn} {user}").repeat(1000));
            let ran = as_user(&machine, user, &["backup", "source", "-r", "disk/shared", "--json"]).ok();
            first = crate::kit::text(&ran.json()["snapshot_id"]);
        }
    }
    // One deletes what the other has stored, and both read what is left.
    as_user(&machine, 1, &["forget", &first, "-r", "disk/shared"]).ok();
    as_user(&machine, 1, &["prune", "--grace", "0s", "-r", "disk/shared"]).ok();
    for user in [1, 2] {
        as_user(&machine, user, &["check", "--full", "-r", "disk/shared"]).ok();
    }
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&machine.path("disk/shared/packs")), 0o2770);
    // Whoever shares nothing keeps it to itself.
    as_user(&machine, 1, &["init", "-r", "disk/own"]).ok();
    assert_eq!((mode(&machine.path("disk/own")), mode(&machine.path("disk/own/keys"))), (0o700, 0o700));
    let refused = as_user(&machine, 1, &["init", "-r", "s3://bucket/x", "--shared"]).exits(2);
    assert!(refused.err.contains("a directory is needed here"), "{refused}");
}
