//! Only the owner decides what a guard keeps.

use super::*;

#[test]
fn only_the_owner_takes_a_floor_away_or_ends_a_hold() {
    let (world, client, [.., suspicious]) = ravaged();
    world.change(&client, vec![guarded(1, Floor { last: 2, age: DAY }, HALF)]);
    // A client's key alone: a policy that the owner has not signed, and signatures by somebody else.
    world.change(&client, vec![keep_last_unsigned(1)]);
    assert_eq!(in_force(&world), 1);
    for operation in [guarded(1, Floor::default(), None), release(suspicious)] {
        forge(&world, &client, operation);
        assert_eq!(world.fold().len(), 1);
    }
    assert_eq!((in_force(&world), world.snapshot(suspicious).released), (1, false));
    // What the owner has signed for one place counts in no other.
    let lower = guarded(1, Floor::default(), None);
    world.change(&client, vec![lower, guarded(3, Floor::default(), HALF)]);
    assert_eq!(in_force(&world), 5);
    world.change(&client, vec![guarded(1, Floor { last: 2, age: DAY }, HALF)]);
    let replayed = Change::vouched(5, hash_of(&world, 5), &world.read(&layout::change(5))).unwrap().operations;
    let change =
        Change { number: 7, previous: hash_of(&world, 6), client: client.id, time: Time(0), operations: replayed };
    world.put(&layout::change(7), change.sign(world.repository.owner.repository(), &client.keys.manifest_key()));
    assert_eq!(world.fold().len(), 1);
    assert_eq!(in_force(&world), 6);
    world.rebuild_without_state();
    assert_eq!((in_force(&world), world.snapshot(suspicious).released), (6, false));
}

#[test]
fn a_damaged_policy_holds_up_no_ingest_and_gives_way_to_one_of_the_owners_alone() {
    for is_gone in [false, true] {
        let (world, client, [first, second, third]) = steady();
        world.change(&client, vec![guarded(1, Floor { last: 2, age: DAY }, HALF)]);
        world.wait(DAY);
        world.put(&layout::expiry(1), world.expiry(1, ObjectHash::NONE, vec![first]).encode());
        let name = layout::change(1);
        let bytes = world.read(&name);
        world.harm(&name, is_gone);
        // What waits is decided about: the expiry is void, and a policy that the owner has not signed does not follow.
        let [(refused, why)] = &world.fold()[..] else { panic!("the expiry is refused") };
        assert_eq!(*refused, layout::expiry(1));
        assert!(why.contains(&name), "{why}");
        write_behind(&world, &client, (1, ObjectHash::of(&bytes)), keep_last_unsigned(1));
        let fourth = back_up(&world, &client, 4, FULL);
        assert_eq!(named(&world), Some(1));
        assert_eq!(world.snapshot(first).state, SnapshotState::Kept);
        assert!(world.try_expire().is_err(), "nobody knows what is kept");
        assert!(world.try_prune(&Options::new([4096, 3072])).is_err());
        write_behind(&world, &client, (2, hash_of(&world, 2)), guarded(3, Floor::default(), None));
        let fifth = back_up(&world, &client, 5, FULL);
        assert_eq!(in_force(&world), 3);
        assert_eq!(world.expire().expired, [first, second]);
        assert_eq!(world.states([third, fourth, fifth]), [SnapshotState::Kept; 3]);
        world.prune(DAY);
    }
}

#[test]
fn what_follows_a_change_that_a_rebuild_cannot_read_takes_no_policy_of_the_owners_away() {
    for is_gone in [false, true] {
        let (world, client, snapshots) = steady();
        world.change(&client, vec![guarded(9, Floor { last: 2, age: DAY }, HALF)]);
        // Who has the client's key, and not the owner's: ingest passes it over.
        world.change(&client, vec![keep_last_unsigned(1)]);
        assert_eq!(in_force(&world), 1);
        let name = layout::change(1);
        world.harm(&name, is_gone);
        world.rebuild_without_state();
        assert_eq!(named(&world), Some(1), "nobody knows what it said");
        world.wait(DAY);
        assert!(world.try_expire().is_err());
        assert_eq!(world.states(snapshots), [SnapshotState::Kept; 3]);
    }
}

#[test]
fn no_policy_comes_into_force_that_the_owner_has_not_signed() {
    let (world, client, snapshots) = steady();
    let both = vec![Operation::Forget(vec![snapshots[0]]), keep_last_unsigned(1)];
    world.write_change(&client, both);
    let [(refused, why)] = &world.fold()[..] else { panic!("it is told") };
    assert_eq!(*refused, layout::change(1));
    assert!(why.contains("owner"), "{why}");
    // What any full client may decide counts all the same.
    assert_eq!((named(&world), world.snapshot(snapshots[0]).state), (None, SnapshotState::Forgotten));
    // Also where a policy of the owner's was in force, and a rebuild cannot know it.
    world.change(&client, vec![guarded(9, Floor { last: 2, age: DAY }, HALF)]);
    world.flip(&layout::change(2));
    world.rebuild_without_state();
    world.write_change(&client, vec![keep_last_unsigned(1)]);
    assert_eq!(world.fold().len(), 1);
    assert_eq!(named(&world), Some(2));
    world.rebuild_without_state();
    assert_eq!(named(&world), Some(2));
    world.wait(DAY);
    assert!(world.try_expire().is_err());
}

#[test]
fn a_change_that_was_forged_in_the_owners_name_stands_in_no_policys_way() {
    let (world, client, [.., newest]) = steady();
    world.change(&client, vec![Operation::Pin(vec![newest])]);
    forge(&world, &client, release(newest));
    world.change(&client, vec![keep_last(2)]);
    assert_eq!(in_force(&world), 3);
    world.rebuild_without_state();
    assert_eq!(in_force(&world), 3, "what was forged can be read");
}
