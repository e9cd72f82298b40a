//! What heals, what repair can mend, and building the index again.

use copal_format::id::ObjectHash;

use crate::kit::{Harm, Machine, noise};

fn one() -> Machine {
    Machine::saved([("a/file", noise(1, 200_000)), ("b/file", noise(2, 100_000))])
}

#[test]
fn what_is_lost_heals_also_where_nothing_has_changed_and_no_snapshot_is_wanted_of_that() {
    let heals = |kind: u8| {
        let machine = one();
        machine.damage(&machine.packs(kind)[0], Harm::Delete);
        assert_eq!(machine.check(&[]).0, 4, "kind {kind}");
        if !machine.json(&["backup", "source", "--skip-if-unchanged"])["snapshot_id"].is_null() {
            return false;
        }
        let (code, report) = machine.check(&["--full"]);
        assert_eq!(code, 0, "kind {kind}: {report}");
        machine.restore(&[]).ok();
        true
    };
    // The directories above belong to the tree, and others change the one of all temporary files at any time.
    assert!([0, 1].into_iter().all(|kind| (0..100).any(|_| heals(kind))));
}

#[test]
fn damage_of_what_was_forgotten_and_the_policy_keeps_is_told_by_every_check() {
    let machine = one();
    machine.set_policy("keep-last = 5\nfloor-last = 1\n");
    let snapshot = machine.snapshots().remove(0);
    machine.ok(&["forget", &snapshot]);
    machine.damage(&machine.packs(0)[0], Harm::Flip);
    for how in ["--read-data", "--full", "--read-data"] {
        let (code, report) = machine.check(&[how]);
        assert!(code == 4 && report.to_string().contains(&snapshot), "{how}: {report}");
    }
    machine.backup(&[]);
    machine.ok(&["check", "--full"]);
}

/// Of a file with many chunks the tree names a list, which may be whole while what it lists is lost.
#[test]
fn what_is_lost_of_a_huge_unchanged_file_heals_too() {
    let machine = Machine::with([("huge", noise(3, 8 << 20))]);
    let huge = std::fs::File::options().append(true).open(machine.path("source").join("huge")).unwrap();
    // Long enough ago that it is taken to be unchanged, and not just in case read again.
    huge.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(3600)).unwrap();
    machine.backup(&["--ignore-ctime"]);
    machine.damage(&machine.packs(0)[0], Harm::Delete);
    assert_eq!(machine.check(&[]).0, 4);
    machine.backup(&["--ignore-ctime"]);
    machine.ok(&["check", "--full"]);
}

#[test]
fn repair_says_what_is_lost_and_which_backup_brings_it_back() {
    let machine = one();
    machine.damage(&machine.packs(0)[0], Harm::Delete);
    machine.check(&[]);
    let run = machine.run(&["repair"]);
    assert_eq!(run.code, 4, "{run:?}");
    assert!(run.text().contains("still lost") && run.text().contains("/source/a/file"), "{run:?}");
    assert!(run.err.contains("on laptop, \"copal backup ") && run.err.contains("source\" restores"), "{run:?}");
}

#[test]
fn a_pack_that_comes_back_is_believed_again() {
    let machine = one();
    let name = machine.packs(0).remove(0);
    let kept = machine.path("kept");
    std::fs::rename(machine.object(&name), &kept).unwrap();
    assert_eq!(machine.check(&[]).0, 4);
    std::fs::rename(&kept, machine.object(&name)).unwrap();
    let healed = machine.json(&["repair"]);
    assert!(healed["healed"].as_u64().unwrap() > 0 && healed["lost"] == 0, "{healed}");
    assert_eq!(machine.check(&["--full"]).0, 0);
}

#[test]
fn a_lost_or_damaged_copy_of_a_key_slot_is_written_again_unless_no_copy_is_whole() {
    let machine = one();
    let copies = machine.names("keys/");
    for (copy, harm) in [(0, Harm::Delete), (1, Harm::Flip), (0, Harm::Truncate)] {
        let whole = machine.objects()[&copies[copy]].clone();
        machine.damage(&copies[copy], harm);
        assert_eq!(machine.check(&[]).0, 4, "{harm:?}");
        assert_eq!(machine.json(&["repair"])["restored"][0], copies[copy].as_str(), "{harm:?}");
        assert_eq!(machine.objects()[&copies[copy]], whole, "{harm:?}");
        assert_eq!(machine.check(&[]).0, 0, "{harm:?}");
    }
    // Both copies of one slot, which may be the one that opens the repository.
    let slot = copies[0].rsplit_once('/').unwrap().0;
    copies.iter().filter(|name| name.starts_with(slot)).for_each(|name| machine.damage(name, Harm::Flip));
    let run = machine.run(&["repair"]).exits(4);
    assert!([run.text(), run.err.clone()].concat().contains("copal key add"), "{run:?}");
    assert_eq!(machine.names("keys/"), copies);
}

#[test]
fn repair_clears_away_what_is_damaged_and_not_needed() {
    let machine = one();
    for number in 0..3 {
        machine.write("c", noise(3 + number, 50_000));
        machine.backup(&[]);
    }
    let of = |prefix: &str, at: usize| machine.names(prefix).remove(at);
    let (receipt, descriptor) = (of("receipts/", 0), of("copal/", 0));
    let root = machine.names("roots/").pop().expect("the oldest root is listed last");
    [&receipt, &root, &descriptor].iter().for_each(|name| machine.damage(name, Harm::Flip));
    assert_eq!(machine.check(&[]).0, 4);
    let report = machine.json(&["repair"]);
    assert_eq!(report["deleted"].as_array().unwrap().len(), 3, "{report}");
    assert!(machine.names("copal/").len() == 1 && !machine.names("roots/").contains(&root), "{report}");
    machine.ok(&["rebuild-index"]);
    assert_eq!(machine.check(&["--full"]).0, 0);
    assert!(machine.names("receipts/").contains(&receipt));
    // Everything rests on the newest root, and what a newer program has written is no damage.
    let newest = of("roots/", 0);
    machine.damage(&newest, Harm::Flip);
    assert_eq!(machine.run(&["repair"]).code, 4);
    assert!(machine.names("roots/").contains(&newest));
    machine.ok(&["rebuild-index"]);
    let version = receipt_of_a_newer_program(&machine, &receipt);
    machine.run(&["repair"]);
    assert_eq!(machine.objects()[&receipt], version);
}

/// Puts a receipt of version 2 in the place of this one.
fn receipt_of_a_newer_program(machine: &Machine, name: &str) -> Vec<u8> {
    let mut bytes = machine.objects()[name].clone();
    bytes[9] = 2;
    let body = bytes.len() - 32;
    let hash = ObjectHash::of(&bytes[..body]);
    bytes[body..].copy_from_slice(hash.as_bytes());
    machine.replace(name, &bytes);
    bytes
}

#[test]
fn the_owner_accepts_that_manifests_and_changes_are_lost_and_checks_are_whole_again() {
    for harm in [Harm::Delete, Harm::Flip] {
        let machine = one();
        for tag in ["gold", "silver"] {
            machine.write(tag, noise(tag.len() as u64, 50_000));
            machine.backup(&[]);
            machine.ok(&["tag", "latest", "--add", tag]);
        }
        let (manifest, change) = (machine.names("manifests/").remove(1), machine.names("changes/").remove(0));
        machine.damage(&change, harm);
        machine.damage(&manifest, harm);
        let refused = machine.run(&["repair", "--accept-loss"]);
        assert!(refused.code == 2 && refused.err.contains("copal rebuild-index"), "{refused:?}");
        machine.run(&["rebuild-index"]).exits(4);
        let (code, report) = machine.check(&[]);
        assert_eq!((code, report["errors"].as_array().unwrap().len()), (4, 2), "nothing follows from a loss: {report}");
        assert_eq!(machine.json(&["repair", "--accept-loss"])["accepted"], serde_json::json!([manifest, change]));
        let ran = machine.run(&["check", "--full"]).ok();
        assert!(ran.err.contains("2 lost records do not count"), "{ran:?}");
        // Another loss still counts.
        let next = machine.names("manifests/").pop().unwrap();
        machine.damage(&next, harm);
        assert_eq!(machine.check(&[]).0, 4);
    }
}

#[test]
fn a_client_whose_manifests_are_all_gone_is_named_and_goes_on() {
    for are_answered in [true, false] {
        let machine = one();
        machine.write("more", noise(3, 50_000));
        machine.backup(&[]);
        let manifests = machine.names("manifests/");
        let receipts = machine.names("receipts/").into_iter().filter(|_| !are_answered);
        manifests.iter().cloned().chain(receipts).for_each(|name| machine.damage(&name, Harm::Delete));
        let rebuilt = machine.run(&["rebuild-index"]).exits(4);
        assert!(manifests.iter().all(|name| rebuilt.err.contains(name)), "{rebuilt:?}");
        if are_answered {
            assert_eq!(machine.check(&[]).0, 4);
            assert_eq!(machine.json(&["repair", "--accept-loss"])["accepted"], serde_json::json!(manifests));
            machine.ok(&["rebuild-index"]);
        }
        machine.backup(&[]);
        machine.ok(&["check", "--full"]);
        assert_eq!(machine.snapshots_that(&[]).len(), 1);
    }
}

#[test]
fn the_index_is_built_again_from_packs_and_manifests() {
    let machine = one();
    machine.write("c", noise(3, 50_000));
    machine.backup(&[]);
    machine.ok(&["tag", "latest", "--add", "gold"]);
    let forgotten = machine.snapshots().remove(0);
    machine.ok(&["forget", &forgotten]);
    let before = machine.json(&["snapshots"]);
    machine.lose_index();
    let report = machine.json(&["rebuild-index"]);
    assert_eq!((&report["lost"], &report["snapshots"]), (&0.into(), &1.into()), "{report}");
    assert_eq!(machine.json(&["snapshots"]), before);
    machine.ok(&["check", "--full"]);
    machine.ok(&["undelete", &forgotten]);
    machine.backup(&[]);
    assert_eq!(machine.snapshots().len(), 3);
}

#[test]
fn a_rebuild_names_the_snapshot_that_was_brought_back_and_the_pack_that_it_lacks() {
    let machine = one();
    let snapshot = machine.snapshots().remove(0);
    machine.ok(&["forget", &snapshot]);
    machine.ok(&["undelete", &snapshot]);
    let data = machine.packs(0).remove(0);
    machine.damage(&data, Harm::Delete);
    machine.lose_index();
    let run = machine.run(&["rebuild-index"]);
    assert_eq!(run.code, 4, "{run}");
    let names_it = run.err.lines().any(|line| line.contains("snapshot") && line.contains("something that it needs"));
    assert!(names_it && run.err.contains(&data), "{run}");
    assert_eq!(machine.snapshots(), [snapshot]);
}

#[test]
fn a_manifest_that_a_rebuild_leaves_out_is_damage_and_counts_again_once_it_is_mended() {
    let machine = one();
    machine.write("c", noise(3, 50_000));
    machine.backup(&[]);
    let before = machine.snapshots();
    let manifest = machine.names("manifests/").pop().unwrap();
    let whole = std::fs::read(machine.object(&manifest)).unwrap();
    let lose = || {
        machine.lose_index();
        std::fs::remove_dir_all(machine.object("receipts")).unwrap();
    };
    lose();
    machine.damage(&manifest, Harm::Flip);
    let run = machine.run(&["rebuild-index"]);
    assert!(run.code == 4 && run.err.contains(&manifest), "{run}");
    assert_eq!(machine.snapshots().len(), before.len() - 1);
    machine.run(&["status"]);
    std::fs::write(machine.object(&manifest), whole).unwrap();
    machine.ok(&["rebuild-index"]);
    assert_eq!(machine.snapshots(), before);
    assert_eq!(machine.check(&["--full"]).0, 0);
}

#[test]
fn ingest_has_nothing_to_say_where_all_is_decided() {
    let machine = one();
    let report = machine.json(&["ingest"]);
    assert_eq!((&report["accepted"], &report["rejected"], &report["waiting"]), (&0.into(), &0.into(), &0.into()));
    machine.damage(&machine.names("manifests/")[0], Harm::Delete);
    assert_eq!(machine.run(&["ingest"]).code, 0);
}

#[test]
fn a_descriptor_that_cannot_be_used_is_followed_by_what_the_last_sound_one_says() {
    let machine = Machine::saved([("file", "content")]);
    let first = machine.names("copal/").remove(0);
    let sound = machine.json(&["cat", &first]);
    let damaged = first.replace("0001", "0002");
    std::fs::write(machine.object(&damaged), b"not a descriptor").unwrap();
    // Client records would tell less, and are not needed.
    machine.names("clients/").iter().for_each(|name| std::fs::remove_file(machine.object(name)).unwrap());
    machine.run(&["repair"]);
    let mut written = machine.json(&["cat", &first.replace("0001", "0003")]);
    written["version"] = sound["version"].clone();
    written["object"] = sound["object"].clone();
    assert_eq!(written, sound);
}

#[test]
fn a_backup_against_a_damaged_index_saves_and_says_what_is_to_be_done() {
    let machine = one();
    let segment = machine.names("index/").remove(0);
    // The last byte is an entry's: everything else of it reads well.
    let last = machine.objects()[&segment].len() - 1;
    machine.flip(&segment, last);
    machine.write("c/file", noise(3, 50_000));
    let run = machine.run(&["backup", "source", "--json"]);
    assert!(run.code == 4 && run.err.contains(&segment) && run.err.contains("rebuild-index"), "{run}");
    let saved = crate::kit::text(&run.json()["snapshot_id"]);
    machine.ok(&["rebuild-index"]);
    assert_eq!(machine.snapshots().last(), Some(&saved));
    machine.restore(&[]).ok();
    assert_eq!(std::fs::read(machine.path("out/c/file")).unwrap(), noise(3, 50_000));
    machine.backup(&[]);
}

/// The machine that made the snapshots is gone, and with it the keys that could register it again.
#[test]
fn snapshots_of_a_machine_that_is_gone_stay_readable_though_a_copy_of_its_record_is_lost_or_damaged() {
    for harm in [Harm::Delete, Harm::Flip, Harm::Truncate] {
        for copy in 0..2 {
            let machine = one();
            let names = machine.names("clients/");
            assert_eq!(names.len(), 2, "{names:?}");
            machine.damage(&names[copy], harm);
            std::fs::remove_dir_all(machine.path("home/.local/state/copal")).unwrap();
            machine.restore(&[]).ok();
            let place = |side: &str, file: &str| std::fs::read(machine.path(side).join(file)).unwrap();
            for file in ["a/file", "b/file"] {
                assert_eq!(place("out", file), place("source", file), "{file} {harm:?} {copy}");
            }
            let (code, report) = machine.check(&[]);
            assert!(code == 4 && report.to_string().contains(&names[copy]), "{harm:?} {copy}: {report}");
        }
    }
}

#[test]
fn repair_writes_a_lost_or_damaged_copy_of_a_clients_record_again() {
    for (copy, harm) in [(0, Harm::Flip), (1, Harm::Flip), (0, Harm::Delete), (1, Harm::Delete)] {
        let machine = one();
        let names = machine.names("clients/");
        let whole = machine.objects()[&names[copy]].clone();
        machine.damage(&names[copy], harm);
        let report = machine.json(&["repair"]);
        assert_eq!(report["restored"], serde_json::json!([names[copy]]));
        assert_eq!(machine.objects()[&names[copy]], whole);
        assert_eq!(machine.check(&[]).0, 0);
    }
}

#[test]
fn a_record_of_a_revoked_client_is_stored_twice_at_once() {
    let machine = one();
    machine.ok(&["client", "add", "--name", "phone", "--role", "full"]);
    assert_eq!(machine.names("clients/").len(), 4);
    machine.ok(&["client", "revoke", "phone"]);
    let names = machine.names("clients/");
    let objects = machine.objects();
    let copies: Vec<_> = names.iter().filter(|name| name.ends_with(".b")).collect();
    assert_eq!((names.len(), copies.len()), (6, 3), "{names:?}");
    copies.iter().for_each(|copy| assert_eq!(objects[*copy], objects[copy.trim_end_matches(".b")], "{copy}"));
}
