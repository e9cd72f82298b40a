//! `latest`: which snapshot it is, on which machine, and for which command.

use crate::kit::{Machine, Ran, Run, text};

fn tree() -> Machine {
    Machine::with([("a/b/c", "1")])
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
fn a_host_without_snapshots_reads_the_latest_of_another() {
    let machine = tree();
    machine.backup(&[]);
    machine.write("newer", "x");
    let newest = machine.backup(&[]);
    let restored = elsewhere(&machine, &["restore", "latest:source", "-t", "out"]).ok();
    let said = format!("(\"desk\") has made no snapshot; \"latest\" is {} of \"laptop\"", &newest[..8]);
    assert!(restored.err.contains(&said), "{restored}");
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
fn a_host_without_snapshots_reads_the_newest_and_says_whose_it_is_and_what_else_there_is() {
    let machine = tree();
    let whole = machine.backup(&[]);
    let part = text(&machine.json(&["backup", "source/a", "--host", "server"])["snapshot_id"]);
    let read = |options: &[&str]| elsewhere(&machine, &[&["ls", "latest"], options].concat()).ok();
    let told = read(&[]).err;
    let said = format!("(\"desk\") has made no snapshot; \"latest\" is {} of \"server\"", &part[..8]);
    assert!(told.contains(&said), "{told}");
    assert!(told.contains(&whole[..8]) && told.contains("of \"laptop\"") && told.contains("--host"), "{told}");
    let found = elsewhere(&machine, &["find", "--json", "c", "latest", "--host", "lap*"]).ok().rows();
    assert_eq!(found.iter().map(|row| text(&row["snapshot"])).collect::<Vec<_>>(), [whole]);
    assert_eq!(read(&["--host", "server"]).err, "", "one series fits");
}

#[test]
fn of_several_series_the_newest_is_taken_and_the_others_are_named() {
    let machine = tree();
    let plain = machine.backup(&[]);
    let labelled = machine.backup(&["--label", "nightly"]);
    let told = machine.run(&["ls", "latest"]).ok().err;
    assert!(told.starts_with(&format!("copal: \"latest\" is {}", &labelled[..8])), "{told}");
    assert!(told.contains(&format!("also there: {}", &plain[..8])) && told.contains("--label"), "{told}");
    assert_eq!(machine.run(&["ls", "latest", "--quiet"]).ok().err, "");
    for (label, id) in [("", plain), ("nightly", labelled)] {
        let target = format!("out {label}");
        let restored = machine.json(&["restore", "latest", "--label", label, "-t", &target]);
        assert_eq!(text(&restored["snapshot_id"]), id);
        assert_eq!(machine.json(&["snapshots", "--label", label])[0]["id"], id.as_str());
    }
}

#[test]
fn latest_is_the_newest_snapshot_that_holds_the_path() {
    let machine = tree();
    machine.write("b/gone", "was here");
    let first = machine.backup(&[]);
    machine.remove("b/gone");
    let second = machine.backup(&[]);
    let other = text(&machine.json(&["backup", "source/a"])["snapshot_id"]);
    let restored = |place: &str| machine.run(&["restore", place, "-t", "out", "--json"]).ok().json();
    let taken = |place: &str| text(&restored(place)["snapshot_id"]);
    assert_eq!((taken("latest:b/gone"), taken("latest:source/b"), taken("latest:a/b")), (first.clone(), second, other));
    let told = machine.run(&["dump", &format!("latest:{}", machine.source("b/gone").display())]).ok();
    assert_eq!(told.text(), "was here");
    assert!(told.err.contains(&format!("is {}", &first[..8])) && told.err.contains("newer ones do not have"), "{told}");
    assert!(!told.err.contains("also there"), "another series cannot hold it: {told}");
    assert_eq!(machine.run(&["ls", "latest:nowhere", "--json"]).exits(1).kind(), "not_in_snapshot");
}

#[test]
fn latest_searches_a_hundred_different_trees_for_a_path_and_no_more() {
    let machine = tree();
    machine.write("gone", "was here");
    machine.backup(&[]);
    machine.remove("gone");
    let another = |content: &str| {
        machine.write("count", content);
        machine.backup(&[]);
    };
    (1..100).for_each(|number| another(&format!("{number}")));
    assert_eq!(machine.ok(&["dump", "latest:gone"]), "was here");
    another("one tree more");
    assert_eq!(machine.run(&["dump", "latest:gone", "--json"]).exits(1).kind(), "not_in_snapshot");
}

#[test]
fn times_ids_and_patterns_of_hosts_choose_snapshots() {
    let machine = tree();
    let at = |time: &str, host: &str| machine.backup(&["--time", time, "--host", host]);
    let ids = [at("2020-01-01", "web-1"), at("2020-01-02", "web-2"), at("2020-01-03", "nas")];
    let listed = |options: &[&str]| machine.snapshots_that(options);
    assert_eq!(listed(&["--before", "2020-01-03"]), ids[..2]);
    assert_eq!(listed(&["--after", "2020-01-02"]), ids[1..]);
    assert_eq!(listed(&["--after", "2020-01-02", "--host", "web-*"]), ids[1..2]);
    assert_eq!(listed(&["--after", "7d"]), [""; 0]);
    assert_eq!(listed(&[&ids[2], &ids[0][..8], &ids[2]]), [ids[0].clone(), ids[2].clone()]);
    let found = machine.run(&["find", "c", &ids[1], "--json"]).ok().rows();
    assert_eq!(found.len(), 1);
    let read = machine.json(&["restore", "latest", "--host", "*", "--before", "2020-01-03", "-t", "out"]);
    assert_eq!(text(&read["snapshot_id"]), ids[1]);
    let rules = machine.json(&["forget", "--keep-last", "1", "--host", "web-?", "--after", "2020-01-02"]);
    assert_eq!((rules["kept"].as_u64(), rules["forgotten"].as_u64()), (Some(1), Some(0)));
}

#[test]
fn what_changes_takes_this_machines_newest_of_several_series_and_says_so() {
    let machine = tree();
    machine.backup(&[]);
    let newest = machine.backup(&["--label", "nightly"]);
    let pinned = machine.run(&["pin", "latest"]).ok();
    assert!(pinned.err.contains(&format!("\"latest\" is {}", &newest[..8])), "{pinned}");
    let forgotten = machine.run(&["forget", "latest", "--json"]).ok().json();
    assert_eq!(forgotten["snapshots"][0]["id"], newest.as_str());
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
fn another_hosts_latest_is_no_answer_and_is_not_listed_while_this_hosts_may_be_lost() {
    let machine = tree();
    machine.backup(&[]);
    let own: Vec<String> = machine.names("manifests/");
    elsewhere(&machine, &["backup", "source"]).ok();
    for manifest in own {
        machine.damage(&manifest, crate::kit::Harm::Flip);
    }
    let refused = machine.run(&["restore", "latest", "-t", "out", "--json"]);
    assert!(refused.code != 0 && !machine.path("out").exists(), "{refused}");
    for list in ["snapshots", "stats"] {
        let refused = machine.run(&[list, "latest", "--json"]).exits(4);
        assert!(refused.out.is_empty() && refused.kind() == "damaged", "{refused}");
    }
}

#[test]
fn a_path_chooses_snapshots_by_the_links_that_a_backup_follows() {
    let machine = tree();
    std::os::unix::fs::symlink(machine.path(""), machine.path("link")).unwrap();
    let id = text(&machine.json(&["backup", "link/source"])["snapshot_id"]);
    for path in ["link/source", "link/source/", "link/link/source", "source"] {
        assert_eq!(machine.snapshots_that(&["--path", path]), std::slice::from_ref(&id), "{path}");
    }
    // A path that is gone is looked for as well, and so is one that only another machine has.
    std::fs::remove_dir_all(machine.path("source")).unwrap();
    assert_eq!(machine.snapshots_that(&["--path", "link/source"]), [id]);
    assert_eq!(machine.snapshots_that(&["--path", "link/another"]), [""; 0]);
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
