//! Enrollments that have ended: whoever creates the second record later, with direct rights on the store and any time in
//! it, signs nothing that counts.

use std::time::Duration;

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::SnapshotId;
use copal_format::layout;
use copal_format::receipt::{Outcome, Reason};
use copal_format::state::SnapshotState;
use copal_format::time::Time;
use copal_jobs::clients;
use copal_store::memory::MemoryStore;
use copal_store::{Store, list_all};
use copal_tests::kit::repository::key;
use copal_tests::kit::{Client, DAY, How, Tree, World, noise};
use futures::executor::block_on;

const WEEK: Duration = Duration::from_secs(7 * 24 * 3_600);
const HOUR: Duration = Duration::from_secs(3_600);

/// A world with a client that was invited for a week.
fn invited(role: Role) -> (World, Client) {
    let world = World::new();
    let client = block_on(world.repository.invite(&world.store, 2, role, WEEK)).expect("memory does not fail");
    (world, client)
}

/// The client joins now, and says that it did so when it was invited.
fn join(world: &World, client: &Client) {
    world.put(&layout::client(client.id, 2), world.repository.joined(client, Time(1_700_000_000_000_000_000)));
}

/// A client that has joined so long after its invitation.
fn joined_after(wait: Duration, role: Role) -> (World, Client) {
    let (world, client) = invited(role);
    world.wait(wait);
    join(&world, &client);
    (world, client)
}

fn files() -> Tree {
    noise(1, 3, 2_000)
}

/// Saves; false if ingest rejects what was saved as that of an unknown client.
fn saves(world: &World, client: &Client) -> bool {
    let before = world.names("receipts/").len();
    match world.try_back_up(client, &files(), &How { patience: 1, ..How::default() }) {
        Ok(snapshot) => world.snapshot(snapshot).state == SnapshotState::Kept,
        Err(_) => {
            let number = world.names(&format!("receipts/{}/", client.id)).len() as u64;
            let receipt = world.receipt(client, number);
            assert!(world.names("receipts/").len() > before, "it was decided");
            assert_eq!((receipt.outcome, receipt.reasons[0].0), (Outcome::Rejected, Reason::UnknownClient));
            false
        }
    }
}

fn is_admitted(world: &World, client: &Client) -> bool {
    block_on(clients::admitted(&world.job(), client.id)).expect("the record can be believed").is_some()
}

#[test]
fn who_joins_in_time_is_believed_however_late_it_saves() {
    for role in [Role::Full, Role::WriteOnly] {
        let (world, client) = joined_after(WEEK, role);
        world.wait(DAY * 100);
        assert!(is_admitted(&world, &client) && saves(&world, &client));
        assert!(world.check().is_ok(), "{:?}", world.check().findings);
    }
}

#[test]
fn an_upload_that_the_gateway_allowed_in_time_may_arrive_within_the_hour() {
    let (world, client) = joined_after(WEEK + HOUR / 2, Role::WriteOnly);
    assert!(saves(&world, &client));
    let (world, client) = joined_after(WEEK + HOUR * 2, Role::WriteOnly);
    assert!(!saves(&world, &client));
}

#[test]
fn whoever_joins_late_is_rejected_again_and_again_whatever_time_it_claims() {
    let (world, thief) = joined_after(WEEK * 2, Role::WriteOnly);
    assert!(!is_admitted(&world, &thief));
    assert!(!saves(&world, &thief) && !saves(&world, &thief));
    assert!(world.view().state.snapshots.is_empty());
    world.rebuild();
    assert!(world.view().state.snapshots.is_empty());
}

#[test]
fn a_rebuild_takes_nothing_that_a_late_client_has_left_undecided() {
    let (world, thief) = joined_after(WEEK * 2, Role::WriteOnly);
    saves(&world, &thief);
    let report = world.rebuild_without(&["roots/", "index/", "state/", "receipts/"]);
    assert!(world.view().state.snapshots.is_empty() && !report.manifests_left_out.is_empty(), "{report:?}");
}

#[test]
fn a_late_full_client_forgets_nothing_not_even_by_a_rebuild() {
    let (world, thief) = joined_after(WEEK * 2, Role::Full);
    let owner = world.register(1, Role::Full);
    let snapshot = world.back_up(&owner, &files());
    world.change(&thief, vec![Operation::Forget(vec![snapshot])]);
    let is_kept = |snapshot: SnapshotId| world.snapshot(snapshot).state == SnapshotState::Kept;
    assert!(is_kept(snapshot));
    world.rebuild();
    assert!(is_kept(snapshot));
    // It has used up its number only.
    world.change(&owner, vec![Operation::Forget(vec![snapshot])]);
    assert!(!is_kept(snapshot));
    world.prune(DAY);
}

#[test]
fn no_object_that_was_put_there_before_dates_a_late_record_back() {
    for early in 0..2 {
        let (world, thief) = invited(Role::WriteOnly);
        let names = [layout::client(thief.id, 2), layout::client_copy(thief.id, 2)];
        world.put(&names[early], b"not a record".to_vec());
        world.wait(WEEK * 2);
        world.put(&names[1 - early], world.repository.joined(&thief, Time(0)));
        assert!(!is_admitted(&world, &thief), "{} was there early", names[early]);
    }
}

#[test]
fn a_copy_that_was_lost_and_written_again_makes_nobody_late() {
    for lost in 0..2 {
        let (world, client) = joined_after(DAY, Role::WriteOnly);
        assert!(saves(&world, &client));
        world.destroy_all("receipts/");
        let name = [layout::client(client.id, 2), layout::client_copy(client.id, 2)][lost].clone();
        let bytes = world.read(&name);
        world.destroy(&name);
        world.wait(DAY * 100);
        world.put(&name, bytes);
        assert!(is_admitted(&world, &client), "{name}");
    }
}

#[test]
fn a_repository_that_is_copied_to_a_store_that_dates_objects_anew_believes_the_same_clients() {
    let (world, client) = joined_after(DAY, Role::WriteOnly);
    assert!(saves(&world, &client));
    let late = block_on(world.repository.invite(&world.store, 3, Role::WriteOnly, WEEK)).expect("memory does not fail");
    world.wait(WEEK * 2);
    join(&world, &late);
    assert!(!saves(&world, &late));
    // All at once; and the records that came later by a copy of a later month.
    for gap in [Duration::ZERO, DAY * 30] {
        let copy = MemoryStore::new();
        for listed in block_on(list_all(&world.store, "")).expect("memory does not fail") {
            let is_second = layout::client_version(listed.key.as_str()) == Some(2);
            copy.advance(if is_second { gap } else { Duration::ZERO });
            let bytes = world.read(listed.key.as_str());
            block_on(copy.create(&key(listed.key.as_str()), bytes.into())).expect("memory does not fail");
        }
        let admitted =
            |id| block_on(clients::admitted(&world.job_of(&copy), id)).expect("it can be believed").is_some();
        assert!(admitted(client.id), "{gap:?}");
        assert!(gap.is_zero() || !admitted(late.id), "nothing of it was accepted");
    }
}
