//! Memory: what an ingest needs for the largest manifest that is permitted, and for many clients at once, counted by the
//! allocator.

use crate::counting::measured;
use copal_format::client::Role;
use copal_format::id::{ChunkId, PackId};
use copal_format::limits::MANIFEST_TABLES;
use copal_format::pack::{PackKind, PackWriter, PageView};
use copal_format::receipt::{Outcome, Reason};
use copal_format::repository::IngestBy;
use copal_jobs::ingest::{Scope, work};
use copal_tests::kit::craft::spread_id;
use copal_tests::kit::{Client, Slow, World};

/// One test, so that nothing else allocates meanwhile.
#[test]
fn an_ingest_needs_less_than_512_mb_whatever_it_is_given() {
    let _alone = crate::counting::alone();
    the_largest_manifests_are_decided_below_512_mb_and_larger_ones_rejected();
    many_clients_at_once_are_looked_at_in_less();
}

fn the_largest_manifests_are_decided_below_512_mb_and_larger_ones_rejected() {
    // A chunk takes 24 bytes of a table, a page 56, a reference 24, a block 24.
    let table = MANIFEST_TABLES as usize - (4 << 10);
    let cases: [(&str, Vec<Shape>, Outcome); 7] = [
        ("chunks in one pack", vec![Shape::Chunks(table / 24 - 100)], Outcome::Accepted),
        ("chunks in 64 packs", vec![Shape::Chunks(table / 64 / 24 - 100); 64], Outcome::Accepted),
        ("pages in one pack", vec![Shape::Pages(table / 56 - 100)], Outcome::Accepted),
        ("references that do not resolve", vec![Shape::References(table / 24 - 100)], Outcome::Rejected),
        ("as many chunks and then as many again", vec![Shape::Chunks(table / 48 - 100); 2], Outcome::Accepted),
        ("one chunk too many", vec![Shape::Chunks(table / 48 + 100); 2], Outcome::Rejected),
        ("tables three times as large as allowed", vec![Shape::Chunks(table / 24); 3], Outcome::Rejected),
    ];
    for (case, shapes, outcome) in cases {
        let (world, client) = World::with_client();
        let packs: Vec<_> =
            shapes.iter().enumerate().map(|(at, shape)| put(&world, &client, at as u8, *shape)).collect();
        let number = world.put_manifest(&client, &world.manifest(&client, &packs, None));
        let slow = Slow::new(&world.store);
        let (done, peak) = measured(|| {
            let job = world.job_of(&slow);
            slow.run(work(&job, IngestBy::Service, Scope::Client(client.id), &|_| true)).unwrap()
        });
        let receipt = world.receipt(&client, number);
        println!("{case}: {:?}, {} MB", receipt.outcome, peak / 1_000_000);
        assert_eq!((done.receipts.len(), receipt.outcome), (1, outcome), "{case}: {:?}", receipt.reasons);
        let is_unresolved = matches!(shapes[0], Shape::References(_));
        let why = if is_unresolved { Reason::Unresolved } else { Reason::Oversize };
        assert!(receipt.reasons.iter().all(|(reason, _)| *reason == why), "{case}: {:?}", receipt.reasons);
        assert!(peak < 480_000_000, "{case}: {peak} bytes");
    }
}

fn many_clients_at_once_are_looked_at_in_less() {
    let world = World::new();
    for number in 0..64 {
        let client = world.register(number, Role::Full);
        let packs: Vec<_> = (0..4).map(|at| put(&world, &client, 4 * number + at, Shape::Chunks(2_600))).collect();
        world.put_manifest(&client, &world.manifest(&client, &packs, None));
    }
    let slow = Slow::new(&world.store);
    let all = || slow.run(work(&world.job_of(&slow), IngestBy::Service, Scope::All, &|_| false)).unwrap();
    let (done, peak) = measured(all);
    println!("64 clients: {} MB", peak / 1_000_000);
    assert!(done.receipts.iter().all(|receipt| receipt.outcome == Outcome::Accepted));
    assert!(done.receipts.len() == 64 && peak < 256_000_000, "{peak} bytes");
}

/// What a pack holds much of.
#[derive(Clone, Copy)]
enum Shape {
    Chunks(usize),
    Pages(usize),
    References(usize),
}

fn put(world: &World, client: &Client, number: u8, shape: Shape) -> (PackId, u64) {
    let pack = match shape {
        Shape::Chunks(count) => {
            let mut writer = writer(client, number, PackKind::Data);
            let ids: Vec<ChunkId> = (0..count).map(|at| spread_id(number, at)).collect();
            for block in ids.chunks(60_000) {
                writer.add_block(&[0; 9], 0, 0, block.iter().copied(), []).unwrap();
            }
            writer.finish()
        }
        Shape::Pages(count) => {
            let mut writer = writer(client, number, PackKind::Tree);
            let ids: Vec<ChunkId> = (0..count).map(|at| spread_id(number, at)).collect();
            for block in ids.chunks(60_000) {
                let rows = block.iter().map(|_| PageView { replaces: None, height: 1, references: &[] });
                writer.add_block(&[0; 9], 0, 0, block.iter().copied(), rows).unwrap();
            }
            writer.finish()
        }
        Shape::References(count) => {
            let mut writer = writer(client, number, PackKind::Tree);
            let ids: Vec<ChunkId> = (0..count).map(|at| spread_id(number, at)).collect();
            for (page, references) in ids.chunks(100_000).enumerate() {
                let row = PageView { replaces: None, height: 1, references };
                writer.add_block(&[0; 9], 0, 0, [spread_id(0xff, page)], [row]).unwrap();
            }
            writer.finish()
        }
    };
    world.put_pack(&pack)
}

fn writer(client: &Client, number: u8, kind: PackKind) -> PackWriter {
    PackWriter::new(kind, client.domain, [number; 16], vec![vec![1]]).unwrap()
}
