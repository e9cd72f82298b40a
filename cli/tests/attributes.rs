//! Extended attributes that a backup could not read or keep.

use std::fs;
use std::process::Command;

use crate::kit::{COPAL, Machine, Run, Running, Volume, needs_root, noise, number, run_by, set_xattr, until};

#[test]
fn attributes_that_could_not_be_read_are_missed_by_every_backup_until_they_can() {
    needs_root("mount a file system");
    let machine = Machine::new();
    let disk = machine.path("disk");
    fs::create_dir(&disk).unwrap();
    Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(&disk).ran().ok();
    let _mounted = Volume::at(disk.clone());
    let (file, name) = (disk.join("file"), |at: u32| format!("user.{at:03}{}", "x".repeat(240)));
    fs::write(&file, "1").unwrap();
    // Their names are more than the kernel lists.
    (0..300).for_each(|at| set_xattr(&file, &name(at), b"value"));
    let saves = || machine.run(&["backup", "--json", disk.to_str().unwrap()]);
    for _ in 0..2 {
        let ran = saves().exits(3);
        assert!(number(&ran, "errors") == 1 && ran.err.contains("attributes"), "{ran}");
    }
    // Nor does a run forget it that goes on where an interrupted one was: the file is in that one's checkpoint.
    machine.write("file", noise(1, 200_000_000));
    let both = ["backup", "--json", "disk", "source"];
    let [before, claimed] = ["packs/", "manifests/"].map(|folder| machine.names(folder).len());
    let running = Running::start(&mut machine.with_key(&[&both[..], &["--limit-upload", "40MiB"]].concat()));
    until("a pack of it is stored", || (machine.names("packs/").len() > before).then_some(()));
    running.signal("INT");
    running.end().exits(130);
    assert!(machine.names("manifests/").len() > claimed, "it has left a checkpoint");
    assert!(number(&machine.run(&both).exits(3), "errors") == 1);
    fs::remove_file(&file).unwrap();
    fs::write(&file, "1").unwrap();
    saves().ok();
}

#[test]
fn a_file_with_more_attributes_than_a_tree_holds_is_saved_without_them_and_named() {
    needs_root("mount a file system");
    let machine = Machine::new();
    let disk = machine.path("disk");
    fs::create_dir(&disk).unwrap();
    Command::new("mount").args(["-t", "tmpfs", "tmpfs"]).arg(&disk).ran().ok();
    let _mounted = Volume::at(disk.clone());
    fs::write(disk.join("file"), "text").unwrap();
    (0..50).for_each(|at| set_xattr(&disk.join("file"), &format!("user.{at}"), &[7; 60_000]));
    for _ in 0..2 {
        let ran = machine.run(&["backup", "--json", disk.to_str().unwrap()]).exits(3);
        assert!(number(&ran, "errors") == 1 && ran.err.contains("its attributes are left out"), "{ran}");
        assert_eq!(machine.ok(&["dump", &format!("latest:{}", disk.join("file").display())]), "text");
    }
}

#[test]
fn attributes_that_another_user_did_not_see_are_saved() {
    needs_root("set attributes of trusted.*");
    let machine = Machine::with([("file", "text")]);
    set_xattr(&machine.path("source/file"), "trusted.mark", b"of root");
    let words = ["--bounding-set", "-sys_admin", COPAL];
    let mut weak = run_by("setpriv", &words, &machine.with_key(&["backup", "source"]));
    weak.env("USER", "ada").ran().ok();
    machine.with_key(&["backup", "source"]).env("USER", "root").ran().ok();
    machine.ok(&["restore", &machine.whole(), "-t", "out"]);
    let restored = rustix::fs::lgetxattr(machine.path("out/file"), "trusted.mark", &mut [0; 16]);
    assert_eq!(restored, Ok(7));
}

#[test]
fn capabilities_that_the_snapshot_lacks_are_removed_from_what_is_there() {
    needs_root("set attributes of security.*");
    let machine = Machine::with([("program", "text")]);
    machine.backup(&[]);
    machine.restore(&[]).ok();
    let program = machine.path("out/program");
    let is_capable = || rustix::fs::lgetxattr(&program, "security.capability", &mut [0; 32]).is_ok();
    set_xattr(&program, "security.capability", &[&[1, 0, 0, 2, 0x80][..], &[0; 15]].concat());
    assert!(is_capable());
    machine.restore(&["--verify"]).ok();
    assert!(!is_capable());
}
