//! Manifests: checks read those of all clients, many at a time, and go on where the last check ended.

use std::time::Duration;

use copal_format::client::Role;
use copal_format::id::ObjectHash;
use copal_format::layout;
use copal_format::manifest::Manifest;
use copal_jobs::check::{Depth, Tables, check, check_until};
use copal_jobs::faults::{Windows, plant};
use copal_store::Op;
use copal_store::record::Record;
use copal_tests::kit::repository::key as store_key;
use copal_tests::kit::{Client, Slow, World, path};
use futures::executor::block_on;

use crate::service_budget::asked;

/// Three clients with twelve manifests each.
fn many_manifests() -> (World, Vec<Client>) {
    let world = World::new();
    let clients: Vec<Client> = (1..=3).map(|number| world.register(number, Role::Full)).collect();
    for client in &clients {
        for time in 0..12 {
            world.back_up(client, &[(path("a"), vec![time; 100])].into());
        }
    }
    (world, clients)
}

/// Makes a check that has to end at once take eight steps: a step is a client or a manifest.
const FEW: Windows = Windows { at_once: 1, ..Windows::DESIGN };

#[test]
fn checks_without_time_read_the_manifests_of_all_clients_one_after_another_and_then_begin_anew() {
    let (world, _) = many_manifests();
    plant(None, FEW);
    let mut ends = Vec::new();
    for _ in 0..10 {
        world.wait(Duration::from_secs(60));
        let report = block_on(check_until(&world.job(), (Depth::Structure, Tables::Share), &asked(0))).unwrap();
        assert!(report.is_ok(), "{:?}", report.findings);
        assert_eq!(report.is_unfinished(), report.clients_left + report.domains_left > 0);
        ends.push(report.clients_left);
    }
    plant(None, Windows::DESIGN);
    // A check looks at a client and reads seven of its twelve manifests; the next one begins with the last of them. After
    // the third client the first comes again.
    assert_eq!(ends, [3, 2, 2, 1, 1, 0, 3, 2, 2, 1]);
}

#[test]
fn damage_to_the_last_manifest_of_the_last_client_is_found_by_checks_without_time() {
    let (world, _) = many_manifests();
    let name = world.names("manifests/").pop().unwrap();
    world.flip(&name);
    plant(None, FEW);
    let found = (0..6).any(|_| {
        world.wait(Duration::from_secs(60));
        let report = block_on(check_until(&world.job(), (Depth::Structure, Tables::Share), &asked(0))).unwrap();
        report.findings.iter().any(|finding| finding.object == name)
    });
    plant(None, Windows::DESIGN);
    assert!(found);
}

#[test]
fn where_one_check_ends_and_the_next_goes_on_a_manifest_must_name_the_one_before() {
    let (world, clients) = many_manifests();
    let first = clients.iter().min_by_key(|client| client.id).unwrap();
    // The first run ends with the seventh.
    let name = layout::manifest(first.id, 8);
    let repository = world.job().repository;
    let key = first.keys.manifest_key();
    let read = Manifest::verify(repository, &key.verifying_key().to_bytes(), first.id, 8, &world.read(&name)).unwrap();
    let forged = Manifest { previous: ObjectHash([7; 32]), ..read.manifest }.sign(repository, &key);
    world.store.corrupt(&store_key(&name), |bytes| bytes.clone_from(&forged)).unwrap();
    plant(None, FEW);
    let found: Vec<bool> = (0..2)
        .map(|_| {
            world.wait(Duration::from_secs(60));
            let report = block_on(check_until(&world.job(), (Depth::Structure, Tables::Share), &asked(0))).unwrap();
            report.findings.iter().any(|finding| finding.object == name && finding.why.contains("does not name"))
        })
        .collect();
    plant(None, Windows::DESIGN);
    assert_eq!(found, [false, true]);
}

#[test]
fn manifests_that_are_missing_where_a_check_ends_are_all_named() {
    let (world, clients) = many_manifests();
    let first = clients.iter().min_by_key(|client| client.id).unwrap();
    // Checks then compare the state with this one, and not with the manifests that have led to it.
    world.prune(Duration::from_secs(24 * 3600));
    // The first run ends at the seventh.
    let missing = [6, 7, 8].map(|number| layout::manifest(first.id, number));
    missing.iter().for_each(|name| world.destroy(name));
    plant(None, FEW);
    let found: Vec<Vec<String>> = (0..2)
        .map(|_| {
            world.wait(Duration::from_secs(60));
            let report = block_on(check_until(&world.job(), (Depth::Structure, Tables::Share), &asked(0))).unwrap();
            report.findings.into_iter().map(|finding| finding.object).filter(|name| missing.contains(name)).collect()
        })
        .collect();
    plant(None, Windows::DESIGN);
    assert_eq!(found, [missing[..2].to_vec(), missing[2..].to_vec()]);
}

#[test]
fn the_last_manifests_are_missed_whatever_their_client_writes_behind_them() {
    let world = World::new();
    let client = world.register(1, Role::WriteOnly);
    for time in 0..3 {
        world.back_up(&client, &[(path("a"), vec![time; 100])].into());
    }
    world.prune(Duration::from_secs(24 * 3600));
    let [second, third] = [2, 3].map(|number| layout::manifest(client.id, number));
    [&second, &third].iter().for_each(|name| world.destroy(name));
    for number in [4, 1_000, 9_007_199_254_740_991] {
        world.put(&layout::manifest(client.id, number), vec![7; 1_000]);
        let found: Vec<String> = world.check().findings.into_iter().map(|finding| finding.object).collect();
        assert!(found.contains(&second) && found.contains(&third), "{number}: {found:?}");
    }
}

#[test]
fn a_check_reads_many_manifests_and_their_answers_at_the_same_time_and_each_once() {
    let world = World::new();
    let clients = [1, 2].map(|number| world.register(number, Role::Full));
    for time in 0..200 {
        for client in &clients {
            world.back_up(client, &[(path("a"), vec![time; 100])].into());
        }
    }
    // A check compares the state with the last one that a prune has verified: without a prune, it reads everything.
    world.prune(Duration::ZERO);
    let slow = Slow::new(&world.store);
    let report = slow.run(check(&world.job_of(&slow), Depth::Structure)).unwrap();
    assert!(report.is_ok(), "{:?}", report.findings);
    // One after another, these 800 reads alone take 28 s.
    assert!(slow.now() < Duration::from_secs(8), "{:?} {:?}", slow.now(), slow.calls());
}

#[test]
fn a_check_of_many_clients_that_have_written_nothing_looks_at_many_at_the_same_time_and_ends_when_it_has_to() {
    let world = World::new();
    for number in 1..=200 {
        world.register(number, Role::WriteOnly);
    }
    let slow = Slow::new(&world.store);
    let report = slow.run(check_until(&world.job_of(&slow), (Depth::Structure, Tables::Share), &asked(0))).unwrap();
    assert_eq!((report.clients_left, report.is_ok()), (0, true), "{:?}", report.findings);
    // One after another, the four calls for each of them take 28 s.
    assert!(slow.now() < Duration::from_secs(5), "{:?} {:?}", slow.now(), slow.calls());
    plant(None, FEW);
    let report = block_on(check_until(&world.job(), (Depth::Structure, Tables::Share), &asked(0))).unwrap();
    plant(None, Windows::DESIGN);
    assert_eq!(report.clients_left, 192);
}

#[test]
fn what_a_client_has_written_behind_the_last_answer_is_no_loss_and_is_not_read_once_it_is_revoked() {
    let world = World::new();
    let client = world.register(1, Role::WriteOnly);
    for time in 0..3 {
        world.back_up(&client, &[(path("a"), vec![time; 100])].into());
    }
    let junk = [0, 5, 1_000, 9_007_199_254_740_991].map(|number| layout::manifest(client.id, number));
    junk.iter().for_each(|name| world.put(name, vec![7; 1_000]));
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
    let last = (3, ObjectHash::of(&world.read(&layout::manifest(client.id, 3))));
    block_on(world.repository.revoke(&world.store, &client, last, None)).unwrap();
    let record = Record::new(&world.store);
    let report = block_on(check(&world.job_of(&record), Depth::Structure)).unwrap();
    assert!(report.is_ok(), "{:?}", report.findings);
    let read = record.events().into_iter().find(|event| event.op == Op::Read && junk.contains(&event.key));
    assert_eq!(read, None);
    // A gap before it is one.
    world.destroy(&layout::manifest(client.id, 2));
    let report = world.check();
    let missing: Vec<&str> = report.findings.iter().map(|finding| finding.object.as_str()).collect();
    assert!(missing.contains(&layout::manifest(client.id, 2).as_str()), "{:?}", report.findings);
}
