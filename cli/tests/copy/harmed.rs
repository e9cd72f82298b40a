//! Damage in the source.

use std::fs;

use super::*;
use crate::kit::{Harm, number};

#[test]
fn a_damaged_file_is_named_and_missing_and_the_next_run_copies_it_once_it_has_healed() {
    let world = World::new();
    let machine = &world.machine;
    machine.write("hit", noise(1, 3_000_000));
    fs::hard_link(machine.source("hit"), machine.source("hit again")).unwrap();
    machine.write("small", "small");
    machine.write("whole", noise(2, 100_000));
    let id = machine.backup(&[]);
    let pack = machine.packs(0).remove(0);
    let whole = machine.objects()[&pack].clone();
    machine.flip(&pack, 1_500_000);
    let ran = world.copying(&[]).ran().exits(4);
    assert!(
        ["hit\"", "hit again\""].iter().all(|name| ran.err.contains(name)) && !ran.err.contains("whole\""),
        "{ran}"
    );
    let summary = ran.json();
    assert_eq!((&summary["copied"][0]["errors"], &summary["copied"][0]["files"]), (&2.into(), &2.into()));
    let partial = made(&summary).remove(0);
    let listed = world.second(&["ls", &partial, "-R"]).ok();
    let info = world.second(&["cat", &partial]).ok().json()["snapshot"]["info"].clone();
    assert!(listed.text().contains("whole") && !listed.text().contains("hit"), "{listed}");
    assert_eq!(info["troubles"]["unreadable_paths"].as_array().unwrap().len(), 2, "{info}");
    world.second(&["check", "--full"]).ok();
    // A restore of this copy deletes none of the files that the copy lacks.
    let (place, target) = (machine.whole().replace("latest", &partial), machine.path("source"));
    world.second(&["restore", "--json", &place, "-t", target.to_str().unwrap(), "--delete"]).ok();
    assert!(machine.source("hit").exists());
    fs::remove_file(machine.source("small")).unwrap();
    machine.write("small/kept", "1");
    world.second(&["restore", "--json", &place, "-t", target.to_str().unwrap(), "--delete"]).exits(3);
    assert!(machine.source("small/kept").exists());
    // As long as nothing more can be read, no other copy is made.
    let again = world.copying(&[]).ran().exits(4);
    assert!(again.json()["copied"][0]["snapshot_id"].is_null(), "{again}");
    machine.replace(&pack, &whole);
    let healed = made(&world.copies(&[])).remove(0);
    world.assert_alike(&id, &healed);
    assert_eq!(world.copies(&[])["already_there"], 1);
}

#[test]
fn a_lost_page_costs_only_the_entries_below_it() {
    let world = World::new();
    let machine = &world.machine;
    for number in 0..3000 {
        machine.write(&format!("d{}/file {number:04}", number / 100), format!("{number}"));
    }
    machine.backup(&[]);
    let before = machine.packs(1);
    machine.write("d9/new", "new");
    machine.backup(&[]);
    // The second snapshot needs a few pages of its own; all others are lost.
    before.iter().for_each(|pack| machine.damage(pack, Harm::Delete));
    let ran = world.copying(&["latest"]).ran().exits(4);
    assert!(ran.err.contains("are lost"), "{ran}");
    let copied = &ran.json()["copied"][0];
    assert!(copied["files"].as_u64().unwrap() > 0 && copied["errors"].as_u64().unwrap() > 0, "{copied}");
    world.second(&["check", "--full"]).ok();
}

#[test]
fn a_snapshot_that_lacked_something_gives_a_copy_that_says_the_same() {
    let world = World::new();
    let machine = &world.machine;
    machine.write("file", noise(1, 100_000));
    machine.write("hit", noise(2, 3_000_000));
    machine.backup(&[]);
    machine.damage(&machine.packs(0)[0], Harm::Delete);
    let partial = made(&world.copying(&[]).ran().exits(4).json()).remove(0);
    // The second repository is now the source, and the copy's own troubles are inherited.
    let third = ["-r", "third", "--key-file", "third-key", "init"];
    machine.command(&third).env("COPAL_PASSWORD", "third").ran().ok();
    let copy = ["-r", "second", "copy", "--json", "--to", "third", "--to-key-file", "third-key", &partial];
    let ran = machine.command(&copy).env("COPAL_KEY_FILE", machine.path("second-key")).ran().ok();
    let cat = ["-r", "third", "--json", "cat", &made(&ran.json())[0]];
    let info = machine.command(&cat).env("COPAL_KEY_FILE", machine.path("third-key")).ran().ok().json();
    let info = &info["snapshot"]["info"];
    assert_eq!(
        (&info["summary"]["errors"], info["troubles"]["unreadable_paths"].as_array().unwrap().len()),
        (&2.into(), 2)
    );
    assert_eq!(number(&machine.run(&["check", "--json"]).exits(4), "packs_read"), 0);
}
