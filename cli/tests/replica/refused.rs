//! What a sync refuses: hostile sources, replicas that another program has written to, and mistyped commands.

use std::fs;

use super::{MARK, make, objects_of_replica, on_replica, replicated, snapshots_of_replica, sync, synced};
use crate::kit::{Harm, Machine, Run, noise, text, texts};

/// A machine with a replica of one snapshot, and a second snapshot in the source.
fn behind() -> Machine {
    let machine = replicated();
    machine.write("file", noise(1, 100_000));
    machine.backup(&[]);
    synced(&machine);
    machine.write("file", noise(2, 100_000));
    machine.backup(&[]);
    machine
}

#[test]
fn a_damaged_pack_is_named_and_not_copied_and_all_else_is() {
    let machine = behind();
    let known = objects_of_replica(&machine);
    let pack = machine.packs(0).into_iter().find(|pack| !known.contains_key(pack)).unwrap();
    let whole = machine.objects()[&pack].clone();
    for harm in [Harm::Flip, Harm::Truncate, Harm::Delete] {
        machine.damage(&pack, harm);
        let ran = sync(&machine, &[]).ran().exits(4);
        assert_eq!(texts(&ran.json()["not_copied"], "object"), std::slice::from_ref(&pack), "{harm:?}: {ran}");
        assert_eq!(ran.json()["is_current"], true);
        assert!(!objects_of_replica(&machine).contains_key(&pack), "{harm:?}");
        assert_eq!(snapshots_of_replica(&machine).len(), 2);
        machine.replace(&pack, &whole);
    }
    synced(&machine);
    on_replica(&machine, &["check", "--full"]).ok();
}

#[test]
fn a_damaged_state_is_not_copied_and_the_replica_stays_at_the_root_it_has() {
    let machine = behind();
    let known = objects_of_replica(&machine);
    let segment = machine.names("index/").into_iter().find(|name| !known.contains_key(name)).unwrap();
    let whole = machine.objects()[&segment].clone();
    machine.damage(&segment, Harm::Flip);
    let ran = sync(&machine, &[]).ran().exits(4);
    assert_eq!((&ran.json()["is_current"], &ran.json()["root"]), (&false.into(), &1.into()), "{ran}");
    let id = snapshots_of_replica(&machine).remove(0);
    on_replica(&machine, &["restore", &id, "-t", "copied"]).ok();
    machine.replace(&segment, &whole);
    synced(&machine);
    on_replica(&machine, &["check", "--full"]).ok();
}

#[test]
fn nothing_that_nobody_has_signed_is_copied() {
    let machine = behind();
    let known = objects_of_replica(&machine);
    machine.ok(&["tag", "--add", "t", "latest"]);
    machine.ok(&["key", "add", "--new-key-file", "second"]);
    let new = |folder: &str| machine.names(folder).into_iter().filter(|name| !known.contains_key(name));
    let forged: Vec<String> =
        ["manifests/", "changes/", "keys/", "receipts/"].iter().filter_map(|folder| new(folder).next()).collect();
    assert_eq!(forged.len(), 4);
    let whole: Vec<Vec<u8>> = forged.iter().map(|name| machine.objects()[name].clone()).collect();
    for name in &forged {
        machine.damage(name, Harm::Flip);
    }
    machine.replace("clients/00112233445566778899aabbccddeeff/00000000000000000001", b"a client of nobody");
    machine.replace("copal/00000000000000000002", b"a descriptor of nobody");
    let ran = sync(&machine, &[]).ran().exits(4);
    let named = texts(&ran.json()["not_copied"], "object");
    let there = objects_of_replica(&machine);
    for name in forged.iter().map(String::as_str).chain(["copal/00000000000000000002"]) {
        assert!(named.iter().any(|named| named == name) && !there.contains_key(name), "{name}: {ran}");
    }
    assert!(!there.keys().any(|name| name.contains("00112233")));
    for (name, bytes) in forged.iter().zip(whole) {
        machine.replace(name, &bytes);
    }
    sync(&machine, &[]).ran().exits(4);
    assert!(forged.iter().all(|name| objects_of_replica(&machine).contains_key(name)));
}

#[test]
fn names_that_are_no_objects_and_packs_that_nothing_needs_are_left_alone() {
    let machine = behind();
    let strange = [
        format!("packs/00/{}", "0".repeat(64)),
        format!("packs/ab/{}", "AB".repeat(32)),
        "packs/readme".to_owned(),
        "manifests/x/y".to_owned(),
        "roots/one".to_owned(),
        "changes/99999999999999999999".to_owned(),
        "deletions/x".to_owned(),
        "reports/check/1".to_owned(),
        "elsewhere/file".to_owned(),
    ];
    for name in &strange {
        machine.replace(name, b"strange");
    }
    sync(&machine, &[]).ran().ok();
    assert_eq!(snapshots_of_replica(&machine).len(), 2);
    assert!(strange.iter().all(|name| !objects_of_replica(&machine).contains_key(name)));
}

#[test]
fn what_is_cut_short_in_the_replica_is_named_and_never_replaced() {
    let machine = behind();
    synced(&machine);
    let pack = machine.packs(0).remove(0);
    let there = machine.path("replica").join(&pack);
    fs::remove_file(&there).unwrap();
    fs::write(&there, "short").unwrap();
    let ran = sync(&machine, &[]).ran().exits(4);
    assert_eq!(texts(&ran.json()["not_copied"], "object"), [pack], "{ran}");
    assert_eq!(fs::read(&there).unwrap(), b"short");
    fs::remove_file(&there).unwrap();
    synced(&machine);
    on_replica(&machine, &["check", "--full"]).ok();
}

#[test]
fn only_a_sync_writes_into_a_replica() {
    let machine = behind();
    let before = objects_of_replica(&machine);
    let path = machine.path("source").display().to_string();
    for refused in [
        &["backup", path.as_str()][..],
        &["prune"],
        &["forget", "latest"],
        &["tag", "--add", "t", "latest"],
        &["key", "add", "--new-key-file", "other"],
        &["client", "add", "--name", "x", "--role", "full"],
        &["rebuild-index"],
        &["reader"],
    ] {
        let ran = on_replica(&machine, refused);
        assert!([1, 2].contains(&ran.code), "{refused:?}: {ran}");
        assert_eq!(objects_of_replica(&machine), before, "{refused:?}");
    }
    let ran = on_replica(&machine, &["backup", &path]).exits(1);
    assert!(ran.kind() == "io" && ran.err.contains("a replica") && ran.err.contains("sync --end"), "{ran}");
    machine.run(&["-r", "replica", "serve", "--listen", "127.0.0.1:0"]).exits(1);
}

/// Ends being a replica, acts, and begins again: as a program does that does not know the mark.
fn behind_its_back(machine: &Machine, act: impl Fn()) {
    let mark = machine.path("replica").join(MARK);
    let bytes = fs::read(&mark).unwrap();
    fs::remove_file(&mark).unwrap();
    act();
    fs::create_dir_all(mark.parent().unwrap()).unwrap();
    fs::write(mark, bytes).unwrap();
}

#[test]
fn a_replica_that_somebody_has_written_to_is_left_as_it_is() {
    let path = |machine: &Machine| machine.path("source").display().to_string();
    // The replica is ahead of the source, and then both have a manifest of one number.
    let machine = behind();
    synced(&machine);
    let other = machine.copy();
    behind_its_back(&machine, || drop(on_replica(&machine, &["backup", &path(&machine)]).ok()));
    let before = objects_of_replica(&machine);
    assert_eq!(sync(&machine, &[]).ran().exits(1).kind(), "diverged");
    fs::remove_dir_all(machine.path("repository")).unwrap();
    crate::kit::copy(&other.path("repository"), &machine.path("repository"));
    fs::remove_dir_all(machine.path("home/.local/state")).unwrap();
    crate::kit::copy(&other.path("home/.local/state"), &machine.path("home/.local/state"));
    machine.write("file", "another");
    machine.backup(&[]);
    machine.backup(&[]);
    let ran = sync(&machine, &[]).ran().exits(1);
    assert!(ran.kind() == "diverged" && ran.err.contains("init --copy-keys-from"), "{ran}");
    assert_eq!(objects_of_replica(&machine), before);
}

#[test]
fn a_source_that_was_put_back_to_an_older_state_changes_nothing() {
    let machine = replicated();
    machine.write("file", "1");
    machine.backup(&[]);
    let older = machine.copy();
    machine.write("file", "2");
    machine.backup(&[]);
    synced(&machine);
    let before = objects_of_replica(&machine);
    crate::kit::copy(&machine.path("replica"), &older.path("newer"));
    let ran = older.command(&["sync", "--json", "--to", "newer"]).ran().exits(1);
    assert_eq!(ran.kind(), "diverged", "{ran}");
    let after = || older.objects_of("newer").into_iter().filter(|(name, _)| name != MARK);
    assert!(after().eq(before.clone()));
    // It has gone on from there, to a root of the replica's number: a dry run says so, too.
    older.write("file", "3");
    older.backup(&[]);
    for more in [&["--dry-run"][..], &[]] {
        let ran = older.command(&["sync", "--json", "--to", "newer"]).args(more).ran().exits(1);
        assert!(ran.kind() == "diverged" && ran.err.contains("the source was put back"), "{ran}");
        assert!(ran.err.contains("only the replica has"), "{ran}");
    }
    assert!(after().eq(before));
}

#[test]
fn a_source_that_has_lost_the_newest_root_that_this_machine_has_met_is_not_copied() {
    let machine = behind();
    let before = objects_of_replica(&machine);
    machine.damage(machine.names("roots/").first().unwrap(), Harm::Delete);
    for more in [&["--dry-run"][..], &[]] {
        let ran = sync(&machine, more).ran().exits(4);
        assert!(ran.err.contains("roots/") && ran.err.contains("this machine has seen"), "{ran}");
    }
    assert_eq!(objects_of_replica(&machine), before);
}

#[test]
fn a_sync_does_not_count_what_the_owner_has_accepted_as_lost() {
    let machine = behind();
    machine.ok(&["tag", "--add", "t", "latest"]);
    let change = machine.names("changes/").pop().unwrap();
    machine.damage(&change, Harm::Flip);
    let ran = sync(&machine, &[]).ran().exits(4);
    assert_eq!(texts(&ran.json()["not_copied"], "object"), [change]);
    machine.run(&["rebuild-index"]).exits(4);
    machine.ok(&["repair", "--accept-loss"]);
    assert_eq!(synced(&machine)["not_copied"], serde_json::json!([]));
    on_replica(&machine, &["check"]).ok();
}

#[test]
fn a_sync_in_the_wrong_direction_or_of_the_wrong_repository_writes_nothing() {
    let machine = behind();
    let (here, there) = (machine.objects(), objects_of_replica(&machine));
    let kind = |arguments: &[&str], code| machine.command(&[&["--json"], arguments].concat()).ran().exits(code).kind();
    assert_eq!(kind(&["-r", "replica", "sync", "--to", "repository"], 1), "no_replica");
    assert_eq!(kind(&["sync", "--end"], 1), "no_replica");
    assert_eq!(kind(&["sync", "--to", "nowhere"], 10), "no_repository");
    assert_eq!(kind(&["sync", "--to", "https://localhost:1"], 2), "usage");
    assert_eq!(kind(&["-r", "repository", "init", "--copy-keys-from", "replica"], 1), "repository_exists");
    fs::create_dir(machine.path("full")).unwrap();
    fs::write(machine.path("full/file"), "x").unwrap();
    assert_eq!(kind(&["-r", "full", "init", "--copy-keys-from", "repository"], 1), "not_empty");
    make(&machine);
    let another = Machine::bare();
    another.command(&["-r", "another", "--key-file", "k", "init"]).env("COPAL_PASSWORD", "x").ran().ok();
    crate::kit::copy(&another.path("another"), &machine.path("another"));
    assert_eq!(kind(&["-r", "another", "sync", "--to", "replica"], 1), "another_repository");
    assert_eq!((machine.objects(), objects_of_replica(&machine)), (here, there));
}

#[test]
fn copy_into_a_replica_is_a_sync_and_takes_no_choice() {
    let machine = behind();
    let ran = machine.command(&["--json", "copy", "--to", "replica", "latest"]).ran().exits(2);
    assert_eq!(ran.kind(), "usage");
    let told = machine.command(&["--json", "copy", "--to", "replica", "--dry-run"]).ran().ok().json();
    assert_eq!((&told["snapshots_missing"], &told["dry_run"]), (&1.into(), &true.into()), "{told}");
    let ran = machine.command(&["--json", "--quiet", "copy", "--to", "replica"]).ran().ok();
    assert_eq!(text(&ran.json()["replica"]), "replica");
    assert_eq!(snapshots_of_replica(&machine), machine.snapshots());
}
