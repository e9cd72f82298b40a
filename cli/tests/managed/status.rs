//! How things stand, for the owner and for a machine that sees its own only.

use super::world::{joined, managed, upload, with_camera};
use crate::kit::{Machine, Run, noise};

fn status(machine: &Machine, code: i32) -> serde_json::Value {
    machine.command(&["status", "--json"]).ran().exits(code).json()
}

#[test]
fn what_waits_is_shown_with_its_age_until_it_is_accepted() {
    let (owner, machine) = with_camera();
    machine.write("file", "text");
    upload(&machine, &[]).ok();
    for shown in [owner.json(&["status"]), status(&machine, 0)] {
        let waiting = shown["waiting"].as_array().unwrap();
        assert_eq!((waiting.len(), &waiting[0]["manifest"]), (1, &1.into()), "{shown}");
        assert!(waiting[0]["seconds"].as_u64().unwrap() < 600 && shown["ingest"] == "service", "{shown}");
    }
    assert_eq!(owner.json(&["status"])["waiting"][0]["name"], "camera");
    owner.ok(&["ingest"]);
    for shown in [owner.json(&["status"]), status(&machine, 0)] {
        assert!(shown["waiting"].as_array().unwrap().is_empty(), "{shown}");
        assert_eq!(shown["series"].as_array().unwrap().len(), 1, "{shown}");
    }
    assert!(owner.ok(&["status"]).contains("all uploads are accepted"));
    assert_eq!(owner.json(&["status"])["series"][0]["host"], "camera");
    // The age of a series is not what a machine says that may not be believed.
    machine.write("file", "more");
    upload(&machine, &["--time", "2200-01-01 00:00:00"]).ok();
    owner.ok(&["ingest"]);
    let series = &owner.json(&["status"])["series"][0];
    assert_eq!(series["time"], series["accepted"]);
    // Names are sealed for the owner.
    let own = status(&machine, 0);
    assert!(own["series"][0]["host"].is_null() && own["series"][0]["paths"].as_array().unwrap().is_empty(), "{own}");
}

#[test]
fn what_was_rejected_is_shown_with_the_reason_until_something_is_accepted() {
    let (owner, machine) = with_camera();
    machine.write("file", noise(1, 100_000));
    upload(&machine, &[]).ok();
    let pack = owner.packs(0).remove(0);
    std::fs::remove_file(owner.object(&pack)).unwrap();
    owner.run(&["ingest"]).exits(5);
    let own = status(&machine, 5);
    assert!(own["rejected"][0]["reasons"][0].as_str().unwrap().contains("missing"), "{own}");
    let told = owner.run(&["status"]).exits(5);
    assert!(told.text().contains("(camera) was rejected"), "{told}");
    upload(&machine, &[]).ok();
    owner.ok(&["ingest"]);
    assert!(status(&machine, 0)["rejected"].as_array().unwrap().is_empty());
}

#[test]
fn what_a_revoked_machine_left_is_not_waited_for() {
    let (owner, machine) = with_camera();
    machine.write("file", "text");
    upload(&machine, &[]).ok();
    owner.ok(&["ingest"]);
    // Behind a gap nobody decides them.
    let first = owner.objects().into_keys().find(|name| name.starts_with("manifests/")).unwrap();
    let folder = first.rsplit_once('/').unwrap().0;
    for number in [5, 900] {
        std::fs::write(owner.object(&format!("{folder}/{number:020}")), "junk").unwrap();
    }
    assert_eq!(owner.json(&["status"])["waiting"].as_array().unwrap().len(), 2);
    owner.ok(&["client", "revoke", "camera"]);
    assert_eq!(owner.json(&["status"])["waiting"].as_array().unwrap().len(), 0);
}

#[test]
fn a_machine_sees_nothing_of_others() {
    let owner = managed();
    let (one, two) = (joined(&owner, "one", "write-only"), joined(&owner, "two", "write-only"));
    one.write("file", "text");
    upload(&one, &[]).ok();
    assert!(status(&two, 0)["waiting"].as_array().unwrap().is_empty());
    owner.ok(&["ingest"]);
    assert!(status(&two, 0)["series"].as_array().unwrap().is_empty());
    assert_eq!(status(&one, 0)["series"].as_array().unwrap().len(), 1);
}

#[test]
fn the_newest_of_each_series_is_shown_in_any_repository() {
    let machine = Machine::new();
    assert!(machine.ok(&["status"]).contains("no snapshots"));
    machine.write("file", "text");
    machine.backup(&[]);
    let newest = machine.backup(&[]);
    machine.backup(&["--label", "other"]);
    let shown = machine.json(&["status"]);
    let series = shown["series"].as_array().unwrap();
    assert_eq!((series.len(), series[0]["snapshot"].as_str()), (2, Some(newest.as_str())), "{shown}");
    assert_eq!((&shown["ingest"], &shown["changes_waiting"]), (&"client".into(), &0.into()));
}
