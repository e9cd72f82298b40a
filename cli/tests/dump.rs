//! `dump`: bytes and archives on standard output.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::process::Command;

use crate::kit::{Machine, Run, assert_same, name, noise, set_xattr};

#[test]
fn a_files_bytes_come_out_with_zeros_for_its_holes() {
    let machine = Machine::new();
    machine.write("empty", "");
    machine.write("inline", "inline");
    machine.write("large", [noise(1, 9_000_000), noise(1, 9_000_000), noise(2, 9_000_000)].concat());
    let sparse = File::create(machine.source("sparse")).unwrap();
    sparse.set_len(5_000_000).unwrap();
    sparse.write_all_at(&noise(3, 1_000_000), 2_000_001).unwrap();
    machine.backup(&[]);
    for file in ["empty", "inline", "large", "sparse"] {
        let run = machine.run(&["dump", &format!("latest:{file}")]).ok();
        assert!(run.out == fs::read(machine.source(file)).unwrap(), "{file}");
    }
}

#[test]
fn an_archive_unpacks_to_the_same_tree() {
    let machine = Machine::new();
    machine.write("a/b/file", noise(1, 300_000));
    machine.write("empty", "");
    machine.write("older than the epoch", "1");
    fs::write(machine.path("source").join(name(b"\xff\xfe")), "odd").unwrap();
    fs::write(machine.path("source").join(name("ünïcode".as_bytes())), "odd").unwrap();
    let long = "n".repeat(200);
    machine.write(&format!("{long}/{long}/{long}"), "deep");
    symlink("x".repeat(300), machine.source("a long link")).unwrap();
    symlink("a/b", machine.source("link")).unwrap();
    fs::hard_link(machine.source("a/b/file"), machine.source("second name")).unwrap();
    machine.fifo();
    set_xattr(&machine.source("a/b/file"), "user.note", b"\0=\n");
    fs::set_permissions(machine.source("empty"), fs::Permissions::from_mode(0o4710)).unwrap();
    let time = std::time::UNIX_EPOCH - std::time::Duration::from_millis(1500);
    File::options().write(true).open(machine.source("older than the epoch")).unwrap().set_modified(time).unwrap();
    machine.backup(&[]);

    let archive = machine.run(&["dump", &machine.whole()]).ok().out;
    fs::create_dir(machine.path("out")).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--preserve-permissions", "--xattrs", "--xattrs-include=*", "--same-owner"]);
    tar.current_dir(machine.path("out")).fed(archive).ok();
    assert_same(&machine.path("source"), &machine.path("out"));
}

#[test]
fn a_file_may_be_asked_for_as_an_archive_and_a_link_must_be() {
    let machine = Machine::with([("file", "content")]);
    symlink("file", machine.source("link")).unwrap();
    machine.backup(&[]);
    let archive = machine.run(&["dump", "latest:file", "--format", "tar"]).ok().out;
    let mut archive = tar::Archive::new(archive.as_slice());
    let names: Vec<_> = archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().into_owned()).collect();
    assert_eq!(names, [name(b"file")]);
    machine.run(&["dump", "latest:link"]).exits(2);
    machine.run(&["dump", "latest:link", "--format", "tar"]).ok();
    machine.run(&["dump", "latest"]).exits(2);
    machine.run(&["dump", "latest:nowhere"]).exits(1);
}

#[test]
fn a_damaged_file_is_named_and_what_came_of_it_does_not_look_whole() {
    let machine = Machine::new();
    machine.write("a", "fine");
    machine.write("file", noise(1, 3_000_000));
    machine.backup(&[]);
    let pack = machine.object(&machine.packs(0)[0]);
    fs::set_permissions(&pack, fs::Permissions::from_mode(0o600)).unwrap();
    File::options().write(true).open(&pack).unwrap().write_all_at(&[0; 64], 1_500_000).unwrap();
    let run = machine.run(&["dump", "latest:file"]).exits(4);
    assert!(run.err.contains("/source/file is damaged") && run.out.len() < 3_000_000, "{}", run.err);
    let run = machine.run(&["dump", &machine.whole()]).exits(4);
    assert!(run.err.contains("/source/file is damaged") && !run.out.ends_with(&[0; 1024]), "{}", run.err);
    let _ = machine.run(&["dump", "latest:a"]).ok();
}

#[test]
fn a_dump_of_the_latest_does_not_pass_for_it_where_a_later_one_cannot_be_listed() {
    let machine = Machine::new();
    for content in ["one", "two"] {
        machine.write("file", content);
        machine.backup(&[]);
    }
    let last = machine.names("manifests/").pop().unwrap();
    machine.damage(&last, crate::kit::Harm::Flip);
    let run = machine.run(&["dump", "latest:file"]).exits(4);
    assert!(run.out == b"one" && run.err.contains(&last), "{run}");
}
