//! A descriptor that was superseded does not come back: a machine that has seen a newer one says so, writes nothing, and
//! still restores.

use std::fs;

use super::world::{join, other, row, upload, with_camera};
use crate::kit::{Harm, Machine, Run};

/// Machines that have seen version 2, and a store that shows version 1 again.
fn put_back() -> (Machine, Machine) {
    let (owner, camera) = with_camera();
    camera.write("film", "first");
    upload(&camera, &[]).ok();
    owner.ok(&["ingest"]);
    let [first] = owner.names("copal/").try_into().expect("one descriptor");
    let bytes = fs::read(owner.object(&first)).unwrap();
    owner.damage(&first, Harm::Flip);
    owner.run(&["repair"]);
    let [second] = owner.names("copal/").try_into().expect("a second descriptor, and not the damaged one");
    owner.ok(&["snapshots"]);
    upload(&camera, &[]).ok();
    owner.replace(&first, &bytes);
    owner.damage(&second, Harm::Delete);
    (owner, camera)
}

#[test]
fn who_has_seen_a_newer_descriptor_writes_nothing_below_an_older_one() {
    let (owner, camera) = put_back();
    let before = owner.objects();
    let refused = owner.run(&["backup", "source"]).exits(4);
    assert!(refused.err.contains("version 1 is the newest there is, and version 2 was seen before"), "{refused}");
    camera.write("film", "second");
    let refused = upload(&camera, &[]).exits(4);
    assert!(refused.err.contains("version 2 was seen before"), "{refused}");
    assert_eq!(owner.objects(), before);
}

#[test]
fn an_older_descriptor_keeps_nobody_from_restoring_and_repair_supersedes_it() {
    let (owner, camera) = put_back();
    let listed = owner.run(&["snapshots", "--json"]).ok();
    assert_eq!(listed.json().as_array().unwrap().len(), 1);
    owner.run(&["repair"]);
    assert_eq!(owner.names("copal/").last().unwrap().rsplit('/').next().unwrap().trim_start_matches('0'), "3");
    owner.write("letter", "dear");
    owner.run(&["backup", "source", "--no-wait"]).ok();
    camera.write("film", "third");
    upload(&camera, &[]).ok();
}

#[test]
fn a_machine_that_has_seen_nothing_takes_what_is_there() {
    let (owner, _) = put_back();
    let fresh = other(&owner);
    fresh.write("letter", "dear");
    let mut backup = fresh.command(&["backup", "source", "--no-wait"]);
    backup.env("COPAL_KEY_FILE", owner.path("key")).ran().ok();
}

#[test]
fn a_descriptor_made_from_client_records_shares_the_domain_of_the_client_that_was_registered_first() {
    let owner = Machine::new();
    let line = owner.ok(&["client", "add", "--name", "desk", "--role", "full", "--dedup", "isolated"]);
    join(&other(&owner), &line).env("COPAL_KEY_FILE", owner.path("key")).ran().ok();
    // The revocation is the newest version of all records.
    owner.ok(&["client", "revoke", "laptop", "--own"]);
    fs::remove_dir_all(owner.object("copal")).unwrap();
    owner.run(&["repair"]);
    let shared = ["laptop", "desk"].map(|name| row(&owner, name)["shared"] == true);
    assert_eq!(shared, [true, false]);
}
