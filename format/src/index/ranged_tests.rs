//! A ranged search answers what the whole segment does, whatever is asked and however little is read at once.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::ranged::{EntrySearch, SegmentHead, Steps, Wanted};
use super::*;
use crate::id::DomainId;
use crate::layout::Place;
use crate::pack::{PackKind, PackWriter};
use crate::wire::DecodeError;

const DOMAIN: DomainId = DomainId([7; 16]);

/// Ids spread evenly, in clusters, and often equal.
fn ids() -> impl Strategy<Value = Vec<ChunkId>> {
    let even = any::<u64>().prop_map(|number| {
        let hash = blake3::hash(&number.to_le_bytes());
        ChunkId(core::array::from_fn(|at| hash.as_bytes()[at]))
    });
    let cluster =
        any::<[u8; 2]>().prop_map(|low| ChunkId(core::array::from_fn(|at| if at < 22 { 0xa5 } else { low[at - 22] })));
    let equal = (0u8..4).prop_map(|byte| ChunkId([byte * 80; 24]));
    prop::collection::vec(prop_oneof![8 => even, 3 => cluster, 1 => equal], 1..600)
}

fn segment(ids: &[ChunkId]) -> NewSegment {
    let mut writer = SegmentWriter::new(DOMAIN, [1; 16]);
    for (number, some) in ids.chunks(50).enumerate() {
        let mut pack = PackWriter::new(PackKind::Data, DOMAIN, [number as u8; 16], vec![vec![1]]).unwrap();
        for block in some.chunks(7) {
            pack.add_block(&[0; 9], 0, 0, block.iter().copied(), []).unwrap();
        }
        let pack = pack.finish();
        writer.add_pack(pack.id, Place::Packs, &pack.table).unwrap();
    }
    writer.finish().unwrap()
}

fn sought(ids: &[ChunkId], others: Vec<ChunkId>, picks: &[prop::sample::Index]) -> Vec<ChunkId> {
    let mut sought: Vec<ChunkId> = picks.iter().map(|pick| ids[pick.index(ids.len())]).chain(others).collect();
    sought.sort_unstable();
    sought.dedup();
    sought
}

fn steps() -> impl Strategy<Value = Steps> {
    let step = || 1u64..9;
    let records = |count: u64| count * 48;
    (step(), step(), step(), 0u64..4, step()).prop_map(move |(least, most, round, gap, piece)| Steps {
        least: records(least),
        most: records(least + most),
        round: records(round * 8),
        gap: records(gap),
        piece: records(least + most + piece),
    })
}

/// Reads what is wanted, the pieces of a round in any order; gives how often there was something to read.
fn run(search: &mut EntrySearch<'_>, bytes: &[u8]) -> Result<u32, DecodeError> {
    let mut rounds = 0;
    loop {
        let ranges = search.next_round();
        if ranges.is_empty() {
            return Ok(rounds);
        }
        rounds += 1;
        assert!(rounds < 2000, "it comes to an end");
        for (at, range) in ranges.into_iter().enumerate().rev() {
            search.take(at, &bytes[range.start as usize..range.end as usize])?;
        }
    }
}

type Found = BTreeMap<usize, Vec<(u32, u8)>>;

fn ranged(segment: &NewSegment, bytes: &[u8], ids: &[ChunkId], wanted: Wanted, steps: Steps) -> Result<Found, String> {
    let head = SegmentHead::parse(&bytes[..64], &segment.record).map_err(|error| error.to_string())?;
    let mut search = EntrySearch::new(&head, ids, wanted).in_steps(steps);
    run(&mut search, bytes).map_err(|error| error.to_string())?;
    let mut found = Found::new();
    for (at, entry) in search.finish() {
        found.entry(at).or_default().push((entry.block, entry.height));
    }
    Ok(found)
}

fn scanned(bytes: &[u8], ids: &[ChunkId]) -> Found {
    let segment = Segment::parse(bytes).unwrap();
    let of = |id: &ChunkId| {
        segment.entries().filter(|entry| entry.id == *id).map(|e| (e.block, e.location.height)).collect()
    };
    let all = ids.iter().map(of).enumerate();
    all.filter(|(_, copies): &(usize, Vec<_>)| !copies.is_empty()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_ranged_search_of_a_segment_finds_what_a_scan_finds(
        held in ids(), others in ids(), picks in prop::collection::vec(any::<prop::sample::Index>(), 0..60), steps in steps(),
    ) {
        let segment = segment(&held);
        let ids = sought(&held, others, &picks);
        let all = scanned(&segment.bytes, &ids);
        prop_assert_eq!(ranged(&segment, &segment.bytes, &ids, Wanted::All, steps).unwrap(), all.clone());
        let first: Found = all.into_iter().map(|(at, copies)| (at, copies[..1].to_vec())).collect();
        prop_assert_eq!(ranged(&segment, &segment.bytes, &ids, Wanted::First, steps).unwrap(), first);
    }

    #[test]
    fn a_ranged_search_of_a_damaged_segment_is_an_error_or_finds_nothing_that_a_scan_does_not(
        held in ids(), picks in prop::collection::vec(any::<prop::sample::Index>(), 1..60), steps in steps(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let segment = segment(&held);
        let ids = sought(&held, Vec::new(), &picks);
        let mut bytes = segment.bytes.clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let Ok(found) = ranged(&segment, &bytes, &ids, Wanted::All, steps) else { return Ok(()) };
        let Ok(whole) = Segment::parse(&bytes[..]) else { return Ok(()) };
        for (at, copies) in found {
            // An altered id may look like another one, where no search for that comes by.
            let listed = (0..whole.len()).filter_map(|at| whole.entry_at(at)).filter(|entry| entry.id == ids[at]);
            let listed: Vec<u32> = listed.map(|entry| entry.block).collect();
            prop_assert!(copies.iter().all(|(block, _)| listed.contains(block)), "{copies:?} of {listed:?}");
        }
    }
}

#[test]
fn evenly_spread_ids_are_settled_in_two_or_three_rounds_and_few_bytes() {
    let held: Vec<ChunkId> = (0..200_000u64)
        .map(|number| ChunkId(core::array::from_fn(|at| blake3::hash(&number.to_le_bytes()).as_bytes()[at])))
        .collect();
    let segment = segment(&held);
    let head = SegmentHead::parse(&segment.bytes[..64], &segment.record).unwrap();
    let mut ids: Vec<ChunkId> = held.iter().step_by(10_000).copied().collect();
    ids.sort_unstable();
    let mut search = EntrySearch::new(&head, &ids, Wanted::First);
    let (mut rounds, mut read) = (0, 0);
    loop {
        let ranges = search.next_round();
        if ranges.is_empty() {
            break;
        }
        rounds += 1;
        for (at, range) in ranges.into_iter().enumerate() {
            read += range.end - range.start;
            search.take(at, &segment.bytes[range.start as usize..range.end as usize]).unwrap();
        }
    }
    assert_eq!(search.finish().len(), ids.len());
    assert!(rounds <= 3 && read < 2 << 20, "{rounds} rounds, {read} bytes");
}

#[test]
fn a_head_that_disagrees_with_the_state_is_refused() {
    let segment = segment(&[ChunkId([1; 24]), ChunkId([2; 24])]);
    assert!(SegmentHead::parse(&segment.bytes[..64], &segment.record).is_ok());
    let other = crate::state::SegmentRecord { entries: 3, ..segment.record.clone() };
    assert!(SegmentHead::parse(&segment.bytes[..64], &other).is_err());
    let other = crate::state::SegmentRecord { length: segment.record.length + 32, ..segment.record.clone() };
    assert!(SegmentHead::parse(&segment.bytes[..64], &other).is_err());
    assert!(SegmentHead::parse(&segment.bytes[..63], &segment.record).is_err());
}
