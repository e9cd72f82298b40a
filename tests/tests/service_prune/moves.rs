//! Moves: what is live in sparse packs is copied, once, and the rest of them dies.

use std::collections::BTreeSet;
use std::time::Duration;

use copal_format::client::Role;
use copal_format::id::{ChunkId, SnapshotId};
use copal_format::layout;
use copal_format::limits::PACK_SESSIONS;
use copal_format::pack::{self, Pack, PackKind, PackWriter};
use copal_jobs::prune::{self, Live, Options, Sparse};
use copal_tests::kit::craft::{id, tree_pack};
use copal_tests::kit::{Client, Tree, World};
use futures::executor::block_on;

use super::{crafted, files, forget, left_behind, picture};

#[test]
fn sparse_packs_are_moved_as_ciphertext_and_dead_entries_stay_dead() {
    let (world, client) = World::with_client();
    let mut all = files(1, 6, 900);
    let old = world.back_up(&client, &all);
    let before: Vec<Vec<u8>> = world.names("packs/").iter().map(|name| world.read(name)).collect();
    all.retain(|path, _| path.as_bytes() == b"1-00");
    let kept = world.back_up(&client, &all);
    forget(&world, &client, old);
    let report = world.prune(Duration::ZERO);
    assert!(report.packs_rewritten > 0, "{report:?}");
    let moved = world.names("moved/");
    assert!(!moved.is_empty());
    for name in &moved {
        let bytes = world.read(name);
        let table = pack::parse(&bytes).unwrap();
        for row in &table.blocks {
            let stored = &bytes[row.offset as usize..][..row.length as usize];
            let is_copy = |old: &Vec<u8>| old.windows(stored.len()).any(|window| window == stored);
            assert!(before.iter().any(is_copy), "a block of {name} is no copy");
        }
    }
    let picture = picture(&world);
    let reached = picture.reached();
    assert!(picture.entries.iter().all(|entry| reached.contains(&(entry.domain, entry.id))));
    assert_eq!(world.restore(kept), Ok(all));
    assert!(world.check().is_ok());
}

/// A repository of which a quarter of the files is kept, so that most packs are sparse.
pub(crate) fn mostly_forgotten(world: &World, client: &Client) -> (SnapshotId, Tree) {
    let tree = files(1, 40, 900);
    let old = world.back_up(client, &tree);
    let tree: Tree = tree.into_iter().step_by(4).collect();
    let kept = world.back_up(client, &tree);
    forget(world, client, old);
    (kept, tree)
}

#[test]
fn blocks_are_moved_in_steps_and_each_has_its_root() {
    let (world, client) = World::with_client();
    let (kept, tree) = mostly_forgotten(&world, &client);
    let roots = world.names("roots/").len();
    let options = Options { grace: Duration::ZERO, repack_step: 4000, ..Options::new([4096, 3072]) };
    let report = world.try_prune(&options).unwrap();
    assert!(report.bytes_copied > 2 * 4000 && report.bytes_postponed == 0, "{report:?}");
    assert!(world.names("roots/").len() >= roots + 5);
    assert_eq!(left_behind(&world), Vec::<String>::new());
    assert_eq!(world.restore(kept), Ok(tree));
    let roots = world.names("roots/");
    world.prune(Duration::ZERO);
    assert_eq!(world.names("roots/"), roots, "nothing is left to be done");
}

#[test]
fn a_small_pack_that_is_live_as_a_whole_is_not_copied_again_and_again() {
    let (world, client) = World::with_client();
    world.back_up(&client, &files(1, 1, 300));
    world.prune(Duration::ZERO);
    let roots = world.names("roots/");
    let report = world.prune(Duration::ZERO);
    assert_eq!(report.packs_rewritten, 0);
    assert_eq!(world.names("roots/"), roots, "with nothing to change no root is written");
}

#[test]
fn a_pack_found_damaged_while_it_is_moved_does_not_cost_the_other_copy() {
    let (world, client) = World::with_client();
    let mut tree = files(1, 6, 900);
    let old = world.back_up(&client, &tree);
    let (first, data) = (world.names("packs/"), world.packs(PackKind::Data));
    // Another client packs one of the files again.
    let other = world.register(2, Role::Full);
    tree.retain(|path, _| path.as_bytes() == b"1-00");
    let mut view = world.view();
    view.indexes.clear();
    let kept = world.back_up_since(&view, &other, &tree);
    forget(&world, &client, old);
    data.iter().for_each(|name| world.flip(name));
    let second: Vec<String> = world.names("packs/").into_iter().filter(|name| !first.contains(name)).collect();
    for _ in 0..3 {
        world.prune(Duration::ZERO);
    }
    assert_eq!(world.restore(kept), Ok(tree), "{second:?}");
}

#[test]
fn blocks_of_which_no_pack_holds_so_many_are_moved_into_several() {
    let (world, client) = World::with_client();
    let chunk = |pack: u8, at: u32| {
        let mut bytes = [pack; 24];
        bytes[..4].copy_from_slice(&at.to_be_bytes());
        ChunkId(bytes)
    };
    let tiny = |number: u8| -> Pack {
        let mut writer = PackWriter::new(PackKind::Data, client.domain, [number; 16], vec![vec![1]]).unwrap();
        (0..9_000).for_each(|at| writer.add_block(&[number], 0, 0, [chunk(number, at)], []).unwrap());
        writer.finish()
    };
    let references: Vec<ChunkId> = (1..10).flat_map(|pack| (0..9_000).map(move |at| chunk(pack, at))).collect();
    let tree = tree_pack(client.domain, 10, &[(id(10), 1, &references)]);
    let packs: Vec<Pack> = (1..10).map(tiny).chain([tree]).collect();
    crafted::save(&world, &client, &packs, id(10));
    // Each of them is small, and all of it is live.
    world.try_prune(&Options { grace: Duration::ZERO, ..Options::new([64 << 20, 64 << 20]) }).unwrap();
    let blocks = |name: &String| pack::parse(&world.read(name)).unwrap().blocks.len();
    let moved: Vec<usize> = world.names("moved/").iter().map(blocks).filter(|blocks| *blocks > 1).collect();
    assert_eq!((moved.len(), moved.iter().sum::<usize>()), (2, 81_000), "{moved:?}");
    assert!(world.check().is_ok());
}

#[test]
fn sparse_blocks_are_told_with_what_of_them_a_kept_snapshot_needs() {
    let (world, client) = World::with_client();
    let options = Options { grace: Duration::ZERO, ..Options::new([4096, 3072]) };
    let sparse = || block_on(prune::sparse(&world.job(), &options, client.domain, 0, u64::MAX)).unwrap();
    assert_eq!(sparse(), Sparse::default());
    mostly_forgotten(&world, &client);
    let found = sparse();
    let reached: BTreeSet<ChunkId> = picture(&world).reached().into_iter().map(|(_, id)| id).collect();
    let (mut live_bytes, mut dead_bytes, mut needed) = (0, 0, BTreeSet::new());
    for (number, block) in (0..).zip(&found.blocks) {
        let bytes = world.read(&layout::pack(block.place, block.pack));
        let table = pack::parse(&bytes).unwrap();
        assert_eq!((block.pack_length, block.kind), (bytes.len() as u64, table.kind));
        let row = table.blocks.iter().find(|row| (row.offset, row.length) == (block.offset, block.length)).unwrap();
        let ids = &table.ids[row.entries.start as usize..row.entries.end as usize];
        let live = (0..).zip(ids).filter(|(_, id)| reached.contains(id));
        let live: Vec<Live> = live.map(|(ordinal, id)| Live { block: number, ordinal, id: *id }).collect();
        let part = u64::from(row.length) * live.len() as u64 / ids.len() as u64;
        live_bytes += part;
        dead_bytes += u64::from(row.length) - part;
        needed.extend(live.iter().map(|live| (live.block, live.ordinal, live.id)));
    }
    assert_eq!((found.live_bytes, found.dead_bytes), (live_bytes, dead_bytes));
    let told: BTreeSet<(u32, u16, ChunkId)> =
        found.live.iter().map(|live| (live.block, live.ordinal, live.id)).collect();
    assert!(told.len() > 1);
    assert_eq!(told, needed);
}

#[test]
fn a_pack_of_copies_is_closed_once_it_has_its_size() {
    let (world, client) = World::with_client();
    mostly_forgotten(&world, &client);
    world.prune(Duration::ZERO);
    let mut closed = 0;
    for name in world.names("moved/") {
        let table = pack::parse(&world.read(&name)).unwrap();
        let target = if table.kind == PackKind::Data { 4096 } else { 3072 };
        let lengths: Vec<u32> = table.blocks.iter().map(|block| block.length).collect();
        let (last, before) = lengths.split_last().unwrap();
        let before: u32 = before.iter().sum();
        assert!(before < target, "{name}: {lengths:?}");
        closed += u32::from(before + last >= target);
    }
    assert!(closed > 0);
}

#[test]
fn a_pack_of_copies_names_no_more_sessions_than_a_pack_may() {
    let (world, client) = World::with_client();
    let saved: Vec<(SnapshotId, Tree)> = (0..u64::from(PACK_SESSIONS) + 3)
        .map(|seed| {
            let tree = files(seed, 1, 300);
            (world.back_up(&client, &tree), tree)
        })
        .collect();
    world.try_prune(&Options { grace: Duration::ZERO, ..Options::new([1 << 20, 1 << 20]) }).unwrap();
    let tables = world.names("moved/").into_iter().map(|name| pack::parse(&world.read(&name)).unwrap());
    let sessions: Vec<usize> =
        tables.filter(|table| table.kind == PackKind::Data).map(|table| table.sessions.len()).collect();
    assert_eq!((sessions.len(), sessions.iter().max()), (2, Some(&(PACK_SESSIONS as usize))));
    saved.into_iter().for_each(|(id, tree)| assert_eq!(world.restore(id), Ok(tree)));
}
