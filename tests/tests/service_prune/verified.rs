//! Verified: a prune compares each state with the baseline before it decides, and notes what it has verified.

use copal_format::root::Deletion;
use copal_jobs::error::JobError;
use copal_jobs::prune;
use copal_store::Op;
use copal_store::fault::{Fate, Fault};
use copal_tests::kit::alone;

use super::contradicted::{self, Begun, at_once, leave_out_kept, write};
use super::{DAY, World, files};

#[test]
fn a_prune_that_changes_nothing_notes_the_state_as_the_next_baseline_once() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 2, 900));
    let verified = world.view().base();
    world.prune(DAY);
    assert_eq!(world.view().base(), verified, "there was nothing to change");
    let records = world.names("deletions/").into_iter().map(|name| Deletion::decode(&world.read(&name)).unwrap());
    let baselines: Vec<_> = records.map(|record| record.baseline).collect();
    assert_eq!(baselines, [verified]);
    let before = world.names("");
    world.prune(DAY);
    assert_eq!(world.names(""), before);
}

#[test]
fn a_state_that_somebody_writes_during_a_prune_is_compared_before_the_prune_goes_on() {
    let begun: &'static Begun = Box::leak(Box::new(contradicted::begin(true)));
    let world = &begun.world;
    world.wait(DAY * 9);
    let mut is_due = true;
    let store = Fault::new(&world.store, move |call| {
        // The prune has written its first root, which dooms a pack.
        if call.op == Op::Delete && call.key.starts_with("packs/") && std::mem::take(&mut is_due) {
            std::thread::spawn(|| write(begun, &leave_out_kept)).join().unwrap();
        }
        Fate::Proceed
    });
    let pruned = alone(prune::prune(&world.job_of(&store), &at_once()));
    assert!(matches!(pruned, Err(JobError::Contradicted { .. })), "{pruned:?}");
    contradicted::assert_refused(begun, "a state of another writer");
    world.rebuild();
    assert_eq!(world.restore(begun.kept).as_ref(), Ok(&begun.tree));
}
