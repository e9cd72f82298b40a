//! Entries that cannot be restored as they were: which failures are errors, and that all other entries are restored.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use super::set_mtime;
use crate::kit::{Machine, Run, Volume, noise, number};

#[test]
fn metadata_that_root_cannot_set_on_a_locked_file_is_an_error() {
    let machine = Machine::new();
    machine.write("locked", "1");
    machine.write("other", "2");
    machine.backup(&[]);
    let Some(volume) = Volume::mount(&machine, "out", &["mkfs.ext4", "-q"]) else { return };
    machine.restore(&[]).ok();
    for name in ["locked", "other"] {
        fs::set_permissions(volume.at.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let chattr = |flag: &str| Command::new("chattr").arg(flag).arg(volume.at.join("locked")).ran().ok();
    chattr("+i");
    let run = machine.restore(&[]).exits(3);
    assert!(run.err.contains("locked\",\"warning\":\"cannot restore the mode: Operation not permitted"), "{run}");
    assert!(!run.err.contains("source/other"), "{run}");
    assert_eq!(number(&run, "errors"), 3, "owner, mode and time: {run}");
    assert_eq!(fs::metadata(volume.at.join("other")).unwrap().mode() & 0o777, 0o644);
    chattr("-i");
    assert_eq!(number(&machine.restore(&[]).ok(), "errors"), 0);
}

#[test]
fn a_file_system_that_keeps_whole_seconds_gets_every_file_once() {
    let machine = Machine::new();
    machine.write("a/file", noise(1, 300_000));
    machine.write("other", "1");
    for name in ["a/file", "other"] {
        set_mtime(&machine.source(name), 1_600_000_001, 234_567_891);
    }
    machine.backup(&[]);
    let Some(volume) = Volume::mount(&machine, "out", &["mkfs.ext2", "-q", "-I", "128"]) else { return };
    machine.restore(&[]).ok();
    let restored = |overwrite| {
        let run = machine.restore(&["--overwrite", overwrite]).ok();
        (number(&run, "files_restored"), number(&run, "files_unchanged"))
    };
    assert_eq!([restored("if-changed"), restored("if-newer")], [(0, 2), (0, 2)]);
    fs::write(volume.at.join("other"), "2").unwrap();
    assert_eq!(restored("if-changed"), (1, 1));
}

#[test]
fn other_names_of_a_file_get_its_content_if_its_first_names_cannot_be_made() {
    let machine = Machine::new();
    machine.write("a", noise(1, 300_000));
    machine.write("z", "alone");
    for name in ["b", "c", "d"] {
        fs::hard_link(machine.source("a"), machine.source(name)).unwrap();
    }
    machine.backup(&[]);
    for name in ["a", "b"] {
        fs::create_dir_all(machine.path("out").join(name).join("in the way")).unwrap();
    }
    let run = machine.restore(&[]).exits(3);
    for name in ["a", "b"] {
        assert_eq!(run.err.matches(&format!("something else is in the way of {name}\"")).count(), 1, "{run}");
    }
    assert_eq!((number(&run, "errors"), number(&run, "files_restored")), (2, 3), "{run}");
    let stat = |name: &str| fs::metadata(machine.path("out").join(name)).unwrap();
    assert_eq!((stat("c").ino(), stat("c").nlink()), (stat("d").ino(), 2));
    assert_eq!(fs::read(machine.path("out/c")).unwrap(), noise(1, 300_000));
}

#[test]
fn where_many_names_of_a_file_cannot_be_made_each_of_the_others_is_a_file_of_its_own() {
    let machine = Machine::new();
    machine.write("n0", noise(1, 300_000));
    for at in 1..10 {
        fs::hard_link(machine.source("n0"), machine.source(format!("n{at}"))).unwrap();
    }
    machine.backup(&[]);
    for at in 0..6 {
        fs::create_dir_all(machine.path(&format!("out/n{at}/in the way"))).unwrap();
    }
    let run = machine.restore(&[]).exits(3);
    assert_eq!((number(&run, "errors"), number(&run, "files_restored")), (6, 4), "{run}");
    assert!(run.err.contains("that it is the same file as another entry could not be restored for 7 entries"), "{run}");
    for at in 6..10 {
        assert_eq!(fs::read(machine.path(&format!("out/n{at}"))).unwrap(), noise(1, 300_000));
    }
}

#[test]
fn each_file_below_a_directory_that_cannot_be_made_is_named() {
    let machine = Machine::new();
    machine.write("a/b/one", "1");
    machine.write("a/two", "2");
    machine.write("z", "3");
    machine.backup(&[]);
    fs::create_dir(machine.path("out")).unwrap();
    fs::write(machine.path("out/a"), "mine").unwrap();
    let run = machine.restore(&["--overwrite", "never"]).exits(3);
    for name in ["a", "a/b", "a/b/one", "a/two"] {
        let named = run.err.lines().filter(|line| line.contains(&format!("/source/{name}\""))).count();
        assert_eq!(named, 1, "{name}: {run}");
    }
    assert_eq!((number(&run, "errors"), number(&run, "dirs"), number(&run, "files_restored")), (4, 1, 1));
    assert_eq!(fs::read(machine.path("out/a")).unwrap(), b"mine");
}
