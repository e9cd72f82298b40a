use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::id::PackId;
use crate::layout::Place;
use crate::pack::{Pack, PackKind, PackWriter, PageRow};
use crate::time::Time;

const DOMAIN: DomainId = DomainId([7; 16]);
const RANDOM: [u8; 16] = [8; 16];

/// Few ids, so that packs share some.
fn id(number: u8) -> ChunkId {
    ChunkId([number.wrapping_mul(11); 24])
}

/// A pack whose blocks hold chunks or pages of these numbers.
fn pack(random: u8, kind: PackKind, blocks: &[Vec<u8>]) -> Pack {
    let mut writer = PackWriter::new(kind, DOMAIN, [random; 16], vec![vec![1]]).unwrap();
    for (counter, numbers) in blocks.iter().enumerate() {
        let row = |number: &u8| PageRow { replaces: None, height: 1 + number % 31, references: Vec::new() };
        let rows: Vec<PageRow> = numbers.iter().map(row).collect();
        let rows = if kind == PackKind::Data { &[] } else { &rows[..] };
        let ids = numbers.iter().map(|number| id(*number));
        writer.add_block(&[0; 9], 0, counter as u64, ids, rows.iter().map(PageRow::view)).unwrap();
    }
    writer.finish()
}

fn packs() -> impl Strategy<Value = Vec<Pack>> {
    let blocks = prop::collection::vec(prop::collection::vec(0u8..24, 1..6), 1..4);
    let pack_of = |(random, (tree, blocks)): (usize, (bool, Vec<Vec<u8>>))| {
        pack(random as u8, if tree { PackKind::Tree } else { PackKind::Data }, &blocks)
    };
    prop::collection::vec((any::<bool>(), blocks), 0..6)
        .prop_map(move |packs| packs.into_iter().enumerate().map(pack_of).collect())
}

fn written(packs: &[Pack]) -> Option<NewSegment> {
    let mut writer = SegmentWriter::new(DOMAIN, RANDOM);
    packs.iter().for_each(|pack| writer.add_pack(pack.id, place_of(pack.id), &pack.table).unwrap());
    writer.finish()
}

fn place_of(pack: PackId) -> Place {
    if pack.0[0] < 128 { Place::Packs } else { Place::Moved }
}

fn segment(packs: &[Pack]) -> Option<Segment<Vec<u8>>> {
    written(packs).map(|new| Segment::parse(new.bytes).unwrap())
}

/// What an index of these packs should hold, in its order.
fn model(packs: &[Pack]) -> BTreeSet<(ChunkId, Location)> {
    let mut model = BTreeSet::new();
    for Pack { id, table, bytes } in packs {
        for (at, chunk) in table.ids.iter().enumerate() {
            let block = table.block_of(at).unwrap();
            let location = Location {
                pack: *id,
                place: place_of(*id),
                pack_length: bytes.len() as u64,
                table_length: table.table_length(),
                offset: block.offset,
                length: block.length,
                items: block.entries.len() as u32,
                ordinal: (at - block.entries.start as usize) as u16,
                height: table.height(at),
                is_page: table.kind == PackKind::Tree,
            };
            model.insert((*chunk, location));
        }
    }
    model
}

fn listed(segment: &Segment<Vec<u8>>) -> Vec<(ChunkId, Location)> {
    segment.entries().map(|entry| (entry.id, entry.location)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_segment_lists_every_entry_of_its_packs_in_order(packs in packs()) {
        prop_assert_eq!(written(&packs).is_none(), packs.is_empty());
        let Some(segment) = segment(&packs) else { return Ok(()) };
        prop_assert_eq!(segment.verify(), Ok(()));
        prop_assert_eq!(listed(&segment), model(&packs).into_iter().collect::<Vec<_>>());
        prop_assert!(segment.packs().map(|pack| pack.id).is_sorted_by(|a, b| a < b));
        for at in 0..segment.pack_count() {
            let blocks = segment.blocks_of(at).map(|block| segment.block(block).unwrap());
            prop_assert!(blocks.eq(segment.blocks().filter(|block| block.pack == at)));
        }
    }

    #[test]
    fn the_order_in_which_packs_are_added_does_not_matter(packs in packs()) {
        let mut reversed = packs.clone();
        reversed.reverse();
        reversed.extend(packs.first().cloned());
        prop_assert_eq!(written(&packs), written(&reversed));
    }

    #[test]
    fn lookups_find_what_a_linear_scan_finds(packs in packs(), sought in prop::collection::btree_set(0u8..30, 0..30)) {
        let Some(segment) = segment(&packs) else { return Ok(()) };
        let ids: Vec<ChunkId> = sought.into_iter().map(id).collect::<BTreeSet<_>>().into_iter().collect();
        let mut many = vec![Vec::new(); ids.len()];
        segment.find_many(&ids, |at, location| many[at].push(location));
        for (id, many) in ids.iter().zip(many) {
            let scanned: Vec<Location> = segment.entries().filter(|e| e.id == *id).map(|e| e.location).collect();
            prop_assert_eq!(segment.find(id).collect::<Vec<_>>(), scanned.clone());
            prop_assert_eq!(many, scanned);
        }
    }

    #[test]
    fn merging_is_what_keeping_in_a_map_would_be(packs in packs(), split in any::<prop::sample::Index>(), dropped: u64) {
        let (left, right) = packs.split_at(split.index(packs.len() + 1));
        let overlap = &packs[..packs.len().min(2)];
        let segments: Vec<_> = [left, right, overlap].into_iter().filter_map(segment).collect();
        let stays = |id: &ChunkId| dropped >> (id.0[0] % 64) & 1 == 0;
        let merged = merge(DOMAIN, RANDOM, &segments.iter().collect::<Vec<_>>(), |entry| stays(&entry.id)).unwrap();
        let mut model = model(&packs);
        model.retain(|(id, _)| stays(id));
        prop_assert_eq!(merged.is_none(), model.is_empty());
        let Some(merged) = merged else { return Ok(()) };
        prop_assert_eq!(merged.record.entries, model.len() as u64);
        prop_assert_eq!(merged.record.first, model.first().unwrap().0);
        prop_assert_eq!(merged.record.last, model.last().unwrap().0);
        prop_assert_eq!(merged.record.length, merged.bytes.len() as u64);
        let segment = Segment::parse(merged.bytes).unwrap();
        prop_assert_eq!(segment.verify(), Ok(()));
        prop_assert_eq!(listed(&segment), model.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_merge_does_not_depend_on_how_segments_were_grouped(packs in packs(), cuts in any::<[prop::sample::Index; 2]>()) {
        let mut cuts = cuts.map(|cut| cut.index(packs.len() + 1));
        cuts.sort_unstable();
        let parts = [&packs[..cuts[0]], &packs[cuts[0]..cuts[1]], &packs[cuts[1]..]];
        let segments: Vec<_> = parts.into_iter().filter_map(segment).collect();
        let all = |segments: &[&Segment<Vec<u8>>]| merge(DOMAIN, RANDOM, segments, |_| true).unwrap();
        let at_once = all(&segments.iter().collect::<Vec<_>>());
        prop_assert_eq!(&at_once, &written(&packs));
        let later = all(&segments.iter().skip(1).collect::<Vec<_>>()).map(|new| Segment::parse(new.bytes).unwrap());
        let stepwise = all(&later.iter().chain(segments.first()).collect::<Vec<_>>());
        prop_assert_eq!(stepwise, at_once);
    }

    #[test]
    fn a_damaged_segment_is_refused_or_answers_without_panic(
        packs in packs(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in 0usize..2,
    ) {
        let Some(mut bytes) = written(&packs).map(|new| new.bytes) else { return Ok(()) };
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(bytes.len() - cut * 32);
        let Ok(segment) = Segment::parse(bytes) else { return Ok(()) };
        let ids: Vec<ChunkId> = (0..24).map(id).collect::<BTreeSet<_>>().into_iter().collect();
        segment.find_many(&ids, |_, _| ());
        let found = ids.iter().map(|id| segment.find(id).count()).sum::<usize>();
        prop_assert!(found <= segment.len());
        (0..segment.pack_count()).for_each(|pack| assert!(segment.blocks_of(pack).end <= segment.block_count()));
        let merged = merge(segment.domain(), RANDOM, &[&segment], |_| true).unwrap();
        if segment.verify().is_ok() {
            prop_assert_eq!(merged.map(|new| new.record.entries), Some(segment.len() as u64));
        }
    }

    #[test]
    fn an_index_of_segments_and_marks_answers_as_maps_would(
        packs in packs(), split in any::<prop::sample::Index>(), marked in prop::collection::vec((0u8..26, 0u8..8, any::<bool>()), 0..20),
    ) {
        let (left, right) = packs.split_at(split.index(packs.len() + 1));
        let segments: Vec<_> = [left, right].into_iter().filter_map(segment).collect();
        let bits = |bits: u8| {
            let chosen = [(1, Bits::FLAGGED), (2, Bits::WANTED), (4, Bits::LOST)].into_iter().filter(|b| bits & b.0 != 0);
            chosen.fold(Bits::NONE, |all, (_, bit)| all | bit)
        };
        let model = model(&packs);
        let mut marks = BTreeMap::new();
        for (number, mark, everywhere) in marked {
            let copies = model.iter().filter(|(chunk, _)| *chunk == id(number)).map(|(_, place)| place.pack.tag());
            let copies: Vec<PackTag> = copies.take(if everywhere { usize::MAX } else { 1 }).collect();
            let without = [PackTag::NONE];
            for tag in if copies.is_empty() { &without[..] } else { &copies[..] } {
                marks.insert((id(number), *tag), Mark { bits: bits(mark), time: Time(i64::from(mark)) });
            }
        }
        let overlay = OverlayRun::parse(write_overlay(DOMAIN, RANDOM, &marks).bytes).unwrap();
        let index = Index::new(DOMAIN, segments, Overlay::new(vec![overlay])).unwrap();

        let ids: Vec<ChunkId> = (0..30).map(id).collect::<BTreeSet<_>>().into_iter().collect();
        let mark = |id: &ChunkId, tag| marks.get(&(*id, tag)).copied().unwrap_or_default();
        let mut statuses = Vec::new();
        for id in &ids {
            let copies: BTreeSet<(Location, Mark)> =
                model.iter().filter(|(chunk, _)| chunk == id).map(|(_, at)| (*at, mark(id, at.pack.tag()))).collect();
            let best = copies.iter().map(|(_, mark)| Status::of_copy(mark.bits)).min();
            let absent = if mark(id, PackTag::NONE).bits.is_empty() { Status::Absent } else { Status::Lost };
            prop_assert_eq!(index.copies(id).collect::<BTreeSet<_>>(), copies.clone());
            prop_assert_eq!(index.status(id), best.unwrap_or(absent));
            let found = index.lookup(id).map(|at| Status::of_copy(mark(id, at.pack.tag()).bits));
            prop_assert_eq!(found, best);
            prop_assert_eq!(index.status(id).may_deduplicate(), copies.iter().any(|(_, mark)| mark.bits.is_empty()));
            statuses.push(index.status(id));
        }
        prop_assert_eq!(index.statuses(&ids), statuses);
    }
}

#[test]
fn a_lost_copy_is_worse_than_a_flagged_one_and_that_than_a_wanted_one() {
    let all = Bits::FLAGGED | Bits::WANTED | Bits::LOST;
    assert_eq!(Status::of_copy(all), Status::Lost);
    assert_eq!(Status::of_copy(all.without(Bits::LOST)), Status::Flagged);
    assert_eq!(Status::of_copy(Bits::WANTED), Status::Wanted);
    assert_eq!(Status::of_copy(Bits::NONE), Status::Present);
}

#[test]
fn blocks_and_packs_go_with_their_last_entry() {
    let one = pack(1, PackKind::Data, &[vec![1], vec![2, 3]]);
    let two = pack(2, PackKind::Data, &[vec![4]]);
    let segment = segment(&[one.clone(), two]).unwrap();
    let kept = merge(DOMAIN, RANDOM, &[&segment], |entry| entry.id == id(3)).unwrap().unwrap();
    let kept = Segment::parse(kept.bytes).unwrap();
    assert_eq!((kept.pack_count(), kept.block_count(), kept.len()), (1, 1, 1));
    assert_eq!(kept.find(&id(3)).next().map(|at| (at.pack, at.ordinal)), Some((one.id, 1)));
    assert_eq!(merge(DOMAIN, RANDOM, &[&kept], |_| false), Ok(None));
}

#[test]
fn domains_are_never_mixed() {
    let other = DomainId([9; 16]);
    let part = segment(&[pack(1, PackKind::Data, &[vec![1]])]).unwrap();
    let mixed = SegmentLimit::Domain { expected: other, found: DOMAIN };
    assert_eq!(merge(other, RANDOM, &[&part], |_| true), Err(mixed.clone()));
    let pack = pack(1, PackKind::Data, &[vec![1]]);
    assert_eq!(SegmentWriter::new(other, RANDOM).add_pack(pack.id, Place::Packs, &pack.table), Err(mixed));
    assert!(Index::new(other, vec![part], Overlay::default()).is_err());
}

#[test]
fn what_parsing_is_too_quick_to_notice_verifying_does() {
    let data = pack(1, PackKind::Data, &[vec![1, 2], vec![3]]);
    let tree = pack(2, PackKind::Tree, &[vec![4]]);
    let bytes = written(&[data, tree]).unwrap().bytes;
    let (blocks, entries) = (64 + 2 * 52, (64 + 2 * 52 + 3 * 16_usize).next_multiple_of(32));
    assert_eq!(Segment::parse(&bytes).unwrap().verify(), Ok(()));
    let cases = [
        ("packs in disorder", 64, 0xff),
        ("length of a pack", 64 + 36, 1),
        ("length of a header", 64 + 43, 1),
        ("length of a table", 64 + 47, 1),
        ("kind", 64 + 48, 2),
        ("place", 64 + 49, 2),
        ("zeros of a pack", 64 + 50, 1),
        ("a block's pack", blocks + 1, 1),
        ("a block's offset", blocks + 4, 0xff),
        ("a block in the header", blocks + 4, 1),
        ("a block's length", blocks + 11, 1),
        ("a block's items", blocks + 12, 0),
        ("entries in disorder", entries, 0xff),
        ("an entry's block", entries + 25, 1),
        ("an entry's height", entries + 30, 32),
        ("an entry's flags", entries + 31, 2),
    ];
    for (case, at, value) in cases {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        assert!(Segment::parse(bytes).unwrap().verify().is_err(), "{case}");
    }
}

#[test]
fn blocks_end_before_the_table_and_the_trailer_of_their_pack() {
    let pack = pack(1, PackKind::Data, &[vec![1, 2], vec![3]]);
    let bytes = written(std::slice::from_ref(&pack)).unwrap().bytes;
    let with_length = |length: u64| {
        let mut bytes = bytes.clone();
        bytes[64 + 32..64 + 40].copy_from_slice(&length.to_le_bytes());
        Segment::parse(bytes).unwrap().verify()
    };
    let length = pack.bytes.len() as u64;
    assert_eq!(with_length(length), Ok(()));
    for missing in [1, 31, 32, length] {
        assert!(with_length(length - missing).is_err(), "{missing} bytes less");
    }
}

#[test]
fn a_segment_whose_numbers_do_not_fit_its_length_is_refused() {
    let bytes = written(&[pack(1, PackKind::Data, &[vec![1, 2], vec![3]])]).unwrap().bytes;
    for (at, value) in [(0, 0), (40, 3), (44, 4), (48, 4), (55, 1), (56, 1), (64 + 52 + 2 * 16, 1)] {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        assert!(Segment::parse(bytes).is_err(), "byte {at}");
    }
    for length in 0..bytes.len() {
        assert!(Segment::parse(&bytes[..length]).is_err(), "cut at {length}");
    }
}
