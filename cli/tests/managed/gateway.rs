//! The same through a gateway, with the real service behind it: no machine but the one that serves reaches the store.

use std::process::Command;

use super::world::{enroll, managed};
use crate::kit::{Machine, Ran, Run, assert_same, noise, number, text, until};
use crate::serve::server::Server;

/// `copal serve` on the owner's repository. The owner works beside the store, where nobody announces what it uploads.
fn serving(owner: &Machine) -> Server {
    Server::start(owner, &["--ingest-every", "1s"])
}

/// A command of a machine that has nothing but the address.
fn through(server: &Server, machine: &Machine, words: &[&str]) -> Command {
    let mut command = machine.command(words);
    command.env("COPAL_REPOSITORY", &server.url);
    command
}

fn join(server: &Server, machine: &Machine, line: &str) -> Ran {
    std::fs::write(machine.path("line"), line).unwrap();
    through(server, machine, &["client", "join", "line", "--json"]).ran()
}

#[test]
fn a_write_only_machine_joins_saves_and_heals_through_a_gateway_and_the_owner_restores() {
    let owner = managed();
    let server = serving(&owner);
    let machine = Machine::bare();
    join(&server, &machine, &enroll(&owner, "camera", "write-only")).ok();
    machine.write("dir/one", noise(1, 200_000));
    machine.write("dir/two", noise(2, 100_000));
    // The address is kept: no word about the repository is needed any more.
    let mut backup = machine.command(&["backup", "source", "--json"]);
    let first = backup.env_remove("COPAL_REPOSITORY").ran().ok();
    assert_eq!((text(&first.json()["accepted_by"]).as_str(), number(&first, "files_new")), ("service", 2));
    machine.write("dir/two", noise(3, 100_000));
    let second = through(&server, &machine, &["backup", "source", "--json"]).ran().ok();
    assert!(number(&second, "bytes_new") == 100_000 && !second.json()["parent_id"].is_null(), "{second}");
    let status = through(&server, &machine, &["status", "--json"]).ran().ok().json();
    assert_eq!(status["series"].as_array().unwrap().len(), 1);
    assert!(status["waiting"].as_array().unwrap().is_empty() && status["changes_waiting"].is_null());
    let refused = through(&server, &machine, &["restore", "latest", "-t", "out", "--json"]).ran().exits(1);
    assert_eq!(refused.kind(), "not_permitted");
    let by_owner = |words: &[&str]| through(&server, &owner, words).env("COPAL_KEY_FILE", owner.path("key")).ran().ok();
    by_owner(&["restore", &format!("latest:{}", machine.path("source").display()), "-t", "out"]);
    assert_same(&machine.path("source"), &owner.path("out"));
    by_owner(&["check", "--full"]);
}

#[test]
fn a_write_only_machine_saves_on_whatever_the_owner_changes_meanwhile() {
    let owner = managed();
    let server = serving(&owner);
    let machine = Machine::bare();
    join(&server, &machine, &enroll(&owner, "camera", "write-only")).ok();
    for number in 0..3 {
        owner.ok(&["backup", "source"]);
        owner.ok(&["tag", "latest", "--add", &format!("round-{number}")]);
        machine.write("dir/one", noise(number, 20_000));
        let saved = through(&server, &machine, &["backup", "source", "--json"]).ran().ok();
        assert_eq!(text(&saved.json()["accepted_by"]), "service", "{saved}");
    }
}

#[test]
fn an_enrollment_is_used_once_through_a_gateway_too() {
    let owner = managed();
    let server = serving(&owner);
    let line = enroll(&owner, "camera", "write-only");
    let first = Machine::bare();
    join(&server, &first, &line).ok();
    let second = Machine::bare();
    let refused = join(&server, &second, &line).exits(1);
    assert!(refused.kind() == "enrollment" && refused.err.contains("used already"), "{refused}");
    // Who has joined may ask again, and nothing changes.
    join(&server, &first, &line).ok();
    assert_eq!(owner.records(), 3);
}

#[test]
fn an_enrollment_that_has_expired_joins_nobody_through_a_gateway_either() {
    let owner = managed();
    let server = serving(&owner);
    for role in ["write-only", "full"] {
        let add = ["client", "add", "--name", role, "--role", role, "--expires", "1s"];
        let line = owner.ok(&add);
        std::thread::sleep(std::time::Duration::from_millis(2_100));
        let refused = join(&server, &Machine::bare(), &line).exits(1);
        assert!(refused.kind() == "enrollment" && refused.err.contains("has expired"), "{refused}");
        assert!(refused.err.contains("the owner makes a new one"), "{refused}");
    }
}

#[test]
fn a_full_machine_joins_through_a_gateway_with_the_passphrase() {
    let owner = managed();
    let server = serving(&owner);
    let line = enroll(&owner, "desk", "full");
    let machine = Machine::bare();
    std::fs::write(machine.path("").join("line"), &line).unwrap();
    let with_key = |words: &[&str]| {
        let mut command = through(&server, &machine, words);
        command.env("COPAL_KEY_FILE", owner.path("key"));
        command.ran()
    };
    with_key(&["client", "join", "line"]).ok();
    machine.write("file", "text");
    with_key(&["backup", "source"]).ok();
    with_key(&["restore", "latest", "-t", "out"]).ok();
    with_key(&["pin", "latest"]).ok();
    assert_eq!(owner.json(&["snapshots"])[0]["pinned"], true);
    // Nobody deletes through it, and nobody is told to.
    let refused = with_key(&["prune", "--json"]).exits(1);
    assert!(refused.kind() == "not_permitted" && refused.err.contains("on its own schedule"), "{refused}");
    let tried = with_key(&["forget", "--keep-last", "1", "--dry-run", "--json"]).ok();
    assert_eq!(text(&tried.json()["pruned_by"]), "service");
    owner.ok(&["client", "revoke", "desk"]);
    // The gateway knows a record for a second.
    let refused = until("it is refused", || Some(with_key(&["snapshots"])).filter(|ran| ran.code != 0));
    assert!(refused.err.contains("revoked"), "{refused}");
}

#[test]
fn a_machine_that_was_revoked_joins_again_through_a_gateway_and_no_other_does() {
    let owner = managed();
    let server = serving(&owner);
    let machine = Machine::bare();
    join(&server, &machine, &enroll(&owner, "camera", "write-only")).ok();
    let line = enroll(&owner, "camera-2", "write-only");
    let refused = join(&server, &machine, &line).exits(1);
    assert!(refused.err.contains("is a client of that repository already"), "{refused}");
    owner.ok(&["client", "revoke", "camera"]);
    // The gateway knows a record for a second.
    until("it joins", || Some(join(&server, &machine, &line)).filter(|ran| ran.code == 0));
    machine.write("file", "text");
    through(&server, &machine, &["backup", "source"]).ran().ok();
    assert_eq!(owner.json(&["snapshots"])[0]["client_name"], "camera-2");
}
