//! Lingering: the guard of a policy that a weaker one has replaced. A root that ends it too early is refused; a root that
//! ingest has written is not, whenever the policies came.

use std::time::Duration;

use copal_format::client::Role;
use copal_format::policy::Floor;
use copal_format::root::Root;
use copal_store::Store;
use copal_tests::kit::{DAY, guarded, guarded_with, keep_last, noise as files};
use futures::executor::block_on;

use super::contradicted::{assert_mended, assert_refused, begin, write_root};

#[test]
fn a_guard_that_was_lowered_and_does_not_linger_is_refused() {
    let begun = begin(true);
    begun.world.change(&begun.client, vec![keep_last(9)]);
    write_root(&begun, &|_, root| {
        assert!(root.lingering.is_some());
        Root { lingering: None, ..root }
    });
    assert_refused(&begun, "nothing lingers");
    assert_mended(&begun, "nothing lingers");
}

#[test]
fn a_guard_that_does_not_linger_after_its_grace_period_was_shortened_is_refused() {
    let begun = begin(true);
    let floor = Floor { last: 1, age: 3 * DAY };
    for grace in [10 * DAY, Duration::ZERO] {
        begun.world.change(&begun.client, vec![guarded_with(grace, 9, floor, None)]);
    }
    write_root(&begun, &|_, root| {
        assert!(root.lingering.is_some());
        Root { lingering: None, ..root }
    });
    assert_refused(&begun, "nothing lingers");
}

#[test]
fn a_policy_that_is_lowered_while_an_ingest_runs_lets_prunes_go_on() {
    let begun = begin(true);
    let now = block_on(begun.world.store.now()).unwrap();
    begun.world.wait(Duration::from_secs(60));
    begun.world.write_change(&begun.client, vec![keep_last(9)]);
    begun.world.store.set_now(now);
    begun.world.ingest().unwrap();
    begun.world.wait(DAY);
    begun.world.prune(DAY);
}

#[test]
fn a_guard_that_ended_before_an_ingest_folds_the_next_policy_in_lets_prunes_go_on() {
    let begun = begin(true);
    let world = &begun.world;
    let weaker = |age: u32| guarded(9, Floor { last: 0, age: DAY * age }, None);
    world.change(&begun.client, vec![weaker(2)]);
    world.prune(DAY);
    // What the first policy guarded lasts for three days. The next one is there before, and is folded in afterwards.
    world.wait(2 * DAY);
    world.write_change(&begun.client, vec![weaker(1)]);
    world.wait(DAY * 3 / 2);
    world.ingest().unwrap();
    world.prune(DAY);
}

#[test]
fn a_policy_of_a_client_that_is_revoked_later_lets_prunes_go_on() {
    let begun = begin(true);
    let world = &begun.world;
    let thief = world.register(7, Role::Full);
    world.back_up(&thief, &files(5, 1, 500));
    // Whoever has the passphrase, too, signs as the owner.
    world.change(&thief, vec![keep_last(9)]);
    world.wait(DAY);
    world.change(&begun.client, vec![keep_last(8)]);
    let last = world.view().state.heads[&thief.id].clone();
    block_on(world.repository.revoke(&world.store, &thief, (last.number, last.hash), None)).unwrap();
    world.wait(DAY);
    // The guard of three days lingers from the thief's policy, and not from the owner's next one.
    world.prune(DAY);
}
