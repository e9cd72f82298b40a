//! Twice: two processes of one machine that make the same thing at the same time.

use std::collections::BTreeSet;
use std::thread;

use crate::kit::{Machine, Ran, Run, texts};
use crate::managed::world::{enroll, managed, other};

/// Runs an act several times at once.
fn at_once(act: impl Fn(usize) -> Ran + Sync) -> Vec<Ran> {
    thread::scope(|scope| {
        let act = &act;
        let all: Vec<_> = (0..3).map(|number| scope.spawn(move || act(number))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

#[test]
fn the_first_backups_of_a_machine_register_one_client() {
    for _ in 0..4 {
        let machine = Machine::new();
        let before = texts(&machine.json(&["client", "list"]), "id").len();
        for number in 0..3 {
            machine.write(&format!("{number}/file"), number.to_string());
        }
        let backup = |number: usize| {
            let source = machine.source(number.to_string()).display().to_string();
            let mut backup = machine.with_key(&["backup", &source]);
            backup.env("HOME", machine.path("another home")).env("COPAL_HOST", "another").ran().ok()
        };
        at_once(backup);
        let clients = texts(&machine.json(&["client", "list"]), "id");
        assert_eq!(clients.len(), before + 1, "{clients:?}");
        let of: BTreeSet<String> = texts(&machine.json(&["snapshots"]), "client").into_iter().collect();
        assert_eq!(of.len(), 1, "{of:?}");
    }
}

#[test]
fn who_joins_twice_with_one_line_has_joined() {
    let owner = managed();
    for round in 0..4 {
        let line = enroll(&owner, &format!("camera {round}"), "write-only");
        let machine = other(&owner);
        std::fs::write(machine.path("line"), line).unwrap();
        at_once(|_| machine.command(&["client", "join", "line"]).ran().ok());
        machine.write("file", "text");
        machine.command(&["backup", "source", "--no-wait"]).ran().ok();
    }
}

#[test]
fn of_several_inits_one_makes_the_repository_and_the_others_leave_nothing() {
    for _ in 0..3 {
        let machine = Machine::bare();
        let init = |number: usize| {
            let mut init = machine.command(&["-r", "new", "init"]);
            init.env("COPAL_PASSWORD", format!("passphrase {number}")).ran()
        };
        let codes: Vec<i32> = at_once(init).iter().map(|ran| ran.code).collect();
        let winner = codes.iter().position(|code| *code == 0).expect("one has made it");
        assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
        let of_winner = |arguments: &[&str]| {
            let mut command = machine.command(&[&["-r", "new", "--json"], arguments].concat());
            command.env("COPAL_PASSWORD", format!("passphrase {winner}")).ran().ok()
        };
        assert_eq!(of_winner(&["key", "list"]).json().as_array().unwrap().len(), 2, "a passphrase and a recovery code");
        of_winner(&["check", "--full"]);
    }
}
