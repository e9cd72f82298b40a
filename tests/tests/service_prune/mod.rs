//! Prune: what is freed, when, and what never is.

mod checkpoints;
mod contradicted;
mod crafted;
mod doomed;
mod doubt;
mod full;
mod lingering;
mod marks;
mod misread;
pub(crate) mod moves;
mod named_again;
mod plans;
mod races;
mod rebuilt;
mod room;
mod roots;
mod rounds;
mod sums;
mod told;
mod verified;

use std::time::Duration;

use copal_format::change::{Operation, OwnerSignature};
use copal_format::client::Role;
use copal_format::id::{ObjectHash, SnapshotId};
use copal_format::index::{Bits, Mark, Status};
use copal_format::layout::{self, Place, Prunable};
use copal_format::pack::{self, PackKind};
use copal_format::policy::{Policy, SignedPolicy};
use copal_format::root::Root;
use copal_format::state::{DoomedState, SnapshotState};
use copal_format::time::Time;
use copal_jobs::commit::Proposal;
use copal_jobs::error::JobError;
use copal_jobs::prune::{self, Options};
use copal_jobs::view::View;
use copal_tests::kit::picture::{Picture, Tables};
use copal_tests::kit::{Client, DAY, World, noise as files};
use futures::executor::block_on;

fn forget(world: &World, client: &Client, snapshot: SnapshotId) {
    world.change(client, vec![Operation::Forget(vec![snapshot])]);
}

/// Flags all that is stored, since long ago.
fn flag_all(view: &View, proposal: &mut Proposal) {
    for (domain, index) in &view.indexes {
        let entries = index.segments().iter().flat_map(|segment| segment.entries());
        let mark = Mark { time: Time(0), bits: Bits::FLAGGED };
        proposal.overlay.insert(*domain, entries.map(|entry| ((entry.id, entry.location.pack.tag()), mark)).collect());
    }
}

fn picture(world: &World) -> Picture {
    let tables = Tables::default();
    for name in world.names("packs/").into_iter().chain(world.names("moved/")) {
        tables.learn(&name, &world.read(&name));
    }
    let newest = copal_tests::kit::picture::newest(&world.store).unwrap();
    let picture = Picture::read(&world.store, newest, &tables).unwrap();
    picture.check(|_| true).unwrap();
    picture
}

#[test]
fn the_first_run_only_flags_and_what_is_flagged_is_not_deduplicated_against() {
    let (world, client) = World::with_client();
    let tree = files(1, 4, 3000);
    let old = world.back_up(&client, &tree);
    forget(&world, &client, old);
    world.back_up(&client, &files(2, 4, 3000));
    let packs = world.names("packs/");
    let report = world.prune(DAY);
    assert_eq!(report.entries_removed, 0);
    assert!(report.bytes_pending > 0 && report.pending_from.is_some());
    assert_eq!(world.names("packs/"), packs);
    let view = world.view();
    let root = world.snapshot(old).root;
    assert_eq!(view.index(client.domain).unwrap().status(&root), Status::Flagged);
    let again = world.back_up(&client, &tree);
    assert!(world.names("packs/").len() > packs.len(), "everything was uploaded again");
    assert_eq!(world.restore(again), Ok(tree));
}

#[test]
fn after_the_grace_period_what_was_forgotten_is_gone_and_all_else_restores() {
    let (world, client) = World::with_client();
    let (one, two) = (files(1, 4, 3000), files(2, 4, 3000));
    let old = world.back_up(&client, &one);
    let kept = world.back_up(&client, &two);
    forget(&world, &client, old);
    world.prune(DAY);
    world.wait(DAY - Duration::from_secs(60));
    assert_eq!(world.prune(DAY).entries_removed, 0);
    world.wait(Duration::from_secs(120));
    assert!(world.prune(DAY).entries_removed > 0);
    assert_eq!(world.snapshot(old).state, SnapshotState::Gone);
    assert_eq!(world.restore(kept), Ok(two));
    picture(&world);
    assert!(world.check().is_ok());
    world.change(&client, vec![Operation::Undelete(vec![old])]);
    assert_eq!(world.snapshot(old).state, SnapshotState::Gone);
}

#[test]
fn an_undeleted_snapshot_is_whole_again() {
    let (world, client) = World::with_client();
    let tree = files(1, 4, 3000);
    let snapshot = world.back_up(&client, &tree);
    world.back_up(&client, &files(2, 1, 3000));
    forget(&world, &client, snapshot);
    world.prune(DAY);
    world.wait(DAY / 2);
    world.change(&client, vec![Operation::Undelete(vec![snapshot])]);
    world.prune_and_wait(3, DAY * 2);
    assert_eq!(world.restore(snapshot), Ok(tree));
}

#[test]
fn without_grace_one_run_flags_removes_deletes_and_clears() {
    let (world, client) = World::with_client();
    let old = world.back_up(&client, &files(1, 4, 3000));
    let gone = world.names("packs/");
    let tree = files(2, 4, 3000);
    let kept = world.back_up(&client, &tree);
    forget(&world, &client, old);
    let bytes: usize = gone.iter().map(|name| world.read(name).len()).sum();
    let report = world.prune(Duration::ZERO);
    assert!(report.objects_deleted >= gone.len() as u64 && report.bytes_deleted >= bytes as u64, "{report:?}");
    assert!(gone.iter().all(|name| !world.has(name)));
    let state = world.view().state;
    let spent = |name: &String| state.doomed[&Prunable::parse(name).unwrap()].state == DoomedState::Spent;
    assert!(gone.iter().all(spent));
    assert_eq!(world.restore(kept), Ok(tree));
    // No client brings them back any more.
    world.wait(DAY * 91);
    world.prune(DAY);
    let state = world.view().state;
    assert!(gone.iter().all(|name| !state.doomed.contains_key(&Prunable::parse(name).unwrap())));
}

#[test]
fn an_object_that_no_root_lists_is_left_alone_for_seven_days_whatever_the_grace() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 2, 900));
    let junk = b"left behind".to_vec();
    let orphans = [
        layout::pack(Place::Packs, copal_format::id::PackId([9; 32])),
        layout::segment(ObjectHash([9; 32])),
        layout::state(ObjectHash([9; 32])),
    ];
    orphans.iter().for_each(|name| world.put(name, junk.clone()));
    world.wait(DAY * 6);
    world.prune(Duration::ZERO);
    assert!(orphans.iter().all(|name| world.has(name)));
    world.wait(DAY * 2);
    assert_eq!(world.prune(DAY).orphans, 3);
    assert!(orphans.iter().all(|name| !world.has(name)));
}

/// Objects that no root names or dooms.
fn left_behind(world: &World) -> Vec<String> {
    let picture = picture(world);
    let mut named = picture.needed();
    named.extend(picture.state.doomed.keys().map(Prunable::to_string));
    for name in world.names("roots/") {
        let root = Root::decode(layout::root_number(&name).unwrap(), &world.read(&name)).unwrap();
        named.extend(copal_tests::kit::picture::runs_of(&world.store, &root).unwrap());
    }
    let all = ["packs/", "moved/", "index/", "state/"].into_iter().flat_map(|prefix| world.names(prefix));
    all.filter(|name| !named.contains(name)).collect()
}

#[test]
fn segments_are_not_merged_beyond_their_size() {
    let segments = |most: u64| {
        let (world, client) = World::with_client();
        let (kept, tree) = moves::mostly_forgotten(&world, &client);
        let options = Options { grace: Duration::ZERO, segment_most: most, ..Options::new([4096, 3072]) };
        world.try_prune(&options).unwrap();
        assert_eq!(world.restore(kept), Ok(tree));
        assert!(world.check().is_ok());
        picture(&world).state.segments.len()
    };
    assert_eq!(segments(1 << 25), 1);
    assert!(segments(20) > 1);
}

#[test]
fn of_copies_that_two_clients_made_one_stays() {
    let (world, client) = World::with_client();
    let other = world.register(2, Role::Full);
    let tree = files(1, 4, 3000);
    // Both begin before either is done.
    let view = world.view();
    assert!(view.root.is_none());
    let one = world.back_up(&client, &tree);
    let two = world.back_up_since(&view, &other, &tree);
    let copies = |world: &World| picture(world).copies().values().map(Vec::len).max().unwrap();
    assert_eq!(copies(&world), 2);
    world.prune_and_wait(3, DAY * 2);
    assert_eq!(copies(&world), 1);
    assert_eq!((world.restore(one).as_ref(), world.restore(two).as_ref()), (Ok(&tree), Ok(&tree)));
}

#[test]
fn a_copy_whose_pack_is_gone_is_never_the_one_that_stays() {
    let (world, client) = World::with_client();
    let other = world.register(2, Role::Full);
    let tree = files(1, 4, 3000);
    let view = world.view();
    let one = world.back_up(&client, &tree);
    let first = world.names("packs/");
    world.back_up_since(&view, &other, &tree);
    let second: Vec<String> = world.names("packs/").into_iter().filter(|name| !first.contains(name)).collect();
    // Each client's data survives in part only.
    world.destroy(&first[0]);
    let lost = second.iter().find(|name| pack::parse(&world.read(name)).unwrap().ids.len() > 1).unwrap();
    let lost_ids = pack::parse(&world.read(lost)).unwrap().ids;
    world.destroy(lost);
    world.prune_and_wait(3, DAY * 2);
    let restored = world.restore(one);
    let both_lost = lost_ids.iter().any(|id| world.view().resolve(client.domain, id).is_none());
    assert!(restored == Ok(tree) || both_lost, "{restored:?}");
}

#[test]
fn below_a_page_that_cannot_be_read_nothing_is_removed() {
    let (world, client) = World::with_client();
    let tree = files(1, 6, 3000);
    let kept = world.back_up(&client, &tree);
    let lost = world.packs(PackKind::Tree).remove(0);
    let bytes = world.read(&lost);
    world.destroy(&lost);
    for _ in 0..3 {
        let report = world.prune(Duration::ZERO);
        assert!(report.unread > 0);
        assert_eq!(report.entries_removed, 0);
        world.wait(DAY * 2);
    }
    world.put(&lost, bytes);
    world.check();
    world.prune(DAY);
    assert_eq!(world.restore(kept), Ok(tree));
    assert!(world.check().is_ok());
}

#[test]
fn a_prune_that_finds_a_pack_gone_says_so_in_the_overlay() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 6, 3000));
    let lost = world.packs(PackKind::Data).remove(0);
    let ids = pack::parse(&world.read(&lost)).unwrap().ids;
    world.destroy(&lost);
    world.prune(DAY);
    let view = world.view();
    let index = view.index(client.domain).unwrap();
    assert!(ids.iter().all(|id| index.status(id) == Status::Lost));
    world.prune(DAY);
    let (_, mark) = world.view().index(client.domain).unwrap().copies(&ids[0]).next().unwrap();
    assert!(mark.bits.contains(Bits::LOST), "a second prune does not forget it");
}

#[test]
fn a_damaged_segment_stops_a_prune() {
    for is_known in [false, true] {
        let (world, client) = World::with_client();
        world.back_up(&client, &files(1, 6, 3000));
        if is_known {
            world.prune(DAY);
        }
        let name = world.names("index/")[0].clone();
        let damage = |bytes: &mut Vec<u8>| *bytes.last_mut().unwrap() ^= 1;
        world.store.corrupt(&copal_tests::kit::repository::key(&name), damage).unwrap();
        let damaged = world.try_prune(&Options::new([4096, 3072]));
        assert!(matches!(damaged, Err(JobError::Damaged { object, .. }) if object == name));
    }
}

#[test]
fn a_dry_run_changes_nothing() {
    let (world, client) = World::with_client();
    let old = world.back_up(&client, &files(1, 4, 3000));
    world.back_up(&client, &files(2, 4, 3000));
    forget(&world, &client, old);
    let before = world.names("");
    let options = Options { grace: Duration::ZERO, is_dry_run: true, ..Options::new([4096, 3072]) };
    let report = world.try_prune(&options).unwrap();
    assert!(report.entries_removed > 0 && report.packs_dead > 0);
    assert_eq!(world.names(""), before);
}

#[test]
fn wanted_entries_of_sparse_blocks_are_uploaded_again_by_who_still_has_them() {
    let (world, client) = World::with_client();
    let mut tree = files(1, 12, 120);
    let old = world.back_up(&client, &tree);
    tree.retain(|path, _| path.as_bytes() == b"1-00");
    let kept = world.back_up(&client, &tree);
    forget(&world, &client, old);
    let options = Options { grace: Duration::ZERO, repack_most: 0, ..Options::new([4096, 3072]) };
    world.try_prune(&options).unwrap();
    let packs = world.names("packs/").len();
    let again = world.back_up(&client, &tree);
    assert!(world.names("packs/").len() > packs);
    world.wait_and_prune(3, DAY * 2);
    assert_eq!((world.restore(kept).as_ref(), world.restore(again).as_ref()), (Ok(&tree), Ok(&tree)));
}

#[test]
fn the_usual_grace_is_what_the_policy_says_or_a_day() {
    let (world, client) = World::with_client();
    let usual = || block_on(prune::grace(&world.job())).unwrap();
    assert_eq!(usual(), DAY);
    let policy = SignedPolicy::new(Policy::default(), "", 3 * DAY, 2).unwrap().encode();
    world.change(&client, vec![Operation::OwnerPolicy { policy, signature: OwnerSignature::NONE }]);
    assert_eq!(usual(), 3 * DAY);
}
