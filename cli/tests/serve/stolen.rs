//! Stolen: what somebody can do with nothing but the keys that a client signs requests with.

use std::collections::BTreeMap;
use std::fs;

use copal_format::id::ObjectHash;
use copal_format::layout;
use copal_format::root::Root;
use copal_format::state::{DoomedRecord, DoomedState, RunKind, StateDelta, write_run};
use copal_format::time::Time;

use super::server::{At, Server, put};
use super::{machine, restores};
use crate::kit::{Machine, Run, noise, text};

#[test]
fn a_stolen_request_key_dooms_nothing() {
    let machine = machine();
    machine.backup(&[]);
    let before = machine.objects();
    let server = Server::start(&machine, &["--prune-every", "0s"]);
    // A root that dooms all there is, key slots and descriptor among it.
    let newest = machine.names("roots/").remove(0);
    let number = layout::root_number(&newest).unwrap();
    let root = Root::decode(number, &before[&newest]).unwrap();
    let record = DoomedRecord { state: DoomedState::Doomed, time: Time(0), root: number + 1 };
    let any = layout::Prunable::Segment(ObjectHash([0; 32]));
    let delta = StateDelta { doomed: [(any, Some(record))].into(), ..StateDelta::default() };
    let value = delta.records(RunKind::Doomed).into_values().next().unwrap();
    let names = before.keys().map(|name| (name.clone().into_bytes(), value.clone()));
    let run = write_run(RunKind::Doomed, [7; 16], &names.collect::<BTreeMap<_, _>>());
    let runs = [vec![run.reference.clone()], root.runs.clone()].concat();
    let base = Some((number, ObjectHash::of(&before[&newest])));
    let forged = Root { number: number + 1, base, runs, random: [8; 16], ..root };
    let objects =
        [(layout::state(run.reference.hash), run.bytes), (layout::root(number + 1), forged.encode().unwrap())];
    // What was signed in the second of the start counts as signed before it.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let answers = objects.map(|(name, bytes)| put(&machine, &server.url, &name, &bytes));
    machine.run(&["prune", "--grace", "0s", "--keyless"]);
    let names = machine.names("");
    let lost: Vec<&String> = before.keys().filter(|name| !names.contains(name)).collect();
    assert!(lost.iter().all(|name| name.starts_with("index/") || name.starts_with("state/")), "{lost:?}");
    for answer in answers {
        assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("urn:copal:problem:not-permitted"), "{answer}");
    }
    restores(&machine, &server.url);
    machine.run(&["check", "--full"]).ok();
}

#[test]
fn a_stolen_request_key_writes_no_junk_in_the_place_of_changes() {
    let machine = machine();
    machine.backup(&[]);
    let server = Server::start(&machine, &[]);
    // What was signed in the second of the start counts as signed before it.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let answer = put(&machine, &server.url, &layout::change(1), b"junk");
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("urn:copal:problem:bad-request"), "{answer}");
    assert!(machine.names("changes/").is_empty());
    machine.at(&server.url, &["forget", "latest"]).ok();
    assert_eq!(machine.names("changes/"), [layout::change(1)]);
    machine.run(&["check"]).ok();
}

#[test]
fn where_clients_ingest_the_server_does_it_for_those_that_come_through_it() {
    let machine = machine();
    machine.backup(&[]);
    let server = Server::start(&machine, &["--ingest-every", "0s"]);
    machine.write("a/letter", "Dear reader, through the gateway");
    let saved = machine.at(&server.url, &["backup", "source", "--json"]).ok();
    assert_eq!(text(&saved.json()["accepted_by"]), "service");
    let add = ["client", "add", "--name", "camera", "--role", "write-only", "--json"];
    assert_ne!(machine.run(&add).code, 0, "beside the store nobody would accept what it saves");
    fs::write(machine.path("line"), text(&machine.at(&server.url, &add).ok().json()["line"])).unwrap();
    let other = |arguments: &[&str]| {
        let mut command = machine.command(arguments);
        command.env("COPAL_REPOSITORY", &server.url).env("HOME", machine.path("camera")).ran()
    };
    other(&["client", "join", "line"]).ok();
    machine.write("picture", noise(5, 100_000));
    other(&["backup", "source"]).ok();
    machine.at(&server.url, &["forget", "--keep-last", "1", "--host", &machine_host(&machine)]).ok();
    drop(server);
    let beside = machine.json(&["backup", "source"]);
    assert_eq!(text(&beside["accepted_by"]), "client");
    machine.run(&["check", "--full"]).ok();
}

fn machine_host(machine: &Machine) -> String {
    let snapshots = machine.json(&["snapshots"]);
    text(&snapshots.as_array().unwrap()[0]["host"])
}
