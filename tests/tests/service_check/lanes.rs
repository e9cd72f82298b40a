//! Lanes: checks that run at the same time and divide the packs among themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use copal_format::id::PackId;
use copal_format::index::Status;
use copal_format::layout;
use copal_format::pack::{self, PackKind};
use copal_format::time::Time;
use copal_jobs::budget::Budget;
use copal_jobs::check::{Depth, Kind, Lane, Tables, check_until, scrub};
use copal_jobs::view::{Parts, read_parts};
use copal_store::Store;
use copal_store::record::Record;
use copal_tests::kit::repository::key;
use copal_tests::kit::{Client, Tree, World, noise};
use futures::executor::block_on;

use crate::service_budget::asked;

const LANES: u32 = 3;

/// A world with some backups whose packs nobody has read yet.
fn begin() -> (World, Client, Tree) {
    let (world, client) = World::with_client();
    let tree = noise(1, 6, 2_000);
    for seed in 2..8 {
        world.back_up(&client, &noise(seed, 6, 2_000));
    }
    world.back_up(&client, &tree);
    (world, client, tree)
}

/// When each pack was read.
fn reads(world: &World) -> BTreeMap<PackId, Time> {
    let view = block_on(read_parts(&world.store, &Parts::RECORDS)).unwrap();
    view.state.packs.iter().map(|(id, record)| (*id, record.read)).collect()
}

fn lanes() -> impl Iterator<Item = Lane> {
    (1..LANES).filter_map(|number| Lane::new(number, LANES))
}

#[test]
fn a_check_and_the_scrubs_beside_it_read_every_pack_once() {
    let (world, ..) = begin();
    let packs = world.view().state.packs.len() as u64;
    let depth = Depth::Lane { lane: Lane::new(0, LANES).unwrap(), parts: 1 };
    let first = block_on(check_until(&world.job(), (depth, Tables::Share), &Budget::unlimited())).unwrap();
    let others: Vec<_> =
        lanes().map(|lane| block_on(scrub(&world.job(), lane, 1, &Budget::unlimited())).unwrap()).collect();
    assert!(first.is_ok() && others.iter().all(|report| report.is_ok() && report.packs_left == 0));
    let read: Vec<u64> = others.iter().chain([&first]).map(|report| report.packs_read).collect();
    assert!(read.iter().all(|read| *read > 0), "{read:?} of {packs}");
    assert_eq!(read.iter().sum::<u64>(), packs);
    assert!(reads(&world).values().all(|time| time.0 > 0));
}

#[test]
fn a_scrub_that_is_cut_short_reads_each_pack_of_its_lane_before_it_reads_one_twice() {
    let (world, ..) = begin();
    let lane = Lane::new(1, LANES).unwrap();
    let mut read = BTreeSet::new();
    let mut packs = 1;
    while read.len() < packs {
        world.wait(Duration::from_secs(60));
        let before = reads(&world);
        let report = block_on(scrub(&world.job(), lane, 1, &asked(0))).unwrap();
        packs = report.packs_left as usize + 1;
        let now: Vec<PackId> =
            reads(&world).into_iter().filter(|(id, time)| before[id] != *time).map(|of| of.0).collect();
        assert_eq!((report.packs_read, now.len()), (1, 1));
        assert!(read.insert(now[0]), "{read:?} of {packs}");
    }
    assert!(packs > 1 && packs < reads(&world).len());
}

#[test]
fn a_scrub_reads_packs_and_neither_an_index_nor_what_clients_wrote() {
    let (world, ..) = begin();
    let record = Record::new(&world.store as &dyn Store);
    for lane in lanes() {
        block_on(scrub(&world.job_of(&record), lane, 1, &Budget::unlimited())).unwrap();
    }
    let mut folders: Vec<String> =
        record.take().iter().filter_map(|event| Some(event.key.split_once('/')?.0.to_owned())).collect();
    folders.sort();
    folders.dedup();
    assert_eq!(folders, ["deletions", "packs", "roots", "state"]);
}

#[test]
fn what_a_scrub_finds_is_noted_so_that_a_check_tells_of_it_and_the_next_backup_heals_it() {
    for harm in ["gone", "flipped", "cut off"] {
        let (world, client, tree) = begin();
        let name = world.packs(PackKind::Data).remove(0);
        let ids = pack::parse(&world.read(&name)).unwrap().ids;
        match harm {
            "gone" => world.destroy(&name),
            "flipped" => world.flip(&name),
            _ => world.store.corrupt(&key(&name), |bytes| bytes.truncate(bytes.len() / 2)).unwrap(),
        }
        let is_gone = harm == "gone";
        let all = (0..LANES).filter_map(|number| Lane::new(number, LANES));
        let found = all.flat_map(|lane| block_on(scrub(&world.job(), lane, 1, &Budget::unlimited())).unwrap().findings);
        let found: Vec<_> = found.map(|finding| (finding.kind, finding.object)).collect();
        assert_eq!(found, [(if is_gone { Kind::Missing } else { Kind::Damaged }, name.clone())]);
        let view = world.view();
        let record = &view.state.packs[&layout::pack_of(&name).unwrap().1];
        assert_eq!((record.is_missing, record.is_damaged), (is_gone, !is_gone));
        assert!(ids.iter().all(|id| view.index(client.domain).unwrap().status(id) == Status::Lost));
        let told = world.check_to(Depth::Structure);
        assert!(told.findings.iter().any(|finding| finding.object == name && !finding.snapshots.is_empty()));
        for seed in 2..8 {
            world.back_up(&client, &noise(seed, 6, 2_000));
        }
        let healed = world.back_up(&client, &tree);
        assert_eq!(world.restore(healed).as_ref(), Ok(&tree));
        assert!(world.check().is_ok(), "{:?}", world.check().findings);
    }
}

#[test]
fn what_a_scrub_finds_is_told_even_where_the_index_cannot_be_read() {
    for is_gone in [true, false] {
        let (world, ..) = begin();
        let name = world.packs(PackKind::Data).remove(0);
        world.flip(&name);
        for segment in world.names("index/") {
            match is_gone {
                true => world.destroy(&segment),
                false => world.store.corrupt(&key(&segment), |bytes| bytes.truncate(20)).unwrap(),
            }
        }
        let report = block_on(scrub(&world.job(), Lane::ONLY, 1, &Budget::unlimited())).unwrap();
        let about = |start: &str| report.findings.iter().filter(|of| of.object.starts_with(start)).count();
        assert_eq!((about(&name), about("index/"), report.findings.len()), (1, 1, 2), "{:?}", report.findings);
        // It does not read the same packs for ever.
        let id = layout::pack_of(&name).unwrap().1;
        assert!(reads(&world).into_iter().all(|(pack, time)| (time.0 > 0) == (pack != id)));
    }
}
