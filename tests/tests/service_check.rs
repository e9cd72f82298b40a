//! Check: finds what is damaged, says whom it harms, and lets clients heal it.

mod domains;
mod lanes;
mod manifests;
mod notes;
mod records;
mod tables;

use std::collections::BTreeSet;
use std::time::Duration;

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::{ChunkId, DomainId, ObjectHash, PackId};
use copal_format::index::Status;
use copal_format::layout;
use copal_format::pack::{self, PackKind};
use copal_format::policy::Floor;
use copal_format::receipt::Outcome;
use copal_format::state::{RunKind, SegmentRecord};
use copal_jobs::budget::Budget;
use copal_jobs::check::{self, Depth, Finding, Kind, Lane};
use copal_jobs::commit::{Proposal, commit};
use copal_jobs::objects;
use copal_jobs::view::{self, Parts};
use copal_store::Store;
use copal_store::memory::MemoryStore;
use copal_tests::kit::repository::key;
use futures::executor::block_on;

use copal_tests::kit::{Client, DAY, Slow, Tree, World, files, guarded, noise};

fn begin() -> (World, Client, Tree) {
    let (world, client) = World::with_client();
    let tree = files(1, 6);
    world.back_up(&client, &tree);
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
    (world, client, tree)
}

fn about<'a>(findings: &'a [Finding], object: &str) -> Vec<&'a Finding> {
    findings.iter().filter(|finding| finding.object == object).collect()
}

#[test]
fn a_missing_truncated_or_flipped_pack_is_found_with_the_snapshots_it_harms_and_the_next_backup_heals_it() {
    for (kind, harm) in
        [(PackKind::Data, 0), (PackKind::Tree, 0), (PackKind::Data, 1), (PackKind::Tree, 1), (PackKind::Data, 2)]
    {
        let (world, client, tree) = begin();
        let name = world.packs(kind).remove(0);
        let ids = pack::parse(&world.read(&name)).unwrap().ids;
        match harm {
            0 => world.destroy(&name),
            1 => world.store.corrupt(&key(&name), |bytes| bytes.truncate(bytes.len() / 2)).unwrap(),
            _ => world.flip(&name),
        }
        let report = world.check();
        let found = about(&report.findings, &name);
        assert_eq!(found.len(), 1, "harm {harm}: {:?}", report.findings);
        assert_eq!(found[0].kind, if harm == 0 { Kind::Missing } else { Kind::Damaged });
        let snapshot = world.view().state.snapshots.values().next().unwrap().id;
        assert_eq!(found[0].snapshots, [snapshot]);
        let view = world.view();
        let index = view.index(client.domain).unwrap();
        assert!(ids.iter().all(|id| index.status(id) == Status::Lost));
        let healed = world.back_up(&client, &tree);
        assert_eq!(world.restore(healed).as_ref(), Ok(&tree), "harm {harm}");
        assert_eq!(world.restore(snapshot).as_ref(), Ok(&tree), "harm {harm}");
        // No alarm, and not forgotten: the name of what was lost stays told until a prune has dropped its record.
        let after = world.check();
        let left = about(&after.findings, &name);
        assert!(left.iter().all(|finding| finding.kind == Kind::Replaced && finding.snapshots.is_empty()), "{left:?}");
        assert_eq!((left.len(), after.is_ok()), (1, true), "harm {harm}: {:?}", after.findings);
        world.prune_and_wait(3, DAY * 2);
        assert_eq!(world.check().findings, [], "harm {harm}");
        assert_eq!(world.restore(snapshot).as_ref(), Ok(&tree), "harm {harm}");
    }
}

#[test]
fn a_harmed_pack_is_damage_as_long_as_a_kept_snapshot_needs_anything_of_it() {
    for harm in 0..2 {
        let (world, client, mut tree) = begin();
        let old = world.view().state.snapshots.values().next().unwrap().id;
        let name = world.packs(PackKind::Data).remove(0);
        world.harm(&name, harm == 0);
        world.check();
        // Every file is another one by now: what the pack held nobody brings back.
        tree.values_mut().for_each(|content| content.iter_mut().for_each(|byte| *byte ^= 7));
        world.back_up(&client, &tree);
        let report = world.check();
        let found = about(&report.findings, &name);
        assert_eq!(found.iter().map(|of| &of.snapshots[..]).collect::<Vec<_>>(), [&[old][..]], "harm {harm}");
        assert!(!report.is_ok() && found[0].kind != Kind::Replaced, "{found:?}");
        world.change(&client, vec![Operation::Forget(vec![old])]);
        assert!(world.check().is_ok(), "harm {harm}: {:?}", world.check().findings);
        world.prune_and_wait(3, DAY * 2);
        assert_eq!(world.check().findings, [], "harm {harm}");
    }
}

#[test]
fn a_harmed_pack_is_damage_as_long_as_a_policy_guards_what_needs_it() {
    let (world, client, tree) = begin();
    let old = world.view().state.snapshots.values().next().unwrap().id;
    let floor = Floor { last: 1, age: Duration::ZERO };
    world.change(&client, vec![guarded(9, floor, None), Operation::Forget(vec![old])]);
    let name = world.packs(PackKind::Data).remove(0);
    world.flip(&name);
    for _ in 0..3 {
        let report = world.check();
        let found = about(&report.findings, &name);
        assert_eq!(
            found.iter().map(|of| (of.kind, &of.snapshots[..])).collect::<Vec<_>>(),
            [(Kind::Damaged, &[old][..])]
        );
        world.prune(DAY);
        world.wait(DAY * 2);
    }
    world.back_up(&client, &files(2, 2));
    assert!(world.check().is_ok(), "another one is the last: {:?}", world.check().findings);
    world.change(&client, vec![Operation::Undelete(vec![old])]);
    world.back_up(&client, &tree);
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
}

#[test]
fn where_the_policy_cannot_be_read_what_was_forgotten_is_needed() {
    let (world, client, _) = begin();
    let old = world.view().state.snapshots.values().next().unwrap().id;
    world.change(&client, vec![guarded(9, Floor::default(), None), Operation::Forget(vec![old])]);
    let name = world.packs(PackKind::Data).remove(0);
    world.back_up(&client, &files(2, 2));
    world.flip(&name);
    world.check();
    let told = |world: &World| about(&world.check().findings, &name).iter().map(|of| of.kind).collect::<Vec<_>>();
    assert_eq!(told(&world), [Kind::Replaced]);
    world.flip(&world.names("changes/")[0].clone());
    assert_eq!(told(&world), [Kind::Damaged]);
}

#[test]
fn a_check_acquits_no_pack_of_what_happened_to_it_after_it_was_read() {
    for harm in 0..2 {
        let (world, client, _) = begin();
        let name = world.packs(PackKind::Data).remove(0);
        let ids = pack::parse(&world.read(&name)).unwrap().ids;
        let (report, learned) = block_on(check::inspect(&world.job(), Depth::Data { part: 1, parts: 1 })).unwrap();
        assert!(report.is_ok());
        world.harm(&name, harm == 0);
        assert!(!world.check().is_ok());
        let before = world.view().state.packs[&layout::pack_of(&name).unwrap().1].clone();
        assert_eq!((before.is_missing, before.is_damaged), (harm == 0, harm == 1));
        world.wait(DAY);
        block_on(check::note(&world.job(), &learned.unwrap())).unwrap();
        let view = world.view();
        assert_eq!(view.state.packs[&layout::pack_of(&name).unwrap().1].is_damaged, before.is_damaged);
        assert_eq!(view.state.packs[&layout::pack_of(&name).unwrap().1].is_missing, before.is_missing);
        assert!(ids.iter().all(|id| view.index(client.domain).unwrap().status(id) == Status::Lost));
    }
}

#[test]
fn a_pack_that_was_never_found_harmed_before_is_damage_whatever_needs_it() {
    let (world, client, tree) = begin();
    let old = world.view().state.snapshots.values().next().unwrap().id;
    let name = world.packs(PackKind::Data).remove(0);
    world.back_up(&client, &files(2, 2));
    world.change(&client, vec![Operation::Forget(vec![old])]);
    world.destroy(&name);
    let report = world.check();
    let found = about(&report.findings, &name);
    assert_eq!(found.iter().map(|of| of.kind).collect::<Vec<_>>(), [Kind::Missing], "somebody has deleted it");
    assert!(world.check().is_ok());
    world.change(&client, vec![Operation::Undelete(vec![old])]);
    assert!(!world.check().is_ok(), "a snapshot that is kept again needs it");
    world.back_up(&client, &tree);
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
}

#[test]
fn a_pack_that_comes_back_is_lost_no_more() {
    let (world, client, _) = begin();
    let name = world.packs(PackKind::Data).remove(0);
    let bytes = world.read(&name);
    let ids = pack::parse(&bytes).unwrap().ids;
    world.destroy(&name);
    world.check();
    world.put(&name, bytes);
    world.check();
    let view = world.view();
    assert!(ids.iter().all(|id| view.index(client.domain).unwrap().status(id) == Status::Present));
    assert!(world.check().is_ok());
}

#[test]
fn a_look_at_some_packs_says_nothing_of_others_that_are_missing() {
    let (world, client, tree) = begin();
    let name = world.packs(PackKind::Data).remove(0);
    let missing = layout::pack_of(&name).unwrap().1;
    let bytes = world.read(&name);
    let ids = pack::parse(&bytes).unwrap().ids;
    world.destroy(&name);
    world.check();
    let others: BTreeSet<PackId> = world.view().state.packs.keys().filter(|id| **id != missing).copied().collect();
    assert!(!others.is_empty());
    for suspected in [BTreeSet::new(), [PackId([9; 32])].into(), others] {
        assert_eq!(block_on(check::look(&world.job(), &suspected)).unwrap(), 0);
        let view = world.view();
        assert!(view.state.packs[&missing].is_missing, "{} looked at", suspected.len());
        assert!(ids.iter().all(|id| view.index(client.domain).unwrap().status(id) == Status::Lost));
    }
    // A backup that meets the lost chunks stores them again, and a look at the pack itself finds out that it is back.
    let healed = world.back_up(&client, &tree);
    assert_eq!(world.restore(healed), Ok(tree));
    assert_eq!(block_on(check::look(&world.job(), &[missing].into())).unwrap(), 1);
    world.put(&name, bytes);
    assert_eq!(block_on(check::look(&world.job(), &[missing].into())).unwrap(), 0);
    assert!(!world.view().state.packs[&missing].is_missing);
}

#[test]
fn looks_at_the_same_whole_pack_write_one_root_a_day() {
    let (world, _, _) = begin();
    let pack = *world.view().state.packs.keys().next().unwrap();
    let root_after_a_look = || {
        assert_eq!(block_on(check::look(&world.job(), &[pack].into())).unwrap(), 0);
        world.view().number()
    };
    let checked = world.view().number();
    assert_eq!(root_after_a_look(), checked, "a check has just read it");
    world.wait(DAY);
    assert_eq!(root_after_a_look(), checked + 1);
    assert_eq!(root_after_a_look(), checked + 1);
    world.wait(DAY);
    assert_eq!(root_after_a_look(), checked + 2);
}

#[test]
fn damage_to_the_index_of_one_domain_hides_nothing_of_another() {
    let world = World::new();
    let clients: Vec<Client> = (1..=2).map(|number| world.register(number, Role::WriteOnly)).collect();
    for (client, seed) in clients.iter().zip(1..) {
        world.upload(client, &files(seed, 5));
        world.ingest().unwrap();
    }
    let view = world.view();
    let of = |client: &Client| {
        let segment = view.segments_of(client.domain).next().unwrap().0;
        let pack = view.state.packs.iter().find(|(_, of)| of.domain == client.domain).map(|(id, _)| *id).unwrap();
        (layout::segment(segment), layout::pack(layout::Place::Packs, pack))
    };
    for (damaged, sound) in [(&clients[0], &clients[1]), (&clients[1], &clients[0])] {
        let (segment, pack) = (of(damaged).0, of(sound).1);
        let bytes = (world.read(&segment), world.read(&pack));
        world.store.corrupt(&key(&segment), |bytes| bytes[0] ^= 1).unwrap();
        world.destroy(&pack);
        let findings = world.check().findings;
        assert_eq!((about(&findings, &segment).len(), about(&findings, &pack).len()), (1, 1), "{findings:?}");
        world.destroy(&segment);
        world.put(&segment, bytes.0);
        world.put(&pack, bytes.1);
    }
    assert!(world.check().is_ok());
}

#[test]
fn a_structure_check_does_not_acquit_what_only_reading_can() {
    let (world, _, _) = begin();
    let name = world.packs(PackKind::Data).remove(0);
    world.flip(&name);
    assert!(world.check_to(Depth::Structure).is_ok());
    assert!(!world.check().is_ok());
    world.check_to(Depth::Structure);
    assert!(world.view().state.packs.values().any(|pack| pack.is_damaged));
}

#[test]
fn what_was_found_damaged_is_told_by_every_check_until_it_is_whole_or_replaced() {
    let (world, client, tree) = begin();
    let name = world.packs(PackKind::Data).remove(0);
    let bytes = world.read(&name);
    let snapshot = world.view().state.snapshots.values().next().unwrap().id;
    world.flip(&name);
    assert!(!world.check().is_ok());
    for depth in [Depth::Structure, Depth::Data { part: 0, parts: 30 }, Depth::Structure] {
        let report = world.check_to(depth);
        let found = about(&report.findings, &name);
        assert_eq!((found.len(), found[0].kind, &found[0].snapshots[..]), (1, Kind::Damaged, &[snapshot][..]));
        assert_eq!(report.wrong(), 1, "{:?}", report.findings);
    }
    world.back_up(&client, &tree);
    let report = world.check_to(Depth::Structure);
    assert_eq!(about(&report.findings, &name)[0].kind, Kind::Replaced);
    assert!(report.is_ok(), "{:?}", report.findings);
    world.destroy(&name);
    world.put(&name, bytes);
    assert_eq!(world.check().findings, []);
    assert_eq!(world.check_to(Depth::Structure).findings, []);
}

#[test]
fn damaged_packs_do_not_keep_sound_ones_from_being_read() {
    let (world, _, _) = begin();
    let name = world.packs(PackKind::Data).remove(0);
    world.flip(&name);
    world.wait(DAY);
    let packs = world.names("packs/").len() as u32;
    assert!(!world.check().is_ok());
    let first = world.view().state.packs.values().map(|pack| pack.read).max().unwrap();
    for _ in 0..packs {
        world.wait(DAY);
        assert!(!world.check_to(Depth::Data { part: 1, parts: packs }).is_ok());
    }
    assert!(world.view().state.packs.values().all(|pack| pack.is_damaged || pack.read > first));
}

#[test]
fn the_data_of_many_small_packs_is_read_at_the_same_time() {
    let world = World::new();
    for number in 1..=50 {
        let client = world.register(number, Role::Full);
        world.back_up(&client, &noise(number.into(), 1, 100));
    }
    let packs = world.view().state.packs.len() as u64;
    assert!(packs >= 100);
    let slow = Slow::new(&world.store);
    let report = slow.run(check::scrub(&world.job_of(&slow), Lane::ONLY, 1, &Budget::unlimited())).unwrap();
    assert_eq!((report.packs_read, report.is_ok()), (packs, true));
    // One after another, these reads alone take 3 s.
    assert!(slow.now() < Duration::from_secs(2), "{:?} {:?}", slow.now(), slow.calls());
}

#[test]
fn the_pieces_of_a_large_object_are_read_ahead() {
    let store = MemoryStore::default();
    let pieces = |count: usize| {
        let bytes = vec![7; count * (8 << 20)];
        let (hash, name) = (ObjectHash::of(&bytes), format!("packs/{count}"));
        block_on(store.create(&key(&name), bytes.into())).unwrap();
        let slow = Slow::new(&store);
        assert_eq!(slow.run(objects::hash_ahead(&slow, &name, (count * (8 << 20)) as u64, 4)).unwrap(), Some(hash));
        slow.now()
    };
    let one = pieces(1);
    assert!(pieces(4) < one * 2, "{one:?}");
}

#[test]
fn shares_of_the_data_are_read_in_turn_until_everything_was() {
    let (world, _, _) = begin();
    let packs = world.names("packs/").len() as u64;
    let read: u64 = (0..4).map(|_| world.check_to(Depth::Data { part: 1, parts: 4 }).packs_read).sum();
    assert!(read >= packs);
    assert!(world.view().state.packs.values().all(|pack| pack.read.0 > 0));
}
