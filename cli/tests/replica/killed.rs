//! Killed: what an interrupted sync leaves behind is readable.

use std::fs;

use super::{behind_a_prune, knowing_sync, objects_of_replica, on_replica, replicated, snapshots_of_replica, synced};
use crate::kill::{after_deaths, every};
use crate::kit::noise;

#[test]
fn whatever_a_sync_dies_at_the_replica_is_readable_and_the_next_sync_makes_it_equal() {
    let (world, _) = behind_a_prune();
    let whole = world.copy();
    synced(&whole);
    let expected = objects_of_replica(&whole);
    after_deaths(&world, every(3), knowing_sync, |machine, label| {
        let listed = snapshots_of_replica(&machine);
        let ran = on_replica(&machine, &["restore", listed.last().unwrap(), "-t", "copied"]);
        assert_eq!(ran.code, 0, "{label}: {listed:?} {ran}");
        synced(&machine);
        assert!(objects_of_replica(&machine) == expected, "{label}");
    });
    on_replica(&whole, &["check", "--full"]).ok();
}

#[test]
fn of_a_source_that_is_two_roots_ahead_the_one_between_never_counts_in_the_replica() {
    let machine = replicated();
    machine.write("one", noise(1, 9_000));
    machine.backup(&[]);
    synced(&machine);
    for (name, seed) in [("two", 2), ("three", 3)] {
        machine.write(name, noise(seed, 9_000));
        machine.backup(&[]);
    }
    after_deaths(&machine, every(1), knowing_sync, |machine, label| {
        assert!([1, 3].contains(&snapshots_of_replica(&machine).len()), "{label}");
        let ran = on_replica(&machine, &["restore", "latest", "-t", "copied"]);
        assert_eq!(ran.code, 0, "{label}: {ran}");
        // A reader of a damaged pack looks for a newer root, and gives up although there is one that does not count.
        for pack in machine.objects_of("replica").keys().filter(|name| name.starts_with("packs/")) {
            let path = machine.path(&format!("replica/{pack}"));
            fs::remove_file(&path).unwrap();
            fs::write(&path, noise(4, 100)).unwrap();
        }
        let ran = on_replica(&machine, &["restore", "latest", "-t", "again"]);
        assert_eq!(ran.code, 4, "{label}: {ran}");
    });
}
