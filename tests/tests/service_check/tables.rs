//! Tables: jobs that run again and again read those of data packs only where something depends on them.

use std::time::Duration;

use copal_format::client::Role;
use copal_format::layout;
use copal_format::pack::PackKind;
use copal_jobs::check::{Depth, Tables, check, check_until};
use copal_jobs::prune::{Options, prune};
use copal_store::fault::{Fate, Fault};
use copal_store::record::Record;
use copal_store::{Op, Store};
use copal_tests::kit::{Client, DAY, World, noise};
use futures::executor::block_on;

use crate::service_budget::asked;

/// A world with a few backups, and the names of its data packs.
fn begin() -> (World, Vec<String>) {
    let (world, client) = World::with_client();
    for seed in 1..5 {
        world.back_up(&client, &noise(seed, 1, 2_000));
    }
    world.prune(DAY);
    let packs = world.packs(PackKind::Data);
    (world, packs)
}

/// How many of these packs somebody has read from.
fn touched(record: &Record<&dyn Store>, packs: &[String]) -> usize {
    let events = record.take();
    let reads: Vec<_> = events.iter().filter(|event| matches!(event.op, Op::Read | Op::ReadRange)).collect();
    packs.iter().filter(|pack| reads.iter().any(|event| event.key == **pack)).count()
}

#[test]
fn a_prune_with_nothing_new_reads_from_no_data_pack() {
    let (world, packs) = begin();
    let record = Record::new(&world.store as &dyn Store);
    block_on(prune(&world.job_of(&record), &Options { grace: DAY, ..Options::new([1 << 20, 1 << 20]) })).unwrap();
    assert_eq!(touched(&record, &packs), 0);
}

#[test]
fn a_check_with_a_budget_reads_from_the_data_packs_of_its_share() {
    let (world, packs) = begin();
    assert!(packs.len() >= 4);
    let record = Record::new(&world.store as &dyn Store);
    let job = world.job_of(&record);
    let share = |part, tables| {
        let depth = Depth::Data { part, parts: 2 * packs.len() as u32 };
        assert!(block_on(check_until(&job, (depth, tables), &asked(1_000))).unwrap().is_ok());
        touched(&record, &packs)
    };
    assert_eq!(share(0, Tables::Share), 0);
    assert!((1..packs.len()).contains(&share(1, Tables::Share)));
    assert_eq!(share(0, Tables::All), packs.len());
    block_on(check(&job, Depth::Structure)).unwrap();
    assert_eq!(touched(&record, &packs), packs.len());
}

#[test]
fn a_data_pack_that_is_gone_or_too_short_is_found_without_reading_it() {
    for is_gone in [true, false] {
        let (world, packs) = begin();
        let bytes = world.read(&packs[0]);
        world.destroy(&packs[0]);
        if !is_gone {
            world.put(&packs[0], bytes[..bytes.len() - 1].to_vec());
        }
        let depth = Depth::Data { part: 0, parts: 30 };
        let report = block_on(check_until(&world.job(), (depth, Tables::Share), &asked(1_000))).unwrap();
        assert!(report.findings.iter().any(|finding| finding.object == packs[0]), "{:?}", report.findings);
        let record = &world.view().state.packs[&layout::pack_of(&packs[0]).unwrap().1];
        assert_eq!((record.is_missing, record.is_damaged), (is_gone, !is_gone));
    }
}

/// A pack is lost, and another check finds that out. Then a backup merges the segments, and the old ones go.
fn overtake(world: &World, client: &Client, pack: &str) {
    let before = world.view().state.segments;
    world.destroy(pack);
    assert!(!world.check().is_ok());
    world.back_up(client, &noise(9, 60, 2_000));
    let after = world.view().state.segments;
    let gone = before.into_keys().filter(|segment| !after.contains_key(segment));
    let gone: Vec<String> = gone.map(|(_, hash)| layout::segment(hash)).collect();
    assert!(!gone.is_empty());
    gone.iter().for_each(|name| world.destroy(name));
}

#[test]
fn a_listing_acquits_no_pack_that_was_found_missing_after_it() {
    let (world, packs) = begin();
    let world: &'static World = Box::leak(Box::new(world));
    let (client, lost) = (world.register(2, Role::Full), packs[0].clone());
    let (mut is_listed, mut is_overtaken) = (false, false);
    // After the check has listed the packs, before it reads the index.
    let store = Fault::new(&world.store, move |call| {
        is_listed |= call.op == Op::List && call.key.starts_with("packs/");
        if is_listed && call.key.starts_with("index/") && !std::mem::replace(&mut is_overtaken, true) {
            // A thread of its own: the check waits in the executor of this one.
            std::thread::scope(|scope| scope.spawn(|| overtake(world, &client, &lost)).join().expect("it ends well"));
        }
        Fate::Proceed
    });
    let depth = Depth::Data { part: 0, parts: 30 };
    let report = block_on(check_until(&world.job_of(&store), (depth, Tables::Share), &asked(1_000))).unwrap();
    assert!(report.findings.iter().any(|finding| finding.object == packs[0]), "{:?}", report.findings);
    assert!(world.view().state.packs[&layout::pack_of(&packs[0]).unwrap().1].is_missing);
}

#[test]
fn of_two_copies_the_one_whose_table_can_be_read_stays() {
    for bad in [0, 1] {
        let world = World::new();
        let [client, other] = [1, 2].map(|number| world.register(number, Role::Full));
        let tree = noise(1, 1, 2_000);
        // Neither knows of the other's.
        world.upload(&other, &tree);
        let kept = world.back_up(&client, &tree);
        world.ingest().unwrap();
        let copies = world.packs(PackKind::Data);
        assert_eq!(copies.len(), 2);
        // The first prune compares new packs with the index.
        world.prune(DAY);
        let mut bytes = world.read(&copies[bad]);
        *bytes.last_mut().unwrap() ^= 1;
        world.destroy(&copies[bad]);
        world.put(&copies[bad], bytes);
        for _ in 0..3 {
            world.prune(Duration::ZERO);
            world.wait(DAY * 40);
        }
        assert!(world.has(&copies[1 - bad]));
        assert_eq!(world.restore(kept).as_ref(), Ok(&tree), "{bad}");
    }
}
