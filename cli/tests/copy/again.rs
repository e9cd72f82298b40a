//! Copies that are made a second time: what an earlier run has copied, in whole or in part.

use std::fs;

use serde_json::json;

use super::*;
use crate::kill::{after_deaths, every, with_key};
use crate::kit::{Harm, Running, image, until};

#[test]
fn a_second_run_copies_only_what_is_missing_and_reads_no_content_twice() {
    let world = World::new();
    let machine = &world.machine;
    machine.write("dir/stays", noise(1, 900_000));
    machine.write("changes", noise(2, 300_000));
    machine.backup(&[]);
    assert_eq!(world.copies(&[])["copied"][0]["files_read"], 2);
    assert_eq!(
        (world.copies(&[])["copied"].clone(), world.copies(&[])["already_there"].clone()),
        (json!([]), json!(1))
    );
    let before = machine.packs(0);
    machine.write("changes", noise(3, 300_000));
    let later = machine.backup(&[]);
    // Without its pack nothing of the first snapshot can be read.
    for pack in &before {
        machine.damage(pack, Harm::Delete);
    }
    let summary = world.copies(&[&later]);
    assert_eq!((&summary["copied"][0]["files_read"], &summary["already_there"]), (&json!(1), &json!(0)));
    world.second(&["check", "--full"]).ok();
    world.second(&["restore", &format!("latest:{}", machine.path("source").display()), "-t", "out"]).ok();
    assert_same(&machine.path("source"), &machine.path("out"));
}

#[test]
fn copies_of_copies_and_forgotten_copies_are_not_made_again() {
    let world = World::new();
    let machine = &world.machine;
    machine.write("file", noise(1, 100_000));
    let id = machine.backup(&[]);
    let copy = made(&world.copies(&[])).remove(0);
    let back = ["-r", "second", "copy", "--json", "--to", "repository", "--to-key-file", "key"];
    let back = machine.command(&back).env("COPAL_KEY_FILE", machine.path("second-key")).ran().ok().json();
    assert_eq!((back["already_there"].clone(), machine.snapshots()), (json!(1), vec![id]));
    world.second(&["forget", &copy]).ok();
    assert_eq!(world.copies(&[])["already_there"], 1);
    world.second(&["prune", "--grace", "0s"]).ok();
    assert_eq!(made(&world.copies(&[])).len(), 1);
}

#[test]
fn what_another_client_has_copied_counts_for_nothing() {
    // It could have said so of a snapshot with other content.
    let world = World::new();
    world.machine.write("file", noise(1, 100_000));
    world.machine.backup(&[]);
    let mine = world.copies(&[]);
    let other = world.copying(&[]).env("COPAL_STATE_DIR", world.machine.path("other")).ran().ok().json();
    assert_eq!((&other["already_there"], made(&other).len()), (&json!(0), 1));
    assert_eq!(other["copied"][0]["files_read"], mine["copied"][0]["files_read"]);
    assert_eq!(other["copied"][0]["bytes_new"], 0, "content is stored once");
    assert_eq!(world.copies(&[])["already_there"], 1);
}

#[test]
fn a_backup_after_a_move_goes_on_from_the_copy() {
    let world = World::new();
    let machine = &world.machine;
    machine.write("file", noise(1, 300_000));
    // A file that was touched just now is read again, to be sure.
    let old = fs::File::options().write(true).open(machine.source("file")).unwrap();
    old.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000)).unwrap();
    machine.backup(&[]);
    let copy = made(&world.copies(&[])).remove(0);
    let next = world.second(&["backup", "source", "--ignore-ctime"]).ok().json();
    assert_eq!((text(&next["parent_id"]), &next["files_unmodified"], &next["bytes_new"]), (copy, &json!(1), &json!(0)));
}

#[test]
fn a_copy_killed_anywhere_is_gone_on_with() {
    let world = World::new();
    world.machine.write("first", noise(1, 90_000));
    world.machine.backup(&[]);
    let mut held = vec![image(&world.machine.path("source"))];
    world.machine.write("below/second", noise(2, 70_000));
    world.machine.backup(&[]);
    held.push(image(&world.machine.path("source")));
    let source = world.machine.path("source").display().to_string();
    after_deaths(&world.machine, every(5), with_key(&COPY), |machine, label| {
        let world = World { machine };
        world.copies(&[]);
        world.second(&["check", "--full"]).ok();
        let ids = texts(&world.second(&["snapshots"]).ok().json(), "id");
        assert_eq!(ids.len(), held.len(), "{label}");
        for (id, held) in ids.iter().zip(&held) {
            world.second(&["restore", &format!("{id}:{source}"), "-t", "restored"]).ok();
            assert!(image(&world.machine.path("restored")) == *held, "{label}: {id} is another tree");
            fs::remove_dir_all(world.machine.path("restored")).unwrap();
        }
    });
}

#[test]
fn a_copy_that_a_service_has_not_accepted_yet_is_not_made_again() {
    let machine = Machine::saved([("file", noise(1, 100_000))]);
    let there = managed();
    let target = there.path("repository");
    let copying = |wait: &str| {
        let to = ["copy", "--json", "--to", target.to_str().unwrap(), "--wait", wait];
        let key = there.path("key");
        machine.with_key(&[&to[..], &["--to-key-file", key.to_str().unwrap()]].concat()).ran()
    };
    // The machine becomes a client there when it copies for the first time.
    assert_eq!(copying("0s").exits(5).kind(), "not_yet_accepted");
    let manifests = there.names("manifests/").len();
    assert_eq!(copying("0s").exits(5).kind(), "not_yet_accepted");
    assert_eq!(there.names("manifests/").len(), manifests);
    there.ok(&["ingest"]);
    assert_eq!(copying("0s").ok().json()["already_there"], 1);
    assert_eq!(there.snapshots().len(), 1);
}

#[test]
fn a_second_attempt_that_was_interrupted_does_not_make_the_same_partial_copy_once_more() {
    let world = World::new();
    let machine = &world.machine;
    machine.write("hit", noise(1, 100_000));
    machine.write("whole", noise(2, 3_000_000));
    machine.backup(&[]);
    let pack = machine.packs(0).remove(0);
    machine.flip(&pack, 50_000);
    world.copying(&[]).ran().exits(4);
    let again = world.copying(&[]).ran().exits(4).json();
    assert_eq!((&again["copied"][0]["snapshot_id"], &again["copied"][0]["files_read"]), (&json!(null), &json!(0)));
    assert_eq!(world.second(&["snapshots"]).ok().json().as_array().unwrap().len(), 1);
}

#[test]
fn a_copy_that_is_stopped_ends_soon_and_the_next_one_goes_on_from_there() {
    let world = World::new();
    let machine = &world.machine;
    machine.write("file", noise(1, 120_000_000));
    let id = machine.backup(&[]);
    let stored = || {
        let packs = fs::read_dir(machine.path("second/packs")).into_iter().flatten().flatten();
        let packs = packs.flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten());
        packs.map(|pack| pack.metadata().map_or(0, |found| found.len())).sum::<u64>()
    };
    let child = Running::start(&mut world.copying(&["--limit-upload", "24M"]));
    until("a pack is stored", || (stored() > 10_000_000).then_some(()));
    let ran = child.ends_at("TERM").exits(130);
    assert!(ran.err.contains("MiB of this run are kept") && ran.kind() == "interrupted", "{ran}");
    let kept = stored();
    assert_eq!(machine.json(&["status"])["copies"][0]["snapshots_missing"], 1);
    let next = world.copies(&[]);
    assert!(next["copied"][0]["bytes_stored"].as_u64().unwrap() < 120_000_000 - kept / 2, "{next}");
    world.assert_alike(&id, &made(&next)[0]);
}
