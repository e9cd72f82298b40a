//! Entries that cannot be restored as they were: which failures are errors, and that all other entries are restored.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{AtFlags, CWD, FileType, Mode, linkat, makedev, mknodat};

use super::{is_root, set_mtime};
use crate::kit::{COPAL, Machine, Ran, Run, Volume, needs_root, noise, number, run_by};

#[test]
fn metadata_that_root_cannot_set_on_a_locked_file_is_an_error() {
    let machine = Machine::saved([("locked", "1"), ("other", "2")]);
    let volume = Volume::mount(&machine, "out", &["mkfs.ext4", "-q"]);
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
    let volume = Volume::mount(&machine, "out", &["mkfs.ext2", "-q", "-I", "128"]);
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
    let machine = Machine::with([("n0", noise(1, 300_000))]);
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
fn where_no_hard_link_can_be_made_each_name_is_an_entry_of_the_same_kind() {
    needs_root("make devices and mount a file system");
    let machine = Machine::with([("a/file", "1"), ("b/other", "2")]);
    symlink("nowhere", machine.source("a/link")).unwrap();
    for (name, kind) in [("pipe", FileType::Fifo), ("device", FileType::CharacterDevice)] {
        let mode = Mode::from_bits_truncate(0o640);
        mknodat(CWD, machine.source(format!("a/{name}")), kind, mode, makedev(1, 3)).unwrap();
    }
    let names = ["file", "link", "pipe", "device"].map(|name| [name.to_owned(), format!("{name} too")]).concat();
    for name in &names {
        let first = machine.source("a").join(name.trim_end_matches(" too"));
        linkat(CWD, first, CWD, machine.source("b").join(name), AtFlags::empty()).unwrap();
    }
    machine.backup(&[]);
    fs::create_dir(machine.path("out")).unwrap();
    let _volume = Volume::mount(&machine, "out/b", &["mkfs.ext4", "-q"]);
    let run = machine.restore(&[]).ok();
    assert!(run.err.contains("that it is the same file as another entry could not be restored for 8 entries"), "{run}");
    for name in names {
        let facts = |top: &str| {
            let stat = fs::symlink_metadata(machine.path(top).join("b").join(&name)).unwrap();
            (stat.mode(), stat.rdev(), stat.size(), stat.mtime())
        };
        assert_eq!(facts("out"), facts("source"), "{name}");
    }
}

#[test]
fn a_directory_that_is_closed_to_its_owner_stays_so_where_nothing_is_overwritten() {
    let machine = Machine::saved([("d/there", "1"), ("d/missing", "2")]);
    fs::create_dir_all(machine.path("out/d")).unwrap();
    fs::write(machine.path("out/d/there"), "mine").unwrap();
    set_mtime(&machine.path("out/d"), 7, 7);
    fs::set_permissions(machine.path("out/d"), fs::Permissions::from_mode(0o500)).unwrap();
    without_privileges(&machine, &["restore", &machine.whole(), "-t", "out", "--overwrite", "never"]).ok();
    let directory = fs::metadata(machine.path("out/d")).unwrap();
    assert_eq!((directory.mode() & 0o7777, directory.mtime(), directory.mtime_nsec()), (0o500, 7, 7));
    assert_eq!(fs::read(machine.path("out/d/there")).unwrap(), b"mine");
    assert_eq!(fs::read(machine.path("out/d/missing")).unwrap(), b"2");
    // So that the temporary directory can be removed.
    fs::set_permissions(machine.path("out/d"), fs::Permissions::from_mode(0o700)).unwrap();
}

/// Runs a command without the rights of root, as a user to whom the whole machine belongs from now on.
fn without_privileges(machine: &Machine, words: &[&str]) -> Ran {
    // The directory of the program may be closed to others.
    Command::new("cp").arg(COPAL).arg(machine.path("copal")).ran().ok();
    let mut command = run_by(machine.path("copal"), &[], &machine.with_key(words));
    if is_root() {
        Command::new("chown").args(["-R", "12000:12000"]).arg(machine.path("")).ran().ok();
        command.uid(12_000).gid(12_000);
    }
    command.ran()
}

#[test]
fn each_file_below_a_directory_that_cannot_be_made_is_named() {
    let machine = Machine::saved([("a/b/one", "1"), ("a/two", "2"), ("z", "3")]);
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
