//! Rounds: a prune whose time is over ends early. The next prune goes on where the note of the last one says.

use std::time::Duration;

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::DomainId;
use copal_format::layout::Place;
use copal_format::state::SnapshotState;
use copal_jobs::budget::Budget;
use copal_jobs::prune::Options;
use copal_tests::kit::World;

use super::sums::fill;
use crate::service_budget::{asked, many_domains};

fn options(budget: Budget) -> Options {
    Options { grace: Duration::ZERO, budget, ..Options::new([4096, 3072]) }
}

fn domains(world: &World) -> Vec<DomainId> {
    let mut domains = world.view().domains();
    domains.sort_unstable();
    domains
}

#[test]
fn only_a_prune_with_a_time_budget_goes_on_where_the_last_one_stopped() {
    let world = many_domains();
    let owner = world.register(9, Role::Full);
    world.prune(Duration::ZERO);
    let (domains, snapshots) = (domains(&world), world.view().state.snapshots);
    let forget_in = |domain| {
        let snapshot = snapshots.values().find(|of| of.domain == domain).unwrap().id;
        world.change(&owner, vec![Operation::Forget(vec![snapshot])]);
        snapshot
    };
    forget_in(domains[2]);
    assert!(world.try_prune(&options(asked(1))).unwrap().is_unfinished, "only the first domain was examined");
    let forgotten = forget_in(domains[0]);
    let dry = |budget| world.try_prune(&Options { is_dry_run: true, ..options(budget) }).unwrap().entries_removed;
    assert!(dry(asked(1_000)) > 0);
    assert_eq!(dry(asked(1_000)), dry(Budget::unlimited()), "a dry prune begins with the first domain");
    world.try_prune(&options(Budget::unlimited())).unwrap();
    assert_eq!(world.snapshot(forgotten).state, SnapshotState::Gone);
}

#[test]
fn copying_that_was_put_off_comes_once_more_and_then_the_next_domain() {
    let world = World::new();
    [1, 2].into_iter().for_each(|number| fill(&world, number));
    let domains = domains(&world);
    let moved = |domain: &DomainId| {
        let state = world.view().state;
        state.packs.values().filter(|of| of.place == Place::Moved && of.domain == *domain).count()
    };
    let mut before = [0, 0];
    let copied_in: Vec<[bool; 2]> = (0..5)
        .map(|run| {
            let report = world.try_prune(&Options { repack_step: 2000, ..options(asked(1)) }).unwrap();
            assert!(report.is_unfinished, "run {run}: {report:?}");
            let now = [moved(&domains[0]), moved(&domains[1])];
            let copied = [now[0] > before[0], now[1] > before[1]];
            before = now;
            copied
        })
        .collect();
    let [nothing, first, second] = [[false, false], [true, false], [false, true]];
    assert_eq!(copied_in, [nothing, first, nothing, second, first]);
}
