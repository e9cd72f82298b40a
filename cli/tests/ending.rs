//! Ending: a command that is asked to end does so soon, says what is kept of it, and the next run goes on from there.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::kit::{Machine, Running, noise, number, until};

#[test]
fn a_backup_over_a_slow_line_ends_within_ten_seconds_and_keeps_what_was_stored() {
    let machine = Machine::with([("file", noise(1, 120_000_000))]);
    let child = Running::start(&mut machine.with_key(&["backup", "source", "--limit-upload", "12M"]));
    until("a pack is stored", || (!machine.packs(0).is_empty()).then_some(()));
    let ran = child.ends_at("TERM").exits(130);
    assert!(ran.err.contains("MiB of this run are kept"), "{ran}");
    let stored: u64 = machine.packs(0).iter().map(|pack| fs::metadata(machine.object(pack)).unwrap().len()).sum();
    assert!(stored > 10_000_000, "{stored}");
    let next = machine.run(&["backup", "source", "--json"]).ok();
    assert!(number(&next, "bytes_stored") < 120_000_000 - stored / 2, "{next}");
    machine.restore(&["--verify"]).ok();
}

#[test]
fn a_backup_that_only_waits_for_its_upload_ends_within_ten_seconds() {
    let machine = Machine::with([("file", noise(1, 4_000_000))]);
    let child = Running::start(&mut machine.with_key(&["backup", "source", "--limit-upload", "50k", "--json"]));
    // All is read long before; nothing is stored for more than a minute.
    thread::sleep(Duration::from_secs(3));
    let ran = child.ends_at("INT").exits(130);
    assert!(ran.err.contains("nothing new is kept") && ran.kind() == "interrupted", "{ran}");
    assert_eq!(machine.names("manifests/").len(), 0);
}

#[test]
fn a_backup_that_waits_for_the_service_ends_and_says_that_all_is_uploaded() {
    let machine = Machine::bare();
    machine.command(&["--key-file", "key", "init", "--ingest", "service"]).env("COPAL_PASSWORD", "x").output().unwrap();
    machine.write("file", "1");
    let child = Running::start(&mut machine.with_key(&["backup", "source"]));
    until("a manifest is there", || machine.names("manifests/").pop());
    thread::sleep(Duration::from_millis(500));
    let ran = child.ends_at("INT").exits(130);
    assert!(ran.err.contains("all of it is uploaded"), "{ran}");
    machine.ok(&["ingest"]);
    assert_eq!(machine.snapshots().len(), 1);
}
