//! Doomed: who may write states can doom any name. What is deleted all the same is what nothing needs.

use std::collections::BTreeMap;
use std::time::Duration;

use copal_format::id::PackId;
use copal_format::layout::{self, Place, Prunable};
use copal_format::root::{Deletion, Root};
use copal_format::state::{DoomedRecord, DoomedState, RunKind, StateDelta, write_run};
use copal_format::time::Time;
use copal_jobs::commit::{Proposal, commit};
use copal_jobs::error::JobError;
use copal_jobs::faults::{Mistake, Windows, plant};
use copal_jobs::prune::Options;
use copal_tests::kit::craft::{data_pack, id};
use copal_tests::kit::{DAY, World, noise as files};
use futures::executor::block_on;

use super::flag_all;

/// Writes a root as whoever may create `state/` and `roots/` can: the newest one, and records of one kind before its own.
fn forge(world: &World, kind: RunKind, records: BTreeMap<Vec<u8>, Option<Vec<u8>>>) {
    let (root, hash) = world.view().root.unwrap();
    let run = write_run(kind, [7; 16], &records);
    world.put(&layout::state(run.reference.hash), run.bytes);
    let runs = [vec![run.reference], root.runs.clone()].concat();
    let (number, base) = (root.number + 1, Some((root.number, hash)));
    let forged = Root { number, base, runs, random: [8; 16], ..root };
    world.put(&layout::root(number), forged.encode().unwrap());
}

/// Dooms objects by their names, whatever these are.
fn doom<'a>(world: &World, names: impl IntoIterator<Item = &'a String>) {
    let record = DoomedRecord { state: DoomedState::Doomed, time: Time(0), root: world.view().number() };
    let any = Prunable::Pack(Place::Packs, PackId([0; 32]));
    let delta = StateDelta { doomed: [(any, Some(record))].into(), ..StateDelta::default() };
    let value = delta.records(RunKind::Doomed).into_values().next().unwrap();
    let records = names.into_iter().map(|name| (name.clone().into_bytes(), value.clone())).collect();
    forge(world, RunKind::Doomed, records);
}

fn all(world: &World) -> Vec<String> {
    world.names("")
}

#[test]
fn a_list_with_a_name_that_no_prune_may_delete_deletes_nothing() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 4, 3000));
    for prefix in ["keys/", "copal/", "clients/", "manifests/", "receipts/", "roots/"] {
        let newest = layout::root(world.view().number());
        let before = all(&world);
        let named: Vec<String> = world.names(prefix).into_iter().filter(|name| *name != newest).collect();
        doom(&world, if named.is_empty() { &before } else { &named });
        let refused = world.try_prune(&Options { grace: Duration::ZERO, ..Options::new([4096, 3072]) });
        assert!(matches!(refused, Err(JobError::Damaged { .. })), "{prefix}: {refused:?}");
        let lost: Vec<&String> = before.iter().filter(|name| !world.has(name)).collect();
        assert!(lost.is_empty(), "{prefix}: {lost:?}");
        let forged = world.names("roots/").remove(0);
        world.destroy(&forged);
    }
}

#[test]
fn what_the_state_names_is_not_deleted_whatever_its_list_says() {
    let (world, client) = World::with_client();
    let (first, second) = (files(1, 4, 3000), files(2, 4, 3000));
    let ids = [world.back_up(&client, &first), world.back_up(&client, &second)];
    let superseded = world.view().state.doomed.keys().map(Prunable::to_string).collect::<Vec<_>>();
    let folders = ["packs/", "index/", "state/"].into_iter();
    let named: Vec<String> =
        folders.flat_map(|folder| world.names(folder)).filter(|name| !superseded.contains(name)).collect();
    doom(&world, &named);
    let report = world.prune(Duration::ZERO);
    assert!(named.iter().all(|name| world.has(name)));
    assert_eq!(report.spared, named.len() as u64);
    assert_eq!(ids.map(|id| world.restore(id)), [Ok(first), Ok(second)]);
    let view = world.view();
    assert!(named.iter().all(|name| !view.state.doomed.contains_key(&Prunable::parse(name).unwrap())));
    assert!(world.check().is_ok(), "{:?}", world.check().findings);
}

#[test]
fn a_pack_in_which_entries_lie_stays_although_its_record_is_gone() {
    // Also where nothing else notices that the state is forged.
    for fault in [None, Some(Mistake::StateBelieved)] {
        let (world, client) = World::with_client();
        world.back_up(&client, &files(1, 4, 3000));
        let packs = world.names("packs/");
        let keys = packs.iter().map(|name| layout::pack_of(name).unwrap().1.0.to_vec());
        forge(&world, RunKind::Packs, keys.map(|key| (key, None)).collect());
        doom(&world, &packs);
        world.wait(DAY * 8);
        plant(fault, Windows::DESIGN);
        let _ = world.try_prune(&Options { grace: Duration::ZERO, ..Options::new([4096, 3072]) });
        plant(None, Windows::DESIGN);
        assert!(packs.iter().all(|name| world.has(name)));
    }
}

#[test]
fn a_pack_that_no_prune_has_doomed_stays_until_it_is_as_old_as_an_orphan() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 4, 3000));
    // A client is about to name it.
    let pack = data_pack(client.domain, 1, &[id(1)]);
    let name = layout::pack(Place::Packs, pack.id);
    world.put(&name, pack.bytes);
    doom(&world, [&name]);
    world.prune(Duration::ZERO);
    world.wait(DAY * 6);
    world.prune(Duration::ZERO);
    assert!(world.has(&name));
    world.wait(DAY);
    world.prune(Duration::ZERO);
    assert!(!world.has(&name));
    assert!(world.check().is_ok());
}

#[test]
fn a_doomed_pack_that_a_waiting_manifest_names_stays_doomed_and_the_manifest_does_not_count() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 2, 2000));
    let before = world.names("packs/");
    world.upload(&client, &files(2, 3, 3000));
    let named: Vec<String> = world.names("packs/").into_iter().filter(|name| !before.contains(name)).collect();
    assert!(!named.is_empty());
    doom(&world, &named);
    world.wait(DAY * 8);
    assert_eq!(world.prune(Duration::ZERO).spared, 0);
    assert!(named.iter().all(|name| world.has(name)));
    // Whoever doomed them may be a prune that sleeps before it deletes.
    world.ingest().unwrap();
    let packs = world.view().state.packs;
    assert!(named.iter().all(|name| !packs.keys().any(|pack| name.contains(&pack.to_string()))));
    world.back_up(&client, &files(2, 3, 3000));
    world.prune(Duration::ZERO);
    assert!(!named.iter().any(|name| world.has(name)));
    assert!(world.check().is_ok());
}

#[test]
fn a_pack_goes_at_once_only_if_a_prune_has_recorded_it_since_it_was_doomed() {
    for (before, stays) in [(1, true), (0, false)] {
        let (world, client) = World::with_client();
        for seed in [1, 2] {
            world.back_up(&client, &files(seed, 2, 2000));
        }
        world.prune(DAY);
        let pack = data_pack(client.domain, 1, &[id(1)]);
        let name = layout::pack(Place::Packs, pack.id);
        world.put(&name, pack.bytes);
        let (root_number, names) = (world.view().number() - before, vec![Prunable::parse(&name).unwrap()]);
        let record = Deletion { root_number, random: [7; 16], time: Time(0), names, baseline: None };
        world.put(&record.name(), record.encode());
        doom(&world, [&name]);
        world.prune(Duration::ZERO);
        assert_eq!(world.has(&name), stays, "recorded {before} roots before it was doomed");
    }
}

/// Writes a state without any snapshot, in which all that is stored is flagged since long ago.
fn leave_everything_out(world: &World) {
    let view = world.view();
    let mut proposal = Proposal::default();
    proposal.delta.snapshots = view.state.snapshots.keys().map(|key| (*key, None)).collect();
    flag_all(&view, &mut proposal);
    assert!(block_on(commit(&world.job(), &view, proposal)).unwrap().is_some());
}

#[test]
fn what_a_forged_state_leaves_out_is_there_again_after_a_rebuild_before_the_next_prune() {
    let (world, client) = World::with_client();
    let tree = files(1, 4, 3000);
    let id = world.back_up(&client, &tree);
    leave_everything_out(&world);
    world.rebuild();
    world.prune_and_wait(10, DAY);
    assert_eq!(world.restore(id), Ok(tree));
}
