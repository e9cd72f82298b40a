//! How far a replica is behind, and a sync that goes on.

use std::fs;
use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use super::{replicated, snapshots_of_replica, sync, synced};
use crate::kit::{Run, Running, noise, signal, text};

#[test]
fn status_tells_how_far_a_replica_is_behind() {
    let machine = replicated();
    machine.write("file", noise(1, 100_000));
    let first = machine.backup(&[]);
    let replica = || machine.json(&["status"])["replicas"][0].clone();
    let oldest = machine.json(&["status"])["series"][0]["accepted"].clone();
    let told = replica();
    assert_eq!((&told["snapshots_missing"], &told["oldest_missing"], &told["root"]), (&1.into(), &oldest, &0.into()));
    machine.write("file", noise(2, 200_000));
    machine.backup(&[]);
    let told = replica();
    assert_eq!((&told["snapshots_missing"], &told["oldest_missing"]), (&2.into(), &oldest), "{told}");
    assert!((300_000..320_000).contains(&told["bytes_missing"].as_u64().unwrap()), "{told}");
    let told_people = machine.ok(&["status"]);
    assert!(
        ["lacks 2 snapshots and 29", "lacks 2 snapshots and 30"].iter().any(|told| told_people.contains(told)),
        "{told_people}"
    );
    let dry = sync(&machine, &["--dry-run"]).ran().ok().json();
    assert_eq!((&dry["snapshots_missing"], &dry["bytes_missing"]), (&2.into(), &told["bytes_missing"]), "{dry}");
    assert!(!machine.path("replica/packs").exists());
    synced(&machine);
    let told = replica();
    assert_eq!((&told["snapshots_missing"], &told["bytes_missing"]), (&0.into(), &0.into()), "{told}");
    // A snapshot that was forgotten is none that the replica lacks.
    machine.backup(&[]);
    let latest = machine.snapshots().pop().unwrap();
    machine.ok(&["forget", &latest]);
    assert_eq!(replica()["snapshots_missing"], 0);
    fs::rename(machine.path("replica"), machine.path("unplugged")).unwrap();
    assert!(text(&replica()["unreached"]).contains("not a repository"), "{}", replica());
    fs::rename(machine.path("unplugged"), machine.path("replica")).unwrap();
    machine.command(&["-r", "replica", "sync", "--end"]).ran().ok();
    assert!(replica().is_null());
    assert_eq!(machine.snapshots(), [first, machine.snapshots()[1].clone()]);
}

#[test]
fn a_sync_that_goes_on_copies_what_is_new_and_ends_when_it_is_asked_to() {
    let machine = replicated();
    machine.write("file", "1");
    machine.backup(&[]);
    let mut running = Running::start(&mut sync(&machine, &["--every", "1s"]));
    // A round ends with its line: a sync that is asked to end within one is interrupted.
    let mut rounds = BufReader::new(running.child().stdout.take().unwrap()).lines();
    rounds.next().unwrap().unwrap();
    assert_eq!(snapshots_of_replica(&machine).len(), 1);
    machine.write("file", "2");
    machine.backup(&[]);
    let saved = Instant::now();
    rounds.next().unwrap().unwrap();
    assert_eq!(snapshots_of_replica(&machine).len(), 2);
    assert!(saved.elapsed() < Duration::from_secs(30), "it looks every second");
    signal(running.child(), "TERM");
    running.end().ok();
    assert_eq!(rounds.count(), 0, "rounds without news say nothing");
}
