//! Sums: what the report of a prune says, over all domains and all roots.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use copal_format::change::Operation;
use copal_format::client::Role;
use copal_format::id::ChunkId;
use copal_format::layout::{self, Place};
use copal_format::pack;
use copal_format::time::Time;
use copal_jobs::faults::{Windows, plant};
use copal_jobs::prune::{self, Options, Report};
use copal_store::fault::{Fate, Fault};
use copal_store::{Op, Store as _};
use copal_tests::kit::alone;
use copal_tests::kit::craft::data_pack;
use copal_tests::kit::{DAY, How, Tree, World, noise as files};
use futures::executor::block_on;
use serde_json::{Map, Value, json};

use super::forget;
use super::moves::mostly_forgotten;

/// Fills a domain of which little is needed: some packs are dead, some mostly dead, some blocks are partly dead, and a
/// client that has opened nothing claims half of the chunks once more.
pub(super) fn fill(world: &World, number: u8) {
    let (client, owner) = (world.register(number, Role::WriteOnly), world.register(9, Role::Full));
    let seed = 10 * u64::from(number);
    let dead = world.back_up(&client, &files(seed, 12, 900));
    let mut tree = files(seed + 1, 40, 900);
    tree.extend(files(seed + 2, 40, 120));
    let sparse = world.back_up(&client, &tree);
    let tree: Tree = tree.into_iter().step_by(4).collect();
    world.back_up(&client, &tree);
    world.change(&owner, vec![Operation::Forget(vec![dead, sparse])]);
    let packs = world.view().state.packs.into_iter().filter(|(_, record)| record.domain == client.domain);
    let packs = packs.map(|(id, _)| id).collect();
    world.change(&owner, vec![Operation::prove(&world.repository.owner, packs)]);
    let view = world.view();
    let entries = view.segments_of(client.domain).flat_map(|(_, segment)| segment.entries().collect::<Vec<_>>());
    let chunks: BTreeSet<ChunkId> = entries.filter(|entry| entry.location.height == 0).map(|entry| entry.id).collect();
    let chunks: Vec<ChunkId> = chunks.into_iter().step_by(2).collect();
    let pack = data_pack(client.domain, number, &chunks);
    let claimed = [(pack.id, pack.bytes.len() as u64)];
    world.put(&layout::pack(Place::Packs, pack.id), pack.bytes);
    block_on(client.write_manifest(&world.job(), &view, &claimed, None, &How::default())).unwrap();
    world.ingest().unwrap();
}

/// The numbers that would be told of these domains.
fn told(domains: &[u8], grace: Duration, repack_most: u64) -> Map<String, Value> {
    let world = World::new();
    domains.iter().for_each(|number| fill(&world, *number));
    let options = Options { grace, repack_most, is_dry_run: true, ..Options::new([4096, 3072]) };
    let Value::Object(report) = json!(world.try_prune(&options).unwrap()) else { unreachable!() };
    report
}

#[test]
fn a_report_adds_up_what_is_found_in_each_domain() {
    let mut found = BTreeSet::new();
    for (grace, most) in [(Duration::ZERO, 0), (Duration::ZERO, u64::MAX), (DAY, u64::MAX)] {
        let [one, both] = [&[1][..], &[1, 2]].map(|domains| told(domains, grace, most));
        let counts = one.iter().filter(|(field, _)| *field != "pending_from");
        for (field, value) in counts.filter(|(_, value)| value.as_u64().is_some_and(|value| value > 0)) {
            assert!(both[field].as_u64() > value.as_u64(), "{field}: {} and {value}", both[field]);
            found.insert(field.clone());
        }
    }
    let expected = [
        "bytes_pending",
        "bytes_planned",
        "bytes_postponed",
        "dead_bytes",
        "dead_for_good",
        "entries_flagged",
        "entries_removed",
        "entries_wanted",
        "packs_dead",
        "packs_rewritten",
        "trapped_bytes",
        "trapped_for_good",
        "unproven_copies",
    ];
    assert_eq!(found, expected.map(String::from).into());
}

#[test]
fn a_report_counts_every_object_that_is_deleted_and_its_bytes() {
    plant(None, Windows { roots_kept: 2, roots_age: Duration::ZERO, ..Windows::DESIGN });
    let world: &'static World = Box::leak(Box::new(World::new()));
    fill(world, 1);
    let deleted = Arc::new(Mutex::new(BTreeMap::new()));
    let seen = deleted.clone();
    let store = Fault::new(&world.store, move |call| {
        if call.op == Op::Delete && call.key.contains('/') {
            seen.lock().unwrap().insert(call.key.to_owned(), world.read(call.key).len() as u64);
        }
        Fate::Proceed
    });
    let options = Options { grace: Duration::ZERO, ..Options::new([4096, 3072]) };
    let report = alone(prune::prune(&world.job_of(&store), &options)).unwrap();
    plant(None, Windows::DESIGN);
    let deleted: BTreeMap<String, u64> = deleted.lock().unwrap().clone();
    let of = |folder: &'static str| deleted.iter().filter(move |(name, _)| name.starts_with(folder));
    let counted = ["packs/", "moved/", "index/", "roots/", "state/"].map(|folder| of(folder).count());
    assert!([0, 2, 3, 4].iter().all(|at| counted[*at] > 1), "{counted:?}");
    assert_eq!(report.objects_deleted, counted.iter().sum::<usize>() as u64);
    assert_eq!(report.bytes_deleted, deleted.values().sum::<u64>());
}

#[test]
fn a_report_adds_up_the_bytes_that_were_copied_for_each_root() {
    let (world, client) = World::with_client();
    let (kept, tree) = mostly_forgotten(&world, &client);
    let before = world.view().number();
    let options = Options { grace: Duration::ZERO, repack_step: 4000, ..Options::new([4096, 3072]) };
    let report = world.try_prune(&options).unwrap();
    assert!(world.view().number() > before + 3, "one step is not enough");
    let tables = world.names("moved/").into_iter().map(|name| pack::parse(&world.read(&name)).unwrap());
    let copied: u64 = tables.flat_map(|table| table.blocks).map(|block| u64::from(block.length)).sum();
    assert_eq!((report.bytes_copied, report.bytes_postponed, report.is_unfinished), (copied, 0, false));
    assert_eq!(world.restore(kept), Ok(tree));
}

#[test]
fn pending_bytes_leave_from_the_end_of_the_grace_period_that_began_first() {
    let (world, client) = World::with_client();
    let other = world.register(2, Role::WriteOnly);
    let old = [&client, &other].map(|client| world.back_up(client, &files(1, 4, 3000)));
    let now = || block_on(world.store.now()).unwrap().0;
    let told = |since: i64, wait: Duration| {
        let from = world.prune(DAY).pending_from.unwrap().0;
        // The clock moves on a little with every object that is written.
        (0..1000).contains(&(from - since - wait.as_nanos() as i64))
    };
    let first = now();
    for snapshot in old {
        forget(&world, &client, snapshot);
        world.prune(DAY);
        world.wait(DAY / 4);
    }
    assert!(told(first, DAY));
    // Prune waits a week before it removes copies that a rebuild has flagged.
    world.destroy_all("roots/");
    let rebuilt = now();
    world.rebuild();
    assert!(told(rebuilt, 7 * DAY));
}

#[test]
fn a_report_is_read_as_it_was_written_with_its_time_in_nanoseconds() {
    for pending_from in [None, Some(Time(7))] {
        let written = json!(Report { pending_from, lost: 1, ..Report::default() });
        assert_eq!(written["pending_from"].as_i64(), pending_from.map(|time| time.0));
        let read: Report = serde_json::from_value(written).unwrap();
        assert_eq!((read.pending_from, read.lost), (pending_from, 1));
    }
}

#[test]
fn old_roots_leave_with_a_prune_and_not_with_a_dry_one() {
    plant(None, Windows { roots_kept: 2, roots_age: Duration::ZERO, ..Windows::DESIGN });
    let (world, client) = World::with_client();
    (1..5).for_each(|seed| assert!(world.restore(world.back_up(&client, &files(seed, 1, 300))).is_ok()));
    let before = world.names("");
    world.try_prune(&Options { is_dry_run: true, ..Options::new([4096, 3072]) }).unwrap();
    assert_eq!(world.names(""), before);
    world.prune(DAY);
    assert_eq!(world.names("roots/").len(), 2);
    plant(None, Windows::DESIGN);
}
