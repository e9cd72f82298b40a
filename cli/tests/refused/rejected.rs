//! A backup whose every manifest is rejected: how often it tries.

use std::fs;

use crate::kit::{Machine, Running, noise, until};
use crate::managed::world::{listed, managed};

#[test]
fn a_backup_that_is_rejected_each_time_gives_up_after_four_attempts_and_a_stream_after_one() {
    let machine = managed();
    machine.write("file", noise(1, 50_000));
    assert_eq!(attempts(&machine, &["backup", "source", "--json"]), 4);
    assert_eq!(attempts(&machine, &["backup", "--stdin-from-command", "--json", "--", "echo", "text"]), 1);
}

/// Runs a backup beside a service that finds the packs of no manifest; gives how many manifests the backup has written.
fn attempts(machine: &Machine, words: &[&str]) -> usize {
    let manifests = || listed(machine, "manifests").len();
    let before = manifests();
    let mut answered = before;
    let mut running = Running::start(&mut machine.with_key(words));
    until("it gives up", || {
        let has_ended = running.has_ended();
        if manifests() > answered {
            answered = manifests();
            // A manifest comes after its packs, and nothing comes before its answer.
            listed(machine, "packs").iter().for_each(|pack| fs::remove_file(machine.object(pack)).unwrap());
            machine.run(&["ingest"]).exits(5);
        }
        has_ended.then_some(())
    });
    assert_eq!(running.end().exits(5).kind(), "rejected");
    answered - before
}
