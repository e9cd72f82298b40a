//! Overlap: a backup with a list that begins before another one has ended.

use std::fs::{self, File};

use crate::kit::{Machine, Running, noise, text, until};

/// Whether there is a note of the last backup with a list.
fn is_noted(machine: &Machine) -> bool {
    super::notes(machine).iter().any(|path| fs::read(path).is_ok_and(|note| note.starts_with(b"{")))
}

/// Stops a backup at a moment at which it does not lock what the machine keeps: others would wait for it.
fn stop(backup: &Running, machine: &Machine) {
    let lock = File::open(machine.kept("lock")).unwrap();
    until("it is stopped without the lock", || {
        backup.signal("STOP");
        if lock.try_lock().is_ok() {
            lock.unlock().unwrap();
            return Some(());
        }
        backup.signal("CONT");
        None
    });
}

#[test]
fn what_one_of_two_overlapping_backups_was_told_is_missing_in_none_that_follows() {
    let machine = super::begun();
    assert!(is_noted(&machine));
    machine.write("large", noise(1, 8 << 20));
    machine.write("d1/e1/f1", "told to the first");
    fs::write(machine.path("first"), "source/large\nsource/d1/e1/f1\n").unwrap();
    let first = Running::start(&mut machine.with_key(&["backup", "source", "--changed-from", "first", "--json"]));
    until("the first has taken the note", || (!is_noted(&machine)).then_some(()));
    stop(&first, &machine);
    machine.write("d2/e2/f2", "told to the second");
    let second = super::saved(&machine, &super::listed(&["d2/e2/f2"]), &[]);
    assert_eq!((&second["narrowed"], &second["files_changed"]), (&false.into(), &2.into()), "{second}");
    first.signal("CONT");
    assert_eq!(first.end().ok().json()["narrowed"], true);
    machine.write("d3/e0/f0", "told to the third");
    let third = super::saved(&machine, &super::listed(&["d3/e0/f0"]), &[]);
    assert_eq!(super::differs(&machine, &text(&third["snapshot_id"])), "");
    // The third was the last to begin, so its snapshot is noted.
    assert_eq!(super::saved(&machine, &super::listed(&["d3/e0/f0"]), &[])["narrowed"], true);
    // A backup that fails leaves it as it is.
    machine.write("d3/e0/f0", "again");
    let aside = machine.path("aside");
    fs::rename(machine.object("tmp"), &aside).unwrap();
    fs::write(machine.object("tmp"), "in the way").unwrap();
    machine.run(&["backup", "source", "--changed-from0", "list"]).exits(1);
    fs::remove_file(machine.object("tmp")).unwrap();
    fs::rename(aside, machine.object("tmp")).unwrap();
    assert_eq!(super::saved(&machine, &super::listed(&["d3/e0/f0"]), &[])["narrowed"], true);
}
