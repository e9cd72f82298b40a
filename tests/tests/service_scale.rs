//! Scale: what a decision writes depends on what it decides, not on how many domains and clients there are.

use copal_format::client::Role;
use copal_format::id::{ChunkId, PackTag};
use copal_format::index::{Bits, Mark};
use copal_format::limits::ROOT_BYTES;
use copal_format::receipt::Outcome;
use copal_format::root::Root;
use copal_format::state::{Decision, RUNS_MOST};
use copal_format::time::Time;
use copal_jobs::commit::{Proposal, commit};
use copal_store::list_all;
use copal_tests::kit::{World, craft, tree};
use futures::executor::block_on;

#[test]
fn a_root_stays_small_and_a_manifest_writes_little_with_ten_thousand_domains() {
    let world = crowded(10_000);
    let whole = stored(&world);
    let client = world.register(1, Role::WriteOnly);
    let costs: Vec<u64> = (0..BACKUPS)
        .map(|round| {
            let before = stored(&world);
            world.back_up(&client, &tree([("a", &[round as u8; 3000][..])]));
            stored(&world) - before
        })
        .collect();
    let (mean, most) = (costs.iter().sum::<u64>() / BACKUPS, costs.iter().max().copied().unwrap_or(0));
    println!("the state is {whole} bytes; a manifest writes {mean} on average, {most} at most");
    assert!(mean < 24 << 10 && most < 64 << 10, "{costs:?}");
    let view = world.view();
    assert_eq!((view.state.heads.len(), view.state.overlays.len()), (10_001, 10_000));
    assert_small(&view.root.expect("there is a root").0);
}

#[test]
fn marks_in_one_domain_rewrite_none_of_the_others() {
    let world = crowded(10_000);
    let costs: Vec<u64> = (0..BACKUPS)
        .map(|round| {
            let before = stored(&world);
            let marks = [((ChunkId([round as u8; 24]), PackTag::NONE), mark())];
            let overlay = [(craft::spread_domain(7), marks.into())].into();
            let written = commit_to(&world, Proposal { overlay, ..Proposal::default() });
            assert_small(&written);
            stored(&world) - before
        })
        .collect();
    let (mean, most) = (costs.iter().sum::<u64>() / BACKUPS, costs.iter().max().copied().unwrap_or(0));
    println!("a mark writes {mean} bytes on average, {most} at most");
    assert!(mean < 8 << 10 && most < 32 << 10, "{costs:?}");
    let view = world.view();
    assert!(view.state.overlays_of(craft::spread_domain(7)).len() <= RUNS_MOST);
    let overlay = view.index(craft::spread_domain(7)).expect("it has marks").overlay();
    assert_eq!(overlay.marks().count() as u64, BACKUPS + 1);
}

/// A repository in which so many clients have backed up once, each into a domain of its own, and something of each is
/// marked.
fn crowded(clients: u32) -> World {
    let (world, mut crowd) = (World::new(), craft::crowd(clients));
    for head in crowd.delta.heads.values_mut().flatten() {
        head.decisions.push(Decision::new(head.number, head.hash, Outcome::Accepted));
    }
    for (pack, record) in &crowd.delta.packs {
        let domain = record.as_ref().expect("each is new").domain;
        crowd.overlay.insert(domain, [((craft::id(1), pack.tag()), mark())].into());
    }
    assert_small(&commit_to(&world, crowd));
    world
}

fn commit_to(world: &World, proposal: Proposal) -> Root {
    let won = block_on(commit(&world.job(), &world.view(), proposal));
    won.expect("memory does not fail").expect("nobody else writes").0
}

fn assert_small(root: &Root) {
    let bytes = root.encode().expect("it was written");
    assert!(bytes.len() < ROOT_BYTES / 2, "{} bytes", bytes.len());
    assert_eq!(Root::decode(root.number, &bytes).as_ref(), Ok(root));
}

/// The bytes of the state: roots, runs, segments.
fn stored(world: &World) -> u64 {
    let prefixes = ["roots/", "state/", "index/"];
    let listed = prefixes.map(|prefix| block_on(list_all(&world.store, prefix)).expect("memory does not fail"));
    listed.iter().flatten().map(|listed| listed.stat.length).sum()
}

fn mark() -> Mark {
    Mark { bits: Bits::FLAGGED, time: Time(1) }
}

const BACKUPS: u64 = 16;
