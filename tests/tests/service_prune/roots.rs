//! Roots: how long old ones stay, and that a damaged one stops nobody.

use std::sync::Arc;

use copal_format::id::ObjectHash;
use copal_format::layout;
use copal_jobs::budget::Budget;
use copal_jobs::faults::{Windows, plant};
use copal_jobs::prune::Options;
use copal_store::list_all;
use copal_tests::kit::{DAY, World, alone, noise as files};

#[test]
fn a_hundred_roots_and_seven_days_of_them_stay() {
    let (world, client) = World::with_client();
    for number in 0..60 {
        world.back_up(&client, &files(number, 1, 20));
    }
    world.wait(DAY * 8);
    for number in 60..130 {
        world.back_up(&client, &files(number, 1, 20));
    }
    world.prune(DAY);
    let left = world.names("roots/").len();
    assert!((100..=103).contains(&left), "{left} roots");
    world.wait(DAY * 8);
    world.prune(DAY);
    assert!((100..=103).contains(&world.names("roots/").len()));
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
}

#[test]
fn a_damaged_old_root_does_not_stop_a_prune_and_leaves_with_its_time() {
    plant(None, Windows { roots_kept: 10, ..Windows::DESIGN });
    let (world, client) = World::with_client();
    for number in 0..4 {
        world.back_up(&client, &files(number, 1, 20));
    }
    let damaged = world.names("roots/").last().unwrap().clone();
    world.flip(&damaged);
    world.put(&layout::state(ObjectHash([9; 32])), vec![1]);
    world.wait(DAY * 8);
    let options = Options::new([4096, 3072]);
    world.try_prune(&options).unwrap();
    assert!(world.has(&layout::state(ObjectHash([9; 32]))), "the root that cannot be read may name it");
    for number in 4..20 {
        world.back_up(&client, &files(number, 1, 20));
    }
    world.wait(DAY * 8);
    world.try_prune(&options).unwrap();
    assert!(!world.has(&damaged));
    plant(None, Windows::DESIGN);
}

#[test]
fn a_prune_whose_time_is_over_deletes_some_old_roots_and_the_next_one_the_others() {
    plant(None, Windows { roots_kept: 10, ..Windows::DESIGN });
    let (world, client) = World::with_client();
    for number in 0..160 {
        world.back_up(&client, &files(number, 1, 20));
    }
    world.wait(DAY * 8);
    let world = Arc::new(world);
    let (watched, before) = (world.clone(), world.names("roots/").len());
    // Over as soon as there are fewer roots.
    let budget = Budget::until(move || alone(list_all(&watched.store, "roots/")).unwrap().len() < before);
    let report = world.try_prune(&Options { budget, ..Options::new([4096, 3072]) }).unwrap();
    let left = world.names("roots/").len();
    assert!(report.is_unfinished && left < before && left > 13, "{left} of {before} roots");
    assert!(!world.try_prune(&Options::new([4096, 3072])).unwrap().is_unfinished);
    let left = world.names("roots/").len();
    assert!((10..=13).contains(&left), "{left} roots");
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
    plant(None, Windows::DESIGN);
}

#[test]
fn no_root_goes_before_an_older_one_even_if_its_time_is_earlier() {
    plant(None, Windows { roots_kept: 10, ..Windows::DESIGN });
    let (world, client) = World::with_client();
    for number in 0..20 {
        world.back_up(&client, &files(number, 1, 20));
    }
    world.wait(DAY * 8);
    // A sync brings a root again that was lost here.
    let oldest = world.names("roots/").pop().unwrap();
    let bytes = world.read(&oldest);
    world.destroy(&oldest);
    world.put(&oldest, bytes);
    let roots = world.names("roots/");
    world.prune(DAY);
    assert!(roots.iter().all(|root| world.has(root)));
    world.wait(DAY * 8);
    world.prune(DAY);
    let left = world.names("roots/");
    assert!(!left.contains(&oldest) && (10..=13).contains(&left.len()), "{} roots", left.len());
    plant(None, Windows::DESIGN);
}
