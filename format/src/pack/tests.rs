use proptest::prelude::*;

use super::*;
use crate::id::{ChunkId, DomainId, ObjectHash};
use crate::limits::{
    BLOCK_BYTES, BLOCK_ENTRIES, HEIGHT, PACK_HEADER_BYTES, PACK_SESSIONS, SESSION_BLOCKS, SESSION_RECORD_BYTES,
};

const DOMAIN: DomainId = DomainId([7; 16]);

fn id(byte: u8) -> ChunkId {
    ChunkId([byte; 24])
}

fn writer(kind: PackKind) -> PackWriter {
    PackWriter::new(kind, DOMAIN, [8; 16], vec![b"session one".to_vec(), b"two".to_vec()]).unwrap()
}

/// Two blocks with one and two chunks.
fn data_pack() -> Pack {
    let mut writer = writer(PackKind::Data);
    writer.add_block(b"first block", 0, 5, [id(1)], []).unwrap();
    writer.add_block(b"second", 1, 6, [id(2), id(3)], []).unwrap();
    writer.finish()
}

fn pages() -> [PageRow; 3] {
    [
        PageRow { replaces: None, height: 1, references: vec![id(1), id(2)] },
        PageRow { replaces: Some(id(9)), height: 1, references: Vec::new() },
        PageRow { replaces: None, height: 2, references: vec![id(11)] },
    ]
}

/// Two blocks with two pages and one.
fn tree_pack() -> Pack {
    let mut writer = writer(PackKind::Tree);
    let [a, b, c] = pages();
    writer.add_block(b"leaves", 0, 0, [id(11), id(12)], [a.view(), b.view()]).unwrap();
    writer.add_block(b"top", 0, 1, [id(13)], [c.view()]).unwrap();
    writer.finish()
}

fn refused(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    match parse(bytes) {
        Err(PackError::Malformed { part, source }) => Some((part, source.what)),
        Err(PackError::Length(_)) => Some(("pack", "length")),
        Ok(_) => None,
    }
}

/// The pack with bytes replaced.
fn changed(pack: &Pack, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut changed = pack.bytes.clone();
    changed[at..at + bytes.len()].copy_from_slice(bytes);
    changed
}

fn table_start(pack: &Pack) -> usize {
    pack.bytes.len() - TRAILER_BYTES - pack.table.table_length() as usize
}

#[test]
fn a_pack_is_named_by_its_bytes_and_its_table_reads_back() {
    for pack in [data_pack(), tree_pack()] {
        assert_eq!(pack.id.0, ObjectHash::of(&pack.bytes).0);
        assert_eq!(parse(&pack.bytes), Ok(pack.table.clone()));
        assert_eq!(pack.table.pack_length(), pack.bytes.len() as u64);
    }
}

#[test]
fn a_writer_knows_how_long_its_pack_will_be() {
    let mut writer = writer(PackKind::Tree);
    assert!(writer.is_empty());
    let [a, ..] = pages();
    writer.add_block(&[1; 100], 0, 0, [id(1)], [a.view()]).unwrap();
    let length = writer.len();
    assert_eq!(writer.finish().bytes.len(), length);
}

#[test]
fn blocks_lie_where_the_table_says_with_the_ids_they_were_added_with() {
    let Pack { bytes, table, .. } = data_pack();
    let stored = |at: usize| {
        let block = &table.blocks[at];
        &bytes[block.offset as usize..][..block.length as usize]
    };
    assert_eq!((stored(0), stored(1)), (&b"first block"[..], &b"second"[..]));
    assert_eq!(table.block_ids(&table.blocks[1]), [id(2), id(3)]);
    assert_eq!(table.block_of(0), Some(&table.blocks[0]));
    assert_eq!(table.block_of(2), Some(&table.blocks[1]));
    assert_eq!(table.block_of(3), None);
}

#[test]
fn pages_are_told_with_height_references_and_what_they_replace() {
    let table = tree_pack().table;
    let expected = pages();
    assert!(table.pages.iter().eq(expected.iter().map(PageRow::view)));
    assert_eq!(table.page(2), Some(expected[2].view()));
    assert_eq!(table.page(3), None);
    assert_eq!(table.height(2), 2);
    assert_eq!(data_pack().table.height(0), 0);
}

#[test]
fn a_host_needs_no_more_than_trailer_table_and_header() {
    let Pack { bytes, table, .. } = tree_pack();
    let (rest, last) = bytes.split_last_chunk::<TRAILER_BYTES>().unwrap();
    let trailer = Trailer::parse(last, bytes.len() as u64).unwrap();
    let range = |range: core::ops::Range<u64>| &rest[range.start as usize..range.end as usize];
    assert_eq!(parse_table(&trailer, range(trailer.header_range()), range(trailer.table_range())), Ok(table));
}

#[test]
fn a_refused_block_leaves_the_pack_as_it_was() {
    let mut writer = writer(PackKind::Tree);
    let [a, b, c] = pages();
    writer.add_block(b"leaves", 0, 0, [id(11), id(12)], [a.view(), b.view()]).unwrap();
    assert!(writer.add_block(b"x", 0, 1, [id(13), id(14)], [a.view()]).is_err());
    assert!(writer.add_block(b"x", 9, 1, [id(13)], [a.view()]).is_err());
    writer.add_block(b"top", 0, 1, [id(13)], [c.view()]).unwrap();
    assert_eq!(writer.finish(), tree_pack());
}

#[test]
fn what_no_reader_takes_is_not_written() {
    let data = |stored: &[u8], session, counter, entries: u32| {
        let ids = (0..entries).map(|_| id(1));
        writer(PackKind::Data).add_block(stored, session, counter, ids, []).unwrap_err()
    };
    let page = |height, references| {
        let row = PageRow { replaces: None, height, references: vec![id(1); references] };
        writer(PackKind::Tree).add_block(b"x", 0, 0, [id(1)], [row.view()])
    };
    assert_eq!(data(b"", 0, 0, 1), PackLimit::BlockBytes(0));
    assert_eq!(data(&vec![0; BLOCK_BYTES as usize + 1], 0, 0, 1), PackLimit::BlockBytes(BLOCK_BYTES as usize + 1));
    assert_eq!(data(b"x", 0, 0, 0), PackLimit::BlockEntries(0));
    assert_eq!(data(b"x", 0, 0, BLOCK_ENTRIES + 1), PackLimit::BlockEntries(BLOCK_ENTRIES as usize + 1));
    assert_eq!(data(b"x", 2, 0, 1), PackLimit::Session(2));
    assert_eq!(data(b"x", 0, SESSION_BLOCKS, 1), PackLimit::Counter(SESSION_BLOCKS));
    assert_eq!(page(0, 0), Err(PackLimit::Page { height: 0, references: 0 }));
    assert_eq!(page(HEIGHT + 1, 2), Err(PackLimit::Page { height: HEIGHT + 1, references: 2 }));
    assert!(page(HEIGHT, 2).is_ok());
}

#[test]
fn session_records_are_bounded_in_number_and_length() {
    let new = |sessions| PackWriter::new(PackKind::Data, DOMAIN, [0; 16], sessions).map(|_| ());
    assert_eq!(new(Vec::new()), Err(PackLimit::Sessions(0)));
    assert_eq!(new(vec![Vec::new(); 65]), Err(PackLimit::Sessions(usize::from(PACK_SESSIONS) + 1)));
    let long = SESSION_RECORD_BYTES + 1;
    assert_eq!(new(vec![vec![0; long]]), Err(PackLimit::SessionRecord(long)));
}

#[test]
fn a_full_pack_takes_no_more_blocks() {
    let mut writer = writer(PackKind::Data);
    let block = vec![0; BLOCK_BYTES as usize];
    for counter in 0..7 {
        writer.add_block(&block, 0, counter, [id(1)], []).unwrap();
    }
    let full = PackLimit::Full { bytes: block.len(), entries: 1 };
    assert_eq!(writer.add_block(&block, 0, 7, [id(1)], []), Err(full));
}

#[test]
fn rows_that_do_not_tile_the_pack_are_refused() {
    let pack = data_pack();
    let row = table_start(&pack);
    let [first, second] = [&pack.table.blocks[0], &pack.table.blocks[1]];
    let offset = |at: usize, value: u32| changed(&pack, row + 24 * at, &value.to_le_bytes());
    let length = |at: usize, value: u32| changed(&pack, row + 24 * at + 4, &value.to_le_bytes());
    let gap = "a block does not start where the one before ends";
    let long = "a block has a length that no block of this pack can have";
    assert_eq!(refused(&offset(0, first.offset - 1)), Some(("table", gap)), "overlaps the header");
    assert_eq!(refused(&offset(0, first.offset + 1)), Some(("table", gap)), "gap after the header");
    assert_eq!(refused(&offset(1, second.offset - 1)), Some(("table", gap)), "overlap");
    assert_eq!(refused(&offset(1, second.offset + 1)), Some(("table", gap)), "gap");
    assert_eq!(refused(&length(0, first.length + 1)), Some(("table", gap)), "longer than to the next block");
    assert_eq!(refused(&length(0, 0)), Some(("table", long)), "empty");
    assert_eq!(refused(&length(1, second.length + 1)), Some(("table", long)), "reaches into the table");
    assert_eq!(refused(&length(1, u32::MAX)), Some(("table", long)), "beyond the pack");
    let short = "the last block does not end where the table starts";
    assert_eq!(refused(&length(1, second.length - 1)), Some(("table", short)), "gap before the table");
}

#[test]
fn rows_with_other_impossible_values_are_refused() {
    let pack = data_pack();
    let row = table_start(&pack) + 24;
    let count = "a block has a number of entries that no block of this pack can have";
    let cases: [(usize, &[u8], &str); 6] = [
        (8, &[2, 0], "a block's session has no record"),
        (10, &[1, 0], "reserved bytes are not zero"),
        (12, &[0; 4], count),
        (12, &[3, 0, 0, 0], count),
        (12, &[1, 0, 0, 0], "the blocks' entries are fewer than the trailer says"),
        (16, &SESSION_BLOCKS.to_le_bytes(), "a block's counter exceeds what one session may seal"),
    ];
    for (at, bytes, what) in cases {
        assert_eq!(refused(&changed(&pack, row + at, bytes)), Some(("table", what)));
    }
}

#[test]
fn pages_with_impossible_values_are_refused() {
    let pack = tree_pack();
    let page = table_start(&pack) + 2 * 24;
    let cases: [(usize, &[u8], &str); 6] = [
        (48, &[0], "a page's height is not 1 to 31"),
        (48, &[32], "a page's height is not 1 to 31"),
        (49, &[1], "reserved bytes are not zero"),
        (52, &[4, 0, 0, 0], "a page has more references than allowed"),
        (52, &[0xff; 4], "a page has more references than allowed"),
        (52, &[1, 0, 0, 0], "the pages' references are fewer than the trailer says"),
    ];
    for (at, bytes, what) in cases {
        assert_eq!(refused(&changed(&pack, page + at, bytes)), Some(("table", what)), "{bytes:?} at {at}");
    }
}

#[test]
fn trailers_with_impossible_numbers_are_refused() {
    let pack = data_pack();
    let trailer = pack.bytes.len() - TRAILER_BYTES;
    let length = "the table's length does not fit the numbers";
    let cases: [(usize, &[u8], &str); 10] = [
        (0, &[0; 4], "a number of blocks that no pack has"),
        (0, &[3, 0, 0, 0], length),
        (4, &[1, 0, 0, 0], "a number of entries that no pack has"),
        (4, &[4, 0, 0, 0], length),
        (4, &[0xff; 4], "a number of entries that no pack has"),
        (8, &[1, 0, 0, 0], length),
        (16, &[0xff, 0xff, 0, 0], "header and table leave no room for blocks"),
        (16, &[0xff; 4], "a header longer than that of any pack"),
        (20, &[1], "reserved bytes are not zero"),
        (31, b"x", "the bytes do not end as a pack does"),
    ];
    for (at, bytes, what) in cases {
        assert_eq!(refused(&changed(&pack, trailer + at, bytes)), Some(("trailer", what)), "{bytes:?} at {at}");
    }
}

#[test]
fn a_header_longer_than_that_of_any_pack_is_refused_before_it_is_fetched() {
    let longest = vec![vec![1; SESSION_RECORD_BYTES]; usize::from(PACK_SESSIONS)];
    let mut writer = PackWriter::new(PackKind::Data, DOMAIN, [8; 16], longest).unwrap();
    writer.add_block(b"block", 0, 5, [id(1)], []).unwrap();
    assert_eq!(writer.clear_length(), PACK_HEADER_BYTES as u64 + 48);
    let pack = writer.finish();
    assert_eq!(parse(&pack.bytes), Ok(pack.table));
    let mut last: [u8; TRAILER_BYTES] = *pack.bytes.last_chunk().unwrap();
    last[16..20].copy_from_slice(&(PACK_HEADER_BYTES as u32 + 1).to_le_bytes());
    let refused = Trailer::parse(&last, 64 << 20);
    assert!(matches!(refused, Err(PackError::Malformed { part: "trailer", .. })), "{refused:?}");
}

#[test]
fn headers_with_impossible_values_are_refused() {
    let pack = data_pack();
    let sessions = "a number of sessions that no pack has";
    let cases: [(usize, &[u8], &str); 8] = [
        (0, b"c", "not a Copal pack"),
        (8, &[2], "a version of packs this program does not know"),
        (9, &[1], "the table's length does not fit the pack's kind"),
        (9, &[2], "a kind of packs this program does not know"),
        (10, &[0, 0], sessions),
        (10, &[65, 0], sessions),
        (12, &[1], "header and trailer disagree on the header's length"),
        (48, &[0xff; 4], "a session record is longer than allowed"),
    ];
    for (at, bytes, what) in cases {
        assert_eq!(refused(&changed(&pack, at, bytes)), Some(("header", what)), "{bytes:?} at {at}");
    }
}

#[test]
fn a_pack_that_lost_or_gained_bytes_is_refused() {
    for pack in [data_pack(), tree_pack()] {
        for length in 0..pack.bytes.len() {
            assert!(parse(&pack.bytes[..length]).is_err(), "cut at {length}");
        }
        let mut long = pack.bytes[..60].to_vec();
        long.extend_from_slice(&pack.bytes[59..]);
        assert!(parse(&long).is_err());
    }
}

/// What a block of the model holds: bytes, and for each entry a height and references.
type Block = (Vec<u8>, Vec<(u8, Vec<u8>)>);

fn blocks() -> impl Strategy<Value = Vec<Block>> {
    let page = (1..=HEIGHT, prop::collection::vec(any::<u8>(), 0..5));
    let block = (prop::collection::vec(any::<u8>(), 1..40), prop::collection::vec(page, 1..5));
    prop::collection::vec(block, 1..6)
}

fn written(kind: PackKind, blocks: &[Block]) -> Pack {
    let mut writer = writer(kind);
    for (counter, (stored, entries)) in blocks.iter().enumerate() {
        let ids = entries.iter().map(|(height, _)| id(*height));
        let row = |(height, references): &(u8, Vec<u8>)| PageRow {
            replaces: (*height != 1).then_some(id(*height)),
            height: *height,
            references: references.iter().map(|byte| id(*byte)).collect(),
        };
        let rows: Vec<PageRow> = entries.iter().map(row).collect();
        let rows = if kind == PackKind::Data { &[] } else { &rows[..] };
        writer.add_block(stored, 1, counter as u64, ids, rows.iter().map(PageRow::view)).unwrap();
    }
    writer.finish()
}

proptest! {
    #[test]
    fn every_table_that_is_written_reads_back(blocks in blocks(), tree: bool) {
        let kind = if tree { PackKind::Tree } else { PackKind::Data };
        let pack = written(kind, &blocks);
        prop_assert_eq!(parse(&pack.bytes), Ok(pack.table));
    }

    #[test]
    fn a_damaged_pack_gives_a_table_that_still_fits_it_or_an_error(
        blocks in blocks(), tree: bool, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let kind = if tree { PackKind::Tree } else { PackKind::Data };
        let mut bytes = written(kind, &blocks).bytes;
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(table) = parse(&bytes) {
            prop_assert_eq!(table.pack_length(), bytes.len() as u64);
            prop_assert_eq!(table.pages.len(), if table.kind == PackKind::Tree { table.ids.len() } else { 0 });
            prop_assert_eq!(table.blocks.last().unwrap().entries.end as usize, table.ids.len());
        }
    }

    #[test]
    fn any_bytes_give_a_table_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300), length: u64) {
        let _ = parse(&bytes);
        if let Ok(trailer) = Trailer::parse(&bytes, length) {
            let _ = parse_table(&trailer, &bytes, &bytes);
        }
    }
}
