//! Expiring under the signed policy, one scenario at a time.

use copal_format::change::{Operation, OwnerSignature};
use copal_format::client::Role;
use copal_format::expiry::Expiry;
use copal_format::id::{ObjectHash, SnapshotId};
use copal_format::layout;
use copal_format::repository::IngestBy;
use copal_format::state::SnapshotState;
use copal_format::time::Time;
use copal_jobs::expire;
use copal_jobs::ingest::{self, Scope};
use copal_jobs::policy;
use copal_store::Store;
use copal_tests::kit::{Client, DAY, World, keep_last, tree};
use futures::executor::block_on;

#[test]
fn what_the_policy_does_not_keep_expires_and_everything_else_stays() {
    let (world, client, [first, second, third]) = three_backups();
    let other = world.register(2, Role::WriteOnly);
    let alone = world.back_up(&other, &tree([("b", &[9; 2000][..])]));
    world.change(&client, vec![Operation::Pin(vec![first]), keep_last(1)]);
    world.wait(DAY);
    assert_eq!(expire(&world), [second]);
    for (snapshot, state) in [
        (first, SnapshotState::Kept),
        (second, SnapshotState::Forgotten),
        (third, SnapshotState::Kept),
        (alone, SnapshotState::Kept),
    ] {
        assert_eq!(world.snapshot(snapshot).state, state);
    }
    assert!(world.check().is_ok());
}

#[test]
fn with_nothing_to_expire_or_no_policy_nothing_is_written() {
    let (world, client, [first, ..]) = three_backups();
    let before = world.names("");
    assert_eq!(expire(&world), [SnapshotId([0; 16]); 0]);
    assert_eq!(world.names(""), before);
    world.change(&client, vec![keep_last(3), Operation::Forget(vec![first])]);
    world.wait(DAY);
    let before = world.names("");
    assert_eq!(expire(&world), [SnapshotId([0; 16]); 0]);
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
    let forged = expiry(&world, 1, ObjectHash::NONE, vec![first, third]);
    world.put(&layout::expiry(1), forged.encode());
    let refused = fold(&world);
    assert_eq!(refused, [(layout::expiry(1), "the policy keeps a snapshot that it names".to_owned())]);
    for snapshot in [first, second, third] {
        assert_eq!(world.snapshot(snapshot).state, SnapshotState::Kept);
    }
    assert_eq!(world.view().root.unwrap().0.expiry_head, Some((1, ObjectHash::of(&forged.encode()))));
    assert_eq!(expire(&world), [first]);
}

#[test]
fn an_expiry_of_another_policy_time_chain_or_state_is_not_believed() {
    let (world, client, [first, ..]) = three_backups();
    world.change(&client, vec![keep_last(1)]);
    world.change(&client, vec![keep_last(2)]);
    world.wait(DAY);
    let good = expiry(&world, 1, ObjectHash::NONE, vec![first]);
    let hash = |expiry: &Expiry| ObjectHash::of(&expiry.encode());
    let other_policy = Expiry { policy: 1, ..good.clone() };
    let later = Expiry { number: 2, previous: hash(&other_policy), time: Time(i64::MAX), ..good.clone() };
    let unchained = Expiry { number: 3, previous: ObjectHash([1; 32]), ..good.clone() };
    let stale = Expiry { number: 4, previous: hash(&unchained), change: 1, policy: 1, ..good };
    for expiry in [other_policy, later, unchained, stale] {
        world.put(&layout::expiry(expiry.number), expiry.encode());
    }
    assert_eq!(fold(&world).len(), 4);
    assert_eq!(world.snapshot(first).state, SnapshotState::Kept);
}

#[test]
fn what_was_pinned_meanwhile_does_not_expire() {
    let (world, client, [first, ..]) = three_backups();
    world.change(&client, vec![keep_last(2)]);
    world.wait(DAY);
    let stale = expiry(&world, 1, ObjectHash::NONE, vec![first]);
    world.write_change(&client, vec![Operation::Pin(vec![first])]);
    world.put(&layout::expiry(1), stale.encode());
    assert_eq!(fold(&world).len(), 1);
    assert_eq!(world.snapshot(first).state, SnapshotState::Kept);
    world.lose_state();
    let report = world.rebuild();
    assert_eq!(world.snapshot(first).state, SnapshotState::Kept);
    assert_eq!(report.expiries_left_out.len(), 1);
}

#[test]
fn an_expired_snapshot_can_be_brought_back() {
    let (world, client, [first, ..]) = three_backups();
    world.change(&client, vec![keep_last(2)]);
    world.wait(DAY);
    assert_eq!(expire(&world), [first]);
    world.change(&client, vec![Operation::Undelete(vec![first]), Operation::Pin(vec![first])]);
    assert_eq!(world.snapshot(first).state, SnapshotState::Kept);
    world.wait(DAY);
    assert_eq!(expire(&world), [SnapshotId([0; 16]); 0]);
    world.lose_state();
    world.rebuild();
    assert_eq!(world.snapshot(first).state, SnapshotState::Kept);
}

#[test]
fn what_expired_stays_away_after_a_rebuild() {
    let (world, client, [first, second, third]) = three_backups();
    world.change(&client, vec![keep_last(1)]);
    world.wait(DAY);
    assert_eq!(expire(&world), [first, second]);
    world.lose_state();
    let report = world.rebuild();
    assert_eq!(report.expiries_left_out, []);
    for (snapshot, state) in
        [(first, SnapshotState::Forgotten), (second, SnapshotState::Forgotten), (third, SnapshotState::Kept)]
    {
        assert_eq!(world.snapshot(snapshot).state, state);
    }
    let (number, policy) = block_on(policy::current(&world.job(), &world.view())).unwrap().unwrap();
    assert_eq!((number, Some((policy.encode().as_slice(), true))), (1, keep_last(1).policy()));
    // The chain of expiries goes on.
    let fourth = world.back_up(&client, &tree([("a", &[4; 3000][..])]));
    world.wait(DAY);
    assert_eq!(expire(&world), [third]);
    assert_eq!(world.snapshot(fourth).state, SnapshotState::Kept);
}

#[test]
fn what_a_later_policy_keeps_comes_back_with_a_rebuild_if_it_is_whole_and_else_is_gone_and_not_called_lost() {
    for is_pruned in [false, true] {
        let (world, client, [first, ..]) = three_backups();
        world.change(&client, vec![keep_last(2)]);
        world.wait(DAY);
        assert_eq!(expire(&world), [first]);
        if is_pruned {
            for _ in 0..3 {
                world.prune(DAY);
                world.wait(2 * DAY);
            }
            assert_eq!(world.snapshot(first).state, SnapshotState::Gone);
        }
        world.change(&client, vec![keep_last(9)]);
        world.lose_state();
        let report = world.rebuild();
        let state = if is_pruned { SnapshotState::Gone } else { SnapshotState::Kept };
        assert_eq!(world.snapshot(first).state, state);
        assert_eq!((report.expiries_left_out.len(), report.lost), (1, 0), "{report:?}");
        assert!(world.check().is_ok());
    }
}

/// A client that has backed up three times, a day apart.
fn three_backups() -> (World, Client, [SnapshotId; 3]) {
    let (world, client) = World::with_client();
    let snapshots = [1u8, 2, 3].map(|round| {
        world.wait(DAY);
        world.back_up(&client, &tree([("a", &[round; 3000][..])]))
    });
    (world, client, snapshots)
}

/// What expires, oldest first.
fn expire(world: &World) -> Vec<SnapshotId> {
    let mut expired = block_on(expire::expire(&world.job(), IngestBy::Service)).unwrap().expired;
    expired.sort_by_key(|id| world.snapshot(*id).accepted);
    expired
}

/// Folds in what waits; gives what is not believed.
fn fold(world: &World) -> Vec<(String, String)> {
    block_on(ingest::work(&world.job(), IngestBy::Service, Scope::Decisions, &|_| false)).unwrap().refused
}

fn expiry(world: &World, number: u64, previous: ObjectHash, snapshots: Vec<SnapshotId>) -> Expiry {
    let (root, _) = world.view().root.unwrap();
    let (policy, change) = (root.policy.unwrap().0, root.change_head.unwrap().0);
    let time = Time(block_on(world.store.now()).unwrap().0);
    Expiry { number, previous, policy, change, time, snapshots }
}
