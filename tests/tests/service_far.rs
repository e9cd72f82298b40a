//! Far: where each request takes a round trip, an ingest reads little of the index, however large that is, and decides as
//! one that maps all of it.

use std::time::Duration;

use copal_format::client::Role;
use copal_format::id::{ChunkId, ObjectHash, PackId};
use copal_format::index::{Bits, Mark, SegmentWriter};
use copal_format::layout::{self, Place};
use copal_format::limits::{PACK_SESSIONS, SESSION_RECORD_BYTES};
use copal_format::pack::{Pack, PackKind, PackWriter, PageView};
use copal_format::receipt::{Outcome, Reason, Receipt};
use copal_format::repository::IngestBy;
use copal_format::time::Time;
use copal_jobs::commit::{Proposal, commit};
use copal_jobs::error::JobError;
use copal_jobs::ingest::{Scope, work};
use copal_tests::kit::craft::pack_record;
use copal_tests::kit::repository::key;
use copal_tests::kit::{Client, Random, Slow, World};
use futures::executor::block_on;

#[test]
fn an_ingest_reads_a_small_part_of_a_large_index_and_takes_as_long_as_with_a_small_one() {
    let most = std::env::var("COPAL_ENTRIES").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    println!("| entries of the index | its bytes | references | calls | bytes read | seconds |");
    println!("|---|---|---|---|---|---|");
    let mut times = Vec::new();
    for entries in [100_000, 1_000_000, 10_000_000].into_iter().filter(|entries| *entries <= most) {
        for pages in [2, 20, 200] {
            let (world, client) = indexed(entries, 0);
            let size: u64 = world.view().state.segments.values().map(|segment| segment.length).sum();
            let mut random = Random::new(3);
            let pages: Vec<Vec<ChunkId>> =
                (0..pages).map(|_| (0..100).map(|_| id(random.below(entries as usize) as u64)).collect()).collect();
            let references = pages.len() * 100;
            let number = claim_pages(&world, &client, 1, &pages);
            let slow = Slow::new(&world.store);
            let job = world.job_of(&slow);
            slow.run(work(&job, IngestBy::Service, Scope::Client(client.id), &|_| false)).unwrap();
            assert_eq!(world.receipt(&client, number).outcome, Outcome::Accepted);
            let calls = slow.calls();
            let count: u64 = calls.values().map(|(count, _)| count).sum();
            let (_, read) = calls["get"];
            println!("| {entries} | {size} | {references} | {count} | {read} | {:.2} |", slow.now().as_secs_f64());
            times.push((entries, references, slow.now(), read, size));
        }
    }
    for (entries, references, time, read, size) in &times {
        assert!(*read < size + (4 << 20), "{entries} entries, {references} references: {read} bytes");
        assert!(*references > 2_000 || *time < Duration::from_secs(5), "{entries} entries, {references}: {time:?}");
    }
}

#[test]
fn far_and_mapped_indexes_answer_alike() {
    let receipts = |is_remote: bool| -> Vec<Receipt> {
        let (world, client) = indexed(200_000, 9_000);
        let parts = world.view().state.segments.values().filter(|segment| segment.length > 256 << 10).count();
        assert!(parts >= 2, "parts that are not read whole");
        let mut random = Random::new(5);
        let claims = [
            // Present; lost and not there otherwise; lost in one pack and whole in another; unknown.
            (0..300).map(|_| id(9_000 + random.below(190_000) as u64)).collect::<Vec<_>>(),
            (0..300).map(|_| id(random.below(9_000) as u64)).collect(),
            (0..300).map(|_| id(2 * random.below(4_500) as u64)).collect(),
            (0..300).map(|_| id(random.below(300_000) as u64)).collect(),
            vec![id(1)],
            vec![id(2)],
            vec![id(201_000)],
        ];
        let claims = claims.into_iter().enumerate();
        let claims = claims.map(|(number, references)| claim_pages(&world, &client, number as u8, &[references]));
        let numbers: Vec<u64> = claims.collect();
        let scope = Scope::Client(client.id);
        if is_remote {
            let slow = Slow::new(&world.store);
            slow.run(work(&world.job_of(&slow), IngestBy::Service, scope, &|_| false)).unwrap();
        } else {
            block_on(work(&world.job(), IngestBy::Service, scope, &|_| false)).unwrap();
        }
        assert!(world.view().state.heads.contains_key(&client.id));
        numbers.into_iter().map(|number| world.receipt(&client, number)).collect()
    };
    let (far, mapped) = (receipts(true), receipts(false));
    let said = |receipts: &[Receipt]| -> Vec<_> {
        receipts.iter().map(|of| (of.outcome, of.reasons.clone(), of.missing.clone())).collect()
    };
    assert_eq!(said(&far), said(&mapped));
    let accepted = |receipts: &[Receipt]| receipts.iter().filter(|of| of.outcome == Outcome::Accepted).count();
    assert!((1..7).contains(&accepted(&far)), "some are accepted and some are not");
    assert!(!far[1].missing.is_empty() && far[1].missing.len() < 300, "{:?}", far[1].missing.len());
}

#[test]
fn a_pack_that_was_lost_and_is_named_again_is_lost_no_more_also_where_the_marks_are_far() {
    let (world, client) = indexed(60_000, 9_000);
    let pack = data_pack(&client, 0, &first_ids());
    let lost = |world: &World| {
        let view = world.view();
        let marks: Vec<_> = view.index(client.domain).unwrap().overlay().marks().map(|((id, _), _)| id).collect();
        first_ids().iter().filter(|id| marks.contains(id)).count()
    };
    assert_eq!(lost(&world), first_ids().len());
    let number = claim_packs(&world, &client, &[pack], None);
    let slow = Slow::new(&world.store);
    slow.run(work(&world.job_of(&slow), IngestBy::Service, Scope::Client(client.id), &|_| false)).unwrap();
    assert_eq!(world.receipt(&client, number).outcome, Outcome::Accepted);
    assert_eq!(lost(&world), 0);
}

#[test]
fn a_pack_that_is_named_again_is_found_among_the_thousands_of_a_large_segment() {
    let (world, client) = World::with_client();
    let mut writer = SegmentWriter::new(client.domain, [1; 16]);
    let mut proposal = Proposal::default();
    let mut named = Vec::new();
    for seed in 0..6_000_u32 {
        let pack = pack_of(&client, seed, &[id(seed.into())]);
        writer.add_pack(pack.id, Place::Packs, &pack.table).unwrap();
        proposal.delta.packs.insert(pack.id, Some(pack_record(&pack)));
        named.extend((seed % 500 == 0).then_some(pack));
    }
    let segment = writer.finish().unwrap();
    proposal.delta.segments.insert((client.domain, segment.hash), Some(segment.record));
    proposal.segments.push((segment.hash, segment.bytes));
    block_on(commit(&world.job(), &world.view(), proposal)).unwrap().expect("nobody else writes");
    // A new one, of an id that the index has.
    named.push(pack_of(&client, 6_000, &[id(0)]));
    for (at, pack) in named.iter().enumerate() {
        let number = claim_packs(&world, &client, std::slice::from_ref(pack), None);
        let slow = Slow::new(&world.store);
        slow.run(work(&world.job_of(&slow), IngestBy::Service, Scope::Client(client.id), &|_| false)).unwrap();
        assert_eq!(world.receipt(&client, number).outcome, Outcome::Accepted);
        let is_known = world.view().state.packs[&pack.id].accepted == Time(1);
        assert_eq!(is_known, at + 1 < named.len(), "{at}");
    }
}

#[test]
fn a_damaged_or_missing_segment_ends_the_ingest_and_rejects_nothing() {
    for harm in ["head", "entries", "missing"] {
        let (world, client) = indexed(60_000, 0);
        let largest = world.view().state.segments.iter().max_by_key(|(_, of)| of.entries).map(|((_, hash), _)| *hash);
        let name = layout::segment(largest.unwrap());
        match harm {
            "head" => world.store.corrupt(&key(&name), |bytes| bytes[41] ^= 1).unwrap(),
            "entries" => world
                .store
                .corrupt(&key(&name), |bytes| bytes.chunks_exact_mut(32).for_each(|of| of[0] ^= 0x55))
                .unwrap(),
            _ => world.destroy(&name),
        }
        let references: Vec<ChunkId> = (0..50).map(|number| id(number * 1000)).collect();
        let number = claim_pages(&world, &client, 1, &[references]);
        let slow = Slow::new(&world.store);
        let done = slow.run(work(&world.job_of(&slow), IngestBy::Service, Scope::Client(client.id), &|_| false));
        assert!(matches!(done, Err(JobError::Damaged { .. } | JobError::StateLost { .. })), "{harm}: {done:?}");
        assert!(!world.has(&layout::receipt(client.id, number)), "{harm}");
    }
}

#[test]
fn a_pack_that_claims_a_long_header_is_rejected_without_reading_it() {
    let world = World::new();
    let client = world.register(1, Role::WriteOnly);
    let honest = data_pack(&client, 1, &[id(1)]);
    let mut bytes = vec![0; 20 << 20];
    let trailer = bytes.len() - 32;
    bytes[trailer..].copy_from_slice(&honest.bytes[honest.bytes.len() - 32..]);
    bytes[trailer + 16..trailer + 20].copy_from_slice(&(19_u32 << 20).to_le_bytes());
    let pack = Pack { id: PackId(ObjectHash::of(&bytes).0), bytes, table: honest.table };
    let number = claim_packs(&world, &client, &[pack], None);
    let slow = Slow::new(&world.store);
    slow.run(work(&world.job_of(&slow), IngestBy::Service, Scope::Client(client.id), &|_| true)).unwrap();
    let reasons = world.receipt(&client, number).reasons;
    assert!(matches!(&reasons[..], [(Reason::PackTable, _)]), "{reasons:?}");
    let (_, read) = slow.calls()["get"];
    assert!(read < 2 << 20, "{read} bytes");
}

#[test]
fn session_records_count_towards_what_a_manifest_may_bring() {
    let world = World::new();
    let client = world.register(1, Role::WriteOnly);
    let pack = |number: u8| {
        let records = vec![vec![1; SESSION_RECORD_BYTES]; PACK_SESSIONS.into()];
        let mut writer = PackWriter::new(PackKind::Data, client.domain, [number; 16], records).unwrap();
        writer.add_block(&[number; 40], 0, 0, [id(number.into())], []).unwrap();
        writer.finish()
    };
    let packs: Vec<Pack> = (0..16).map(pack).collect();
    let numbers = [&packs[..], &packs[..15]].map(|packs| claim_packs(&world, &client, packs, None));
    let slow = Slow::new(&world.store);
    slow.run(work(&world.job_of(&slow), IngestBy::Service, Scope::Client(client.id), &|_| true)).unwrap();
    let [over, under] = numbers.map(|number| world.receipt(&client, number));
    assert_eq!((over.reasons[0].0, over.packs), (Reason::Oversize, vec![packs[15].id]));
    assert_eq!(under.outcome, Outcome::Accepted);
}

#[test]
fn a_flipped_bit_of_a_mark_ends_the_ingest_and_lets_nothing_refer_to_what_is_lost() {
    let (world, client) = indexed(60_000, 9_000);
    let runs = world.view().state;
    let [(run, record)] = runs.overlays_of(client.domain)[..] else { panic!("one run") };
    assert!(record.length > 256 << 10, "it is not read at once");
    // Of the one whose only copy is lost nothing is said any more.
    let unmark = |bytes: &mut Vec<u8>| {
        let of_id = |record: &&mut [u8]| record[..24] == id(1).0;
        bytes[56..].chunks_exact_mut(48).find(of_id).unwrap()[40] = 0;
    };
    world.store.corrupt(&key(&layout::state(run)), unmark).unwrap();
    expect_undecided(&world, &client, &[id(1)], true);
}

#[test]
fn a_flipped_bit_of_an_entry_that_seems_absent_then_ends_the_ingest_and_rejects_nothing() {
    for is_remote in [true, false] {
        let (world, client) = indexed(60_000, 0);
        alter_entry(&world, 20_000, |entry, _| entry[23] ^= 1);
        expect_undecided(&world, &client, &[id(20_000)], is_remote);
    }
}

#[test]
fn an_entry_that_points_to_another_block_lets_nothing_refer_to_what_is_lost() {
    let (world, client) = indexed(60_000, 9_000);
    alter_entry(&world, 1, |entry, blocks| entry[24..28].copy_from_slice(&(blocks - 1).to_le_bytes()));
    expect_undecided(&world, &client, &[id(1)], true);
}

/// Alters the entry of an id in the largest segment, which has so many blocks.
fn alter_entry(world: &World, number: u64, alter: impl Fn(&mut [u8], u32)) {
    let largest = world.view().state.segments.iter().max_by_key(|(_, of)| of.entries).map(|((_, hash), _)| *hash);
    let change = |bytes: &mut Vec<u8>| {
        let blocks = u32::from_le_bytes(bytes[44..48].try_into().unwrap());
        let of_id = |entry: &&mut [u8]| entry[..24] == id(number).0;
        alter(bytes.chunks_exact_mut(32).find(of_id).unwrap(), blocks);
    };
    world.store.corrupt(&key(&layout::segment(largest.unwrap())), change).unwrap();
}

/// A claim that refers to these ids is neither accepted nor rejected: something is damaged.
fn expect_undecided(world: &World, client: &Client, references: &[ChunkId], is_remote: bool) {
    let number = claim_pages(world, client, 1, &[references.to_vec()]);
    let scope = Scope::Client(client.id);
    let slow = Slow::new(&world.store);
    let done = match is_remote {
        true => slow.run(work(&world.job_of(&slow), IngestBy::Service, scope, &|_| false)),
        false => block_on(work(&world.job(), IngestBy::Service, scope, &|_| false)),
    };
    assert!(matches!(done, Err(JobError::Damaged { .. })), "{done:?}");
    assert!(!world.has(&layout::receipt(client.id, number)));
}

/// A repository whose index has so many entries, in segments each a tenth of the next. Of the first ids the copies are
/// lost, but those of even ones have a second.
fn indexed(entries: u64, lost: u64) -> (World, Client) {
    let (world, client) = World::with_client();
    let mut proposal = Proposal::default();
    let (mut start, mut seed) = (0, 0);
    let mut parts: Vec<Vec<u64>> = Vec::new();
    while start < entries {
        let end = if entries - start < 6_000 { entries } else { start + (entries - start) * 9 / 10 };
        parts.push((start..end).collect());
        start = end;
    }
    parts.push((0..lost).step_by(2).collect());
    let mut marks = std::collections::BTreeMap::new();
    // As a merge writes them: about a million entries each, one behind the other.
    let parts = parts.into_iter().enumerate().flat_map(|(number, mut ids)| {
        if ids.len() > 1 << 20 {
            ids.sort_unstable_by_key(|of| id(*of));
        }
        let parts: Vec<(usize, Vec<u64>)> = ids.chunks(1 << 20).map(|ids| (number, ids.to_vec())).collect();
        parts
    });
    for (number, ids) in parts {
        let mut writer = SegmentWriter::new(client.domain, [number as u8; 16]);
        for some in ids.chunks(3_000) {
            let ids: Vec<ChunkId> = some.iter().map(|number| id(*number)).collect();
            let pack = pack_of(&client, seed, &ids);
            seed += 1;
            writer.add_pack(pack.id, Place::Packs, &pack.table).unwrap();
            proposal.delta.packs.insert(pack.id, Some(pack_record(&pack)));
            if number == 0 {
                let tag = pack.id.tag();
                let lost = some.iter().filter(|number| **number < lost).map(|number| ((id(*number), tag), LOST));
                marks.extend(lost);
            }
        }
        let segment = writer.finish().unwrap();
        proposal.delta.segments.insert((client.domain, segment.hash), Some(segment.record));
        proposal.segments.push((segment.hash, segment.bytes));
    }
    if !marks.is_empty() {
        proposal.overlay.insert(client.domain, marks);
    }
    block_on(commit(&world.job(), &world.view(), proposal)).unwrap().expect("nobody else writes");
    (world, client)
}

fn first_ids() -> Vec<ChunkId> {
    (0..3_000).map(id).collect()
}

/// The pack that the index names first, as it was uploaded.
fn data_pack(client: &Client, seed: u32, ids: &[ChunkId]) -> Pack {
    pack_of(client, seed, ids)
}

fn pack_of(client: &Client, seed: u32, ids: &[ChunkId]) -> Pack {
    let mut random = [0; 16];
    random[..4].copy_from_slice(&seed.to_be_bytes());
    let mut writer = PackWriter::new(PackKind::Data, client.domain, random, vec![vec![1]]).unwrap();
    for block in ids.chunks(20) {
        writer.add_block(&[0; 40], 0, 0, block.iter().copied(), []).unwrap();
    }
    writer.finish()
}

/// Claims a snapshot of pages that refer to these ids.
fn claim_pages(world: &World, client: &Client, seed: u8, pages: &[Vec<ChunkId>]) -> u64 {
    let mut writer = PackWriter::new(PackKind::Tree, client.domain, [0x80 | seed; 16], vec![vec![1]]).unwrap();
    let page = |at: usize| id(1 << 40 | u64::from(seed) << 20 | at as u64);
    let leaves: Vec<ChunkId> = (0..pages.len()).map(|at| page(at + 1)).collect();
    let mut rows: Vec<PageView<'_>> =
        pages.iter().map(|references| PageView { replaces: None, height: 1, references }).collect();
    rows.push(PageView { replaces: None, height: 2, references: &leaves });
    let ids = leaves.iter().copied().chain([page(0)]);
    writer.add_block(&[seed; 50], 0, 0, ids, rows).unwrap();
    claim_packs(world, client, &[writer.finish()], Some(page(0)))
}

fn claim_packs(world: &World, client: &Client, packs: &[Pack], root: Option<ChunkId>) -> u64 {
    let named: Vec<(PackId, u64)> = packs.iter().map(|pack| world.put_pack(pack)).collect();
    world.put_manifest(client, &world.manifest(client, &named, root))
}

fn id(number: u64) -> ChunkId {
    let mut bytes = [0; 24];
    for (part, word) in bytes.chunks_exact_mut(8).zip(0u64..) {
        part.copy_from_slice(&mixed(number.wrapping_mul(3).wrapping_add(word)).to_be_bytes());
    }
    ChunkId(bytes)
}

/// Spreads numbers as hashes are spread (SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

const LOST: Mark = Mark { bits: Bits::LOST, time: Time(1) };
