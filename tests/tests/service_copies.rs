//! Copies of client records: who writes them, and what they are good for.

use copal_format::client::Role;
use copal_format::layout;
use copal_format::state::SnapshotState;
use copal_jobs::check::Kind;
use copal_jobs::clients;
use copal_tests::kit::{Client, World, noise};
use futures::executor::block_on;

/// A world with one client that has made a backup, and the names of its record's copies.
fn begin(role: Role) -> (World, Client, [String; 2]) {
    let world = World::new();
    let client = world.register(1, role);
    world.back_up(&client, &noise(1, 1, 900));
    let names = [layout::client(client.id, 1), layout::client_copy(client.id, 1)];
    (world, client, names)
}

/// What a check finds.
fn found(world: &World) -> Vec<(Kind, String)> {
    world.check().findings.into_iter().map(|finding| (finding.kind, finding.object)).collect()
}

fn read(world: &World, client: &Client) -> bool {
    matches!(block_on(clients::read(&world.job(), client.id)), Ok(Some(_)))
}

#[test]
fn the_first_ingest_stores_a_clients_record_once_more() {
    for role in [Role::Full, Role::WriteOnly] {
        let world = World::new();
        let client = world.register(1, role);
        assert_eq!(world.names("clients/").len(), 1);
        world.back_up(&client, &noise(1, 1, 900));
        let names = [layout::client(client.id, 1), layout::client_copy(client.id, 1)];
        assert_eq!(world.names("clients/"), names);
        assert_eq!(world.read(&names[0]), world.read(&names[1]));
        assert!(world.check().is_ok(), "{:?}", world.check().findings);
    }
}

#[test]
fn either_copy_is_enough_to_go_on_and_a_lost_one_is_written_again() {
    for lost in 0..2 {
        let (world, client, names) = begin(Role::WriteOnly);
        let sound = world.read(&names[0]);
        world.destroy(&names[lost]);
        assert!(read(&world, &client), "without {}", names[lost]);
        assert_eq!(found(&world), [(Kind::Missing, names[lost].clone())]);
        let snapshot = world.back_up(&client, &noise(2, 1, 900));
        assert_eq!(world.snapshot(snapshot).state, SnapshotState::Kept);
        assert_eq!(world.read(&names[lost]), sound);
        assert!(world.check().is_ok(), "{:?}", world.check().findings);
    }
}

#[test]
fn a_rebuild_writes_what_is_missing_as_well() {
    for lost in 0..2 {
        let (world, _, names) = begin(Role::Full);
        world.destroy(&names[lost]);
        world.rebuild();
        assert_eq!(world.read(&names[0]), world.read(&names[1]));
        assert!(world.check().is_ok(), "{:?}", world.check().findings);
    }
}

#[test]
fn a_damaged_copy_is_named_and_the_other_one_counts() {
    for damaged in 0..2 {
        let (world, client, names) = begin(Role::Full);
        world.flip(&names[damaged]);
        assert!(read(&world, &client), "{} is damaged", names[damaged]);
        assert_eq!(found(&world), [(Kind::Damaged, names[damaged].clone())]);
        let flipped = world.read(&names[damaged]);
        let snapshot = world.back_up(&client, &noise(2, 1, 900));
        assert_eq!(world.snapshot(snapshot).state, SnapshotState::Kept);
        assert_eq!(world.read(&names[damaged]), flipped, "nothing is ever replaced");
        let found = world.rebuild();
        assert!(found.unreadable.is_empty(), "{found:?}");
    }
}

#[test]
fn without_a_sound_copy_nothing_of_the_client_is_decided() {
    let (world, client, names) = begin(Role::Full);
    names.iter().for_each(|name| world.flip(name));
    assert!(block_on(clients::read(&world.job(), client.id)).is_err());
    assert!(world.try_back_up(&client, &noise(2, 1, 900), &Default::default()).is_err());
    let report = world.check();
    let record = format!("clients/{}", client.id);
    assert!(report.findings.iter().any(|finding| finding.kind == Kind::Damaged && finding.object == record));
}

#[test]
fn a_revocation_is_believed_from_its_copy() {
    let (world, client, _) = begin(Role::Full);
    let record = |version| [layout::client(client.id, version), layout::client_copy(client.id, version)];
    let hash = copal_format::id::ObjectHash::of(&world.read(&layout::manifest(client.id, 1)));
    block_on(world.repository.revoke(&world.store, &client, (1, hash), None)).expect("it can be written");
    let [first, copy] = record(2);
    let bytes = world.read(&first);
    [&first, &copy].into_iter().for_each(|name| world.destroy(name));
    let is_revoked = || {
        let read = block_on(clients::read(&world.job(), client.id)).expect("it can be believed");
        read.expect("it is there").revoked.is_some()
    };
    assert!(!is_revoked(), "what is gone cannot be known");
    world.put(&copy, bytes);
    assert!(is_revoked());
    assert!(world.try_back_up(&client, &noise(2, 1, 900), &Default::default()).is_err(), "it is revoked");
}
