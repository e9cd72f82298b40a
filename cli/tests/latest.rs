//! `latest`: which snapshot it is, on which machine, and for which command.

use crate::kit::{Machine, Ran, Run, text};
use serde_json::Value;

fn tree() -> Machine {
    let machine = Machine::new();
    machine.write("a/b/c", "1");
    machine
}

/// Whether a listing has an entry of this name.
fn has(listing: &Ran, name: &str) -> bool {
    listing.rows().iter().any(|row| text(&row["path"]).ends_with(&format!("/{name}")))
}

/// The command on a machine of another name.
fn elsewhere(machine: &Machine, arguments: &[&str]) -> Ran {
    machine.with_key(arguments).env("COPAL_HOST", "desk").ran()
}

#[test]
fn a_host_without_snapshots_reads_the_latest_of_the_only_series() {
    let machine = tree();
    machine.backup(&[]);
    machine.write("newer", "x");
    let newest = machine.backup(&[]);
    let restored = elsewhere(&machine, &["restore", "latest:source", "-t", "out"]).ok();
    assert!(restored.err.contains("\"desk\") has made no snapshot; \"latest\" is that of \"laptop\""), "{restored}");
    assert!(machine.path("out/newer").exists());
    let told = elsewhere(&machine, &["restore", "latest", "-t", "again", "--json"]).ok().json();
    assert_eq!((text(&told["snapshot_id"]), text(&told["host"])), (newest.clone(), "laptop".to_owned()));
    let own = machine.run(&["ls", "latest"]).ok();
    assert_eq!(own.err, "", "where it is a matter of course, nothing is said");
    let chosen = elsewhere(&machine, &["ls", "latest", "--host", "laptop"]).ok();
    assert_eq!(chosen.err, "", "nor to who has said it");
    elsewhere(&machine, &["backup", "source/a"]).ok();
    let paths = elsewhere(&machine, &["ls", "-R", "--json", "latest"]).ok();
    assert!(has(&paths, "c") && !has(&paths, "newer"), "its own comes first: {paths}");
}

#[test]
fn a_host_without_snapshots_chooses_among_several_series() {
    let machine = tree();
    machine.backup(&[]);
    let whole = machine.backup(&[]);
    let part = text(&machine.json(&["backup", "source/a", "--host", "server"])["snapshot_id"]);
    let refused = elsewhere(&machine, &["ls", "latest", "--json"]).exits(1);
    assert_eq!(refused.kind(), "ambiguous_snapshot");
    let failure: Value = serde_json::from_str(refused.err.trim()).unwrap();
    let mut candidates: Vec<_> = failure["candidates"].as_array().unwrap().iter().map(|row| text(&row["id"])).collect();
    candidates.sort();
    let mut newest = vec![whole, part.clone()];
    newest.sort();
    assert_eq!(candidates, newest, "the newest of each series");
    let told = elsewhere(&machine, &["ls", "latest"]).exits(1).err;
    assert!(told.contains("(\"desk\") has made no snapshot") && told.contains("other clients have 2 series"), "{told}");
    assert!(told.contains("server") && told.contains("laptop") && told.contains("--host"), "{told}");
    let found = elsewhere(&machine, &["find", "--json", "c", "--snapshot", "latest", "--host", "server"]).ok().rows();
    assert_eq!(found.iter().map(|row| text(&row["snapshot"])).collect::<Vec<_>>(), [part]);
    let narrowed = elsewhere(&machine, &["ls", "latest", "--path", "source"]).ok();
    assert!(narrowed.err.contains("that of \"laptop\""), "{narrowed}");
}

#[test]
fn series_of_one_host_and_path_are_told_apart_by_their_labels() {
    let machine = tree();
    let plain = machine.backup(&[]);
    let labelled = machine.backup(&["--label", "nightly"]);
    assert_eq!(machine.run(&["ls", "latest", "--json"]).exits(1).kind(), "ambiguous_snapshot");
    for (label, id) in [("", plain), ("nightly", labelled)] {
        let target = format!("out {label}");
        let restored = machine.json(&["restore", "latest", "--label", label, "-t", &target]);
        assert_eq!(text(&restored["snapshot_id"]), id);
        assert_eq!(machine.json(&["snapshots", "--label", label])[0]["id"], id.as_str());
    }
}

#[test]
fn what_changes_takes_no_other_hosts_latest() {
    let machine = tree();
    machine.backup(&[]);
    for act in [&["forget", "latest"][..], &["pin", "latest"], &["tag", "--add", "x", "latest"]] {
        assert_eq!(elsewhere(&machine, &[act, &["--json"]].concat()).exits(1).kind(), "ambiguous_snapshot", "{act:?}");
        elsewhere(&machine, &[act, &["--host", "laptop"]].concat()).ok();
        machine.run(&["unpin", "latest"]);
        machine.run(&["undelete", "latest"]).ok();
    }
}

#[test]
fn another_hosts_latest_is_no_answer_while_this_hosts_may_be_lost() {
    let machine = tree();
    machine.backup(&[]);
    let own: Vec<String> = machine.names("manifests/");
    elsewhere(&machine, &["backup", "source"]).ok();
    for manifest in own {
        machine.damage(&manifest, crate::kit::Harm::Flip);
    }
    let refused = machine.run(&["restore", "latest", "-t", "out", "--json"]);
    assert!(refused.code != 0 && !machine.path("out").exists(), "{refused}");
}

#[test]
fn a_clock_that_is_wrong_is_told_and_does_not_decide_which_snapshot_is_the_newest() {
    let machine = tree();
    let now = || jiff::Timestamp::now().as_second();
    for (wrong_by, side) in [("-864000", "behind"), ("864000", "ahead of")] {
        machine.backup(&[]);
        machine.write(side, "newest");
        let before = now();
        let ran = machine.with_key(&["backup", "source", "--json"]).env("COPAL_CLOCK_WRONG_BY", wrong_by).ran().ok();
        assert!(ran.err.contains(&format!("{side} the repository's")), "{ran}");
        let newest = text(&ran.json()["snapshot_id"]);
        let listed = machine.json(&["snapshots", "--latest", "1"]);
        assert_eq!(text(&listed[0]["id"]), newest, "{side}");
        let time = text(&listed[0]["time"]).parse::<jiff::Timestamp>().unwrap().as_second();
        assert!((before - 300..=now() + 300).contains(&time), "{side}: {listed}");
    }
    // What a person says counts, and a clock that is right is not spoken of.
    let ran = machine.run(&["backup", "source", "--time", "2001-02-03", "--json"]).ok();
    assert_eq!(ran.err, "");
    assert!(machine.ok(&["snapshots", "--json"]).contains("2001-02-03T00:00:00"));
}
