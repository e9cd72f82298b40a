//! Manifests that are rejected, and what the receipts say.

use std::collections::BTreeSet;

use copal_jobs::faults::{Windows, plant};
use copal_jobs::ingest::work;

use super::*;

#[test]
fn a_pack_that_is_not_there_is_named_in_the_rejection() {
    let (world, client) = World::with_client();
    let pack = data_pack(client.domain, 1, &[id(1)]);
    let receipt = claim_by_hand(&world, &client, &[(pack.id, 10)], None);
    assert_eq!((reasons(&receipt), receipt.packs), (vec![Reason::MissingPack], vec![pack.id]));
}

#[test]
fn a_pack_of_another_length_hash_or_table_is_rejected() {
    let (world, client) = World::with_client();
    let pack = data_pack(client.domain, 1, &[id(1)]);
    let (name, length) = world.put_pack(&pack);
    assert_eq!(reasons(&claim_by_hand(&world, &client, &[(name, length + 1)], None)), [Reason::PackLength]);
    world.flip(&layout::pack(Place::Packs, name));
    assert_eq!(reasons(&claim_by_hand(&world, &client, &[(name, length)], None)), [Reason::PackHash]);
    let junk = vec![7; 500];
    let named = PackId(ObjectHash::of(&junk).0);
    world.put(&layout::pack(Place::Packs, named), junk);
    assert_eq!(reasons(&claim_by_hand(&world, &client, &[(named, 500)], None)), [Reason::PackTable]);
}

#[test]
fn a_manifest_or_pack_that_is_longer_than_any_is_rejected_and_the_chain_goes_on() {
    let (world, client) = World::with_client();
    let long = vec![0; 5 << 20];
    let hash = ObjectHash::of(&long);
    world.put(&layout::manifest(client.id, 1), long);
    world.ingest().unwrap();
    assert_eq!(reasons(&world.receipt(&client, 1)), [Reason::Oversize]);
    assert_eq!(world.view().state.heads[&client.id].hash, hash);
    world.back_up(&client, &tree([("a", &b"after it"[..])]));
    let length = (256 << 20) + 1;
    let named = PackId([7; 32]);
    world.put(&layout::pack(Place::Packs, named), vec![0; length]);
    assert_eq!(reasons(&claim_by_hand(&world, &client, &[(named, length as u64)], None)), [Reason::Oversize]);
}

#[test]
fn a_pack_of_another_domain_is_rejected_and_every_client_stays_in_its_own() {
    let (world, client) = World::with_client();
    let outsider = world.register(2, Role::WriteOnly);
    let pack = world.put_pack(&data_pack(outsider.domain, 1, &[id(1)]));
    assert_eq!(reasons(&claim_by_hand(&world, &client, &[pack], None)), [Reason::Domain]);
    let inside = world.put_pack(&data_pack(client.domain, 2, &[id(1)]));
    let number = world
        .put_manifest(&outsider, &Manifest { domain: client.domain, ..world.manifest(&outsider, &[inside], None) });
    world.ingest().unwrap();
    assert_eq!(reasons(&world.receipt(&outsider, number)), [Reason::Domain]);
    // Nor does a full client leave its own: no reader would believe it.
    let number =
        world.put_manifest(&client, &Manifest { domain: outsider.domain, ..world.manifest(&client, &[pack], None) });
    world.ingest().unwrap();
    assert_eq!(reasons(&world.receipt(&client, number)), [Reason::Domain]);
    assert_eq!(world.view().state.packs.len(), 0);
}

#[test]
fn a_page_must_be_higher_than_what_it_refers_to() {
    let (world, client) = World::with_client();
    let pages = tree_pack(client.domain, 1, &[(id(1), 2, &[id(2)]), (id(2), 2, &[id(1)])]);
    let pack = world.put_pack(&pages);
    assert_eq!(reasons(&claim_by_hand(&world, &client, &[pack], None)), [Reason::Height; 2]);
}

#[test]
fn every_reference_that_does_not_resolve_is_named_although_a_height_is_wrong_too() {
    let (world, client) = World::with_client();
    let pages = tree_pack(client.domain, 1, &[(id(1), 1, &[id(1), id(8), id(9)])]);
    let pack = world.put_pack(&pages);
    let receipt = claim_by_hand(&world, &client, &[pack], None);
    assert_eq!(reasons(&receipt), [Reason::Height, Reason::Unresolved]);
    assert_eq!(receipt.missing, [id(8), id(9)]);
}

#[test]
fn a_snapshot_without_its_root_page_or_with_a_chunk_as_root_is_rejected() {
    let (world, client) = World::with_client();
    let receipt = claim_by_hand(&world, &client, &[], Some(id(3)));
    assert_eq!((reasons(&receipt), receipt.missing), (vec![Reason::Unresolved], vec![id(3)]));
    let pack = world.put_pack(&data_pack(client.domain, 1, &[id(3)]));
    assert_eq!(reasons(&claim_by_hand(&world, &client, &[pack], Some(id(3)))), [Reason::Height]);
}

#[test]
fn packs_of_a_rejected_manifest_may_be_named_again() {
    let (world, client) = World::with_client();
    let page = world.put_pack(&tree_pack(client.domain, 1, &[(id(1), 1, &[id(2)])]));
    assert_eq!(claim_by_hand(&world, &client, &[page], None).outcome, Outcome::Rejected);
    let chunk = world.put_pack(&data_pack(client.domain, 2, &[id(2)]));
    assert_eq!(claim_by_hand(&world, &client, &[chunk, page], Some(id(1))).outcome, Outcome::Accepted);
}

#[test]
fn strangers_bad_signatures_broken_chains_and_revoked_clients_are_rejected() {
    let (world, client) = World::with_client();
    let stranger = world.repository.client(9, Role::Full);
    assert_eq!(reasons(&claim_by_hand(&world, &stranger, &[], None)), [Reason::UnknownClient]);
    world.put_manifest(&stranger, &world.manifest(&client, &[], None));
    let previous = ObjectHash([7; 32]);
    world.put_manifest(&client, &Manifest { previous, ..world.manifest(&client, &[], None) });
    world.ingest().unwrap();
    assert_eq!(reasons(&world.receipt(&client, 1)), [Reason::BadSignature]);
    assert_eq!(reasons(&world.receipt(&client, 2)), [Reason::BrokenChain]);
    let last = (2, ObjectHash::of(&world.read(&layout::manifest(client.id, 2))));
    block_on(world.repository.revoke(&world.store, &client, last, None)).unwrap();
    assert_eq!(reasons(&claim_by_hand(&world, &client, &[], None)), [Reason::Revoked]);
}

#[test]
fn what_a_client_names_that_may_not_claim_anything_is_not_looked_at() {
    let (world, client) = World::with_client();
    let outsider = world.register(2, Role::WriteOnly);
    block_on(world.repository.revoke(&world.store, &client, (0, ObjectHash::NONE), None)).unwrap();
    let pack = world.put_pack(&data_pack(client.domain, 1, &[id(1)]));
    // One whose root nobody has seen does not stop the others either.
    let root_seen = Some((1 << 40, ObjectHash([1; 32])));
    let mut manifest = Manifest { root_seen, ..world.manifest(&client, &[pack], Some(id(7))) };
    world.put_manifest(&client, &manifest);
    (manifest.client, manifest.root_seen) = (outsider.id, None);
    world.put_manifest(&outsider, &manifest);
    let record = Record::new(&world.store);
    block_on(ingest(&world.job_of(&record), IngestBy::Service, Scope::All, &|_| false)).unwrap();
    let (revoked, outside) = (world.receipt(&client, 1), world.receipt(&outsider, 1));
    assert_eq!((reasons(&revoked), revoked.missing), (vec![Reason::Revoked], vec![]));
    assert_eq!((reasons(&outside), outside.missing), (vec![Reason::Domain], vec![]));
    assert!(record.events().iter().all(|event| !event.key.starts_with("packs/")));
}

#[test]
fn a_doomed_or_spent_name_is_rejected_and_the_client_packs_anew() {
    let (world, client) = World::with_client();
    let pack = data_pack(client.domain, 1, &[id(1)]);
    let named = world.put_pack(&pack);
    world.wait(DAY * 8);
    world.back_up(&client, &Tree::new());
    world.prune(DAY);
    assert!(!world.has(&layout::pack(Place::Packs, pack.id)));
    world.put_pack(&pack);
    let receipt = claim_by_hand(&world, &client, &[named], None);
    assert_eq!((reasons(&receipt), receipt.packs), (vec![Reason::Doomed], vec![pack.id]));
}

#[test]
fn a_pack_that_many_manifests_name_is_read_once() {
    let (world, client) = World::with_client();
    let pack = junk(&world, 1);
    for _ in 0..20 {
        world.put_manifest(&client, &world.manifest(&client, &[pack], None));
    }
    let record = Record::new(&world.store);
    let report = block_on(work(&world.job_of(&record), IngestBy::Service, Scope::All, &|_| false)).unwrap();
    assert_eq!((report.receipts.len(), &report.hashed), (20, &BTreeSet::from([pack.0])));
    let read = |events: Vec<Event>| -> u64 {
        events.iter().filter(|event| event.op == Op::ReadRange).map(|event| event.length).sum()
    };
    assert!(read(record.take()) < 3 * pack.1, "for every manifest only the ends of the pack are read");
    // A process that goes on tells the next job what it knows.
    world.put_manifest(&client, &world.manifest(&client, &[pack], None));
    let is_hashed = |id: &PackId| report.hashed.contains(id);
    block_on(work(&world.job_of(&record), IngestBy::Service, Scope::All, &is_hashed)).unwrap();
    assert!(read(record.take()) < pack.1);
}

#[test]
fn who_makes_ingest_read_much_is_given_one_manifest_a_root() {
    plant(None, Windows { hashed: 1 << 20, ..Windows::DESIGN });
    let (world, thief) = World::with_client();
    let other = world.register(2, Role::Full);
    for seed in 0..5 {
        let packs = [junk(&world, seed)];
        world.put_manifest(&thief, &world.manifest(&thief, &packs, None));
    }
    world.put_manifest(&other, &world.manifest(&other, &[], None));
    world.ingest().unwrap();
    let root = |client, number| world.receipt(client, number).root;
    assert_eq!(root(&other, 1), root(&thief, 1), "the other client waits for one of them");
    assert!((1..5).all(|number| root(&thief, number) < root(&thief, number + 1)));
    plant(None, Windows::DESIGN);
}

/// A pack of noise, as large as its hash takes a while.
fn junk(world: &World, seed: u64) -> (PackId, u64) {
    let mut bytes = vec![0; 2 << 20];
    Random::new(seed).fill(&mut bytes);
    let id = PackId(ObjectHash::of(&bytes).0);
    let length = bytes.len() as u64;
    world.put(&layout::pack(Place::Packs, id), bytes);
    (id, length)
}
