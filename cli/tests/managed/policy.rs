//! The policy that the service follows.

use std::io::{BufRead, BufReader};

use super::world::{joined, managed, serve_until, upload};
use crate::kit::{Harm, Machine, Run, Running, number};

const POLICY: &str = "keep-last = 2\nkeep-tags = [[\"gold\"]]\nfloor-last = 1\nhold-share = \"60%\"\nhold-from = \"1MiB\"\ntimezone = \"\"\ngrace = \"24h\"\ncheck-share = \"1/7\"\n";

fn write(machine: &Machine, text: &str) {
    std::fs::write(machine.path("policy.toml"), text).unwrap();
}

#[test]
fn what_is_set_is_in_force_and_shown_as_the_file_that_set_it() {
    let machine = Machine::new();
    assert!(machine.ok(&["policy", "show"]).contains("no policy is set"));
    assert!(machine.json(&["policy", "show"])["policy"].is_null());
    machine.write("file", "text");
    machine.backup(&["--tag", "gold"]);
    for _ in 0..3 {
        machine.backup(&[]);
    }
    write(&machine, POLICY);
    let tried = machine.run(&["policy", "set", "policy.toml", "--dry-run", "--json"]).ok();
    assert!(tried.json()["change"].is_null() && number(&tried, "would_expire") == 1, "{tried}");
    assert!(machine.names("changes/").is_empty());
    let set = machine.run(&["policy", "set", "policy.toml", "--json"]).ok();
    assert_eq!((number(&set, "change"), number(&set, "would_expire")), (1, 1));
    assert_eq!(machine.ok(&["policy", "show"]), format!("# set by change 1\n{POLICY}"));
    assert_eq!(machine.snapshots().len(), 4, "nothing expires before a service lets it");
    write(&machine, "keep-tags = [[\"glod\"]]\n");
    let tried = machine.run(&["policy", "set", "policy.toml", "--dry-run"]).ok();
    assert!(tried.err.contains("no rule keeps any snapshot of 1 source") && tried.err.contains("mistyped"), "{tried}");
}

#[test]
fn a_file_that_makes_no_sense_signs_nothing() {
    let machine = Machine::new();
    // Its first 128 KiB are a policy.
    let long = format!("keep-last = 1\n{}floor-last = 1\n", "# of no use\n".repeat(12_000));
    for text in ["keep-dialy = 3", "timezone = \"Europe/Berlin\"", "check-share = \"1/0\"", "no toml", &long] {
        write(&machine, text);
        assert_eq!(machine.run(&["policy", "set", "policy.toml", "--json"]).exits(2).kind(), "usage", "{text}");
    }
    assert!(machine.names("changes/").is_empty());
    assert_eq!(machine.run(&["policy", "set", "nowhere", "--json"]).exits(1).kind(), "io");
}

#[test]
fn tags_keep_snapshots_also_of_a_client_whose_record_is_lost() {
    let owner = managed();
    let own = owner.names("clients/");
    let camera = joined(&owner, "camera", "write-only");
    camera.write("file", "text");
    upload(&camera, &["--tag", "gold"]).ok();
    camera.write("file", "another text");
    upload(&camera, &[]).ok();
    owner.ok(&["ingest"]);
    let records = owner.names("clients/").into_iter().filter(|record| !own.contains(record));
    records.for_each(|record| owner.damage(&record, Harm::Delete));
    write(&owner, "keep-last = 1\nkeep-tags = [[\"gold\"]]\n");
    // The machine has seen the record.
    let tried = owner.run(&["policy", "set", "policy.toml", "--dry-run", "--json", "--another"]).ok();
    assert_eq!(number(&tried, "would_expire"), 0, "{tried}");
}

#[test]
fn what_is_forgotten_is_listed_although_the_policy_that_may_keep_it_cannot_be_read() {
    let machine = Machine::saved([("file", "1")]);
    machine.write("file", "22");
    machine.backup(&[]);
    machine.set_policy("keep-last = 5\n");
    machine.damage(&machine.names("changes/")[0], Harm::Flip);
    let ran = machine.run(&["forget", "--keep-last", "1", "--json"]).exits(4);
    assert!(ran.err.contains("what becomes free is not known"), "{ran}");
    assert_eq!((number(&ran, "forgotten"), &ran.json()["freeable_bytes"]), (1, &serde_json::Value::Null));
    assert_eq!(machine.snapshots().len(), 1);
}

#[test]
fn in_a_managed_repository_it_is_in_force_once_the_service_has_folded_it_in() {
    let owner = managed();
    write(&owner, POLICY);
    let mut running = Running::start(&mut owner.with_key(&["policy", "set", "policy.toml"]));
    // Nothing answers yet, and it says that it waits.
    let mut told = String::new();
    BufReader::new(running.child().stderr.as_mut().unwrap()).read_line(&mut told).unwrap();
    assert!(told.contains("waiting for the service to fold it in"), "{told}");
    serve_until(&owner, || owner.ok(&["policy", "show"]).contains("keep-last"));
    running.end().ok();
    assert_eq!(owner.ok(&["policy", "show"]), format!("# set by change 1\n{POLICY}"));
    assert!(owner.command(&["policy", "show"]).ran().code != 0);
}

#[test]
fn a_snapshot_that_lost_most_of_the_one_before_holds_its_series_until_it_is_released() {
    let machine = Machine::saved([("file", "all is well\n".repeat(200_000))]);
    machine.write("file", "nothing is left");
    machine.backup(&[]);
    let held = || machine.json(&["status"])["held"].clone();
    assert_eq!(held().as_array().unwrap().len(), 0);
    write(&machine, POLICY);
    let set = machine.run(&["policy", "set", "policy.toml", "--json"]).ok();
    assert_eq!(number(&set, "would_hold"), 1);
    let told = held();
    let snapshot = told[0]["snapshot"].as_str().unwrap().to_owned();
    assert!(told[0]["why"].as_str().unwrap().contains("bytes where the one before had"), "{told}");
    assert!(machine.ok(&["status"]).contains(&format!("copal policy release {}", &snapshot[..8])));
    assert_eq!(machine.run(&["policy", "release", "0000", "--json"]).exits(2).kind(), "usage");
    assert_eq!(machine.run(&["policy", "release", "latest", "--json"]).exits(2).kind(), "usage");
    let released = machine.run(&["policy", "release", &snapshot[..8], "--json"]).ok();
    assert_eq!(released.json()["snapshots"][0], snapshot.as_str());
    assert_eq!(held().as_array().unwrap().len(), 0);
}

#[test]
fn forgetting_what_a_hold_or_the_floor_keeps_says_what_stays_since_when_and_what_ends_it() {
    let machine = Machine::with([("file", "all is well\n".repeat(200_000))]);
    let before = machine.backup(&[]);
    machine.write("file", "nothing is left");
    let bad = machine.backup(&[]);
    machine.set_policy(POLICY);
    // Tried first: nothing was forgotten yet.
    let tried = machine.run(&["forget", &before, "--dry-run", "--json"]).ok().json();
    assert_eq!((&tried["stays"][0]["by"], &tried["stays"][0]["forgotten"]), (&"hold".into(), &serde_json::Value::Null));
    let told = machine.run(&["forget", &before]).ok();
    for words in ["expires or is removed since", "not removed: the series is held", "copal policy release"] {
        assert!(told.text().contains(words), "{words} in\n{told}");
    }
    let pruned = machine.run(&["prune", "--grace", "0s", "--json"]).ok();
    assert_eq!((number(&pruned, "snapshots_stay"), number(&pruned, "packs_deleted")), (1, 0));
    let shown = machine.json(&["status"]);
    assert_eq!((&shown["stays"][0]["snapshot"], &shown["stays"][0]["by"]), (&before.as_str().into(), &"hold".into()));
    assert!(shown["stays"][0]["forgotten"].is_string() && shown["held"][0]["host"] == "laptop", "{shown}");

    // Released, only the floor is left, which keeps the last one.
    machine.ok(&["policy", "release", &bad]);
    let shown = machine.json(&["status"]);
    assert_eq!((shown["held"].as_array().unwrap().len(), shown["stays"].as_array().unwrap().len()), (0, 0), "{shown}");
    let last = machine.json(&["forget", &bad]);
    assert_eq!((&last["stays"][0]["by"], &last["held"]), (&"floor_last".into(), &serde_json::json!([])));
    let young = POLICY.replace("floor-last = 1", "floor-age = \"30d\"");
    write(&machine, &young);
    assert_eq!(machine.json(&["policy", "set", "policy.toml"])["lingers"]["floor_last"], 1);
    assert!(machine.ok(&["policy", "show"]).contains("# what the policy before has guarded stays until"));
    let shown = machine.json(&["status"]);
    assert_eq!(
        (shown["stays"].as_array().unwrap().len(), &shown["stays"][0]["by"]),
        (2, &"floor_age".into()),
        "{shown}"
    );
    assert!(shown["stays"][0]["until"].is_string(), "{shown}");
    // What the replaced policy's floor-last keeps, it keeps for a while.
    for floor in ["floor-age", "floor-last"] {
        let words = format!("1 forgotten snapshot not removed: the policy's {floor} keeps them");
        assert!(machine.ok(&["status"]).contains(&words), "{words}");
    }
}
