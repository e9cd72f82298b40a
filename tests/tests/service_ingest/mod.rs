//! Ingest: what is accepted, what is rejected and why, and what happens to answers.

mod rejected;

use std::collections::HashSet;

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::{ChunkId, ObjectHash, PackId};
use copal_format::layout::{self, Place};
use copal_format::limits::MANIFEST_PACKS;
use copal_format::manifest::Manifest;
use copal_format::pack;
use copal_format::receipt::{Outcome, Reason, Receipt};
use copal_format::repository::IngestBy;
use copal_format::state::SnapshotState;
use copal_jobs::error::JobError;
use copal_jobs::ingest::{Scope, ingest, ingest_on};
use copal_store::Op;
use copal_store::record::{Event, Record};
use copal_tests::kit::craft::{data_pack, id, tree_pack};
use futures::executor::block_on;

use copal_tests::kit::{Client, DAY, How, Random, Tree, World, path, tree};

fn random_tree(seed: u64, files: usize, most: usize) -> Tree {
    let mut random = Random::new(seed);
    let file = |at: usize, random: &mut Random| {
        let mut content = vec![0; random.below(most)];
        random.fill(&mut content);
        (path(&format!("d{}/f{at:03}", at % 3)), content)
    };
    (0..files).map(|at| file(at, &mut random)).collect()
}

/// A manifest by hand: the next of the client's chain, with these packs and this root page.
fn claim_by_hand(world: &World, client: &Client, packs: &[(PackId, u64)], root: Option<ChunkId>) -> Receipt {
    let number = world.put_manifest(client, &world.manifest(client, packs, root));
    world.ingest().unwrap();
    world.receipt(client, number)
}

fn reasons(receipt: &Receipt) -> Vec<Reason> {
    receipt.reasons.iter().map(|(reason, _)| *reason).collect()
}

#[test]
fn what_was_backed_up_is_restored_also_with_many_manifests_and_content_lists() {
    let (world, client) = World::with_client();
    let cases = [(1, 20, 3000, None), (2, 20, 3000, Some(4)), (3, 3, 90_000, None), (4, 0, 1, None)];
    for (seed, files, most, split) in cases {
        let tree = random_tree(seed, files, most);
        let id = world.try_back_up(&client, &tree, &How { split, ..How::default() }).unwrap();
        assert_eq!(world.restore(id).as_ref(), Ok(&tree), "seed {seed}");
    }
    assert!(world.check().is_ok());
}

#[test]
fn nothing_in_a_listing_refers_to_a_pack_further_on() {
    let (world, client) = World::with_client();
    let job = world.job();
    let mut run = client.begin(&job).unwrap();
    let (packs, _) = block_on(run.take_all(&job, &random_tree(5, 150, 4000))).unwrap();
    assert!(packs.len() > MANIFEST_PACKS, "it takes several manifests");
    let mut known = HashSet::new();
    for (id, _) in packs {
        let table = pack::parse(&world.read(&layout::pack(Place::Packs, id))).unwrap();
        known.extend(table.ids.iter().copied());
        assert!(table.pages.references().iter().all(|reference| known.contains(reference)), "in pack {id}");
    }
}

#[test]
fn an_unchanged_source_costs_one_manifest_and_no_pack() {
    let (world, client) = World::with_client();
    let tree = random_tree(1, 9, 3000);
    world.back_up(&client, &tree);
    let packs = world.names("packs/");
    let again = world.back_up(&client, &tree);
    assert_eq!(world.names("packs/"), packs);
    assert_eq!(world.restore(again), Ok(tree));
}

#[test]
fn a_write_only_client_has_its_own_domain_and_needs_another_to_decide() {
    let (world, full) = World::with_client();
    let other = world.register(2, Role::WriteOnly);
    let tree = random_tree(1, 5, 2000);
    world.back_up(&full, &tree);
    world.upload(&other, &tree);
    let receipts = world.ingest().unwrap();
    assert_eq!(receipts.len(), 1);
    assert_eq!(receipts[0].outcome, Outcome::Accepted);
    let view = world.view();
    let domains: Vec<_> = view.indexes.keys().collect();
    assert_eq!(domains, [&other.domain, &full.domain]);
}

#[test]
fn a_long_chain_that_waits_is_decided_by_one_ingest() {
    let (world, client) = World::with_client();
    // More passes than an ingest begins again after others were faster.
    for _ in 0..1_100 {
        world.put_manifest(&client, &world.manifest(&client, &[], None));
    }
    assert_eq!(world.ingest().unwrap().len(), 1_100);
    assert_eq!(world.ingest().unwrap(), []);
}

#[test]
fn what_follows_a_gap_waits_without_an_answer() {
    let (world, client) = World::with_client();
    world.put_manifest(&client, &world.manifest(&client, &[], None));
    world.put_manifest(&client, &world.manifest(&client, &[], None));
    let first = layout::manifest(client.id, 1);
    let bytes = world.read(&first);
    world.destroy(&first);
    assert_eq!(world.ingest().unwrap(), []);
    assert!(!world.has(&layout::receipt(client.id, 2)));
    world.put(&first, bytes);
    assert_eq!(world.ingest().unwrap().len(), 2);
}

#[test]
fn an_event_that_comes_twice_changes_nothing() {
    let (world, client) = World::with_client();
    world.back_up(&client, &random_tree(1, 3, 900));
    let roots = world.names("roots/");
    assert_eq!(world.ingest().unwrap(), []);
    assert_eq!(world.names("roots/"), roots);
}

#[test]
fn a_state_that_was_read_before_is_not_read_again_and_not_written_on_when_it_is_old() {
    let (world, client) = World::with_client();
    world.back_up(&client, &random_tree(1, 3, 900));
    let before = world.view();
    let decide = |number: u64| {
        world.put_manifest(&client, &world.manifest(&client, &[], None));
        let record = Record::new(&world.store);
        let (job, scope) = (world.job_of(&record), Scope::Client(client.id));
        let receipts = block_on(ingest_on(&before, &job, IngestBy::Client, scope, &|_| false)).unwrap();
        let decided: Vec<u64> = receipts.iter().map(|receipt| receipt.number).collect();
        assert_eq!(decided, [number]);
        assert_eq!(world.view().state.heads[&client.id].number, number);
        record.events()
    };
    let count = |events: &[Event], op: Op, name: &str| {
        events.iter().filter(|event| event.op == op && event.key.starts_with(name)).count()
    };
    let first = decide(2);
    // Whoever wins looks once more whether the base is there.
    assert_eq!(count(&first, Op::Read, &layout::root(before.number())), 1);
    let second = decide(3);
    assert_eq!(count(&second, Op::Create, "roots/"), 1);
    assert_eq!(world.view().number(), before.number() + 2);
}

#[test]
fn a_receipt_that_was_not_written_is_written_later_and_says_the_same() {
    let (world, client) = World::with_client();
    world.back_up(&client, &random_tree(1, 3, 900));
    claim_by_hand(&world, &client, &[(PackId([1; 32]), 5)], None);
    let name = layout::receipt(client.id, 2);
    let before = world.receipt(&client, 2);
    world.destroy(&name);
    world.ingest().unwrap();
    let after = world.receipt(&client, 2);
    assert_eq!((after.outcome, after.manifest, after.packs), (before.outcome, before.manifest, before.packs));
}

#[test]
fn nothing_new_may_refer_to_what_is_lost() {
    let (world, client) = World::with_client();
    let pack = world.put_pack(&data_pack(client.domain, 1, &[id(1)]));
    let page = world.put_pack(&tree_pack(client.domain, 2, &[(id(2), 1, &[id(1)])]));
    assert_eq!(claim_by_hand(&world, &client, &[pack, page], Some(id(2))).outcome, Outcome::Accepted);
    world.destroy(&layout::pack(Place::Packs, pack.0));
    assert!(!world.check().is_ok());
    let other = world.put_pack(&tree_pack(client.domain, 3, &[(id(3), 1, &[id(1)])]));
    let receipt = claim_by_hand(&world, &client, &[other], Some(id(3)));
    assert_eq!((reasons(&receipt), receipt.missing), (vec![Reason::Unresolved], vec![id(1)]));
}

#[test]
fn a_lost_pack_that_is_named_again_is_lost_no_more() {
    let (world, client) = World::with_client();
    let made = data_pack(client.domain, 1, &[id(1)]);
    let pack = world.put_pack(&made);
    claim_by_hand(&world, &client, &[pack], None);
    world.destroy(&layout::pack(Place::Packs, pack.0));
    world.check();
    assert_eq!(world.view().resolve(client.domain, &id(1)), None);
    world.put_pack(&made);
    assert_eq!(claim_by_hand(&world, &client, &[pack], None).outcome, Outcome::Accepted);
    assert_eq!(world.view().resolve(client.domain, &id(1)), Some(0));
    assert!(world.check().is_ok());
}

#[test]
fn forgetting_undeleting_pinning_and_tagging_change_what_is_said_of_a_snapshot() {
    let (world, client) = World::with_client();
    let snapshot = world.back_up(&client, &random_tree(1, 3, 900));
    world.change(&client, vec![Operation::Forget(vec![snapshot])]);
    assert_eq!(world.snapshot(snapshot).state, SnapshotState::Forgotten);
    world.change(&client, vec![Operation::Undelete(vec![snapshot]), Operation::Pin(vec![snapshot])]);
    world.change(&client, vec![Operation::Forget(vec![snapshot])]);
    assert_eq!(world.snapshot(snapshot).state, SnapshotState::Kept, "it is pinned");
    let tag = copal_format::id::TagId([3; 16]);
    let add = vec![(tag, vec![1])];
    world.change(&client, vec![Operation::Tag { snapshots: vec![snapshot], add, remove: vec![] }]);
    assert_eq!(world.snapshot(snapshot).tags, [tag]);
}

#[test]
fn a_write_only_client_cannot_forget() {
    let (world, full) = World::with_client();
    let other = world.register(2, Role::WriteOnly);
    let snapshot = world.back_up(&full, &random_tree(1, 3, 900));
    world.change(&other, vec![Operation::Forget(vec![snapshot])]);
    assert_eq!(world.snapshot(snapshot).state, SnapshotState::Kept);
    world.change(&full, vec![Operation::Forget(vec![snapshot])]);
    assert_eq!(world.snapshot(snapshot).state, SnapshotState::Forgotten, "the number is spent and the chain goes on");
}

#[test]
fn nobody_writes_on_a_root_older_than_one_that_a_receipt_or_a_deletion_tells_of() {
    let (world, client) = World::with_client();
    let kept = world.back_up(&client, &random_tree(1, 3, 900));
    world.back_up(&client, &random_tree(2, 3, 900));
    let newest = world.names("roots/")[0].clone();
    world.destroy(&newest);
    let before = world.names("roots/");
    assert!(matches!(world.ingest(), Err(JobError::StateLost { .. })) || world.ingest().unwrap().is_empty());
    world.write_change(&client, vec![Operation::Forget(vec![kept])]);
    assert!(matches!(world.ingest(), Err(JobError::StateLost { .. })));
    let options = copal_jobs::prune::Options::new([4096, 3072]);
    assert!(matches!(world.try_prune(&options), Err(JobError::StateLost { .. })));
    assert!(!world.check().is_ok());
    assert_eq!(world.names("roots/"), before);
    world.destroy_all("roots/");
    assert!(matches!(world.ingest(), Err(JobError::StateLost { .. })));
    assert_eq!(world.names("roots/"), Vec::<String>::new());
}

#[test]
fn nothing_is_rejected_on_a_root_older_than_one_that_a_receipt_tells_of() {
    let (world, client) = World::with_client();
    let other = world.register(2, Role::Full);
    world.back_up(&client, &random_tree(1, 3, 900));
    let page = world.snapshot(world.back_up(&client, &random_tree(2, 3, 900))).root;
    world.destroy(&world.names("roots/")[0]);
    let number = world.put_manifest(&other, &world.manifest(&other, &[], Some(page)));
    let alone = copal_jobs::ingest::Scope::Client(other.id);
    let answered = block_on(copal_jobs::ingest::work(&world.job(), IngestBy::Service, alone, &|_| false));
    assert!(matches!(answered, Err(JobError::StateLost { .. })));
    assert!(!world.has(&layout::receipt(other.id, number)));
}

#[test]
fn a_damaged_segment_is_not_merged_into_a_new_one() {
    let (world, client) = World::with_client();
    world.back_up(&client, &tree([("a", &[1; 900][..])]));
    let damaged = world.names("index/")[0].clone();
    world.flip(&damaged);
    world.back_up(&client, &random_tree(2, 9, 3000));
    assert!(world.view().state.segments.keys().any(|(_, hash)| layout::segment(*hash) == damaged));
}

#[test]
fn one_id_for_hundreds_of_thousands_of_chunks_does_not_hold_up_check_and_prune() {
    // Comparing each copy with each other one would take days.
    let (world, client) = World::with_client();
    let equal = vec![id(9); 30_000];
    let packs: Vec<_> = (1..=8).map(|random| world.put_pack(&data_pack(client.domain, random, &equal))).collect();
    assert_eq!(claim_by_hand(&world, &client, &packs, None).outcome, Outcome::Accepted);
    assert!(world.check().is_ok());
    world.destroy(&layout::pack(Place::Packs, packs[0].0));
    assert_eq!(world.check().findings.len(), 1);
    world.wait(DAY * 2);
    world.prune(DAY);
    world.wait(DAY * 2);
    assert!(world.prune(DAY).entries_removed >= 7 * 30_000);
}
