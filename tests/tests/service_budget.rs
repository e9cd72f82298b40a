//! Budgets: jobs that must end early, again and again, come to the same end as one that need not.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::layout::{self, Place};
use copal_format::pack::PackKind;
use copal_format::state::SnapshotState;
use copal_jobs::budget::Budget;
use copal_jobs::check::{Depth, Tables, check_until, look_until};
use copal_jobs::compact::compact_until;
use copal_jobs::prune::Options;
use copal_jobs::upkeep;
use copal_store::fault::{Fate, Fault};
use copal_store::{Op, Store};
pub(crate) use copal_tests::kit::asked;
use copal_tests::kit::repository::key;
use copal_tests::kit::{DAY, World, noise, path};
use futures::executor::block_on;

#[test]
fn a_check_that_may_read_one_pack_at_a_time_reads_each_once_before_any_twice() {
    let world = filled();
    let packs = world.view().state.packs.len() as u64;
    assert!(packs > 4);
    for run in 1..=packs {
        world.wait(Duration::from_secs(60));
        let budget = asked(0);
        let report =
            block_on(check_until(&world.job(), (Depth::Data { part: 1, parts: 1 }, Tables::Share), &budget)).unwrap();
        assert!(report.is_ok(), "{:?}", report.findings);
        assert_eq!((report.packs_read, report.packs_left), (1, packs - 1));
        let read: BTreeSet<_> = world.view().state.packs.values().map(|record| record.read).collect();
        let never = u64::from(run < packs);
        assert_eq!(read.len() as u64, run + never, "each at a time of its own");
    }
}

#[test]
fn a_look_at_reported_packs_ends_when_its_time_is_over_and_notes_what_it_has_read() {
    let world = filled();
    let packs: BTreeSet<_> = world.view().state.packs.keys().copied().collect();
    block_on(look_until(&world.job(), &packs, &asked(1))).unwrap();
    assert_eq!(world.view().state.packs.values().filter(|record| record.read.0 > 0).count(), 1);
}

#[test]
fn a_check_on_a_full_store_reports_what_it_cannot_note() {
    let world = filled();
    world.names("packs/").iter().for_each(|name| world.flip(name));
    let store = Fault::at(&world.store, |call| call.op == Op::Create, Fate::full);
    let depth = Depth::Data { part: 1, parts: 1 };
    let report = block_on(check_until(&world.job_of(&store), (depth, Tables::Share), &asked(0))).unwrap();
    assert!(!report.is_ok());
}

#[test]
fn damage_is_noted_before_it_is_asked_whom_it_harms() {
    let world = Arc::new(filled());
    world.names("packs/").iter().for_each(|name| world.flip(name));
    let (watched, after) = (world.clone(), Arc::new(AtomicU64::new(0)));
    let seen = after.clone();
    let budget = Budget::until(move || {
        let world = watched.clone();
        // The job itself waits in this thread.
        let is_noted = std::thread::spawn(move || world.view().state.packs.values().any(|record| record.is_damaged));
        seen.fetch_add(u64::from(is_noted.join().unwrap()), Ordering::Relaxed);
        false
    });
    let report =
        block_on(check_until(&world.job(), (Depth::Data { part: 1, parts: 1 }, Tables::Share), &budget)).unwrap();
    let named: BTreeSet<_> = report.findings.iter().flat_map(|finding| &finding.snapshots).collect();
    assert_eq!((named.len(), report.has_unnamed), (3, false), "{:?}", report.findings);
    assert!(after.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_check_without_time_names_one_snapshot_that_is_harmed_and_says_that_there_may_be_more() {
    let world = filled();
    world.names("packs/").iter().for_each(|name| world.flip(name));
    let reports = (0..world.view().state.packs.len()).map(|_| {
        world.wait(Duration::from_secs(60));
        block_on(check_until(&world.job(), (Depth::Data { part: 1, parts: 1 }, Tables::Share), &asked(0))).unwrap()
    });
    let last = reports.last().unwrap();
    let named: BTreeSet<_> = last.findings.iter().flat_map(|finding| &finding.snapshots).collect();
    assert_eq!((named.len(), last.has_unnamed), (1, true), "{:?}", last.findings);
    assert!(!last.is_ok());
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
fn a_prune_that_ends_within_its_time_is_finished_and_notes_nothing_to_go_on_with() {
    for budget in [Budget::unlimited(), asked(1_000)] {
        let world = half_forgotten();
        let options = Options { grace: Duration::ZERO, repack_step: 4000, budget, ..Options::new([4096, 3072]) };
        let report = world.try_prune(&options).unwrap();
        assert!(report.packs_dead > 0 && !report.is_unfinished, "{report:?}");
        assert_eq!(world.names("work/"), [""; 0]);
        let again = world.try_prune(&options).unwrap();
        assert_eq!((again.entries_removed, again.packs_rewritten, again.is_unfinished), (0, 0, false));
        assert_eq!(world.names("work/"), [""; 0]);
    }
}

#[test]
fn a_dry_prune_notes_nothing_however_much_time_it_has() {
    let world = many_domains();
    forget_all_but_the_last(&world);
    let before = world.names("");
    for times in [1, 2, 1_000] {
        let budget = asked(times);
        world.try_prune(&Options { budget, is_dry_run: true, ..Options::new([4096, 3072]) }).unwrap();
        assert_eq!(world.names(""), before);
    }
}

#[test]
fn without_a_time_budget_prune_examines_every_domain_wherever_the_last_run_stopped() {
    for times in 1..8 {
        let world = many_domains();
        forget_all_but_the_last(&world);
        let options = |budget| Options { grace: Duration::ZERO, budget, ..Options::new([4096, 3072]) };
        world.try_prune(&options(asked(times))).unwrap();
        world.try_prune(&options(Budget::unlimited())).unwrap();
        let report = world.try_prune(&options(Budget::unlimited())).unwrap();
        assert_eq!((report.entries_removed, report.packs_dead, report.packs_rewritten), (0, 0, 0), "{times} steps");
        let gone = world.view().state.snapshots.into_values().filter(|of| of.state == SnapshotState::Gone).count();
        assert_eq!(gone, 6, "{times} steps");
    }
}

#[test]
fn a_prune_without_time_for_the_last_domain_says_so_although_the_first_needed_nothing() {
    let world = many_domains();
    let owner = world.register(9, Role::Full);
    world.prune(Duration::ZERO);
    let last = world.view().state.snapshots.into_iter().next_back().unwrap().1;
    world.change(&owner, vec![Operation::Forget(vec![last.id])]);
    let mut unfinished = 0;
    while world.snapshot(last.id).state != SnapshotState::Gone {
        let options = Options { grace: Duration::ZERO, budget: asked(1), ..Options::new([4096, 3072]) };
        unfinished += u32::from(world.try_prune(&options).unwrap().is_unfinished);
        assert!(unfinished < 9, "it comes to an end");
    }
    assert_eq!(unfinished, 3, "one run for each domain");
}

#[test]
fn compactions_that_may_merge_one_domain_each_merge_all() {
    let world = World::new();
    let clients: Vec<_> = (1..=3).map(|number| world.register(number, Role::WriteOnly)).collect();
    for round in 0..14u8 {
        for client in &clients {
            let tree = [(path("a"), vec![round; 700])].into();
            world.upload(client, &tree);
            world.ingest().unwrap();
        }
    }
    let mut runs = 0;
    while block_on(compact_until(&world.job(), &asked(1))).unwrap().is_unfinished {
        runs += 1;
        assert!(runs < 10, "it comes to an end");
    }
    let done = block_on(compact_until(&world.job(), &Budget::unlimited())).unwrap();
    assert_eq!(done.segments_before, done.segments_after);
}

/// A repository with many packs.
fn filled() -> World {
    let (world, client) = World::with_client();
    for seed in 0..3 {
        world.back_up(&client, &noise(seed, 6, 1_500));
    }
    world
}

/// The same, with all but the newest snapshot forgotten.
fn half_forgotten() -> World {
    let (world, client) = World::with_client();
    let snapshots: Vec<_> = (0..3).map(|seed| world.back_up(&client, &noise(seed, 6, 1_500))).collect();
    world.change(&client, vec![Operation::Forget(snapshots[..2].to_vec())]);
    world.wait(DAY);
    world
}

#[test]
fn a_prune_and_a_check_leave_reports_and_a_prune_removes_those_of_long_ago() {
    let world = half_forgotten();
    let depth = Depth::Data { part: 1, parts: 1 };
    let checked = block_on(upkeep::check(&world.job(), (depth, Tables::Share), &Budget::unlimited())).unwrap();
    let options = Options { grace: Duration::ZERO, ..Options::new([4096, 3072]) };
    let pruned = block_on(upkeep::prune(&world.job(), &options)).unwrap();
    let [checks, prunes] = ["reports/check/", "reports/prune/"].map(|of| world.names(of));
    assert_eq!((checks.len(), prunes.len()), (1, 1));
    let read = |name: &str| serde_json::from_slice::<serde_json::Value>(&world.read(name)).unwrap();
    assert_eq!(read(&checks[0])["packs_read"], checked.packs_read);
    assert_eq!(read(&prunes[0])["entries_removed"], pruned.entries_removed);
    assert!(pruned.entries_removed > 0);
    let before = world.names("reports/");
    world.wait(200 * DAY);
    block_on(upkeep::prune(&world.job(), &options)).unwrap();
    let left = world.names("reports/");
    assert!(left.iter().all(|name| !before.contains(name)), "{left:?}");
    assert_eq!(world.names("reports/prune/").len(), 1);
}

#[test]
fn what_a_prune_deletes_stands_in_a_plan_that_was_there_before() {
    let world = half_forgotten();
    let options = Options { grace: Duration::ZERO, ..Options::new([4096, 3072]) };
    let before = world.names("");
    block_on(upkeep::prune(&world.job(), &options)).unwrap();
    let left = world.names("");
    let deleted: Vec<&String> = before.iter().filter(|name| !left.contains(name)).collect();
    assert!(
        deleted.iter().any(|name| name.starts_with("packs/")) && deleted.iter().any(|name| name.starts_with("index/"))
    );
    let made = |name: &str| block_on(world.store.stat(&key(name))).unwrap().unwrap().created;
    let first_deletion = world.names("deletions/").iter().map(|name| made(name)).min().unwrap();
    let plans = world.names("reports/plan/");
    let planned: BTreeSet<String> = plans
        .iter()
        .flat_map(|name| {
            let plan: serde_json::Value = serde_json::from_slice(&world.read(name)).unwrap();
            let objects: Vec<String> = serde_json::from_value(plan["objects"].clone()).unwrap();
            assert_eq!(plan["objects_in_all"], objects.len());
            objects
        })
        .collect();
    assert!(deleted.iter().all(|name| planned.contains(*name)), "{deleted:?} {planned:?}");
    assert!(plans.iter().any(|name| made(name) < first_deletion));
}

#[test]
fn checks_that_look_at_one_domain_each_find_what_one_check_finds_and_acquit_nothing_they_did_not_look_at() {
    let world = many_domains();
    let packs = world.view().state.packs;
    let gone: Vec<_> = packs.iter().filter(|(_, of)| of.kind == PackKind::Data).map(|(id, _)| *id).collect();
    gone.iter().for_each(|id| world.destroy(&layout::pack(Place::Packs, *id)));
    let mut found = BTreeSet::new();
    let mut runs = 0;
    loop {
        runs += 1;
        world.wait(Duration::from_secs(60));
        let report = block_on(check_until(&world.job(), (Depth::Structure, Tables::Share), &asked(0))).unwrap();
        let of_run: BTreeSet<_> = report.findings.iter().filter_map(|finding| finding.pack).collect();
        assert!(!of_run.is_empty(), "run {runs}: every domain has lost something");
        let (named, unnamed): (Vec<_>, Vec<_>) =
            report.findings.iter().filter(|of| of.pack.is_some()).partition(|of| !of.snapshots.is_empty());
        assert!(!named.is_empty(), "run {runs}: the newest snapshot that is hit is named");
        assert!(unnamed.is_empty() || report.has_unnamed, "{unnamed:?}");
        found.extend(of_run);
        let missing = world.view().state.packs.values().filter(|of| of.is_missing).count();
        assert_eq!(missing, found.len(), "what was found stays known");
        if report.domains_left == 0 {
            break;
        }
        assert!(runs < 10, "it comes to an end");
    }
    assert_eq!((found, runs), (gone.into_iter().collect(), 3));
    let again = block_on(check_until(&world.job(), (Depth::Structure, Tables::Share), &asked(0))).unwrap();
    assert_eq!(again.domains_left, 2, "the next round begins with the first");
}

#[test]
fn a_check_that_never_has_time_for_all_domains_reads_packs_all_the_same() {
    let world = many_domains();
    let packs = world.view().state.packs.len();
    let depth = Depth::Data { part: 1, parts: 1 };
    for _ in 0..packs {
        world.wait(Duration::from_secs(60));
        let report = block_on(check_until(&world.job(), (depth, Tables::Share), &asked(0))).unwrap();
        assert!(report.is_ok(), "{:?}", report.findings);
        assert_eq!(report.packs_read, 1);
    }
    assert!(world.view().state.packs.values().all(|of| of.read.0 > 0));
}

#[test]
fn prunes_cut_anywhere_come_to_all_domains_and_end_where_one_prune_ends() {
    let whole = many_domains();
    forget_all_but_the_last(&whole);
    whole.prune(Duration::ZERO);
    let left = |world: &World| (world.names("packs/").len(), world.view().state.packs.len());
    for times in 1..8 {
        let parts = many_domains();
        forget_all_but_the_last(&parts);
        let mut runs = 0;
        loop {
            runs += 1;
            let options = Options { grace: Duration::ZERO, budget: asked(times), ..Options::new([4096, 3072]) };
            if !parts.try_prune(&options).unwrap().is_unfinished {
                break;
            }
            assert!(parts.names("work/prune/").len() <= 1);
            assert!(runs < 40, "it comes to an end, {times} steps at a time");
        }
        assert!(runs > 1 || times > 4, "{times} steps are not enough for all");
        assert_eq!(left(&parts), left(&whole), "{times} steps at a time");
        assert!(parts.check().is_ok());
    }
}

/// Three clients, each with a domain of its own and three snapshots.
pub(crate) fn many_domains() -> World {
    let world = World::new();
    let clients: Vec<_> = (1..=3).map(|number| world.register(number, Role::WriteOnly)).collect();
    for (at, client) in clients.iter().enumerate() {
        for seed in 0..3 {
            world.upload(client, &noise(10 * at as u64 + seed, 6, 1_500));
            world.ingest().unwrap();
        }
    }
    world
}

fn forget_all_but_the_last(world: &World) {
    let owner = world.register(9, Role::Full);
    let snapshots = world.view().state.snapshots;
    let old = snapshots.iter().filter(|((_, number), _)| *number < 3).map(|(_, snapshot)| snapshot.id);
    world.change(&owner, vec![Operation::Forget(old.collect())]);
    world.wait(DAY);
}
