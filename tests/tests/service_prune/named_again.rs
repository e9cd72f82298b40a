//! Named again: a pack of which a prune has removed entries, and which its client names once more, is the pack it was.
//! So is a pack that a prune has made.

use std::time::Duration;

use copal_format::client::Role;
use copal_format::index::Status;
use copal_format::layout::{self, Place};
use copal_format::pack::{self, Pack, PackKind};
use copal_format::receipt::Outcome;
use copal_format::repository::IngestBy;
use copal_jobs::check::{self, Harm};
use copal_jobs::ingest::{Scope, work};
use copal_tests::kit::craft::{data_pack, id, tree_pack};
use copal_tests::kit::{Client, Slow, World};
use futures::executor::block_on;

use super::moves::mostly_forgotten;
use super::{DAY, forget};

/// A repository in which a prune has removed the first of a pack's two chunks from the index. The second one is needed,
/// and nobody has proven the pack, so it stays where it is.
fn begin() -> (World, Client, Pack) {
    let world = World::new();
    let (owner, client) = (world.register(1, Role::Full), world.register(2, Role::WriteOnly));
    let pack = data_pack(client.domain, 1, &[id(1), id(2)]);
    let [first, second] =
        [(10, 1), (20, 2)].map(|(page, chunk)| tree_pack(client.domain, page, &[(id(page), 1, &[id(chunk)])]));
    let [pack_named, first, second] = [&pack, &first, &second].map(|pack| world.put_pack(pack));
    let forgotten = world.put_manifest(&client, &world.manifest(&client, &[pack_named, first], Some(id(10))));
    world.put_manifest(&client, &world.manifest(&client, &[second], Some(id(20))));
    world.ingest().unwrap();
    forget(&world, &owner, world.receipt(&client, forgotten).manifest.snapshot());
    world.prune(DAY);
    world.wait(2 * DAY);
    world.prune(DAY);
    let [removed, needed] = [1, 2].map(|chunk| status(&world, &client, chunk));
    assert!(removed == Status::Absent && needed != Status::Absent, "{removed:?} {needed:?}");
    (world, client, pack)
}

fn status(world: &World, client: &Client, chunk: u8) -> Status {
    world.view().index(client.domain).unwrap().status(&id(chunk))
}

/// Names the pack in a manifest of its own, which is accepted on a store that is near or far.
fn name_again(world: &World, client: &Client, pack: &Pack, is_remote: bool) {
    let number = world.put_manifest(client, &world.manifest(client, &[world.put_pack(pack)], None));
    let (slow, scope) = (Slow::new(&world.store), Scope::Client(client.id));
    let ingested = match is_remote {
        true => slow.run(work(&world.job_of(&slow), IngestBy::Service, scope, &|_| false)),
        false => block_on(work(&world.job(), IngestBy::Service, scope, &|_| false)),
    };
    ingested.unwrap();
    assert_eq!(world.receipt(client, number).outcome, Outcome::Accepted);
}

#[test]
fn a_pack_that_is_named_again_after_a_prune_has_removed_its_first_entry_stops_no_prune() {
    for is_remote in [false, true] {
        let (world, client, pack) = begin();
        let before = world.view().state.packs[&pack.id].clone();
        name_again(&world, &client, &pack, is_remote);
        assert_ne!(status(&world, &client, 1), Status::Absent);
        assert_eq!(world.view().state.packs[&pack.id], before, "it is as old as it was, and its first claim counts");
        assert!(world.check().is_ok(), "{:?}", world.check().findings);
        world.prune(DAY);
        assert!(world.check().is_ok(), "{:?}", world.check().findings);
    }
}

#[test]
fn a_forged_pack_that_is_named_again_after_a_prune_has_removed_its_first_entry_stays_forged() {
    for is_remote in [false, true] {
        let (world, client, pack) = begin();
        let found = Harm { damaged: [pack.id].into(), forged: [pack.id].into(), ..Harm::default() };
        block_on(check::note(&world.job(), &found)).unwrap();
        name_again(&world, &client, &pack, is_remote);
        assert!(world.view().state.packs[&pack.id].is_forged());
        assert_eq!([1, 2].map(|chunk| status(&world, &client, chunk)), [Status::Lost; 2]);
        world.prune(DAY);
    }
}

/// Lets a client store and name the bytes of a pack that a prune has made. Returns the name that the prune gave it.
fn name_moved(world: &World, client: &Client, lose: impl Fn(&str)) -> String {
    let is_data = |name: &String| pack::parse(&world.read(name)).unwrap().kind == PackKind::Data;
    let moved = world.names("moved/").into_iter().find(is_data).expect("a prune has moved data");
    let (pack, bytes) = (layout::pack_of(&moved).unwrap().1, world.read(&moved));
    lose(&moved);
    let named = (pack, bytes.len() as u64);
    world.put(&layout::pack(Place::Packs, pack), bytes);
    let number = world.put_manifest(client, &world.manifest(client, &[named], None));
    world.ingest().unwrap();
    assert_eq!(world.receipt(client, number).outcome, Outcome::Accepted);
    moved
}

#[test]
fn a_pack_that_a_prune_has_made_and_that_a_client_names_stays_where_it_is_and_stops_no_prune() {
    let (world, client) = World::with_client();
    let (kept, tree) = mostly_forgotten(&world, &client);
    world.prune(Duration::ZERO);
    let moved = name_moved(&world, &client, |_| ());
    let record = &world.view().state.packs[&layout::pack_of(&moved).unwrap().1];
    assert_eq!((record.place, record.is_missing), (Place::Moved, false));
    world.prune_and_wait(3, 8 * DAY);
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
    assert_eq!(world.restore(kept), Ok(tree));
}

#[test]
fn a_pack_that_a_prune_has_made_and_that_is_missing_stays_so_although_a_client_names_it() {
    let (world, client) = World::with_client();
    mostly_forgotten(&world, &client);
    world.prune(Duration::ZERO);
    let moved = name_moved(&world, &client, |moved| {
        world.destroy(moved);
        assert!(!world.check().is_ok());
    });
    let record = &world.view().state.packs[&layout::pack_of(&moved).unwrap().1];
    assert_eq!((record.place, record.is_missing), (Place::Moved, true));
    world.prune(DAY);
}
