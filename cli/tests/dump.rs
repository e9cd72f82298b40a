//! `dump`: bytes and archives on standard output.

mod bed;
mod kit;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::process::{Command, Stdio};

use bed::{Bed, assert_same, name, noise, set_xattr};

#[test]
fn a_files_bytes_come_out_with_zeros_for_its_holes() {
    let bed = Bed::new();
    bed.write("empty", "");
    bed.write("inline", "inline");
    bed.write("large", [noise(9_000_000, 1), noise(9_000_000, 1), noise(9_000_000, 2)].concat());
    let sparse = File::create(bed.source("sparse")).unwrap();
    sparse.set_len(5_000_000).unwrap();
    sparse.write_all_at(&noise(1_000_000, 3), 2_000_001).unwrap();
    bed.backup();
    for file in ["empty", "inline", "large", "sparse"] {
        let run = bed.run(&["dump", &format!("latest:{file}")]).ok();
        assert!(run.out == fs::read(bed.source(file)).unwrap(), "{file}");
    }
}

#[test]
fn an_archive_unpacks_to_the_same_tree() {
    let bed = Bed::new();
    bed.write("a/b/file", noise(300_000, 1));
    bed.write("empty", "");
    bed.write("older than the epoch", "1");
    fs::write(bed.at("source").join(name(b"\xff\xfe")), "odd").unwrap();
    fs::write(bed.at("source").join(name("ünïcode".as_bytes())), "odd").unwrap();
    let long = "n".repeat(200);
    bed.write(&format!("{long}/{long}/{long}"), "deep");
    symlink("x".repeat(300), bed.source("a long link")).unwrap();
    symlink("a/b", bed.source("link")).unwrap();
    fs::hard_link(bed.source("a/b/file"), bed.source("second name")).unwrap();
    let mode = rustix::fs::Mode::from_bits_truncate(0o640);
    rustix::fs::mknodat(rustix::fs::CWD, bed.source("fifo"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    set_xattr(&bed.source("a/b/file"), "user.note", b"\0=\n");
    fs::set_permissions(bed.source("empty"), fs::Permissions::from_mode(0o4710)).unwrap();
    let time = std::time::UNIX_EPOCH - std::time::Duration::from_millis(1500);
    File::options().write(true).open(bed.source("older than the epoch")).unwrap().set_modified(time).unwrap();
    bed.backup();

    let archive = bed.run(&["dump", &bed.whole()]).ok().out;
    fs::create_dir(bed.at("out")).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--preserve-permissions", "--xattrs", "--xattrs-include=*", "--same-owner"]);
    let mut tar = tar.current_dir(bed.at("out")).stdin(Stdio::piped()).spawn().unwrap();
    tar.stdin.take().unwrap().write_all(&archive).unwrap();
    assert!(tar.wait().unwrap().success());
    assert_same(&bed.at("source"), &bed.at("out"));
}

#[test]
fn a_file_may_be_asked_for_as_an_archive_and_a_link_must_be() {
    let bed = Bed::new();
    bed.write("file", "content");
    symlink("file", bed.source("link")).unwrap();
    bed.backup();
    let archive = bed.run(&["dump", "latest:file", "--format", "tar"]).ok().out;
    let mut archive = tar::Archive::new(archive.as_slice());
    let names: Vec<_> = archive.entries().unwrap().map(|entry| entry.unwrap().path().unwrap().into_owned()).collect();
    assert_eq!(names, [name(b"file")]);
    bed.run(&["dump", "latest:link"]).exits(2);
    bed.run(&["dump", "latest:link", "--format", "tar"]).ok();
    bed.run(&["dump", "latest"]).exits(2);
    bed.run(&["dump", "latest:nowhere"]).exits(1);
}

#[test]
fn a_damaged_file_is_named_and_what_came_of_it_does_not_look_whole() {
    let bed = Bed::new();
    bed.write("a", "fine");
    bed.write("file", noise(3_000_000, 1));
    bed.backup();
    let pack = bed.packs().remove(0);
    fs::set_permissions(&pack, fs::Permissions::from_mode(0o600)).unwrap();
    File::options().write(true).open(&pack).unwrap().write_all_at(&[0; 64], 1_500_000).unwrap();
    let run = bed.run(&["dump", "latest:file"]).exits(4);
    assert!(run.err.contains("/source/file is damaged") && run.out.len() < 3_000_000, "{}", run.err);
    let run = bed.run(&["dump", &bed.whole()]).exits(4);
    assert!(run.err.contains("/source/file is damaged") && !run.out.ends_with(&[0; 1024]), "{}", run.err);
    let _ = bed.run(&["dump", "latest:a"]).ok();
}
