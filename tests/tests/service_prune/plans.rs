//! Plans: what a prune is about to delete stands in a plan, whoever has doomed it.

use std::collections::BTreeSet;
use std::time::Duration;

use copal_format::id::PackId;
use copal_format::layout::{self, Place};
use copal_jobs::prune::{self, Options};
use copal_store::Op;
use copal_store::fault::{Fate, Fault};
use copal_tests::kit::{DAY, World, noise as files};
use futures::executor::block_on;

use super::forget;

fn options(grace: Duration) -> Options {
    Options { grace, keeps_plan: true, ..Options::new([4096, 3072]) }
}

/// All objects that plans name.
fn planned(world: &World) -> BTreeSet<String> {
    let plans = world.names("reports/plan/").into_iter().flat_map(|name| {
        let plan: serde_json::Value = serde_json::from_slice(&world.read(&name)).unwrap();
        serde_json::from_value::<Vec<String>>(plan["objects"].clone()).unwrap()
    });
    plans.collect()
}

#[test]
fn what_an_interrupted_prune_has_not_deleted_stands_in_a_plan_of_the_next_one() {
    let (world, client) = World::with_client();
    let old = world.back_up(&client, &files(1, 4, 3000));
    world.back_up(&client, &files(2, 4, 3000));
    forget(&world, &client, old);
    let store = Fault::at(&world.store, |call| call.op == Op::Delete, |_| Fate::Crash);
    assert!(block_on(prune::prune(&world.job_of(&store), &options(Duration::ZERO))).is_err());
    world.destroy_all("reports/");
    let before = world.names("packs/");
    world.try_prune(&options(Duration::ZERO)).unwrap();
    let deleted: BTreeSet<String> = before.into_iter().filter(|name| !world.has(name)).collect();
    assert!(!deleted.is_empty() && planned(&world).is_superset(&deleted));
    assert_eq!(world.names("reports/plan/").len(), 1, "nothing else was to be deleted");
}

#[test]
fn an_orphan_stands_in_a_plan_although_no_entry_is_removed() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 4, 3000));
    let orphan = layout::pack(Place::Packs, PackId([9; 32]));
    world.put(&orphan, vec![1]);
    world.wait(DAY * 8);
    world.try_prune(&options(DAY)).unwrap();
    assert!(!world.has(&orphan) && planned(&world).contains(&orphan));
}

#[test]
fn where_nothing_goes_no_plan_is_written() {
    let (world, client) = World::with_client();
    let old = world.back_up(&client, &files(1, 4, 3000));
    forget(&world, &client, old);
    for _ in 0..2 {
        world.try_prune(&options(DAY)).unwrap();
    }
    assert_eq!(world.names("reports/"), [""; 0]);
}

#[test]
fn a_prune_that_keeps_no_plan_writes_none() {
    let (world, client) = World::with_client();
    let old = world.back_up(&client, &files(1, 4, 3000));
    world.back_up(&client, &files(2, 4, 3000));
    forget(&world, &client, old);
    assert!(world.prune(Duration::ZERO).objects_deleted > 0);
    assert_eq!(world.names("reports/"), [""; 0]);
}
