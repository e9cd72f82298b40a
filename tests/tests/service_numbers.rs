//! Numbers that others choose: one at the end of its range, or far from all others, stops nobody but who wrote it.

use bytes::Bytes;
use copal_format::change::{Change, Operation};
use copal_format::client::Role;
use copal_format::id::{ObjectHash, SnapshotId};
use copal_format::layout::{self, Prunable};
use copal_format::limits::{NUMBER, ROOT_LEAP};
use copal_format::manifest::Manifest;
use copal_format::pack::PackKind;
use copal_format::receipt::{Outcome, Reason, Receipt};
use copal_format::repository::IngestBy;
use copal_format::root::{Deletion, Root};
use copal_format::time::Time;
use copal_jobs::commit::{Proposal, commit};
use copal_jobs::error::JobError;
use copal_jobs::rebuild::{rebuild, unnamed_packs};
use copal_store::Store;
use copal_tests::kit::repository::key;
use copal_tests::kit::{Client, DAY, Tree, World, tree};
use futures::executor::block_on;

/// Numbers beyond any that a repository reaches: beyond the range, its end, and far away within it.
const FAR: [u64; 4] = [u64::MAX, NUMBER + 1, NUMBER, 1 << 41];

fn begin() -> (World, Client, Client) {
    let world = World::new();
    let (honest, other) = (world.register(1, Role::Full), world.register(2, Role::Full));
    for (client, name) in [(&honest, "a"), (&other, "b"), (&honest, "c")] {
        world.back_up(client, &files(name));
    }
    (world, honest, other)
}

fn files(name: &str) -> Tree {
    tree([(name, name.as_bytes()), ("same", &b"content that is always the same"[..])])
}

/// Everything goes on for a client: it saves, the snapshot is known, and restores; jobs end well.
fn goes_on(world: &World, client: &Client, name: &str) -> SnapshotId {
    let id = world.back_up(client, &files(name));
    assert!(world.view().state.snapshots.values().any(|snapshot| snapshot.id == id), "{name} is in no list");
    assert_eq!(world.restore(id).as_ref(), Ok(&files(name)));
    world.ingest().unwrap();
    world.prune(DAY);
    id
}

/// The same, and again behind a rebuild.
fn goes_on_and_is_rebuilt(world: &World, client: &Client, name: &str) {
    let ids = [goes_on(world, client, name), goes_on(world, client, &format!("{name} again"))];
    let before = world.view().number();
    let report = world.rebuild();
    assert!(report.root > before && report.root < 1 << 40, "{name}: {} after {before}", report.root);
    assert_eq!(world.view().number(), report.root, "{name}");
    ids.into_iter().for_each(|id| assert!(world.restore(id).is_ok(), "{name}"));
    goes_on(world, client, &format!("{name} at last"));
}

fn put_root(world: &World, number: u64, base: Option<(u64, ObjectHash)>) {
    let root = Root { random: [9; 16], base, rebuilt: base.is_none(), ..Root::new(number, Time(0)) };
    world.put(&layout::root(number), root.encode().unwrap());
}

#[test]
fn a_root_of_a_number_that_is_too_large_or_far_away_is_passed_over() {
    for number in FAR {
        for base in [Some((number - 1, ObjectHash([7; 32]))), None] {
            let (world, client, _) = begin();
            put_root(&world, number, base);
            let passed = world.view().passed;
            assert_eq!(passed.len(), 1, "{passed:?}");
            assert!(passed[0].contains(&layout::root(number)), "{passed:?}");
            goes_on_and_is_rebuilt(&world, &client, &format!("{number} {base:?}"));
        }
    }
}

#[test]
fn a_root_that_no_base_leads_to_is_passed_over() {
    for above in [1, 5] {
        let (world, client, _) = begin();
        let number = world.view().number() + above;
        put_root(&world, number, Some((number - 1, ObjectHash([7; 32]))));
        assert_eq!(world.view().passed.len(), 1);
        goes_on_and_is_rebuilt(&world, &client, &format!("{above} above"));
    }
}

#[test]
fn a_root_of_a_strange_name_is_passed_over() {
    for name in ["roots/00000000000000000000", "roots/0", "roots/zzz"] {
        let (world, client, _) = begin();
        world.put(name, b"nothing".to_vec());
        goes_on_and_is_rebuilt(&world, &client, name);
    }
}

#[test]
fn a_root_that_has_lost_its_base_is_not_passed_over_where_a_client_was_answered() {
    let (world, client, _) = begin();
    let (root, _) = world.view().root.unwrap();
    world.destroy(&layout::root(root.base.unwrap().0));
    let read = block_on(copal_jobs::view::read(&world.store)).map(|view| view.number());
    assert!(matches!(read, Err(JobError::StateLost { .. })), "{read:?}");
    world.rebuild();
    goes_on(&world, &client, "after");
}

#[test]
fn in_a_repository_without_roots_a_root_of_the_last_number_is_passed_over() {
    for number in FAR {
        let (world, client) = World::with_client();
        put_root(&world, number, None);
        goes_on_and_is_rebuilt(&world, &client, "first");
    }
}

#[test]
fn no_root_is_written_above_the_last_number() {
    let world = World::new();
    let write = |number| {
        let proposal = Proposal { rebuilt_as: Some(number), ..Proposal::default() };
        block_on(commit(&world.job(), &world.view(), proposal))
    };
    for number in [NUMBER + 1, u64::MAX] {
        assert!(matches!(write(number), Err(JobError::StateLost { .. })), "{number}");
    }
    assert!(write(NUMBER).is_ok());
}

#[test]
fn a_repository_whose_roots_are_far_up_goes_on() {
    let (world, client, _) = begin();
    put_root(&world, 1 << 40, None);
    let report = world.rebuild();
    assert!(report.root > 1 << 40);
    assert_eq!(world.view().number(), report.root);
    goes_on(&world, &client, "far up");
    // Without what leads up to it the record of the rebuild tells that it is no lie.
    for name in world.names("roots/").into_iter().filter(|name| *name > layout::root(report.root)) {
        world.destroy(&name);
    }
    assert!(world.view().number() > report.root);
    goes_on(&world, &client, "still far up");
}

#[test]
fn false_roots_that_leave_no_number_are_named_before_a_rebuild_begins() {
    let (world, client, _) = begin();
    // In steps that readers believe, up to the last number.
    let steps: Vec<u64> = (1..1 << 13).map(|step| step * ROOT_LEAP).chain([NUMBER]).collect();
    steps.iter().for_each(|number| world.put(&layout::root(*number), b"no root".to_vec()));
    let before = world.names("");
    let failures = [block_on(rebuild(&world.job())).map(drop), block_on(unnamed_packs(&world.job())).map(drop)];
    for failed in failures {
        let Err(JobError::Damaged { object, why }) = &failed else { panic!("{failed:?}") };
        let [last, next] = [NUMBER, ((1 << 13) - 1) * ROOT_LEAP].map(layout::root);
        assert!(*object == last && why.contains(&last) && why.contains(&next), "{object}: {why}");
    }
    assert_eq!(world.names(""), before);
    steps.iter().for_each(|number| world.destroy(&layout::root(*number)));
    goes_on_and_is_rebuilt(&world, &client, "without them");
}

#[test]
fn a_false_root_that_only_the_rebuilt_root_would_lead_to_is_named_before_a_rebuild_begins() {
    let (world, client, _) = begin();
    let name = layout::root(world.view().number() + ROOT_LEAP + 500);
    world.put(&name, b"no root".to_vec());
    let failed = block_on(rebuild(&world.job())).map(drop);
    assert!(matches!(&failed, Err(JobError::Damaged { object, .. }) if *object == name), "{failed:?}");
    world.destroy(&name);
    goes_on_and_is_rebuilt(&world, &client, "without it");
}

fn claim(world: &World, client: &Client, seen: u64) -> Manifest {
    Manifest { root_seen: Some((seen, ObjectHash([7; 32]))), ..world.manifest(client, &[], None) }
}

fn put_claim(world: &World, client: &Client, seen: u64) -> u64 {
    world.put_manifest(client, &claim(world, client, seen))
}

#[test]
fn a_manifest_that_has_seen_a_root_far_away_is_rejected_and_stops_nobody() {
    for seen in FAR {
        let (world, client, liar) = begin();
        let number = put_claim(&world, &liar, seen);
        world.ingest().unwrap();
        let receipt = world.receipt(&liar, number);
        assert_eq!(receipt.outcome, Outcome::Rejected, "{seen}");
        goes_on_and_is_rebuilt(&world, &client, &seen.to_string());
        goes_on(&world, &liar, "the liar, honestly");
    }
}

#[test]
fn a_manifest_that_has_seen_a_root_that_is_not_there_waits_and_stops_nobody_else() {
    let (world, client, liar) = begin();
    let number = put_claim(&world, &liar, world.view().number() + 20);
    let report =
        block_on(copal_jobs::ingest::work(&world.job(), IngestBy::Service, copal_jobs::ingest::Scope::All, &|_| false));
    let refused = report.unwrap().refused;
    assert!(refused.iter().any(|(name, _)| *name == layout::manifest(liar.id, number)), "{refused:?}");
    assert!(!world.has(&layout::receipt(liar.id, number)));
    let alone = block_on(copal_jobs::ingest::ingest(
        &world.job(),
        IngestBy::Client,
        copal_jobs::ingest::Scope::Client(liar.id),
        &|_| false,
    ));
    assert!(matches!(alone, Err(JobError::StateLost { .. })), "{alone:?}");
    goes_on(&world, &client, "others");
    let found = world.check().findings;
    assert!(found.iter().any(|found| found.object == layout::manifest(liar.id, number)), "{found:?}");
    goes_on_and_is_rebuilt(&world, &client, "others");
}

#[test]
fn a_receipt_that_names_a_root_far_away_is_passed_over() {
    for root in FAR {
        for number in [3, 4, NUMBER, u64::MAX] {
            let (world, client, other) = begin();
            let receipt = Receipt {
                client: client.id,
                number,
                manifest: ObjectHash([5; 32]),
                outcome: Outcome::Rejected,
                root,
                time: Time(0),
                by: IngestBy::Service,
                reasons: vec![(Reason::Domain, "a lie".into())],
                missing: vec![],
                packs: vec![],
            };
            world.put(&layout::receipt(client.id, number), receipt.encode());
            goes_on(&world, &other, "others");
            goes_on_and_is_rebuilt(&world, &other, "others again");
            // Who has such an answer goes on behind the rebuild, which knows better.
            world.ingest().unwrap();
        }
    }
}

#[test]
fn a_record_of_deletions_under_a_root_far_away_is_passed_over() {
    for name in ["deletions/99999999999999999999-x", "deletions/z"] {
        let (world, client, _) = begin();
        world.put(name, b"nothing".to_vec());
        goes_on_and_is_rebuilt(&world, &client, name);
    }
    for root_number in [NUMBER, 1 << 41] {
        for is_of_all in [false, true] {
            let (world, client, _) = begin();
            let names = if is_of_all { world.packs(PackKind::Data) } else { Vec::new() };
            let names = names.iter().map(|name| Prunable::parse(name).unwrap()).collect();
            let record = Deletion { root_number, random: [7; 16], time: Time(0), names, baseline: None };
            world.put(&record.name(), record.encode());
            goes_on_and_is_rebuilt(&world, &client, &record.name());
        }
    }
}

#[test]
fn a_change_or_an_expiry_of_a_number_far_away_changes_nothing() {
    for number in FAR {
        let (world, client, liar) = begin();
        let operations = vec![Operation::Pin(vec![SnapshotId([1; 16])])];
        let mut change = Change { number, previous: ObjectHash([7; 32]), client: liar.id, time: Time(0), operations };
        let repository = world.repository.owner.repository();
        change.sign_as_owner(repository, &world.repository.owner.signing_key());
        world.put(&layout::change(number), change.sign(repository, &liar.keys.manifest_key()));
        world.put(&layout::expiry(number), b"nothing".to_vec());
        goes_on_and_is_rebuilt(&world, &client, &number.to_string());
        let id = goes_on(&world, &client, "forgotten");
        // The number that a next change has is found as the state tells it.
        let (last, previous) = world.view().root.unwrap().0.change_head.unwrap_or((0, ObjectHash::NONE));
        let operations = vec![Operation::Forget(vec![id])];
        let mut change = Change { number: last + 1, previous, client: client.id, time: Time(0), operations };
        change.sign_as_owner(repository, &world.repository.owner.signing_key());
        world.put(&layout::change(last + 1), change.sign(repository, &client.keys.manifest_key()));
        world.ingest().unwrap();
        let state = world.snapshot(id).state;
        assert_eq!(state, copal_format::state::SnapshotState::Forgotten, "{number}");
    }
}

#[test]
fn a_client_record_of_a_number_beyond_the_range_changes_nothing() {
    for number in [u64::MAX, NUMBER + 1] {
        let (world, client, _) = begin();
        world.put(&layout::client(client.id, number), b"nothing".to_vec());
        goes_on_and_is_rebuilt(&world, &client, &number.to_string());
    }
}

#[test]
fn no_record_says_a_number_beyond_the_range() {
    let (world, client, _) = begin();
    put_root(&world, NUMBER, None);
    assert!(Root::decode(NUMBER, &world.read(&layout::root(NUMBER))).is_ok());
    let root = Root { number: u64::MAX, ..Root::decode(NUMBER, &world.read(&layout::root(NUMBER))).unwrap() };
    assert!(Root::decode(u64::MAX, &root.encode().unwrap()).is_err());
    let bytes = claim(&world, &client, u64::MAX);
    let bytes = bytes.sign(world.repository.owner.repository(), &client.keys.manifest_key());
    let public = client.keys.manifest_public();
    assert!(Manifest::verify(world.repository.owner.repository(), &public, client.id, 1, &bytes).is_err());
    let _ = block_on(world.store.create(&key("roots/x"), Bytes::new()));
}
