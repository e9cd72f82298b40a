//! The audit: a whole walk that tells what the lists of changes did not have.

use std::fs;

use super::{begun, differs, listed, saved};
use crate::kit::{first_json, text};

#[test]
fn what_is_not_listed_is_not_looked_at_until_all_is_walked_and_then_it_is_told() {
    let machine = begun();
    machine.write("d1/e1/f1", "unlisted");
    machine.write("d2/e2/f2", "listed");
    let made = saved(&machine, &listed(&["d2/e2/f2"]), &[]);
    assert_eq!((&made["narrowed"], &made["files_changed"]), (&true.into(), &1.into()));
    assert!(differs(&machine, &text(&made["snapshot_id"])).contains("d1/e1/f1"));
    let ran = machine.run(&["backup", "source", "--changed-from0", "list", "--walk-every", "1", "--json"]).ok();
    let made = first_json(&ran.text());
    assert_eq!(made["narrowed"], false);
    assert!(text(&made["gap"]).contains("lists are checked"), "{made}");
    let told: Vec<&str> =
        ran.err.lines().filter(|line| line.contains("the list of changes does not have it")).collect();
    assert!(matches!(told[..], [line] if line.contains("d1/e1/f1")), "{}", ran.err);
    assert_eq!(differs(&machine, &text(&made["snapshot_id"])), "");
    assert_eq!(saved(&machine, &[], &["--walk-every", "1"])["narrowed"], true, "they count anew");
}

#[test]
fn what_has_gone_and_was_not_listed_is_told_when_all_is_walked() {
    let machine = begun();
    machine.remove("d1/e1/f1");
    machine.remove("d2/e2/f2");
    fs::remove_dir_all(machine.source("d3")).unwrap();
    // A file is there now: one line says that it has changed, and none tells of the files that were in the directory.
    fs::remove_dir_all(machine.source("d0")).unwrap();
    machine.write("d0", "a file");
    let made = saved(&machine, &listed(&["d2/e2/f2"]), &[]);
    assert!(differs(&machine, &text(&made["snapshot_id"])).contains("d1/e1/f1"));
    let ran = machine.run(&["backup", "source", "--changed-from0", "list", "--walk-every", "1", "--json"]).ok();
    let told: Vec<&str> =
        ran.err.lines().filter(|line| line.contains("it has gone, and the list of changes does not have it")).collect();
    assert!(
        matches!(told[..], [file, above] if file.contains("d1/e1/f1") && above.contains("source/d3\"")),
        "{}",
        ran.err
    );
    assert_eq!(differs(&machine, &text(&first_json(&ran.text())["snapshot_id"])), "");
}
