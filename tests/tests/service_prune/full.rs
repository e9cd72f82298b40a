//! Full: what a prune does where the store has no room.

use std::time::Duration;

use copal_format::state::{DoomedState, SnapshotState};
use copal_jobs::error::JobError;
use copal_jobs::faults::{Windows, plant};
use copal_jobs::prune::{self, Options};
use copal_store::fault::{Call, Fate, Fault};
use copal_store::{Op, StoreError};
use copal_tests::kit::World;
use futures::executor::block_on;

use super::room::{mostly_forgotten, options, prune_on};
use super::sums::fill;

/// Names of packs that are doomed and not deleted, because the prune that doomed them died.
fn doom_without_deleting(world: &World) -> Vec<String> {
    let is_pack = |call: &Call<'_>| call.op == Op::Delete && call.key.starts_with("packs/");
    let store = Fault::at(&world.store, is_pack, |_| Fate::Crash);
    assert!(block_on(prune::prune(&world.job_of(&store), &options())).is_err());
    let doomed = world.view().state.doomed.into_iter().filter(|(_, record)| record.state == DoomedState::Doomed);
    doomed.map(|(name, _)| name.to_string()).filter(|name| name.starts_with("packs/")).collect()
}

#[test]
fn without_any_room_a_prune_deletes_old_roots_and_then_what_was_doomed_before() {
    plant(None, Windows { roots_kept: 2, roots_age: Duration::ZERO, ..Windows::DESIGN });
    let world = World::new();
    let (kept, tree) = mostly_forgotten(&world);
    let doomed = doom_without_deleting(&world);
    assert!(!doomed.is_empty() && doomed.iter().all(|name| world.has(name)));
    let roots = world.names("roots/");
    let pruned = prune_on(&world, 0);
    assert!(matches!(pruned, Err(JobError::Store(StoreError::Full { .. }))), "{pruned:?}");
    assert!(roots.iter().any(|name| !world.has(name)));
    assert!(doomed.iter().all(|name| !world.has(name)));
    assert_eq!(world.restore(kept), Ok(tree));
    plant(None, Windows::DESIGN);
}

#[test]
fn a_dry_prune_deletes_no_old_root_although_the_disk_is_full() {
    plant(None, Windows { roots_kept: 2, roots_age: Duration::ZERO, ..Windows::DESIGN });
    let world = World::new();
    mostly_forgotten(&world);
    assert!(!doom_without_deleting(&world).is_empty());
    let before = world.names("");
    // A directory tells the time by a file that it creates.
    let store = Fault::at(&world.store, |call| (call.op, call.count) == (Op::Now, 0), Fate::full);
    let pruned = block_on(prune::prune(&world.job_of(&store), &Options { is_dry_run: true, ..options() }));
    assert!(pruned.is_ok_and(|report| report.dead_bytes > 0), "what room there would be is told");
    assert_eq!(world.names(""), before);
    world.prune(Duration::ZERO);
    assert!(before.iter().any(|name| name.starts_with("roots/") && !world.has(name)), "there was one to delete");
    plant(None, Windows::DESIGN);
}

#[test]
fn on_a_disk_that_takes_no_copies_the_originals_stay() {
    let world = World::new();
    [1, 2].into_iter().for_each(|number| fill(&world, number));
    let kept = world.view().state.snapshots.into_values().filter(|of| of.state == SnapshotState::Kept);
    let kept: Vec<_> = kept.map(|of| (of.id, world.restore(of.id).unwrap())).collect();
    let is_copy = |call: &Call<'_>| call.op == Op::Create && call.key.starts_with("moved/");
    let store = Fault::at(&world.store, is_copy, Fate::full);
    let report = world.prune_on(&store, Duration::ZERO).unwrap();
    assert!(report.is_full && report.bytes_postponed > 0, "{report:?}");
    for (id, tree) in kept {
        assert_eq!(world.restore(id), Ok(tree));
    }
    assert!(world.check().is_ok());
}

/// Whether a prune succeeds, and whether it deletes packs, where its plan cannot be written.
fn prunes_without_its_plan(fate: fn(&Call<'_>) -> Fate) -> [bool; 2] {
    let world = World::new();
    mostly_forgotten(&world);
    let before = world.names("packs/");
    let is_plan = |call: &Call<'_>| call.op == Op::Create && call.key.starts_with("reports/plan/");
    let store = Fault::at(&world.store, is_plan, fate);
    let pruned = block_on(prune::prune(&world.job_of(&store), &Options { keeps_plan: true, ..options() }));
    [pruned.is_ok(), world.names("packs/") != before]
}

#[test]
fn a_prune_goes_on_without_its_plan_only_where_a_full_disk_is_the_reason() {
    assert_eq!(prunes_without_its_plan(Fate::full), [true, true]);
    assert_eq!(prunes_without_its_plan(|_| Fate::FailBefore(StoreError::Crashed)), [false, false]);
}
