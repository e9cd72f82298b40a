//! `sync`: a second copy of a repository, with the same keys.

mod killed;
mod refused;
mod watched;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::kill::{after_deaths, every};
use crate::kit::{Harm, Machine, PASSPHRASE, Ran, Run, assert_same, noise, text, texts};
use crate::managed::world::{joined, managed, upload};

/// A machine with a repository and an empty replica of it.
fn replicated() -> Machine {
    let machine = Machine::new();
    make(&machine);
    machine
}

/// Makes the replica, without any secret.
fn make(machine: &Machine) {
    machine.command(&["-r", "replica", "init", "--copy-keys-from", "repository"]).ran().ok();
}

/// `sync`, without any secret.
fn sync(machine: &Machine, options: &[&str]) -> Command {
    machine.command(&[&["sync", "--json", "--quiet", "--to", "replica"], options].concat())
}

/// Syncs; gives the summary.
fn synced(machine: &Machine) -> Value {
    sync(machine, &[]).ran().ok().json()
}

/// A command on the replica, with the key file of the repository.
fn on_replica(machine: &Machine, arguments: &[&str]) -> Ran {
    machine.run(&[&["-r", "replica", "--json"], arguments].concat())
}

fn snapshots_of_replica(machine: &Machine) -> Vec<String> {
    texts(&on_replica(machine, &["snapshots"]).ok().json(), "id")
}

/// Objects of the replica: name and content, without its mark.
fn objects_of_replica(machine: &Machine) -> BTreeMap<String, Vec<u8>> {
    let mut objects = machine.objects_of("replica");
    assert!(objects.remove(MARK).is_some());
    objects
}

/// Restores a snapshot from both, and compares.
#[track_caller]
fn assert_alike(machine: &Machine, id: &str) {
    let place = format!("{id}:{}", machine.path("source").display());
    let (out, copied) = (machine.path("out"), machine.path("copied"));
    let _ = (fs::remove_dir_all(&out), fs::remove_dir_all(&copied));
    machine.ok(&["restore", &place, "-t", "out"]);
    on_replica(machine, &["restore", &place, "-t", "copied"]).ok();
    assert_same(&out, &copied);
}

const MARK: &str = "work/replica";

#[test]
fn a_replica_has_the_same_keys_and_snapshots_and_restores_the_same_trees() {
    let machine = replicated();
    machine.write("file", noise(1, 300_000));
    machine.write("dir/other", "other");
    let first = machine.backup(&["--tag", "a", "--label", "l", "--time", "2020-01-02 03:04:05"]);
    machine.write("file", noise(2, 200_000));
    let second = machine.backup(&[]);
    machine.ok(&["pin", &first]);
    let summary = synced(&machine);
    assert_eq!((&summary["snapshots_missing"], &summary["is_current"]), (&2.into(), &true.into()), "{summary}");
    assert!(summary["bytes"].as_u64().unwrap() > 500_000 && summary["bytes_missing"].as_u64().unwrap() > 500_000);
    let listed = machine.run(&["snapshots", "--json"]).ok().json();
    assert_eq!(listed, on_replica(&machine, &["snapshots"]).ok().json());
    let by_passphrase = machine.run_with(PASSPHRASE, &["-r", "replica", "snapshots", "--json"]).ok().json();
    assert_eq!(listed, by_passphrase);
    for id in [&first, &second] {
        assert_alike(&machine, id);
    }
    let ran = on_replica(&machine, &["check", "--full"]).ok();
    assert_eq!(ran.err, "", "a check of a replica notes nothing, and says nothing about that");
    for (name, bytes) in objects_of_replica(&machine) {
        assert_eq!(machine.objects().get(&name), Some(&bytes), "{name}");
    }
}

#[test]
fn a_sync_brings_again_what_was_deleted_in_the_replica() {
    let machine = replicated();
    machine.write("file", "text");
    machine.backup(&[]);
    synced(&machine);
    let whole = objects_of_replica(&machine);
    for folder in ["state/", "roots/", "copal/", "index/", "packs/", "keys/", "clients/", "manifests/", "receipts/"] {
        for name in whole.keys().filter(|name| name.starts_with(folder)) {
            fs::remove_file(machine.path("replica").join(name)).unwrap();
        }
        synced(&machine);
        assert_eq!(objects_of_replica(&machine), whole, "{folder}");
    }
}

#[test]
fn a_replica_that_has_lost_its_descriptor_is_ended_with_a_key_and_repaired() {
    let machine = replicated();
    machine.write("file", "text");
    let id = machine.backup(&[]);
    synced(&machine);
    fs::remove_dir_all(machine.path("replica/copal")).unwrap();
    on_replica(&machine, &["sync", "--end"]).ok();
    on_replica(&machine, &["repair"]).ok();
    on_replica(&machine, &["backup", "source"]).ok();
    on_replica(&machine, &["restore", &format!("{id}:source"), "-t", "out"]).ok();
    assert_same(&machine.path("source"), &machine.path("out"));
}

#[test]
fn a_sync_copies_only_what_is_missing() {
    let machine = replicated();
    machine.write("large", noise(1, 2_000_000));
    machine.backup(&[]);
    synced(&machine);
    let before = objects_of_replica(&machine);
    let again = synced(&machine);
    assert_eq!((&again["objects"], &again["snapshots_missing"]), (&0.into(), &0.into()), "{again}");
    assert_eq!(objects_of_replica(&machine), before);
    machine.write("small", "small");
    machine.backup(&[]);
    let third = synced(&machine);
    assert_eq!(third["snapshots_missing"], 1);
    assert!(third["bytes"].as_u64().unwrap() < 50_000, "{third}");
    // What was lost in the replica comes again.
    let pack = machine.packs(0).remove(0);
    fs::remove_file(machine.path("replica").join(&pack)).unwrap();
    assert_eq!(synced(&machine)["objects"], 1);
    assert_eq!(objects_of_replica(&machine)[&pack], machine.objects()[&pack]);
}

#[test]
fn what_is_not_accepted_yet_comes_once_it_is() {
    let owner = managed();
    make(&owner);
    let machine = joined(&owner, "nas", "write-only");
    machine.write("file", noise(1, 100_000));
    upload(&machine, &[]).ok();
    synced(&owner);
    assert!(objects_of_replica(&owner).keys().all(|name| !name.starts_with("packs/") && !name.starts_with("manif")));
    owner.ok(&["ingest"]);
    assert_eq!(synced(&owner)["snapshots_missing"], 1);
    assert_eq!(snapshots_of_replica(&owner), owner.snapshots());
    on_replica(&owner, &["check", "--full"]).ok();
}

/// A source of which much was forgotten and pruned: some packs are gone, some were moved.
fn pruned(machine: &Machine) {
    for at in 0..12 {
        machine.write(&format!("{at:02}"), noise(at, 100_000));
        machine.backup(&[]);
    }
    synced(machine);
    for at in 0..4 {
        machine.remove(&format!("{at:02}"));
    }
    machine.write("last", "last");
    machine.backup(&[]);
    let old = machine.snapshots();
    machine.ok(&[&["forget"][..], &old[..11].iter().map(String::as_str).collect::<Vec<_>>()].concat());
    machine.ok(&["prune", "--grace", "0s"]);
    assert!(!machine.names("moved/").is_empty() && !machine.names("deletions/").is_empty());
}

#[test]
fn a_replica_follows_a_prune_and_keeps_what_the_prune_has_deleted() {
    let machine = replicated();
    machine.ok(&["policy", "set", &policy(&machine, "keep-last = 100")]);
    pruned(&machine);
    let packs = |machine: &Machine| -> Vec<String> {
        objects_of_replica(machine).into_keys().filter(|name| name.starts_with("packs/")).collect()
    };
    let before = packs(&machine);
    synced(&machine);
    let after = packs(&machine);
    assert!(before.iter().all(|pack| after.contains(pack)));
    assert!(before.iter().any(|pack| !machine.names("packs/").contains(pack)), "the prune has deleted some");
    assert_eq!(snapshots_of_replica(&machine), machine.snapshots());
    for id in machine.snapshots() {
        assert_alike(&machine, &id);
    }
    on_replica(&machine, &["check", "--full"]).ok();
    // A replica that is made after the prune has no more than is needed.
    fs::remove_dir_all(machine.path("replica")).unwrap();
    let again = ["-r", "replica", "init", "--copy-keys-from", "repository"];
    assert!(machine.command(&again).ran().exits(10).err.contains("mount its disk"));
    machine.command(&[&again[..], &["--another"]].concat()).ran().ok();
    synced(&machine);
    assert!(packs(&machine).len() < after.len());
    on_replica(&machine, &["check", "--full"]).ok();
}

#[test]
fn a_moved_pack_that_is_damaged_at_the_source_costs_the_replica_nothing_that_it_had() {
    let machine = replicated();
    pruned(&machine);
    let moved = machine.names("moved/").remove(0);
    let whole = machine.objects()[&moved].clone();
    let held = snapshots_of_replica(&machine);
    machine.damage(&moved, Harm::Flip);
    let ran = sync(&machine, &[]).ran().exits(4);
    assert_eq!(ran.json()["is_current"], false, "{ran}");
    for snapshot in held {
        on_replica(&machine, &["restore", &snapshot, "-t", "copied"]).ok();
    }
    machine.replace(&moved, &whole);
    synced(&machine);
    on_replica(&machine, &["check", "--full"]).ok();
}

/// A policy file on the machine.
fn policy(machine: &Machine, text: &str) -> String {
    let path = machine.path("policy.toml");
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_replica_that_is_ended_is_a_repository_that_takes_backups_prunes_and_rebuilds() {
    let machine = replicated();
    pruned(&machine);
    synced(&machine);
    fs::remove_dir_all(machine.path("repository")).unwrap();
    machine.command(&["-r", "replica", "sync", "--end"]).ran().ok();
    let alone = machine.copy();
    fs::rename(alone.path("replica"), alone.path("repository")).unwrap();
    alone.write("new", noise(9, 100_000));
    let held = alone.snapshots();
    let new = alone.backup(&[]);
    assert_eq!(alone.snapshots(), [&held[..], &[new]].concat());
    alone.ok(&["forget", &held[0]]);
    alone.ok(&["prune", "--grace", "0s"]);
    alone.ok(&["check", "--full"]);
    alone.lose_index();
    alone.ok(&["rebuild-index"]);
    alone.ok(&["check", "--full"]);
    assert_eq!(alone.snapshots().len(), held.len());
    alone.restore(&[]).ok();
    assert_same(&alone.path("source"), &alone.path("out"));
}

/// A replica of one snapshot, whose source has forgotten and pruned it since and has another one.
fn behind_a_prune() -> (Machine, String) {
    let machine = replicated();
    machine.write("first", noise(1, 90_000));
    let first = machine.backup(&[]);
    synced(&machine);
    machine.remove("first");
    machine.write("second", noise(2, 90_000));
    let second = machine.backup(&[]);
    machine.ok(&["forget", &first]);
    machine.ok(&["prune", "--grace", "0s"]);
    (machine, second)
}

/// A sync whose machine knows that the replica in this place is one.
fn knowing_sync(machine: &Machine) -> Command {
    make(machine);
    sync(machine, &[])
}

#[test]
fn a_replica_whose_last_sync_died_is_whole_after_it_is_ended() {
    let (world, second) = behind_a_prune();
    let manifest = format!("replica/{}", world.names("manifests/").last().unwrap());
    let had = AtomicU64::new(0);
    after_deaths(&world, every(5), knowing_sync, |machine, label| {
        // With the key, because manifests may be missing that name what was copied.
        on_replica(&machine, &["sync", "--end"]).ok();
        let checked = on_replica(&machine, &["check", "--full", "--json"]);
        assert_eq!(checked.json()["errors"], Value::Array(Vec::new()), "{label}: {checked}");
        // The source had changes that were not copied yet, and this machine has seen them.
        assert!(checked.code == 0 || checked.err.contains("this machine has seen"), "{label}: {checked}");
        if machine.path(&manifest).exists() {
            let place = format!("{second}:{}", world.path("source").display());
            on_replica(&machine, &["restore", &place, "-t", "copied"]);
            assert_eq!(fs::read(machine.path("copied/second")).unwrap(), noise(2, 90_000));
            had.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(had.into_inner() > 1);
}

#[test]
fn packs_of_a_lost_manifest_count_in_a_replica_that_is_ended_and_without_a_key_it_is_not_ended() {
    let machine = replicated();
    machine.write("shared", noise(1, 100_000));
    machine.backup(&[]);
    machine.write("new", noise(2, 100_000));
    let second = machine.backup(&[]);
    machine.damage(&machine.names("manifests/")[0], Harm::Delete);
    machine.run(&["rebuild-index"]).exits(4);
    machine.ok(&["repair", "--accept-loss"]);
    synced(&machine);
    fs::remove_dir_all(machine.path("repository")).unwrap();
    let before = objects_of_replica(&machine);
    let refused = machine.command(&["-r", "replica", "--json", "sync", "--end"]).ran().exits(1);
    assert!(refused.kind() == "secret" && refused.err.contains("COPAL_PASSWORD_FILE"), "{refused}");
    assert!(objects_of_replica(&machine) == before, "it is a replica as before");
    on_replica(&machine, &["sync", "--end"]).ok();
    on_replica(&machine, &["check", "--full"]).ok();
    on_replica(&machine, &["restore", &format!("{second}:{}", machine.path("source").display()), "-t", "out"]).ok();
    assert_same(&machine.path("source"), &machine.path("out"));
}

#[test]
fn making_a_replica_that_died_anywhere_is_done_again() {
    let world = Machine::new();
    let init = ["-r", "replica", "init", "--copy-keys-from", "repository"];
    let whole = world.copy();
    make(&whole);
    let expected = objects_of_replica(&whole);
    after_deaths(
        &world,
        every(3),
        |machine| machine.command(&init),
        |machine, label| {
            make(&machine);
            assert!(objects_of_replica(&machine) == expected, "{label}");
        },
    );
}

#[test]
fn a_key_of_the_source_opens_the_replica_after_a_sync_and_one_that_was_removed_is_told() {
    let machine = replicated();
    machine.ok(&["key", "add", "--new-key-file", "second"]);
    let added = machine.run(&["key", "list", "--json"]).ok().json();
    synced(&machine);
    let by_second = ["-r", "replica", "--key-file", "second", "snapshots"];
    machine.command(&by_second).ran().ok();
    let second = text(&added.as_array().unwrap().iter().max_by_key(|key| text(&key["created"])).unwrap()["slot"]);
    machine.ok(&["key", "remove", &second]);
    let ran = sync(&machine, &[]).ran().ok();
    assert!(ran.err.contains(&format!("key remove {second}")), "{ran}");
    assert_eq!(ran.json()["keys_left"], serde_json::json!([second]));
    machine.command(&by_second).ran().ok();
    on_replica(&machine, &["key", "remove", &second]).ok();
    machine.command(&by_second).ran().exits(12);
    assert_eq!(synced(&machine)["keys_left"], serde_json::json!([]));
}

#[test]
fn a_key_is_removed_from_a_replica_that_is_behind_and_lies_elsewhere_than_this_machine_knows() {
    let machine = replicated();
    let second = text(&machine.json(&["key", "add", "--new-key-file", "second"])["added"]);
    machine.write("file", "1");
    machine.backup(&[]);
    synced(&machine);
    machine.write("file", "2");
    machine.backup(&[]);
    fs::rename(machine.path("replica"), machine.path("moved")).unwrap();
    let on_moved = |command: &[&str]| machine.run(&[&["-r", "moved", "--json"], command].concat());
    assert!(on_moved(&["snapshots"]).exits(4).err.contains("this machine has seen"));
    on_moved(&["key", "remove", &second]).ok();
    machine.command(&["-r", "moved", "--key-file", "second", "snapshots"]).ran().exits(12);
}
