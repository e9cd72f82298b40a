//! What the functions do with what they are invoked with, over a store in memory.

use std::time::Duration;

use copal_format::client::Role;
use copal_format::id::{ClientId, OwnerFingerprint};
use copal_format::layout;
use copal_format::receipt::Outcome;
use copal_format::state::SnapshotState;
use copal_jobs::metrics::Metrics;
use copal_lambda::failure::Failure;
use copal_lambda::function::Function;
use copal_store::fault::{Call, Fate, Fault};
use copal_store::memory::MemoryStore;
use copal_store::record::Record;
use copal_store::{Op, Store, StoreError};
use copal_tests::kit::lambda::event::{batch, eventbridge, failures, notification};
use copal_tests::kit::lambda::work::{environment, work};
use copal_tests::kit::lambda::world::files;
use copal_tests::kit::{Client, DAY, World, keep_last};
use serde_json::{Value, json};

#[test]
fn a_notification_lets_the_manifest_be_decided_that_it_hints_at() {
    for make in [notification, eventbridge] {
        let (world, client) = World::with_client();
        upload(&world, &client, b"letter");
        let event = make("bucket", &key(client.id, 1), 300, TIME, 1);
        let (answer, metrics) = invoke(&world, Function::Ingest, queued(&[event])).unwrap();
        assert_eq!(failures(&answer), [""; 0]);
        assert_eq!(world.receipt(&client, 1).outcome, Outcome::Accepted);
        assert_eq!(metrics.value("ManifestsAccepted"), Some(1.0));
    }
}

#[test]
fn many_messages_of_one_client_are_one_ingest() {
    let (world, client) = World::with_client();
    (1..=3).for_each(|number| upload(&world, &client, &[number]));
    let events: Vec<Value> = (0..10).map(|at| hint(client.id, at % 3 + 1)).collect();
    let (answer, metrics) = invoke(&world, Function::Ingest, queued(&events)).unwrap();
    assert_eq!(failures(&answer), [""; 0]);
    assert_eq!(world.view().number(), 1);
    assert_eq!((metrics.value("ManifestsAccepted"), metrics.value("Messages")), (Some(3.0), Some(10.0)));
}

#[test]
fn an_event_for_which_there_is_no_work_does_nothing() {
    let (world, client) = World::with_client();
    let before = world.names("");
    let (answer, _) = invoke(&world, Function::Ingest, queued(&[hint(client.id, 1)])).unwrap();
    assert_eq!((failures(&answer).len(), world.names("")), (0, before));
}

#[test]
fn of_a_batch_only_the_messages_of_the_client_that_failed_come_again() {
    let (world, first, second) = two_uploads();
    let store = at_manifest_of(&world, &first, |call| Fate::FailBefore(down(call.key)));
    let events = [hint(first.id, 1), hint(second.id, 1), json!("nonsense"), hint(first.id, 1)];
    let (answer, metrics) = invoke_on(&world, &store, Function::Ingest, queued(&events)).unwrap();
    assert_eq!(failures(&answer), ["m-0", "m-2", "m-3"]);
    assert!(!world.has(&layout::receipt(first.id, 1)) && world.has(&layout::receipt(second.id, 1)));
    assert_eq!(metrics.value("MessagesFailed"), Some(3.0));
}

#[test]
fn a_panic_over_one_client_fails_the_messages_of_that_client() {
    let (world, first, second) = two_uploads();
    let store = at_manifest_of(&world, &first, |_| panic!("planted"));
    let (answer, metrics) =
        invoke_on(&world, &store, Function::Ingest, queued(&[hint(first.id, 1), hint(second.id, 1)])).unwrap();
    assert_eq!(failures(&answer), ["m-0"]);
    assert!(!world.has(&layout::receipt(first.id, 1)) && world.has(&layout::receipt(second.id, 1)));
    assert_eq!(metrics.value("Stops"), Some(1.0));
    let failed = invoke_on(&world, &store, Function::Ingest, json!({ "job": "reconcile" })).unwrap_err();
    assert_eq!(failed.name(), "Panicked");
}

#[test]
fn reconciliation_finds_a_manifest_whose_event_was_lost() {
    let (world, client) = World::with_client();
    upload(&world, &client, b"letter");
    world.wait(Duration::from_secs(1000));
    let (_, metrics) = invoke(&world, Function::Ingest, json!({ "job": "reconcile" })).unwrap();
    assert_eq!(world.receipt(&client, 1).outcome, Outcome::Accepted);
    assert_eq!(metrics.value("ClientsUndecided"), Some(1.0));
    assert!(metrics.value("UndecidedAge").unwrap() >= 1000.0);
    let before = world.names("");
    let (_, metrics) = invoke(&world, Function::Ingest, json!({ "job": "reconcile" })).unwrap();
    assert_eq!((world.names(""), metrics.value("ClientsUndecided")), (before, Some(0.0)));
}

#[test]
fn a_rejected_manifest_is_counted_and_no_failure() {
    let (world, client) = World::with_client();
    upload(&world, &client, b"letter");
    let packs = world.names("packs/");
    packs.iter().for_each(|name| world.destroy(name));
    let (answer, metrics) = invoke(&world, Function::Ingest, queued(&[hint(client.id, 1)])).unwrap();
    assert_eq!((failures(&answer).len(), metrics.value("ManifestsRejected")), (0, Some(1.0)));
}

#[test]
fn a_repository_of_another_owner_is_not_touched() {
    let (world, client) = World::with_client();
    upload(&world, &client, b"letter");
    let before = world.names("");
    for function in Function::ALL {
        let environment = environment(OwnerFingerprint([7; 32]), FOLDER);
        let result = work(&environment, &world.store, function, job(function), Duration::from_secs(60));
        let failure = result.unwrap_err();
        assert_eq!(failure.name(), "Owner");
        assert!(failure.to_string().contains("is of the owner"), "{failure}");
    }
    assert_eq!(world.names(""), before);
}

#[test]
fn prune_does_what_the_signed_policy_says() {
    let (world, client) = World::with_client();
    let first = world.back_up(&client, &files(b"first"));
    let second = world.back_up(&client, &files(b"second"));
    invoke(&world, Function::Prune, job(Function::Prune)).unwrap();
    assert_eq!(world.snapshot(first).state, SnapshotState::Kept, "without a policy nothing expires");
    world.change(&client, vec![keep_last(1)]);
    world.wait(DAY);
    let (answer, metrics) = invoke(&world, Function::Prune, job(Function::Prune)).unwrap();
    assert_eq!((world.snapshot(first).state, &answer["objects_deleted"]), (SnapshotState::Forgotten, &json!(0)));
    assert_eq!(metrics.value("SnapshotsExpired"), Some(1.0));
    world.wait(DAY + Duration::from_secs(1));
    let (answer, _) = invoke(&world, Function::Prune, job(Function::Prune)).unwrap();
    assert!(answer["objects_deleted"].as_u64().unwrap() > 0, "{answer}");
    assert_eq!(world.restore(second).unwrap(), files(b"second"));
    assert!(world.check().is_ok());
}

#[test]
fn checks_read_their_share_until_everything_was_read() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(b"letter"));
    world.change(&client, vec![keep_last(9)]);
    let packs = world.view().state.packs.len() as f64;
    let mut read = 0.0;
    for _ in 0..2 {
        world.wait(DAY);
        let (answer, metrics) = invoke(&world, Function::Check, job(Function::Check)).unwrap();
        assert_eq!(answer["ok"], json!(true));
        read += metrics.value("PacksRead").unwrap();
    }
    assert!(read >= packs, "{read} of {packs}");
    assert!(world.view().state.packs.values().all(|pack| pack.read.0 > 0));
}

#[test]
fn a_check_and_the_scrub_beside_it_each_read_packs_of_their_own() {
    let (world, client) = World::with_client();
    for number in 0..8 {
        world.back_up(&client, &files(&[number]));
    }
    let packs = world.view().state.packs.len() as f64;
    let mut environment = environment(world.repository.owner.fingerprint(), FOLDER);
    environment.check_parts = 1;
    let mut read = Vec::new();
    for job in ["check", "scrub-1"] {
        let asked = json!({ "job": job, "lanes": 2 });
        let (answer, metrics) =
            work(&environment, &world.store, Function::Check, asked, Duration::from_secs(600)).unwrap();
        assert_eq!((&answer["ok"], &answer["packs_left"]), (&json!(true), &json!(0)));
        read.extend(metrics.value("PacksRead"));
    }
    assert!(read.iter().all(|read| *read > 0.0) && read.iter().sum::<f64>() == packs, "{read:?} of {packs}");
    // A scrub writes no report: the newest one is that of the check, which looked at the structure.
    assert_eq!(world.names("reports/check/").len(), 1);
}

#[test]
fn damage_is_a_metric_and_no_failure() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(b"letter"));
    world.names("packs/").iter().for_each(|name| world.destroy(name));
    let (answer, metrics) = invoke(&world, Function::Check, job(Function::Check)).unwrap();
    assert_eq!(answer["ok"], json!(false));
    assert!(metrics.value("Damage").unwrap() > 0.0);
}

#[test]
fn compact_leaves_one_segment_where_many_small_ones_were() {
    let (world, client) = World::with_client();
    for number in 0..4 {
        world.back_up(&client, &files(&[number]));
    }
    let (answer, metrics) = invoke(&world, Function::Compact, job(Function::Compact)).unwrap();
    assert_eq!(metrics.value("Segments").map(|of| of as u64), answer["segments_after"].as_u64());
    assert!(world.check().is_ok());
}

#[test]
fn a_schedule_that_asks_another_function_is_refused() {
    let (world, _) = World::with_client();
    for (function, payload) in [
        (Function::Prune, job(Function::Check)),
        (Function::Ingest, job(Function::Prune)),
        (Function::Prune, hint(ClientId([1; 16]), 1)),
        (Function::Check, json!({})),
        (Function::Check, json!({ "job": "scrub-1" })),
    ] {
        assert_eq!(invoke(&world, function, payload).unwrap_err().name(), "BadEvent");
    }
}

#[test]
fn without_time_left_nothing_is_begun_and_the_next_run_does_it() {
    let (world, client) = World::with_client();
    upload(&world, &client, b"letter");
    let before = world.names("");
    let environment = environment(world.repository.owner.fingerprint(), FOLDER);
    let (late, message) = (Duration::ZERO, queued(&[hint(client.id, 1)]));
    let result = work(&environment, &world.store, Function::Ingest, message.clone(), late);
    assert!(matches!(result, Err(Failure::Expired(_))), "{result:?}");
    assert_eq!(world.names(""), before);
    invoke(&world, Function::Ingest, message).unwrap();
    assert_eq!(world.receipt(&client, 1).outcome, Outcome::Accepted);
}

#[test]
fn an_ingest_asks_the_store_so_often_however_much_lies_there() {
    let (world, client) = World::with_client();
    let calls = |number: u64| {
        upload(&world, &client, &[number as u8]);
        let store = Record::new(&world.store);
        invoke_on(&world, &store, Function::Ingest, queued(&[hint(client.id, number)])).unwrap();
        let calls = store.take();
        let of = |op: Op| calls.iter().filter(|call| call.op == op).count();
        println!(
            "manifest {number}: {} calls: {} creations, {} reads, {} of ranges, {} stats, {} listings, {} of the clock",
            calls.len(),
            of(Op::Create),
            of(Op::Read),
            of(Op::ReadRange),
            of(Op::Stat),
            of(Op::List),
            of(Op::Now),
        );
        calls.len()
    };
    let early = (1..=4).map(calls).max().unwrap();
    for number in 5..=20 {
        calls(number);
    }
    let late = (21..=24).map(calls).max().unwrap();
    // Runs and segments are folded: their number grows with the logarithm.
    assert!(late <= early + 16, "{early}, then {late}");
}

/// A backup that leaves the decision to others.
fn upload(world: &World, client: &Client, content: &[u8]) {
    world.upload(client, &files(content));
}

/// Two clients that have uploaded, and wait for an answer.
fn two_uploads() -> (World, Client, Client) {
    let (world, first) = World::with_client();
    let second = world.register(2, Role::Full);
    upload(&world, &first, b"first");
    upload(&world, &second, b"second");
    (world, first, second)
}

/// The store of a world, where reads of a client's first manifest have this fate.
fn at_manifest_of<'a>(world: &'a World, client: &Client, fate: fn(&Call<'_>) -> Fate) -> Fault<&'a MemoryStore> {
    let name = layout::manifest(client.id, 1);
    Fault::at(&world.store, move |call| call.op == Op::Read && call.key == name, fate)
}

fn key(client: ClientId, number: u64) -> String {
    format!("{FOLDER}/{}", layout::manifest(client, number))
}

fn hint(client: ClientId, number: u64) -> Value {
    notification("bucket", &key(client, number), 300, TIME, number)
}

fn queued(events: &[Value]) -> Value {
    let messages: Vec<(String, String)> =
        events.iter().enumerate().map(|(at, event)| (format!("m-{at}"), event.to_string())).collect();
    batch(messages.iter().map(|(id, body)| (&**id, &**body, 1)))
}

fn job(function: Function) -> Value {
    json!({ "job": if function == Function::Ingest { "reconcile" } else { function.name() } })
}

fn down(key: &str) -> StoreError {
    StoreError::Transient { op: Op::Read, key: key.to_owned(), source: "reset by peer".into() }
}

fn invoke(world: &World, function: Function, payload: Value) -> Result<(Value, Metrics), Failure> {
    invoke_on(world, &world.store, function, payload)
}

fn invoke_on(
    world: &World,
    store: &dyn Store,
    function: Function,
    payload: Value,
) -> Result<(Value, Metrics), Failure> {
    let environment = environment(world.repository.owner.fingerprint(), FOLDER);
    work(&environment, store, function, payload, Duration::from_secs(600))
}

const TIME: &str = "2026-11-20T12:00:00.000Z";
/// The folder of the bucket that holds the repository.
const FOLDER: &str = "team a";
