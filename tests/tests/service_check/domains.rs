//! Domains: jobs that go through very many small ones.

use std::time::Duration;

use copal_format::client::Role;
use copal_jobs::prune::{Options, prune};
use copal_tests::kit::{DAY, Slow, World, noise};

#[test]
fn the_indexes_of_many_small_domains_are_read_at_the_same_time() {
    let world = World::new();
    for number in 1..=100 {
        let client = world.register(number, Role::WriteOnly);
        world.back_up(&client, &noise(number.into(), 1, 100));
    }
    world.prune(DAY);
    assert_eq!(world.view().domains().len(), 100);
    let slow = Slow::new(&world.store);
    slow.run(prune(&world.job_of(&slow), &Options { grace: DAY, ..Options::new([1 << 20, 1 << 20]) })).unwrap();
    // One domain after another, the indexes alone take 3.5 s more.
    assert!(slow.now() < Duration::from_secs(11), "{:?} {:?}", slow.now(), slow.calls());
}
