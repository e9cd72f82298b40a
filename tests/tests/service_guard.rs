//! The guard of a signed policy, one scenario at a time: the floor, and the hold that a suspicious snapshot raises.

mod owner;

use std::time::Duration;

use copal_engine::retention::Series;
use copal_format::change::{Change, Operation, OwnerSignature};
use copal_format::client::Role;
use copal_format::id::{ObjectHash, SnapshotId};
use copal_format::layout;
use copal_format::policy::{Floor, Hold};
use copal_format::state::SnapshotState;
use copal_format::time::Time;
use copal_jobs::policy;
use copal_jobs::prune::{self, Options};
use copal_tests::kit::{Client, DAY, World, guarded, guarded_with, keep_last, keep_last_unsigned, tree};
use futures::executor::block_on;

#[test]
fn a_suspicious_snapshot_holds_its_series_and_no_other_until_the_owner_releases_it() {
    let (world, client, [first, second, suspicious]) = ravaged();
    let other = world.register(2, Role::WriteOnly);
    let [old, _] = [8u8, 9].map(|fill| back_up(&world, &other, fill, FULL));
    world.change(&client, vec![guarded(1, Floor::default(), HALF)]);
    world.wait(DAY);
    let report = world.expire();
    assert_eq!(report.expired, [old]);
    assert_eq!(report.held.iter().map(|held| held.snapshot).collect::<Vec<_>>(), [suspicious]);
    assert_eq!(report.held[0].series, Series { client: client.id, source: client.source });
    world.change(&client, vec![release(suspicious)]);
    let report = world.expire();
    assert_eq!((report.expired, report.held), (vec![first, second], vec![]));
}

#[test]
fn a_client_that_copies_the_series_of_another_lets_nothing_of_it_expire_and_holds_nothing() {
    let world = World::new();
    let [client, mut hostile] = [world.register(1, Role::Full), world.register(2, Role::WriteOnly)];
    hostile.source = client.source;
    world.change(&client, vec![keep_last(1)]);
    let kept = back_up(&world, &client, 1, FULL);
    for fill in 2..5 {
        back_up(&world, &hostile, fill, FULL);
    }
    world.wait(DAY);
    let report = world.expire();
    assert_eq!((report.expired.len(), world.states([kept, kept])[0]), (2, SnapshotState::Kept));
    let newer = back_up(&world, &client, 5, FULL);
    back_up(&world, &hostile, 6, 10);
    world.change(&client, vec![guarded(1, Floor::default(), HALF)]);
    world.wait(DAY);
    let report = world.expire();
    let held: Vec<_> = report.held.iter().map(|held| held.series.client).collect();
    assert_eq!(held, [hostile.id]);
    assert_eq!((report.expired, world.states([kept, newer])[1]), (vec![kept], SnapshotState::Kept));
}

#[test]
fn what_was_forgotten_of_a_held_series_stays_until_it_is_released() {
    let (world, client, [first, second, suspicious]) = ravaged();
    world.change(&client, vec![guarded(9, Floor::default(), HALF)]);
    world.change(&client, vec![Operation::Forget(vec![first, second, suspicious])]);
    for _ in 0..3 {
        world.wait(2 * DAY);
        let report = world.prune(DAY);
        assert_eq!((report.protected, report.held, report.entries_removed), (3, 1, 0));
    }
    world.change(&client, vec![Operation::Undelete(vec![first])]);
    assert_eq!(world.restore(first).unwrap(), tree([("a", &[1; FULL][..])]));
    world.change(&client, vec![release(suspicious)]);
    world.prune_and_wait(3, 2 * DAY);
    assert_eq!(world.states([first, second]), [SnapshotState::Kept, SnapshotState::Gone]);
    assert!(world.check().is_ok());
}

#[test]
fn what_was_forgotten_within_the_floor_stays_until_it_is_older() {
    let (world, client, [first, second, third]) = steady();
    let floor = Floor { last: 1, age: 10 * DAY };
    world.change(&client, vec![guarded(9, floor, None), Operation::Forget(vec![first, second, third])]);
    world.wait(2 * DAY);
    world.prune(DAY);
    world.wait(2 * DAY);
    assert_eq!(world.prune(DAY).protected, 3);
    world.change(&client, vec![Operation::Undelete(vec![first]), Operation::Forget(vec![first])]);
    world.wait(9 * DAY);
    world.prune(DAY);
    world.wait(2 * DAY);
    world.prune(DAY);
    // One stays whatever its age: the last.
    assert_eq!(
        world.states([first, second, third]),
        [SnapshotState::Gone, SnapshotState::Gone, SnapshotState::Forgotten]
    );
    world.change(&client, vec![Operation::Undelete(vec![third])]);
    assert_eq!(world.restore(third).unwrap(), tree([("a", &[3; FULL][..])]));
}

#[test]
fn a_floor_and_a_hold_that_the_owner_lowers_stay_for_as_long_as_the_floor_said() {
    for is_rebuilt in [false, true] {
        let (world, client, [first, second, suspicious]) = ravaged();
        world.change(&client, vec![guarded(1, Floor { last: 0, age: 10 * DAY }, HALF)]);
        world.wait(2 * DAY);
        // A thief of the owner's secret. In two steps it gets no further than in one, and by a policy of a century neither.
        let century = Floor { last: 0, age: 36_500 * DAY };
        let set = |floor| world.change(&client, vec![guarded(1, floor, None)]);
        set(Floor { last: 0, age: DAY });
        set(Floor::default());
        world.change(&client, vec![Operation::Forget(vec![first, second, suspicious])]);
        if is_rebuilt {
            world.rebuild_without_state();
        }
        for _ in 0..3 {
            world.wait(2 * DAY);
            assert_eq!((world.prune(DAY).protected, world.expire().held.len()), (3, 1));
        }
        set(century);
        set(Floor::default());
        world.wait(300 * DAY);
        assert_eq!(world.prune(DAY).protected, 3);
        world.wait(70 * DAY);
        world.prune_and_wait(3, 2 * DAY);
        assert_eq!(world.states([first, second, suspicious]), [SnapshotState::Gone; 3]);
    }
}

#[test]
fn a_floor_ends_no_sooner_if_a_policy_without_a_grace_period_comes_first() {
    for is_rebuilt in [false, true] {
        let (world, client, snapshots) = steady();
        let floor = Floor { last: 3, age: Duration::ZERO };
        world.change(&client, vec![guarded_with(30 * DAY, 1, floor, None)]);
        // A thief of the owner's secret.
        for floor in [floor, Floor::default()] {
            world.change(&client, vec![guarded_with(Duration::ZERO, 1, floor, None)]);
        }
        world.change(&client, vec![Operation::Forget(snapshots.to_vec())]);
        if is_rebuilt {
            world.rebuild_without_state();
        }
        // The shorter grace period counts at once.
        let grace = block_on(prune::grace(&world.job())).unwrap();
        assert_eq!(grace, Duration::ZERO);
        for _ in 0..3 {
            assert_eq!(world.prune(grace).protected, 3);
            world.wait(9 * DAY);
        }
        let [first, second, third] = snapshots;
        world.change(&client, vec![Operation::Undelete(vec![first])]);
        assert_eq!(world.restore(first).unwrap(), tree([("a", &[1; FULL][..])]));
        world.wait(4 * DAY);
        world.prune_and_wait(3, 2 * DAY);
        assert_eq!(
            world.states([first, second, third]),
            [SnapshotState::Kept, SnapshotState::Gone, SnapshotState::Gone]
        );
    }
}

#[test]
fn who_floods_a_series_pushes_nothing_out_before_the_floor_lets_it() {
    let (world, client, [_, _, good]) = steady();
    world.change(&client, vec![guarded(2, Floor { last: 0, age: 30 * DAY }, None)]);
    for fill in 10..14 {
        back_up(&world, &client, fill, FULL);
    }
    world.wait(DAY);
    assert_eq!(world.expire().expired, []);
    world.wait(30 * DAY);
    assert_eq!(world.expire().expired.len(), 5);
    assert_eq!(world.snapshot(good).state, SnapshotState::Forgotten);
}

#[test]
fn a_hold_that_is_raised_after_an_expiry_was_decided_stops_it() {
    let (world, client, [first, second, _]) = steady();
    world.change(&client, vec![guarded(1, Floor::default(), HALF)]);
    world.wait(DAY);
    let decided = world.expiry(1, ObjectHash::NONE, vec![first, second]);
    back_up(&world, &client, 4, 10);
    world.put(&layout::expiry(1), decided.encode());
    assert_eq!(world.fold(), [(layout::expiry(1), "a series that it names is held".to_owned())]);
    assert_eq!(world.states([first, second]), [SnapshotState::Kept; 2]);
    world.rebuild_without_state();
    assert_eq!(world.states([first, second]), [SnapshotState::Kept; 2]);
}

#[test]
fn a_rebuild_knows_what_is_held_released_and_within_the_floor() {
    let (world, client, [first, second, suspicious]) = ravaged();
    world.change(&client, vec![guarded(1, Floor { last: 0, age: 20 * DAY }, HALF), Operation::Forget(vec![second])]);
    let before = world.view().state.snapshots;
    let extents = |world: &World| world.view().state.snapshots.values().map(|of| of.extent).collect::<Vec<_>>();
    let known = extents(&world);
    world.rebuild_without_state();
    assert_eq!((extents(&world), world.view().state.snapshots.len()), (known, before.len()));
    for _ in 0..2 {
        world.wait(2 * DAY);
        assert_eq!(world.prune(DAY).protected, 1);
    }
    assert_eq!(world.expire().held.len(), 1);
    world.change(&client, vec![release(suspicious)]);
    world.rebuild_without_state();
    assert_eq!(world.expire().held, []);
    world.wait(20 * DAY);
    assert_eq!(world.expire().expired, [first]);
    world.change(&client, vec![Operation::Undelete(vec![second])]);
    assert_eq!(world.restore(second).unwrap(), tree([("a", &[2; FULL][..])]));
}

#[test]
fn what_expired_before_a_hold_was_raised_is_not_called_lost_by_a_rebuild() {
    let (world, client, [first, second, _]) = steady();
    world.change(&client, vec![guarded(1, Floor::default(), HALF)]);
    world.wait(DAY);
    assert_eq!(world.expire().expired, [first, second]);
    world.prune_and_wait(3, 2 * DAY);
    assert_eq!(world.states([first, second]), [SnapshotState::Gone; 2]);
    back_up(&world, &client, 4, 10);
    let report = world.rebuild_without_state();
    assert_eq!(report.lost, 0, "{report:?}");
    assert_eq!(world.states([first, second]), [SnapshotState::Gone; 2]);
    assert!(world.check().is_ok());
}

/// A client that has backed up three times, a day apart; the last time nearly everything was gone.
fn ravaged() -> (World, Client, [SnapshotId; 3]) {
    three([FULL, FULL, 40])
}

/// A client that has backed up three times, a day apart.
fn steady() -> (World, Client, [SnapshotId; 3]) {
    three([FULL; 3])
}

fn three(lengths: [usize; 3]) -> (World, Client, [SnapshotId; 3]) {
    let (world, client) = World::with_client();
    let snapshots = world.back_up_daily(&client, lengths);
    (world, client, snapshots)
}

fn back_up(world: &World, client: &Client, fill: u8, length: usize) -> SnapshotId {
    world.back_up(client, &tree([("a", &vec![fill; length][..])]))
}

fn release(snapshot: SnapshotId) -> Operation {
    Operation::Release { snapshots: vec![snapshot], signature: OwnerSignature::NONE }
}

/// A change that the client signs, also where the owner has to.
fn forge(world: &World, client: &Client, operation: Operation) {
    let (name, bytes) =
        world.change_behind(world.end_of("changes/"), client, vec![operation], &client.keys.manifest_key());
    world.put(&name, bytes);
}

/// A change with the owner's signature behind the one of this number and hash.
fn write_behind(world: &World, client: &Client, last: (u64, ObjectHash), operation: Operation) {
    let (name, bytes) = world.change_behind(last, client, vec![operation], &world.repository.owner.signing_key());
    world.put(&name, bytes);
}

fn hash_of(world: &World, change: u64) -> ObjectHash {
    ObjectHash::of(&world.read(&layout::change(change)))
}

/// The number of the change that holds the policy in force.
fn in_force(world: &World) -> u64 {
    block_on(policy::current(&world.job(), &world.view())).unwrap().unwrap().0
}

/// The same, also if it cannot be read.
fn named(world: &World) -> Option<u64> {
    world.view().root.unwrap().0.policy.map(|(number, _)| number)
}

/// So long a file is where all is well: what stands around small contents in packs weighs little beside it.
const FULL: usize = 40_000;
/// Half of a series of at least 1,000 bytes.
const HALF: Option<Hold> = Some(Hold { share: 50, least: 1_000 });
