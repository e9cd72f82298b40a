//! What check tells of damage besides the names of objects, which the damage matrix holds (`cli/tests/damage/`).

use std::sync::OnceLock;

use serde_json::Value;

use crate::kit::{Harm, Machine, noise, texts};

/// A repository with two snapshots and a tag.
fn prepared() -> Machine {
    static PREPARED: OnceLock<Machine> = OnceLock::new();
    let make = || {
        let machine = Machine::new();
        machine.write("directory/file", noise(1, 200_000));
        machine.write("small", "small");
        machine.backup(&["--time", "2026-01-01 10:00:00"]);
        machine.write("second", noise(2, 50_000));
        machine.backup(&["--time", "2026-01-02 10:00:00"]);
        machine.ok(&["tag", "latest", "--add", "a"]);
        machine
    };
    PREPARED.get_or_init(make).copy()
}

/// Whether a report of check names an object.
fn names(report: &Value, name: &str) -> bool {
    texts(&report["errors"], "object").iter().any(|object| object == name)
}

#[test]
fn a_root_that_is_gone_is_missed_as_long_as_something_knows_of_it() {
    let machine = prepared();
    // The last root was made by a change, which nothing else knows of; the next backup's receipt knows its root.
    machine.write("third", noise(3, 20_000));
    machine.backup(&[]);
    let name = machine.names("roots/").remove(0);
    machine.damage(&name, Harm::Delete);
    let (code, report) = machine.check(&["--read-data"]);
    assert!(code == 4 && names(&report, &name), "{report}");
    assert!(!machine.names("roots/").contains(&name), "nothing was written on an older state");
    for words in [&["prune"][..], &["forget", "latest"], &["backup", "source"]] {
        let run = machine.run(words);
        assert_eq!(run.code, 4, "{words:?}: {run:?}");
    }
    assert!(!machine.names("roots/").contains(&name), "nothing was written on an older state");
}

#[test]
fn damage_is_told_as_the_snapshots_and_paths_it_hits() {
    let machine = prepared();
    let snapshots = machine.snapshots();
    machine.damage(&machine.packs(0)[0], Harm::Flip);
    for depth in [&["--full"][..], &["--read-data"], &[], &["--full"]] {
        let (code, report) = machine.check(depth);
        assert_eq!(code, 4, "{depth:?} {report}");
        let errors = report["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 1, "{depth:?} {report}");
        let hit: Vec<&str> = errors[0]["snapshots"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
        assert!(snapshots.iter().all(|id| hit.contains(&id.as_str())), "{depth:?} {report}");
        let paths = errors[0]["paths"].as_array().unwrap();
        assert_eq!(paths.len(), 1, "{depth:?} {report}");
        assert!(paths[0].as_str().unwrap().ends_with("/source/directory/file"), "{depth:?} {report}");
    }
}

#[test]
fn a_pack_that_cannot_be_read_is_named_until_a_backup_has_stored_its_content_again() {
    for depth in [&["--read-data"][..], &["--full"], &[]] {
        let machine = prepared();
        let name = machine.packs(0).remove(0);
        std::fs::remove_file(machine.object(&name)).unwrap();
        std::os::unix::fs::symlink("nowhere", machine.object(&name)).unwrap();
        for _ in 0..2 {
            let (code, report) = machine.check(depth);
            assert!(code == 4 && names(&report, &name), "{depth:?}: {report}");
            assert_eq!(report["errors"].as_array().unwrap().len(), 1, "{depth:?}: {report}");
            assert_eq!(machine.run(&["repair"]).code, 4, "{depth:?}");
        }
        machine.backup(&[]);
        let (code, report) = machine.check(depth);
        assert_eq!(code, 0, "{depth:?}: {report}");
    }
}

#[test]
fn who_lists_snapshots_needs_no_index() {
    let machine = prepared();
    machine.names("index/").iter().for_each(|name| machine.damage(name, Harm::Truncate));
    assert_eq!(machine.snapshots().len(), 2);
    assert_eq!(machine.run(&["stats"]).code, 4, "who counts chunks does");
}

#[test]
fn a_lost_page_is_told_as_the_directory_it_tells_of() {
    let machine = prepared();
    machine.packs(1).iter().for_each(|name| machine.damage(name, Harm::Delete));
    let (code, report) = machine.check(&[]);
    assert_eq!(code, 4);
    let errors = report["errors"].as_array().unwrap();
    assert!(errors.iter().all(|error| error["kind"] == "missing"), "{report}");
    assert!(errors.iter().any(|error| error["paths"][0] == "/"), "{report}");
}

#[test]
fn shares_take_turns_until_all_is_read() {
    let machine = prepared();
    let packs = machine.names("packs/").len() as u64;
    let mut read = 0;
    for part in ["1/3", "2/3", "3/3"] {
        let (code, report) = machine.check(&["--read-data-share", part]);
        assert_eq!(code, 0, "{report}");
        read += report["packs_read"].as_u64().unwrap();
    }
    assert!(read >= packs, "{read} of {packs}");
    machine.damage(&machine.packs(0)[0], Harm::Flip);
    let found = ["1/3", "1/3", "1/3"].iter().any(|part| machine.check(&["--full", "--read-data-share", part]).0 == 4);
    assert!(found, "whichever number is given, all is read in turn");
}

#[test]
fn a_pack_below_a_page_that_cannot_be_read_is_not_said_to_be_needed_no_more() {
    let machine = prepared();
    let [data, tree] = [0, 1].map(|kind| machine.packs(kind).remove(0));
    for pack in [&data, &tree] {
        machine.damage(pack, Harm::Delete);
    }
    for round in 0..2 {
        let (code, report) = machine.check(&[]);
        let is_told = |pack: &str| names(&report, pack);
        assert!(code == 4 && is_told(&data) && is_told(&tree), "round {round}: {report}");
    }
}
