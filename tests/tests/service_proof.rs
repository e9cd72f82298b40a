//! Proof: whoever can sign for a client, and cannot read, makes nothing unrestorable that was saved before. A copy ends
//! another one only if the owner has signed its pack.

use std::time::Duration;

use copal_format::change::{Operation, OwnerSignature};
use copal_format::client::Role;
use copal_format::id::{ChunkId, ObjectHash, PackId, SnapshotId};
use copal_format::index::Status;
use copal_format::layout::{self, Place};
use copal_format::pack::Pack;
use copal_format::policy::{Floor, Policy, SignedPolicy};
use copal_format::proof::Proof;
use copal_format::receipt::{Outcome, Reason};
use copal_format::state::PackRecord;
use copal_jobs::prune::Options;
use copal_tests::kit::craft::{data_pack, id};
use copal_tests::kit::{Client, DAY, How, Tree, World, noise};
use futures::executor::block_on;

/// A world in which a client has saved a tree.
fn saved(role: Role) -> (World, Client, Tree, SnapshotId) {
    let world = World::new();
    let client = world.register(1, role);
    let tree = noise(1, 6, 5_000);
    let snapshot = world.back_up(&client, &tree);
    (world, client, tree, snapshot)
}

/// The chunks of a client's domain, as the segments tell them to anybody who may read these.
fn chunks(world: &World, client: &Client) -> Vec<ChunkId> {
    let view = world.view();
    let entries = view.segments_of(client.domain).flat_map(|(_, segment)| segment.entries().collect::<Vec<_>>());
    let mut ids: Vec<ChunkId> = entries.filter(|entry| entry.location.height == 0).map(|entry| entry.id).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// A pack of a few hundred bytes that claims all chunks of a domain, in as good a block as there can be.
fn forgery(world: &World, client: &Client) -> Pack {
    data_pack(client.domain, 0x66, &chunks(world, client))
}

/// A manifest, and how it was answered.
type Answer = (u64, ObjectHash, Outcome);

/// Names a pack in a manifest of the client.
fn name_pack(world: &World, client: &Client, pack: &Pack) -> Answer {
    name_packs(world, client, &[world.put_pack(pack)])
}

fn name_packs(world: &World, client: &Client, packs: &[(PackId, u64)]) -> Answer {
    let (job, view, how) = (world.job(), world.view(), How::default());
    let written = block_on(client.write_manifest(&job, &view, packs, None, &how)).expect("memory does not fail");
    world.ingest().unwrap();
    (written.number, written.hash, world.receipt(client, written.number).outcome)
}

/// Lets prunes decide, again and again, as time goes by.
fn prune_for(world: &World, days: u32) {
    for _ in 0..days {
        world.prune(DAY);
        world.wait(DAY);
    }
    world.prune(Duration::ZERO);
    world.prune(Duration::ZERO);
}

fn record(world: &World, pack: PackId) -> PackRecord {
    world.view().state.packs[&pack].clone()
}

/// The owner's policy keeps whatever was accepted less long ago.
fn set_floor(world: &World, client: &Client, age: Duration) {
    let policy = SignedPolicy::new(Policy::default(), "", DAY, 30).unwrap();
    let policy = policy.with_guard(Floor { last: 0, age }, None).unwrap().encode();
    world.change(client, vec![Operation::OwnerPolicy { policy, signature: OwnerSignature::NONE }]);
}

/// The owner opens packs and says that they hold what they say.
fn prove(world: &World, packs: &[PackId]) {
    let full = world.register(9, Role::Full);
    world.change(&full, vec![Operation::prove(&world.repository.owner, packs.to_vec())]);
}

#[test]
fn a_thief_of_any_clients_keys_destroys_nothing_by_a_forged_pack() {
    for role in [Role::WriteOnly, Role::Full] {
        let (world, client, tree, snapshot) = saved(role);
        let thief = client.stolen();
        let forged = forgery(&world, &thief);
        world.wait(DAY);
        assert_eq!(name_pack(&world, &thief, &forged).2, Outcome::Accepted);
        prune_for(&world, 40);
        assert!(world.restore(snapshot) == Ok(tree), "{role:?}");
    }
}

#[test]
fn two_domains_that_hold_the_same_files_have_no_id_in_common() {
    let world = World::new();
    let clients = [1, 2].map(|number| world.register(number, Role::WriteOnly));
    // Each file is one chunk, wherever others are cut.
    for client in &clients {
        world.back_up(client, &noise(1, 6, 200));
    }
    let [one, other] = clients.each_ref().map(|client| chunks(&world, client));
    assert!(one.len() == 6 && other.len() == 6 && one.iter().all(|id| !other.contains(id)));
}

#[test]
fn chunks_that_a_full_client_has_not_proven_are_uploaded_again() {
    let (world, client, ..) = saved(Role::Full);
    let tree = noise(2, 3, 5_000);
    // What the chunks will be called shows a repository of the same keys in which they were saved.
    let elsewhere = World::new();
    elsewhere.back_up(&elsewhere.register(1, Role::Full), &tree);
    let of_others = chunks(&elsewhere, &client);
    let forged = data_pack(client.domain, 0x66, &of_others);
    let thief = world.repository.client(1, Role::Full).stolen();
    name_pack(&world, &thief, &forged);
    for _ in 0..2 {
        let index = world.view();
        let index = index.index(client.domain).unwrap();
        assert!(of_others.iter().all(|id| !index.status(id).may_deduplicate()));
        world.prune(DAY);
    }
    let snapshot = world.back_up(&client, &tree);
    prune_for(&world, 3);
    assert!(world.restore(snapshot) == Ok(tree));
}

#[test]
fn a_pack_that_is_named_again_stays_as_old_as_it_is() {
    let (world, client, ..) = saved(Role::WriteOnly);
    let (pack, before) = world.view().state.packs.into_iter().next().unwrap();
    world.wait(DAY);
    assert_eq!(name_packs(&world, &client, &[(pack, before.length)]).2, Outcome::Accepted);
    assert_eq!(record(&world, pack), before);
}

#[test]
fn a_proven_copy_displaces_an_unproven_one_after_the_floor() {
    let (world, client, tree, snapshot) = saved(Role::WriteOnly);
    let full = world.register(9, Role::Full);
    set_floor(&world, &full, 5 * DAY);
    let true_packs: Vec<PackId> = world.view().state.packs.keys().copied().collect();
    // Nobody can open what is crafted; here the owner's word is what counts.
    let forged = forgery(&world, &client);
    name_pack(&world, &client, &forged);
    prove(&world, &[forged.id]);
    world.prune(DAY);
    world.wait(3 * DAY);
    world.prune(DAY);
    assert!(world.restore(snapshot) == Ok(tree), "within the floor");
    world.wait(3 * DAY);
    prune_for(&world, 2);
    let left = world.view().state.packs;
    assert!(left.contains_key(&forged.id) && true_packs.iter().any(|pack| !left.contains_key(pack)));
}

#[test]
fn a_revocation_within_the_floor_heals_what_a_thief_of_the_owners_secret_has_displaced() {
    let (world, client, tree, snapshot) = saved(Role::Full);
    let good = world.view().state.heads[&client.id].clone();
    set_floor(&world, &client, 5 * DAY);
    let forged = forgery(&world, &client);
    // The client proves what it names: its thief has the owner's secret.
    name_pack(&world, &client, &forged);
    assert!(record(&world, forged.id).is_proven);
    world.prune(DAY);
    world.wait(2 * DAY);
    world.prune(DAY);
    block_on(world.repository.revoke(&world.store, &client, (good.number, good.hash), None)).unwrap();
    prune_for(&world, 20);
    assert!(world.restore(snapshot) == Ok(tree));
}

#[test]
fn what_nobody_has_proven_is_not_moved() {
    let (world, client, tree, snapshot) = saved(Role::WriteOnly);
    for seed in 2..12 {
        world.back_up(&client, &noise(seed, 1, 300));
    }
    let options = Options { grace: Duration::ZERO, ..Options::new([1 << 20, 1 << 20]) };
    world.try_prune(&options).unwrap();
    assert_eq!(world.names("moved/"), [""; 0]);
    let packs: Vec<PackId> = world.view().state.packs.keys().copied().collect();
    prove(&world, &packs);
    world.try_prune(&options).unwrap();
    assert_ne!(world.names("moved/"), [""; 0], "many small packs are merged once they are proven");
    assert!(world.restore(snapshot) == Ok(tree));
}

#[test]
fn a_rebuild_knows_what_was_proven_and_who_has_named_it() {
    let (world, client, ..) = saved(Role::WriteOnly);
    let full = world.register(2, Role::Full);
    world.back_up(&full, &noise(7, 2, 5_000));
    let by_change = *world.view().state.packs.keys().next().unwrap();
    prove(&world, &[by_change]);
    let before = world.view().state.packs;
    assert!(before[&by_change].is_proven && before.values().any(|record| !record.is_proven));
    assert!(before.values().filter(|record| record.domain != client.domain).all(|record| record.is_proven));
    world.rebuild_without(&["roots/"]);
    let told = |packs: &std::collections::BTreeMap<PackId, PackRecord>| {
        packs.iter().map(|(id, of)| (*id, of.is_proven, of.claim, of.accepted)).collect::<Vec<_>>()
    };
    assert_eq!(told(&world.view().state.packs), told(&before));
}

#[test]
fn a_manifest_whose_proof_is_not_the_owners_is_rejected() {
    let (world, client, ..) = saved(Role::Full);
    let forged = forgery(&world, &client);
    let other = World::new().repository.owner;
    let mut manifest = world.manifest(&client, &[world.put_pack(&forged)], None);
    let mut seed = *other.to_bytes();
    seed[111] ^= 1;
    manifest.prove(&copal_format::keys::owner::OwnerSecret::from_bytes(&seed), |_| true);
    world.put_manifest(&client, &manifest);
    world.ingest().unwrap();
    let receipt = world.receipt(&client, manifest.number);
    assert_eq!(receipt.reasons.iter().map(|(reason, _)| *reason).collect::<Vec<_>>(), [Reason::BadSignature]);
}

#[test]
fn a_change_that_proves_packs_counts_only_with_the_owners_signature() {
    let (world, ..) = saved(Role::WriteOnly);
    let full = world.register(9, Role::Full);
    let pack = *world.view().state.packs.keys().next().unwrap();
    world.change(&full, vec![Operation::Prove { packs: vec![pack], proof: Proof([7; 64]) }]);
    assert!(!record(&world, pack).is_proven);
    prove(&world, &[pack]);
    assert!(record(&world, pack).is_proven);
}

#[test]
fn lost_data_that_only_an_unproven_pack_claims_to_hold_is_kept_beside_what_comes_later() {
    let (world, client, tree, snapshot) = saved(Role::WriteOnly);
    // What the thief claims before the true copy comes is no reason to give up the true one.
    let lost: Vec<(PackId, PackRecord)> = world.view().state.packs.into_iter().collect();
    let (data, _) = lost.iter().find(|(_, record)| record.kind == copal_format::pack::PackKind::Data).unwrap();
    let name = layout::pack(Place::Packs, *data);
    let bytes = world.read(&name);
    world.destroy(&name);
    world.check();
    let thief = world.repository.client(1, Role::WriteOnly).stolen();
    name_pack(&world, &thief, &forgery(&world, &thief));
    world.put(&name, bytes);
    world.check();
    prune_for(&world, 10);
    assert!(world.restore(snapshot) == Ok(tree));
    assert_eq!(world.view().index(client.domain).unwrap().status(&id(1)), Status::Absent);
}
