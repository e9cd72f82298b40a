//! Expiring under the signed policy, one scenario at a time.

use copal_format::change::{Operation, OwnerSignature};
use copal_format::client::Role;
use copal_format::expiry::Expiry;
use copal_format::id::{ObjectHash, SnapshotId};
use copal_format::layout;
use copal_format::state::SnapshotState;
use copal_format::time::Time;
use copal_jobs::policy;
use copal_tests::kit::{Client, DAY, World, keep_last, tree};
use futures::executor::block_on;

#[test]
fn what_the_policy_does_not_keep_expires_and_everything_else_stays() {
    let (world, client, [first, second, third]) = three_backups();
    let other = world.register(2, Role::WriteOnly);
    let alone = world.back_up(&other, &tree([("b", &[9; 2000][..])]));
    world.change(&client, vec![Operation::Pin(vec![first]), keep_last(1)]);
    world.wait(DAY);
    assert_eq!(world.expire().expired, [second]);
    assert_eq!(world.states([first, third, alone]), [SnapshotState::Kept; 3]);
    assert_eq!(world.snapshot(second).state, SnapshotState::Forgotten);
    assert!(world.check().is_ok());
}

#[test]
fn with_nothing_to_expire_or_no_policy_nothing_is_written() {
    let (world, client, [first, ..]) = three_backups();
    let before = world.names("");
    assert_eq!(world.expire().expired, [SnapshotId([0; 16]); 0]);
    assert_eq!(world.names(""), before);
    world.change(&client, vec![keep_last(3), Operation::Forget(vec![first])]);
    world.wait(DAY);
    let before = world.names("");
    assert_eq!(world.expire().expired, [SnapshotId([0; 16]); 0]);
    assert_eq!(world.names(""), before);
}

#[test]
fn the_policy_in_force_is_the_last_one_that_can_be_read() {
    let (world, client, _) = three_backups();
    world.change(&client, vec![keep_last(3), keep_last(2)]);
    world.change(
        &client,
        vec![Operation::OwnerPolicy { policy: b"no policy".to_vec(), signature: OwnerSignature::NONE }],
    );
    let (number, policy) = block_on(policy::current(&world.job(), &world.view())).unwrap().unwrap();
    assert_eq!((number, Some((policy.encode().as_slice(), true))), (1, keep_last(2).policy()));
}

#[test]
fn an_expiry_that_the_policy_does_not_permit_spends_its_number_and_changes_nothing() {
    let (world, client, [first, second, third]) = three_backups();
    world.change(&client, vec![keep_last(2)]);
    world.wait(DAY);
    let forged = world.expiry(1, ObjectHash::NONE, vec![first, third]);
    world.put(&layout::expiry(1), forged.encode());
    let refused = world.fold();
    assert_eq!(refused, [(layout::expiry(1), "the policy keeps a snapshot that it names".to_owned())]);
    assert_eq!(world.states([first, second, third]), [SnapshotState::Kept; 3]);
    assert_eq!(world.view().root.unwrap().0.expiry_head, Some((1, ObjectHash::of(&forged.encode()))));
    assert_eq!(world.expire().expired, [first]);
}

#[test]
fn an_expiry_of_another_policy_time_chain_or_state_is_not_believed() {
    let (world, client, [first, ..]) = three_backups();
    world.change(&client, vec![keep_last(1)]);
    world.change(&client, vec![keep_last(2)]);
    world.wait(DAY);
    let good = world.expiry(1, ObjectHash::NONE, vec![first]);
    let hash = |expiry: &Expiry| ObjectHash::of(&expiry.encode());
    let other_policy = Expiry { policy: 1, ..good.clone() };
    let later = Expiry { number: 2, previous: hash(&other_policy), time: Time(i64::MAX), ..good.clone() };
    let unchained = Expiry { number: 3, previous: ObjectHash([1; 32]), ..good.clone() };
    let stale = Expiry { number: 4, previous: hash(&unchained), change: 1, policy: 1, ..good };
    for expiry in [other_policy, later, unchained, stale] {
        world.put(&layout::expiry(expiry.number), expiry.encode());
    }
    assert_eq!(world.fold().len(), 4);
    assert_eq!(world.snapshot(first).state, SnapshotState::Kept);
}

#[test]
fn what_was_pinned_meanwhile_does_not_expire() {
    let (world, client, [first, ..]) = three_backups();
    world.change(&client, vec![keep_last(2)]);
    world.wait(DAY);
    let stale = world.expiry(1, ObjectHash::NONE, vec![first]);
    world.write_change(&client, vec![Operation::Pin(vec![first])]);
    world.put(&layout::expiry(1), stale.encode());
    assert_eq!(world.fold().len(), 1);
    assert_eq!(world.snapshot(first).state, SnapshotState::Kept);
    let report = world.rebuild_without_state();
    assert_eq!(world.snapshot(first).state, SnapshotState::Kept);
    assert_eq!(report.expiries_left_out.len(), 1);
}

#[test]
fn an_expired_snapshot_can_be_brought_back() {
    let (world, client, [first, ..]) = three_backups();
    world.change(&client, vec![keep_last(2)]);
    world.wait(DAY);
    assert_eq!(world.expire().expired, [first]);
    world.change(&client, vec![Operation::Undelete(vec![first]), Operation::Pin(vec![first])]);
    assert_eq!(world.snapshot(first).state, SnapshotState::Kept);
    world.wait(DAY);
    assert_eq!(world.expire().expired, [SnapshotId([0; 16]); 0]);
    world.rebuild_without_state();
    assert_eq!(world.snapshot(first).state, SnapshotState::Kept);
}

#[test]
fn what_expired_stays_away_after_a_rebuild() {
    let (world, client, [first, second, third]) = three_backups();
    world.change(&client, vec![keep_last(1)]);
    world.wait(DAY);
    assert_eq!(world.expire().expired, [first, second]);
    let report = world.rebuild_without_state();
    assert_eq!(report.expiries_left_out, []);
    assert_eq!(world.states([first, second]), [SnapshotState::Forgotten; 2]);
    assert_eq!(world.snapshot(third).state, SnapshotState::Kept);
    let (number, policy) = block_on(policy::current(&world.job(), &world.view())).unwrap().unwrap();
    assert_eq!((number, Some((policy.encode().as_slice(), true))), (1, keep_last(1).policy()));
    // The chain of expiries goes on.
    let fourth = world.back_up(&client, &tree([("a", &[4; 3000][..])]));
    world.wait(DAY);
    assert_eq!(world.expire().expired, [third]);
    assert_eq!(world.snapshot(fourth).state, SnapshotState::Kept);
}

#[test]
fn what_a_later_policy_keeps_comes_back_with_a_rebuild_if_it_is_whole_and_else_is_gone_and_not_called_lost() {
    for is_pruned in [false, true] {
        let (world, client, [first, ..]) = three_backups();
        world.change(&client, vec![keep_last(2)]);
        world.wait(DAY);
        assert_eq!(world.expire().expired, [first]);
        if is_pruned {
            world.prune_and_wait(3, 2 * DAY);
            assert_eq!(world.snapshot(first).state, SnapshotState::Gone);
        }
        world.change(&client, vec![keep_last(9)]);
        let report = world.rebuild_without_state();
        let state = if is_pruned { SnapshotState::Gone } else { SnapshotState::Kept };
        assert_eq!(world.snapshot(first).state, state);
        assert_eq!((report.expiries_left_out.len(), report.lost), (1, 0), "{report:?}");
        assert!(world.check().is_ok());
    }
}

/// A client that has backed up three times, a day apart.
fn three_backups() -> (World, Client, [SnapshotId; 3]) {
    let (world, client) = World::with_client();
    let snapshots = world.back_up_daily(&client, [3000; 3]);
    (world, client, snapshots)
}
