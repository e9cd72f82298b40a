//! A repository that shows an older state than there was: every command that reads says so, none writes on it.

use std::collections::BTreeMap;
use std::fs;

use crate::kit::{Harm, Machine, Ran, Run, text};
use crate::managed::world::joined;
use serde_json::Value;

/// A machine that has saved twice, and the objects that there were after the first time.
fn twice() -> (Machine, BTreeMap<String, Vec<u8>>) {
    let machine = Machine::saved([("a/letter", "first")]);
    let old = machine.objects();
    machine.write("a/letter", "second, which is longer");
    machine.backup(&[]);
    (machine, old)
}

/// Every command that reads.
const READERS: [&[&str]; 10] = [
    &["snapshots"],
    &["ls", "latest"],
    &["restore", "latest", "-t", "out"],
    &["dump", "latest:/"],
    &["find", "letter"],
    &["diff", "latest", "latest"],
    &["stats"],
    &["status"],
    &["forget", "--keep-last", "1", "--dry-run"],
    &["client", "list"],
];

fn put_back(machine: &Machine, objects: &BTreeMap<String, Vec<u8>>) {
    for name in machine.objects().into_keys().filter(|name| !objects.contains_key(name)) {
        fs::remove_file(machine.object(&name)).unwrap();
    }
    objects.iter().filter(|(name, _)| !machine.object(name).exists()).for_each(|(name, bytes)| {
        machine.replace(name, bytes);
    });
}

/// Each command ends with exit code 4, and has said why: in JSON, too.
fn all_say(machine: &Machine, what: &[&str]) {
    for command in READERS {
        let told = |ran: &Ran| {
            assert_eq!(ran.code, 4, "{command:?}: {ran}");
            assert!(what.iter().any(|what| ran.err.contains(what)), "{command:?}: {ran}");
        };
        told(&machine.run(command));
        let ran = machine.run(&[command, &["--json"]].concat());
        told(&ran);
        let says = |line: &str| {
            let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {command:?} {ran}"));
            ["warning", "error"]
                .iter()
                .filter_map(|key| value.get(key))
                .any(|said| what.iter().any(|what| text(said).contains(what)))
        };
        assert!(ran.err.lines().any(says), "{command:?}: {ran}");
    }
}

fn forget_what_was_met(machine: &Machine) {
    fs::remove_file(machine.kept("met")).unwrap();
}

#[test]
fn a_machine_that_has_seen_a_newer_state_says_so_and_writes_nothing() {
    let (machine, old) = twice();
    put_back(&machine, &old);
    all_say(&machine, &["this machine has seen root 2"]);
    for command in [&["backup", "source"][..], &["prune"], &["tag", "latest", "--add", "x"], &["forget", "latest"]] {
        let refused = machine.run(command).exits(4);
        assert!(refused.err.contains("this machine has seen root 2"), "{refused}");
        assert!(refused.err.contains("rebuild-index"), "{refused}");
    }
    assert_eq!(machine.objects(), old);
    assert_eq!(machine.copy().check(&[]).0, 4);
    // The remedy: what is there is taken for the newest state there is.
    machine.run(&["rebuild-index"]);
    for command in READERS {
        let ran = machine.run(command);
        assert!(!ran.err.contains("has seen"), "{ran}");
    }
    machine.backup(&[]);
    machine.ok(&["snapshots"]);
}

#[test]
fn on_an_older_state_nothing_is_accepted_and_nobody_gets_a_key() {
    let (machine, mut older) = twice();
    // The second backup waits once more.
    let waits = |name: &str| name.starts_with("manifests/") || name.starts_with("packs/");
    older.extend(machine.objects().into_iter().filter(|(name, _)| waits(name)));
    put_back(&machine, &older);
    fs::write(machine.path("reader.wasm"), b"\0asm\x01\0\0\0").unwrap();
    fs::write(machine.path("policy.toml"), "keep-last = 1\n").unwrap();
    for command in [
        &["forget", "latest"][..],
        &["tag", "latest", "--add", "x"],
        &["policy", "set", "policy.toml"],
        &["prune"],
        &["ingest"],
        &["compact"],
        &["reader", "--reader", "reader.wasm"],
        &["client", "add", "--name", "x", "--role", "full"],
        &["client", "revoke", "laptop", "--own"],
        &["key", "add", "--new-key-file", "new"],
        &["key", "recovery"],
    ] {
        let refused = machine.run(command).exits(4);
        assert!(refused.err.contains("this machine has seen root 2"), "{command:?}: {refused}");
        assert!(refused.err.contains("rebuild-index"), "{command:?}: {refused}");
        assert_eq!(machine.objects(), older, "{command:?}");
    }
}

#[test]
fn what_a_machine_has_just_written_it_misses_once_that_is_gone() {
    let (saved, _) = twice();
    fs::write(saved.path("policy.toml"), "keep-last = 2\n").unwrap();
    saved.ok(&["forget", "latest"]);
    for command in
        [&["policy", "set", "policy.toml"][..], &["tag", "latest", "--add", "x"], &["prune", "--grace", "0s"]]
    {
        let machine = saved.copy();
        let before = machine.objects();
        machine.ok(command);
        put_back(&machine, &before);
        all_say(&machine, &["this machine has seen root"]);
    }
}

#[test]
fn a_state_that_went_on_from_an_older_one_is_not_the_one_that_was_seen() {
    let (machine, old) = twice();
    put_back(&machine, &old);
    // Without any memory it goes on; then it remembers.
    let file = machine.kept("met");
    let met = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    for content in ["third", "fourth, and so on", "the fifth of all"] {
        machine.write("a/letter", content);
        machine.backup(&[]);
    }
    fs::write(&file, met).unwrap();
    all_say(&machine, &["this machine has seen root 2, and what is there is another one"]);
}

#[test]
fn a_newest_root_that_is_gone_is_said_by_every_command_that_reads() {
    let (machine, _) = twice();
    machine.damage(&machine.names("roots/")[0], Harm::Delete);
    all_say(&machine, &["this machine has seen root 2", "answers what root 1 has not seen"]);
    forget_what_was_met(&machine);
    all_say(&machine, &["tells of root 2", "answers what root 1 has not seen"]);
}

#[test]
fn without_roots_no_command_says_that_there_is_nothing() {
    let (machine, _) = twice();
    forget_what_was_met(&machine);
    fs::remove_dir_all(machine.object("roots")).unwrap();
    all_say(&machine, &["the index is damaged"]);
    for command in READERS {
        assert!(machine.run(command).out.is_empty(), "{command:?}");
    }
    machine.run(&["rebuild-index"]);
    assert_eq!(machine.snapshots().len(), 2);
}

#[test]
fn a_revocation_that_is_gone_is_said_by_every_command_that_reads() {
    let (machine, _) = twice();
    machine.ok(&["client", "add", "--name", "camera", "--role", "full"]);
    let added = machine.names("clients/");
    machine.ok(&["client", "revoke", "camera"]);
    for name in machine.names("clients/").iter().filter(|name| !added.contains(name)) {
        machine.damage(name, Harm::Delete);
    }
    all_say(&machine, &["this machine has seen version 2 of the client"]);
    let refused = machine.run(&["backup", "source"]).exits(4);
    assert!(refused.err.contains("has seen version 2"), "{refused}");
}

#[test]
fn each_machine_accepts_an_older_copy_once_its_index_is_made_again() {
    let (owner, _) = twice();
    let desk = joined(&owner, "desk", "full");
    let save = |options: &[&str]| {
        desk.write("file", format!("{options:?}"));
        let backup = [&["backup", "source"], options].concat();
        desk.command(&backup).env("COPAL_KEY_FILE", owner.path("key")).ran()
    };
    save(&[]).ok();
    let copy = owner.objects();
    owner.ok(&["tag", "latest", "--add", "later"]);
    save(&["--force"]).ok();
    put_back(&owner, &copy);
    for options in [&[][..], &["--another"]] {
        let refused = save(options).exits(4);
        assert!(refused.err.contains("has seen root") && refused.err.contains("rebuild-index"), "{refused}");
    }
    owner.run(&["rebuild-index"]);
    let refused = save(&[]).exits(4);
    assert!(refused.err.contains("has seen change 1") && refused.err.contains("--another"), "{refused}");
    let accepted = save(&["--another"]).ok();
    assert!(accepted.err.contains("and accepted: this machine has seen change 1"), "{accepted}");
    assert!(!save(&["--force"]).ok().err.contains("accepted"));
}

#[test]
fn after_a_change_is_lost_the_owner_signs_another_policy_and_prunes_again() {
    let machine = Machine::saved([("file", "1")]);
    machine.ok(&["tag", "latest", "--add", "a"]);
    machine.ok(&["tag", "latest", "--add", "b"]);
    machine.damage("changes/00000000000000000002", Harm::Delete);
    machine.run(&["rebuild-index"]).exits(4);
    machine.run(&["prune"]).exits(4);
    machine.set_policy("");
    machine.ok(&["prune"]);
    machine.ok(&["policy", "show"]);
}

#[test]
fn a_client_whose_record_is_lost_writes_it_again_once_that_is_accepted() {
    let (machine, _) = twice();
    machine.names("clients/").iter().for_each(|name| machine.damage(name, Harm::Delete));
    let refused = machine.run(&["backup", "source"]).exits(4);
    assert!(refused.err.contains("--another"), "{refused}");
    machine.backup(&["--another"]);
    assert_eq!(machine.snapshots().len(), 3);
    machine.run(&["check", "--full"]).ok();
}

#[test]
fn a_root_of_the_last_number_stops_no_command_and_is_told() {
    let (machine, _) = twice();
    let bytes = machine.objects()[&machine.names("roots/")[0]].clone();
    let name = format!("roots/{:020}", 99_999_999_999_999_999_999 - u128::from(u64::MAX));
    machine.replace(&name, &bytes);
    let listed = machine.run(&["snapshots"]).ok();
    assert!(listed.err.contains(&name) && listed.err.contains("passed over"), "{listed}");
    let saved = machine.backup(&[]);
    assert!(machine.snapshots().contains(&saved));
    machine.run(&["restore", &saved, "-t", "out"]).ok();
    machine.run(&["rebuild-index"]).ok();
    assert!(machine.snapshots().contains(&saved));
    assert_eq!(machine.check(&[]).0, 4, "check tells of it");
}
