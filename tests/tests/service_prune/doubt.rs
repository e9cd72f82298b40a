//! Tables carry no hash of their own. A prune believes them only as far as nothing can be lost by it.

use copal_format::id::PackId;
use copal_format::layout::{self, Place};
use copal_format::pack::{PackKind, PackTable};
use copal_tests::kit::Tree;
use copal_tests::kit::repository::key;

use super::*;

/// The tree packs, and what their tables say.
fn tree_packs(world: &World) -> Vec<(String, PackTable)> {
    let packs = world.names("packs/").into_iter().map(|name| (name.clone(), pack::parse(&world.read(&name)).unwrap()));
    packs.filter(|(_, table)| table.kind == PackKind::Tree).collect()
}

fn record(world: &World, name: &str) -> copal_format::state::PackRecord {
    let state = world.view().state;
    let name_of = |id: &PackId| layout::pack(Place::Packs, *id);
    state.packs.iter().find(|(id, _)| name_of(id) == name).expect("the pack is known").1.clone()
}

/// Changes a byte of one of the references in a pack's table; the same once more undoes it.
fn alter(world: &World, name: &str, reference: usize) {
    let references = pack::parse(&world.read(name)).unwrap().pages.references().len();
    let alter = |bytes: &mut Vec<u8>| {
        let first = bytes.len() - TRAILER - references * REFERENCE;
        bytes[first + reference * REFERENCE + 5] ^= 1;
    };
    world.store.corrupt(&key(name), alter).unwrap();
}

/// Makes one reference of a table name what another one does.
fn misdirect(world: &World, name: &str) -> Vec<u8> {
    let before = world.read(name);
    let references = pack::parse(&before).unwrap().pages.references().len();
    let copy = |bytes: &mut Vec<u8>| {
        let first = bytes.len() - TRAILER - references * REFERENCE;
        bytes.copy_within(first..first + REFERENCE, first + REFERENCE * (references - 1));
    };
    world.store.corrupt(&key(name), copy).unwrap();
    before
}

fn prune_often(world: &World) -> u64 {
    let prune = |_| {
        let removed = world.prune(DAY).entries_removed;
        world.wait(DAY * 2);
        removed
    };
    (0..3).map(prune).sum()
}

/// A snapshot of much, and what it holds.
fn begin_with_pages() -> (World, Client, SnapshotId, Tree) {
    let (world, client) = World::with_client();
    let tree = files(1, 12, 3000);
    let kept = world.back_up(&client, &tree);
    (world, client, kept, tree)
}

#[test]
fn nothing_is_removed_for_a_reference_that_a_damaged_table_has_lost() {
    let (world, ..) = begin_with_pages();
    for (at, (_, table)) in tree_packs(&world).iter().enumerate() {
        for reference in 0..table.pages.references().len() {
            let (world, _, kept, tree) = begin_with_pages();
            let name = &tree_packs(&world)[at].0;
            alter(&world, name, reference);
            let report = world.prune(Duration::ZERO);
            assert_eq!((report.entries_removed, report.lost), (0, 0), "{name} {reference}");
            assert!(report.unread > 0, "{name} {reference}");
            assert!(record(&world, name).is_damaged, "the pack is named to whoever asks, and healed");
            assert_eq!(prune_often(&world), 0, "{name} {reference}");
            alter(&world, name, reference);
            assert!(world.check().is_ok());
            prune_often(&world);
            assert_eq!(world.restore(kept).as_ref(), Ok(&tree), "{name} {reference}");
        }
    }
}

#[test]
fn the_table_of_a_tree_pack_that_is_known_to_be_damaged_is_not_believed() {
    let (world, client, kept, tree) = begin_with_pages();
    let name = tree_packs(&world)[0].0.clone();
    // Every reference resolves; only the hash of the whole tells.
    let before = misdirect(&world, &name);
    assert!(!world.check().is_ok());
    let old = world.back_up(&world.register(2, Role::Full), &files(3, 2, 3000));
    forget(&world, &client, old);
    assert_eq!(prune_often(&world), 0);
    world.store.corrupt(&key(&name), |bytes| *bytes = before.clone()).unwrap();
    assert!(prune_often(&world) > 0, "it has its hash again, and is believed before anybody has acquitted it");
    assert_eq!(world.restore(kept), Ok(tree));
}

#[test]
fn a_backup_that_stores_the_pages_again_lets_prunes_go_on() {
    let (world, client, kept, tree) = begin_with_pages();
    let old = world.back_up(&client, &files(3, 2, 3000));
    forget(&world, &client, old);
    let (name, table) = tree_packs(&world).into_iter().max_by_key(|(_, table)| table.pages.references().len()).unwrap();
    alter(&world, &name, table.pages.references().len() - 1);
    assert_eq!(prune_often(&world), 0);
    let again = world.back_up(&client, &tree);
    assert!(prune_often(&world) > 0);
    assert_eq!(world.prune(DAY).unread, 0);
    assert_eq!((world.restore(kept).as_ref(), world.restore(again).as_ref()), (Ok(&tree), Ok(&tree)));
}

#[test]
fn what_a_damaged_table_hides_goes_with_the_snapshots_that_need_it() {
    let (world, client, old, _) = begin_with_pages();
    let tree = files(3, 2, 3000);
    let name = tree_packs(&world)[0].0.clone();
    let kept = world.back_up(&client, &tree);
    alter(&world, &name, 0);
    assert_eq!(prune_often(&world), 0);
    forget(&world, &client, old);
    assert!(prune_often(&world) > 0);
    assert!(!world.has(&name));
    assert_eq!(world.prune(DAY).unread, 0);
    assert_eq!(world.restore(kept), Ok(tree));
}

#[test]
fn what_is_known_to_be_lost_keeps_no_prune_from_its_work() {
    let (world, client, _, _) = begin_with_pages();
    let old = world.back_up(&client, &files(3, 2, 3000));
    world.destroy(&world.packs(PackKind::Data)[0]);
    assert!(world.rebuild_without(&["roots/"]).lost > 0);
    world.wait(DAY * 8);
    forget(&world, &client, old);
    assert!(prune_often(&world) > 0);
    let report = world.prune(DAY);
    assert!((report.unread, report.lost > 0) == (0, true), "{report:?}");
}

/// Bytes of a reference, and of what stands behind all of them (`docs/format.md`).
const REFERENCE: usize = 24;
const TRAILER: usize = 32;
