//! Rebuilt: what a rebuild has flagged stays for a week, whichever of its traces is left.

use std::time::Duration;

use copal_format::layout;
use copal_format::root::Deletion;

use super::{DAY, World, files, forget};

#[test]
fn a_rebuild_is_known_by_its_root_and_by_the_record_that_it_leaves() {
    for is_root_lost in [false, true] {
        let (world, client) = World::with_client();
        let old = world.back_up(&client, &files(1, 4, 3000));
        let packs = world.names("packs/");
        forget(&world, &client, old);
        world.destroy_all("roots/");
        let root = layout::root(world.rebuild().root);
        (2..5).for_each(|seed| assert!(world.restore(world.back_up(&client, &files(seed, 1, 300))).is_ok()));
        world.prune(Duration::ZERO);
        let is_record = |name: &String| {
            let record = Deletion::decode(&world.read(name)).unwrap();
            record.names.is_empty() && record.baseline.is_none()
        };
        let traces = if is_root_lost { vec![root] } else { world.names("deletions/") };
        let traces: Vec<String> = traces.into_iter().filter(|name| is_root_lost || is_record(name)).collect();
        assert_eq!(traces.len(), 1);
        world.destroy(&traces[0]);
        world.wait(DAY * 6);
        world.prune(Duration::ZERO);
        assert!(packs.iter().all(|name| world.has(name)), "{is_root_lost}");
        world.wait(DAY * 2);
        world.prune(Duration::ZERO);
        assert!(!packs.iter().any(|name| world.has(name)), "{is_root_lost}");
    }
}
