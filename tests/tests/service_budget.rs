//! Budgets: jobs that must end early, again and again, come to the same end as one that need not.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use copal_engine::change::Operation;
use copal_engine::client::Role;
use copal_service::budget::Budget;
use copal_service::check::{Depth, check_until};
use copal_service::compact::compact_until;
use copal_service::prune::Options;
use copal_service::report;
use copal_tests::kit::{DAY, Random, Tree, World, path};
use futures::executor::block_on;

#[test]
fn a_check_that_may_read_one_pack_at_a_time_reads_each_once_before_any_twice() {
    let world = filled();
    let packs = world.view().state.packs.len() as u64;
    assert!(packs > 4);
    for run in 1..=packs {
        world.wait(Duration::from_secs(60));
        let budget = asked(1);
        let report = block_on(check_until(&world.host(), Depth::Data { part: 1, parts: 1 }, &budget)).unwrap();
        assert!(report.is_ok(), "{:?}", report.findings);
        assert_eq!((report.packs_read, report.packs_left), (1, packs - 1));
        let read: BTreeSet<_> = world.view().state.packs.values().map(|record| record.read).collect();
        let never = u64::from(run < packs);
        assert_eq!(read.len() as u64, run + never, "each at a time of its own");
    }
}

#[test]
fn a_check_that_is_cut_short_finds_the_damage_of_the_last_pack_all_the_same() {
    let world = filled();
    let name = world.names("packs/").pop().unwrap();
    world.flip(&name);
    let found = (0..world.view().state.packs.len()).any(|_| {
        world.wait(Duration::from_secs(60));
        let depth = Depth::Data { part: 1, parts: 1 };
        !block_on(check_until(&world.host(), depth, &asked(1))).unwrap().is_ok()
    });
    assert!(found);
}

#[test]
fn prunes_that_may_write_one_root_each_end_where_one_prune_ends() {
    let (whole, parts) = (half_forgotten(), half_forgotten());
    whole.prune(Duration::ZERO);
    let mut runs = 0;
    loop {
        runs += 1;
        let budget = asked(1);
        let options = Options { grace: Duration::ZERO, budget, ..Options::new([4096, 3072]) };
        let report = parts.try_prune(&options).unwrap();
        parts.view();
        if !report.is_unfinished {
            break;
        }
        assert!(runs < 20, "it comes to an end");
    }
    assert!(runs > 1, "one root is not enough");
    let packs = |world: &World| -> u64 { world.view().state.packs.values().map(|record| record.length).sum() };
    assert_eq!(whole.view().state.packs.len(), parts.view().state.packs.len());
    assert_eq!(packs(&whole), packs(&parts));
    let kept = |world: &World| world.view().state.snapshots.values().filter(|of| world.restore(of.id).is_ok()).count();
    assert_eq!(kept(&whole), kept(&parts));
    assert!(parts.check().is_ok());
}

#[test]
fn a_prune_without_time_changes_nothing() {
    let world = half_forgotten();
    let before = world.view().base();
    let report = world.try_prune(&Options { budget: asked(0), ..Options::new([4096, 3072]) }).unwrap();
    assert!(report.is_unfinished);
    assert_eq!(world.view().base(), before);
}

#[test]
fn compactions_that_may_merge_one_domain_each_merge_all() {
    let world = World::new();
    let clients: Vec<_> = (1..=3).map(|number| world.register(number, Role::WriteOnly)).collect();
    for round in 0..14u8 {
        for client in &clients {
            let tree = [(path("a"), vec![round; 700])].into();
            let how = copal_tests::kit::How { ingests: false, patience: 1, ..Default::default() };
            assert!(world.try_back_up(client, &tree, &how).is_err(), "it may not decide itself");
            world.ingest().unwrap();
        }
    }
    let mut runs = 0;
    while block_on(compact_until(&world.host(), &asked(1))).unwrap().is_unfinished {
        runs += 1;
        assert!(runs < 10, "it comes to an end");
    }
    let done = block_on(compact_until(&world.host(), &Budget::unlimited())).unwrap();
    assert_eq!(done.segments_before, done.segments_after);
}

/// A repository with many packs.
fn filled() -> World {
    let world = World::new();
    let client = world.register(1, Role::Full);
    for seed in 0..3 {
        world.back_up(&client, &random_tree(seed));
    }
    world
}

/// The same, with all but the newest snapshot forgotten.
fn half_forgotten() -> World {
    let world = World::new();
    let client = world.register(1, Role::Full);
    let snapshots: Vec<_> = (0..3).map(|seed| world.back_up(&client, &random_tree(seed))).collect();
    world.change(&client, vec![Operation::Forget(snapshots[..2].to_vec())]);
    world.wait(DAY);
    world
}

fn random_tree(seed: u64) -> Tree {
    let mut random = Random::new(seed + 1);
    let content = |random: &mut Random| {
        let mut bytes = vec![0; 1500];
        random.fill(&mut bytes);
        bytes
    };
    (0..6).map(|file| (path(&format!("{}", file + seed as usize)), content(&mut random))).collect()
}

/// A budget that lasts for so many steps.
fn asked(times: u64) -> Budget {
    let left = Arc::new(AtomicU64::new(times));
    Budget::until(move || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_err())
}

#[test]
fn a_prune_and_a_check_leave_reports_and_a_prune_removes_those_of_long_ago() {
    let world = half_forgotten();
    let depth = Depth::Data { part: 1, parts: 1 };
    let checked = block_on(report::check(&world.host(), depth, &Budget::unlimited())).unwrap();
    let options = Options { grace: Duration::ZERO, ..Options::new([4096, 3072]) };
    let pruned = block_on(report::prune(&world.host(), &options)).unwrap();
    let names = world.names("reports/");
    assert_eq!(names.len(), 2);
    let read = |name: &str| serde_json::from_slice::<serde_json::Value>(&world.read(name)).unwrap();
    assert_eq!(read(&names[0])["packs_read"], checked.packs_read);
    assert_eq!(read(&names[1])["entries_removed"], pruned.entries_removed);
    assert!(pruned.entries_removed > 0);
    world.wait(200 * DAY);
    block_on(report::prune(&world.host(), &options)).unwrap();
    let left = world.names("reports/");
    assert!(left.len() == 1 && !names.contains(&left[0]), "{left:?}");
}
