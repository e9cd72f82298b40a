//! `status` tells how far a repository with other keys is behind, without looking into it.

use super::*;

fn copies(machine: &Machine) -> Value {
    machine.json(&["status"])["copies"].clone()
}

#[test]
fn status_tells_how_far_a_copy_is_behind_without_opening_it() {
    let world = World::new();
    let machine = &world.machine;
    machine.write("file", "1");
    machine.backup(&[]);
    world.copies(&["-n"]);
    assert_eq!(copies(machine), serde_json::json!([]), "a dry run is no copy");
    world.copies(&[]);
    let told = copies(machine)[0].clone();
    assert!(text(&told["repository"]).ends_with("/second"), "{told}");
    assert_eq!((&told["snapshots_missing"], &told["oldest_missing"]), (&0.into(), &Value::Null));
    assert!(machine.ok(&["status"]).contains("/second has every snapshot; last copied 20"));
    fs::rename(machine.path("second"), machine.path("unplugged")).unwrap();
    machine.write("file", "22");
    machine.backup(&[]);
    let oldest = machine.json(&["status"])["series"][0]["accepted"].clone();
    machine.write("file", "333");
    let third = machine.backup(&[]);
    let now = copies(machine)[0].clone();
    assert_eq!(
        (&now["snapshots_missing"], &now["oldest_missing"], &now["copied"]),
        (&2.into(), &oldest, &told["copied"])
    );
    assert!(machine.ok(&["status"]).contains("/second lacks 2 snapshots, the oldest of 20"));
    // A snapshot that was forgotten is none that the copy lacks.
    machine.ok(&["forget", &third]);
    assert_eq!(copies(machine)[0]["snapshots_missing"], 1);
    fs::rename(machine.path("unplugged"), machine.path("second")).unwrap();
    world.copies(&[]);
    let last = copies(machine);
    assert_eq!((last.as_array().unwrap().len(), &last[0]["snapshots_missing"]), (1, &0.into()), "{last}");
    assert!(text(&last[0]["copied"]) > text(&told["copied"]));
}

#[test]
fn a_copy_that_was_told_to_take_some_snapshots_lacks_only_those_of_their_series() {
    let world = World::new();
    let machine = &world.machine;
    machine.write("file", "1");
    machine.backup(&["--host", "other"]);
    let first = machine.backup(&[]);
    world.copies(&[&first]);
    assert_eq!(copies(machine)[0]["snapshots_missing"], 0);
    machine.write("file", "22");
    machine.backup(&[]);
    machine.backup(&["--host", "other"]);
    assert_eq!(copies(machine)[0]["snapshots_missing"], 1);
    world.copies(&[]);
    machine.write("file", "333");
    machine.backup(&["--host", "third"]);
    assert_eq!(copies(machine)[0]["snapshots_missing"], 1, "a copy of all lacks a new series, too");
}
