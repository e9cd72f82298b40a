//! Rebuild, where the newest policy cannot be read: what an older one would permit is not done.

use std::time::Duration;

use copal_format::change::Operation;
use copal_format::id::{ObjectHash, SnapshotId};
use copal_format::layout;
use copal_format::pack::PackKind;
use copal_format::policy::Floor;
use copal_format::state::SnapshotState;
use copal_jobs::error::JobError;
use copal_jobs::prune::Options;
use copal_tests::kit::{Client, DAY, Tree, World, guarded, path};

/// Keeps the last snapshot, and those that the floor keeps.
fn policy(floor: u32) -> Operation {
    guarded(1, Floor { last: floor, age: Duration::ZERO }, None)
}

fn tree(fill: u8) -> Tree {
    [(path("a"), vec![fill; 3000])].into()
}

/// Three backups, a day apart, of which the first is forgotten. The first policy keeps one snapshot, the second all.
fn begin() -> (World, Client, [SnapshotId; 3]) {
    let (world, client) = World::with_client();
    world.change(&client, vec![policy(1)]);
    world.change(&client, vec![policy(9)]);
    let snapshots = world.back_up_daily(&client, [3000; 3]);
    world.wait(DAY);
    (world, client, snapshots)
}

fn try_prune(world: &World) -> Result<(), JobError> {
    world.try_prune(&Options { grace: DAY, ..Options::new([4096, 3072]) }).map(drop)
}

/// Writes a change behind the third, however many of those before it are there.
fn write_fourth(world: &World, client: &Client, operation: Operation) {
    let third = (3, ObjectHash::of(&world.read(&layout::change(3))));
    let (name, bytes) = world.change_behind(third, client, vec![operation], &world.repository.owner.signing_key());
    world.put(&name, bytes);
}

#[test]
fn an_older_policy_does_not_come_into_force_because_a_newer_change_cannot_be_read() {
    for is_gone in [false, true] {
        let (world, client, snapshots) = begin();
        world.change(&client, vec![Operation::Forget(vec![snapshots[0]])]);
        let newest = layout::change(2);
        world.harm(&newest, is_gone);
        let report = world.rebuild_without_state();
        assert_eq!(report.policy_unread.as_ref(), Some(&newest));
        for _ in 0..3 {
            world.wait(DAY * 2);
            assert!(matches!(world.try_expire(), Err(JobError::Damaged { object, .. }) if object == newest));
            assert!(matches!(try_prune(&world), Err(JobError::Damaged { object, .. }) if object == newest));
        }
        assert_eq!(snapshots.map(|id| world.restore(id)), [1, 2, 3].map(|fill| Ok(tree(fill))));
        // Backups go on, and the owner's next policy ends it.
        write_fourth(&world, &client, policy(1));
        world.back_up(&client, &tree(4));
        world.wait(DAY);
        assert_eq!(world.expire().expired, snapshots[1..]);
        try_prune(&world).unwrap();
    }
}

#[test]
fn an_unreadable_change_before_the_newest_policy_takes_nothing_from_it() {
    let (world, _, snapshots) = begin();
    world.flip(&layout::change(1));
    assert_eq!(world.rebuild_without_state().policy_unread, None);
    assert_eq!(world.expire().expired, [SnapshotId([0; 16]); 0]);
    try_prune(&world).unwrap();
    assert_eq!(world.snapshot(snapshots[0]).state, SnapshotState::Kept);
}

#[test]
fn an_expiry_tells_of_a_policy_that_was_the_last_change_and_is_gone() {
    let (world, client, snapshots) = begin();
    world.change(&client, vec![policy(2)]);
    // What the policy before has guarded goes on for a day.
    world.wait(DAY);
    assert_eq!(world.expire().expired, snapshots[..1]);
    for _ in 0..3 {
        try_prune(&world).unwrap();
        world.wait(DAY * 2);
    }
    assert_eq!(world.snapshot(snapshots[0]).state, SnapshotState::Gone);
    world.destroy(&layout::change(3));
    let report = world.rebuild_without_state();
    assert_eq!(report.policy_unread, Some(layout::change(3)));
    assert!(try_prune(&world).is_err());
    // It was removed under the policy that is gone, and is not called lost.
    assert_eq!(world.snapshot(snapshots[0]).state, SnapshotState::Gone);
    assert_eq!(report.lost, 0);
}

#[test]
fn what_was_forgotten_within_the_floor_stays_when_a_pack_of_it_is_lost_with_the_roots() {
    let (world, client, snapshots) = begin();
    world.change(&client, vec![Operation::Forget(snapshots.to_vec())]);
    let lost = world.packs(PackKind::Data).remove(0);
    world.destroy(&lost);
    let report = world.rebuild_without_state();
    assert_eq!((report.packs_lost, report.snapshots_harmed.len()), (vec![lost], 1));
    assert_eq!(world.states(snapshots), [SnapshotState::Forgotten; 3]);
    for _ in 0..3 {
        try_prune(&world).unwrap();
        world.wait(DAY * 2);
    }
    world.change(&client, vec![Operation::Undelete(snapshots.to_vec())]);
    client.forget_memory();
    for fill in [1, 2, 3] {
        world.back_up(&client, &tree(fill));
    }
    assert_eq!(snapshots.map(|id| world.restore(id)), [1, 2, 3].map(|fill| Ok(tree(fill))));
}

#[test]
fn a_root_that_can_be_read_tells_of_a_policy_that_was_the_last_change_and_is_gone() {
    let (world, client, snapshots) = begin();
    world.destroy(&layout::change(2));
    let lose_runs = || ["state/", "index/"].iter().for_each(|prefix| world.destroy_all(prefix));
    let is_in_doubt = || {
        assert!(world.try_expire().is_err());
        assert!(try_prune(&world).is_err());
        assert_eq!(world.states(snapshots), [SnapshotState::Kept; 3]);
    };
    lose_runs();
    let report = world.rebuild();
    assert_eq!(report.policy_unread, Some(layout::change(2)));
    assert!(report.unreadable.iter().any(|(name, _)| *name == layout::change(2)), "{report:?}");
    is_in_doubt();
    // Nor does another change of that number end it, in this rebuild or the next one.
    world.change(&client, vec![Operation::Pin(vec![snapshots[2]])]);
    is_in_doubt();
    lose_runs();
    assert_eq!(world.rebuild().policy_unread, Some(layout::change(2)));
    is_in_doubt();
    world.change(&client, vec![policy(1)]);
    assert_eq!(world.expire().expired, snapshots[..2]);
    lose_runs();
    assert_eq!(world.rebuild().policy_unread, None);
    try_prune(&world).unwrap();
}
