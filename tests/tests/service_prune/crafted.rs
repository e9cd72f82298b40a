//! Crafted: packs made by hand, where it matters which entries lie in one block and which blocks in one pack.

use std::time::Duration;

use copal_format::id::{ChunkId, DomainId, SnapshotId};
use copal_format::index::Status;
use copal_format::pack::{self, Pack, PackKind, PackWriter, PageView};
use copal_format::receipt::Outcome;
use copal_tests::kit::craft::id;
use copal_tests::kit::{Client, World};

use super::{forget, left_behind};

/// Saves a snapshot with this root page and these packs, which a full client with the key has proven.
pub(super) fn save(world: &World, client: &Client, packs: &[Pack], root: ChunkId) -> SnapshotId {
    let packs: Vec<_> = packs.iter().map(|pack| world.put_pack(pack)).collect();
    let mut manifest = world.manifest(client, &packs, Some(root));
    manifest.prove(&world.repository.owner, |_| true);
    let number = world.put_manifest(client, &manifest);
    world.ingest().unwrap();
    let receipt = world.receipt(client, number);
    assert_eq!(receipt.outcome, Outcome::Accepted);
    receipt.manifest.snapshot()
}

/// A data pack with blocks of these sizes and ids.
fn data(domain: DomainId, blocks: &[(usize, &[u8])]) -> Pack {
    let mut writer = PackWriter::new(PackKind::Data, domain, [1; 16], vec![vec![1]]).unwrap();
    for (size, ids) in blocks {
        writer.add_block(&vec![1; *size], 0, 0, ids.iter().map(|number| id(*number)), []).unwrap();
    }
    writer.finish()
}

/// A tree pack with one page in each block: the block's size, the page, and the chunks that the page refers to.
fn tree(domain: DomainId, pages: &[(usize, u8, &[u8])]) -> Pack {
    let mut writer = PackWriter::new(PackKind::Tree, domain, [2; 16], vec![vec![1]]).unwrap();
    for (size, page, references) in pages {
        let references: Vec<ChunkId> = references.iter().map(|number| id(*number)).collect();
        let row = PageView { replaces: None, height: 1, references: &references };
        writer.add_block(&vec![2; *size], 0, 0, [id(*page)], [row]).unwrap();
    }
    writer.finish()
}

/// A repository with two snapshots in the same two packs; the second snapshot is forgotten. Page 10 needs chunk 1, page
/// 20 needs chunks 2 and 3. Chunks 1 and 2 share a block.
fn shared() -> (World, Client) {
    let (world, client) = World::with_client();
    let packs = [
        data(client.domain, &[(300, &[1, 2]), (900, &[3])]),
        tree(client.domain, &[(300, 10, &[1]), (900, 20, &[2, 3])]),
    ];
    save(&world, &client, &packs, id(10));
    let forgotten = save(&world, &client, &[], id(20));
    forget(&world, &client, forgotten);
    (world, client)
}

fn statuses(world: &World, client: &Client) -> [Status; 5] {
    let view = world.view();
    [1, 10, 2, 3, 20].map(|number| view.index(client.domain).unwrap().status(&id(number)))
}

#[test]
fn an_entry_that_is_removed_while_its_block_is_moved_is_not_in_the_index_any_more() {
    let (world, client) = shared();
    let before = world.view().number();
    let report = world.prune(Duration::ZERO);
    assert_eq!((report.packs_dead, report.packs_rewritten, report.entries_removed), (0, 2, 3));
    assert_eq!(world.view().number(), before + 2, "one root decides, the other clears the deleted names");
    let tables = world.names("moved/").into_iter().map(|name| pack::parse(&world.read(&name)).unwrap());
    assert!(tables.flat_map(|table| table.ids).any(|moved| moved == id(2)), "its bytes were moved");
    // Half of chunk 1's block is dead, so a client shall upload chunk 1 again.
    let [wanted, kept, gone] = [Status::Wanted, Status::Present, Status::Absent];
    assert_eq!(statuses(&world, &client), [wanted, kept, gone, gone, gone]);
    assert_eq!(left_behind(&world), [""; 0]);
}

#[test]
fn what_a_tree_pack_says_is_not_believed_once_a_move_has_found_it_damaged() {
    let (world, client) = shared();
    let names = world.names("packs/");
    let damaged = &world.packs(PackKind::Tree)[0];
    // The table stays as it was, so that only the hash of the whole pack tells.
    let offset = pack::parse(&world.read(damaged)).unwrap().blocks[0].offset;
    let damage = |bytes: &mut Vec<u8>| bytes[offset as usize] ^= 1;
    world.store.corrupt(&copal_tests::kit::repository::key(damaged), damage).unwrap();
    let report = world.prune(Duration::ZERO);
    assert_eq!((report.unread, report.entries_removed, report.packs_rewritten), (1, 0, 0), "{report:?}");
    assert!(names.iter().all(|name| world.has(name)));
    assert!(statuses(&world, &client).iter().all(|status| *status != Status::Absent));
    assert!(world.view().state.packs.values().any(|record| record.is_damaged));
}
