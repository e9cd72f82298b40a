//! Marks: what a prune says of copies counts, and no mark stays of a copy that is gone.

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::{ChunkId, PackId, PackTag, SnapshotId};
use copal_format::index::{Bits, Mark};
use copal_format::pack::PackKind;
use copal_format::time::Time;
use copal_jobs::view::View;
use copal_tests::kit::craft::id;
use copal_tests::kit::{Client, DAY, World, noise as files};

use super::contradicted;
use super::moves::mostly_forgotten;

/// Marks of copies that no segment has.
fn stale(world: &World, client: &Client) -> Vec<(ChunkId, PackTag)> {
    let view = world.view();
    let index = view.index(client.domain).unwrap();
    let is_there = |(id, tag): &(ChunkId, PackTag)| index.copies(id).any(|(place, _)| place.pack.tag() == *tag);
    let marks = index.overlay().marks().map(|(copy, _)| copy).filter(|(_, tag)| *tag != PackTag::NONE);
    marks.filter(|copy| !is_there(copy)).collect()
}

#[test]
fn what_a_prune_says_of_a_copy_counts_more_than_what_was_said_before() {
    for others in 40..44 {
        let begun = contradicted::begin(true);
        let domain = begun.client.domain;
        let entry = |view: &View| view.segments_of(domain).flat_map(|(_, segment)| segment.entries()).last().unwrap();
        // With this many other marks the older run stays, so that the prune's own run has to count before it.
        contradicted::write(&begun, &|_, view, proposal| {
            let wanted = Mark { time: Time(0), bits: Bits::WANTED };
            let entry = entry(view);
            let unknown = (0..others).map(|number| (id(number), PackId([1; 32]).tag()));
            let marks = unknown.chain([(entry.id, entry.location.pack.tag())]).map(|copy| (copy, wanted));
            proposal.overlay.insert(domain, marks.collect());
        });
        let bits = || {
            let (view, entry) = (begun.world.view(), entry(&begun.world.view()));
            view.indexes[&domain].overlay().bits(&entry.id, entry.location.pack.tag())
        };
        assert!(bits().contains(Bits::WANTED));
        begun.world.prune(9 * DAY);
        assert!(!bits().contains(Bits::WANTED), "the pack is sound and proven");
    }
}

#[test]
fn a_copy_that_is_removed_or_moved_leaves_no_mark_behind() {
    let (world, client) = World::with_client();
    mostly_forgotten(&world, &client);
    for _ in 0..3 {
        world.prune(DAY);
        assert_eq!(stale(&world, &client), []);
        world.wait(2 * DAY);
    }
    assert_ne!(world.names("moved/"), [""; 0]);
}

#[test]
fn a_copy_that_another_one_displaces_leaves_no_mark_behind() {
    let (world, client) = World::with_client();
    let other = world.register(2, Role::Full);
    let (view, tree) = (world.view(), files(1, 4, 3000));
    world.back_up(&client, &tree);
    world.back_up_since(&view, &other, &tree);
    world.prune(DAY);
    let mut removed = 0;
    for _ in 0..3 {
        world.wait(2 * DAY);
        removed += world.prune(DAY).entries_removed;
        assert_eq!(stale(&world, &client), []);
    }
    assert!(removed > 0, "the displaced copies have left");
}

/// The ids that are marked as lost without a copy.
fn lost(world: &World, client: &Client) -> Vec<ChunkId> {
    let view = world.view();
    let marks = view.index(client.domain).unwrap().overlay().marks();
    marks.filter(|((_, tag), _)| *tag == PackTag::NONE).map(|((id, _), _)| id).collect()
}

/// Loses a pack that a snapshot needs, and prunes after what `then` does.
fn lose_a_pack(then: impl FnOnce(&World, &Client, SnapshotId)) {
    let (world, client) = World::with_client();
    let saved = world.back_up(&client, &files(1, 4, 3000));
    world.back_up(&client, &files(2, 1, 900));
    world.destroy(&world.packs(PackKind::Data)[0]);
    world.rebuild();
    world.prune(DAY);
    assert_ne!(lost(&world, &client), [], "it is needed");
    then(&world, &client, saved);
    world.wait_and_prune(3, 9 * DAY);
    assert_eq!(lost(&world, &client), []);
    assert!(world.check().is_ok());
}

#[test]
fn an_id_that_has_a_copy_again_is_not_marked_as_lost() {
    lose_a_pack(|world, client, _| {
        world.back_up(client, &files(1, 4, 3000));
    });
}

#[test]
fn an_id_that_nothing_needs_any_more_is_not_marked_as_lost() {
    lose_a_pack(|world, client, saved| world.change(client, vec![Operation::Forget(vec![saved])]));
}
