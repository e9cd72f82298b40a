//! Roots: whose is the newest, when writers and readers sleep while numbers become free again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use copal_format::client::Role;
use copal_format::id::{ChunkId, ObjectHash, PackTag};
use copal_format::index::{Bits, Mark};
use copal_format::layout;
use copal_format::repository::IngestBy;
use copal_format::root::{Deletion, Root};
use copal_format::time::Time;
use copal_jobs::commit::{Proposal, commit, put};
use copal_jobs::error::JobError;
use copal_jobs::faults::{Mistake, Windows, plant};
use copal_jobs::ingest::{self, Scope};
use copal_jobs::prune::Options;
use copal_jobs::{compact, expire, view};
use copal_store::fault::{Fate, Fault};
use copal_store::{Op, Store};
use copal_tests::kit::alone;
use copal_tests::kit::craft::id;
use copal_tests::kit::repository::key;
use copal_tests::kit::{Client, DAY, Tree, World, keep_last, noise};
use futures::executor::block_on;

/// Roots are deleted as soon as two newer ones are there.
const SHORT: Windows = Windows { roots_kept: 2, roots_age: std::time::Duration::ZERO, ..Windows::DESIGN };

fn begin() -> (World, Client) {
    let (world, client) = World::with_client();
    for _ in 0..3 {
        world.back_up(&client, &Tree::new());
    }
    (world, client)
}

/// Writes some roots and deletes the old ones.
fn go_on(world: &World, client: &Client) {
    for _ in 0..4 {
        world.back_up(client, &Tree::new());
    }
    world.prune(DAY);
}

#[test]
fn a_root_that_was_noted_and_comes_when_what_it_names_is_gone_stops_no_job() {
    let (world, client) = begin();
    plant(None, SHORT);
    let (root, hash) = world.view().root.expect("there was a backup");
    let name = layout::root(root.number);
    let bytes = world.read(&name);
    go_on(&world, &client);
    assert!(!world.has(&name) && root.runs.iter().any(|run| !world.has(&layout::state(run.hash))));
    world.destroy_all("deletions/");
    let baseline = Some((root.number, hash));
    let noted = Deletion { root_number: root.number - 1, random: [7; 16], time: Time(0), names: Vec::new(), baseline };
    world.put(&noted.name(), noted.encode());
    world.put(&name, bytes);
    world.change(&client, vec![keep_last(1)]);
    world.wait(DAY);
    assert!(!world.expire().expired.is_empty());
    world.prune(DAY);
    assert!(world.check().is_ok());
    plant(None, Windows::DESIGN);
}

#[test]
fn a_writer_that_slept_does_not_win_with_a_number_that_became_free() {
    let (world, client) = begin();
    for fault in [None, Some(Mistake::WinUnchecked)] {
        plant(fault, SHORT);
        let stale = world.view();
        go_on(&world, &client);
        assert!(!world.has(&layout::root(stale.number() + 1)));
        let change = Proposal { change_head: Some((1, stale.base().unwrap().1)), ..Proposal::default() };
        let won = block_on(commit(&world.job(), &stale, change)).unwrap_or(None);
        assert_eq!(won.is_some(), fault.is_some());
    }
    plant(None, Windows::DESIGN);
}

#[test]
fn a_writer_that_slept_since_there_was_no_root_does_not_win_with_number_one() {
    let (world, client) = World::with_client();
    plant(None, SHORT);
    let stale = world.view();
    go_on(&world, &client);
    assert!(!world.has(&layout::root(1)));
    // Without this the receipts alone would stop it.
    world.destroy_all("receipts/");
    world.destroy_all("deletions/");
    let change = Proposal { change_head: Some((1, world.view().base().unwrap().1)), ..Proposal::default() };
    assert!(block_on(commit(&world.job(), &stale, change)).unwrap().is_none());
    plant(None, Windows::DESIGN);
}

#[test]
fn no_job_takes_a_repository_of_which_all_roots_are_lost_for_an_empty_one() {
    let (world, client) = begin();
    world.change(&client, vec![keep_last(1)]);
    world.destroy_all("roots/");
    let job = world.job();
    let is_lost = |job: &str, done: Result<(), JobError>| {
        assert!(matches!(done, Err(JobError::StateLost { .. })), "{job}: {done:?}");
    };
    let options = Options::new([4096, 3072]);
    is_lost("prune", world.try_prune(&options).map(drop));
    is_lost("dry prune", world.try_prune(&Options { is_dry_run: true, ..options }).map(drop));
    is_lost("compact", block_on(compact::compact(&job)).map(drop));
    is_lost("expire", block_on(expire::expire(&job, IngestBy::Service)).map(drop));
    is_lost("ingest", world.ingest().map(drop));
    let changes = block_on(ingest::work(&job, IngestBy::Service, Scope::Decisions, &|_| false));
    is_lost("changes", changes.map(drop));
    assert!(world.check().findings.iter().any(|finding| finding.object.starts_with("roots/")));
    assert_eq!(world.names("roots/"), [""; 0], "nobody has begun anew");
    world.rebuild();
    world.prune(DAY);
    assert!(world.check().is_ok());
}

#[test]
fn jobs_find_nothing_to_do_where_nothing_was_saved() {
    let world = World::new();
    world.register(1, Role::Full);
    world.prune(DAY);
    let job = world.job();
    block_on(compact::compact(&job)).unwrap();
    block_on(expire::expire(&job, IngestBy::Service)).unwrap();
    assert_eq!(world.ingest().unwrap(), []);
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
    assert_eq!(world.names("roots/"), [""; 0]);
}

#[test]
fn a_reader_that_slept_does_not_take_another_first_root() {
    plant(None, SHORT);
    let world: &'static World = Box::leak(Box::new(World::new()));
    let client = world.register(1, Role::Full);
    world.back_up(&client, &Tree::new());
    let (first, _) = world.view().root.unwrap();
    assert_eq!((first.number, first.base), (1, None));
    let stray = Root { random: [0xee; 16], runs: Vec::new(), ..first };
    let bytes = Bytes::from(stray.encode().unwrap());
    let has_slept = AtomicBool::new(false);
    let name = layout::root(1);
    let store = Fault::new(&world.store, move |call| {
        if call.op == Op::Read && call.key == name && !has_slept.swap(true, Ordering::Relaxed) {
            go_on(world, &client);
            block_on(world.store.create(&key(&name), bytes.clone())).unwrap();
        }
        Fate::Proceed
    });
    let read = alone(view::read(&store)).unwrap();
    assert_ne!(read.number(), 1);
    plant(None, Windows::DESIGN);
}

#[test]
fn a_reader_that_slept_does_not_take_the_root_of_a_writer_that_slept() {
    for fault in [None, Some(Mistake::BaseUnchecked)] {
        plant(fault, SHORT);
        let (world, client) = begin();
        let world: &'static World = Box::leak(Box::new(world));
        let newest = world.view();
        let (root, _) = newest.root.clone().unwrap();
        let name = layout::root(root.number);
        // It names nothing, so that nothing it names is missed.
        let stray = Root { random: [0xee; 16], runs: Vec::new(), ..root.clone() };
        let bytes = Bytes::from(stray.encode().unwrap());
        let has_slept = AtomicBool::new(false);
        let object = key(&name);
        let store = Fault::new(&world.store, move |call| {
            if call.op == Op::Read && call.key == name && !has_slept.swap(true, Ordering::Relaxed) {
                // Between listing and reading others go on, and a sleeper creates the number anew.
                go_on(world, &client);
                block_on(world.store.create(&object, bytes.clone())).unwrap();
            }
            Fate::Proceed
        });
        let read = alone(view::read(&store)).unwrap();
        let took_stray = read.root.as_ref().unwrap().0.random == [0xee; 16];
        assert_eq!(took_stray, fault.is_some());
    }
    plant(None, Windows::DESIGN);
}

#[test]
fn the_answer_to_the_last_manifest_is_missed_once_its_writer_cannot_be_about_to_write_it() {
    let (world, client) = World::with_client();
    world.back_up(&client, &noise(1, 2, 500));
    let name = layout::receipt(client.id, 1);
    world.destroy(&name);
    assert!(world.check().findings.is_empty());
    world.wait(Duration::from_secs(3600));
    let found: Vec<String> = world.check().findings.into_iter().map(|finding| finding.object).collect();
    assert_eq!(found, [name]);
}

#[test]
fn an_object_of_another_length_under_the_name_of_a_new_one_is_reported() {
    let world = World::new();
    let write = |bytes: &'static [u8]| block_on(put(&world.store, layout::segment(ObjectHash([1; 32])), bytes));
    assert!(write(b"abc").is_ok());
    assert!(write(b"abc").is_ok());
    assert!(matches!(write(b"ab"), Err(JobError::Damaged { .. })));
}

#[test]
fn a_mark_that_is_removed_stays_removed_beside_older_runs_and_leaves_with_the_last_of_them() {
    let (world, client) = begin();
    let write = |marks: BTreeMap<(ChunkId, PackTag), Mark>| {
        let proposal = Proposal { overlay: [(client.domain, marks)].into(), ..Proposal::default() };
        assert!(block_on(commit(&world.job(), &world.view(), proposal)).unwrap().is_some());
    };
    let bits = |number| world.view().indexes[&client.domain].overlay().bits(&id(number), PackTag::NONE);
    let all = |mark: Mark| (0..100).map(|number| ((id(number), PackTag::NONE), mark)).collect();
    write(all(Mark { time: Time(1), bits: Bits::LOST }));
    write([((id(7), PackTag::NONE), Mark::default())].into());
    assert_eq!([bits(7), bits(8)], [Bits::NONE, Bits::LOST]);
    write(all(Mark::default()));
    assert!(world.view().state.overlays.is_empty());
}
