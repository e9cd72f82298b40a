//! Stored: offsets and lengths in packs, index segments, runs.

use copal_format::id::{ChunkId, DomainId};
use copal_format::index::ranged::SegmentHead;
use copal_format::index::{OverlayRun, Segment, Sequence};
use copal_format::limits::{PACK_BLOCKS, PACK_BYTES, PACK_ENTRIES, SEGMENT_ENTRIES};
use copal_format::pack::{self, TRAILER_BYTES, Trailer};
use copal_format::state::SegmentRecord;

use crate::{Numbers, bytes};

/// Header, blocks, table and trailer of an accepted pack follow each other and fill it.
pub(crate) fn trailers_fit_packs(numbers: &Numbers) {
    let (last, length): ([u8; TRAILER_BYTES], u64) = (bytes(numbers), numbers[4]);
    let Ok(trailer) = Trailer::parse(&last, length) else { return };
    let (header, table) = (trailer.header_range(), trailer.table_range());
    assert!(header.start == 0 && header.end < table.start && table.start < table.end);
    assert!(table.end + TRAILER_BYTES as u64 == length && length <= PACK_BYTES);
    assert!(header.end == trailer.header_length().into() && table.end - table.start == trailer.table_length().into());
    assert!((1..=PACK_BLOCKS).contains(&trailer.blocks()));
    assert!(trailer.blocks() <= trailer.entries() && trailer.entries() <= PACK_ENTRIES);
}

/// Blocks of an accepted table follow each other from the header to the table, and share no entry.
pub(crate) fn tables_fit_packs(numbers: &Numbers) {
    let (header, table) = (header_of_a_pack(), table_of(numbers));
    let mut last = [0; TRAILER_BYTES];
    for (field, number) in last.as_chunks_mut().0.iter_mut().zip([2u32, 3, 0, table.len() as u32, 52]) {
        *field = number.to_le_bytes();
    }
    last[24..].copy_from_slice(b"COPALEND");
    let length = 1000;
    let trailer = Trailer::parse(&last, length).expect("this trailer fits");
    let Ok(table) = pack::parse_table(&trailer, &header, &table) else { return };
    let [one, two] = &table.blocks[..] else { panic!("another number of blocks") };
    assert!(one.offset == 52 && one.length > 0 && two.offset == one.offset + one.length && two.length > 0);
    assert!(u64::from(two.offset + two.length) == trailer.table_range().start && table.pack_length() == length);
    assert!(one.entries.start == 0 && one.entries.end == two.entries.start && two.entries.end == 3);
    assert!((0..3).all(|at| table.block_of(at).is_some_and(|block| block.entries.contains(&(at as u32)))));
    assert!(table.block_ids(one).len() + table.block_ids(two).len() == 3);
}

fn header_of_a_pack() -> Vec<u8> {
    let mut header = b"COPALPAK\x01\x00\x01\x00".to_vec();
    header.extend_from_slice(&52u32.to_le_bytes());
    header.resize(52, 0);
    header
}

/// Two blocks of which others choose every field, and three chunks.
fn table_of(numbers: &Numbers) -> Vec<u8> {
    let mut table = bytes::<48>(numbers).to_vec();
    table.resize(48 + 3 * ChunkId::LEN, 1);
    table
}

/// In an accepted segment, rows of packs, rows of blocks and entries follow each other, and fill it (`docs/format.md` §8).
pub(crate) fn segment_parts_follow_each_other(numbers: &Numbers) {
    let (head, record) = segment(numbers);
    let [packs, blocks] = [numbers[0] as u32, (numbers[0] >> 32) as u32];
    let Ok(head) = SegmentHead::parse(&head, &record) else { return };
    assert!(packs <= blocks && u64::from(blocks) <= record.entries && record.entries <= SEGMENT_ENTRIES);
    let blocks_start = 64 + 52 * u64::from(packs);
    let entries_start = (blocks_start + 16 * u64::from(blocks)).next_multiple_of(32);
    assert!(record.length == entries_start + 32 * record.entries);
    let at = numbers[3] as u32;
    let row = |start: u64, width: u64| start + width * u64::from(at)..start + width * u64::from(at) + width;
    assert!(head.pack_range(at) == (at < packs).then(|| row(64, 52)));
    assert!(head.block_range(at) == (at < blocks).then(|| row(blocks_start, 16)));
}

/// A segment's bytes are read from its start to its end, and never beyond.
pub(crate) fn segment_reads_stay_inside(numbers: &Numbers) {
    let (head, record) = segment(numbers);
    let Ok(head) = SegmentHead::parse(&head, &record) else { return };
    let sequence = Sequence::new(&head);
    let wanted = sequence.wanted(numbers[3]);
    assert!(wanted.start == 0 && wanted.end <= record.length);
    assert!(wanted.end == record.length || (wanted.end - Sequence::dictionary_bytes(&record)) / 32 == numbers[3]);
    assert!(sequence.left() == record.entries && sequence.is_read() == (record.length == 0));
}

/// The header of a segment, and its record in the state, of which others choose every number.
fn segment(numbers: &Numbers) -> ([u8; 64], SegmentRecord) {
    let mut head = [0; 64];
    head[..8].copy_from_slice(b"COPALIDX");
    head[40..56].copy_from_slice(&bytes::<16>(numbers));
    let (first, last) = (ChunkId([0; 24]), ChunkId([0xff; 24]));
    (head, SegmentRecord { entries: numbers[1], length: numbers[2], first, last })
}

/// No slot of a segment is read behind the last one.
pub(crate) fn segment_slots_are_bounded([at, ..]: &Numbers) {
    let segment = Segment::parse(segment_of_one(0)).expect("it has the right length");
    let at = *at as u32;
    assert!(segment.pack(at).is_some() == (at == 0) && segment.block(at).is_some() == (at == 0));
    assert!(segment.blocks_of(at) == if at == 0 { 0..1 } else { 1..1 });
    assert!(segment.entry_at(at as usize).is_some() == (at == 0));
}

/// An entry leads to its block and pack, and nowhere if it names others than there are.
pub(crate) fn segment_rows_lead_nowhere_else([entry, block, ..]: &Numbers) {
    let mut stored = segment_of_one(*entry);
    stored[116..124].copy_from_slice(&block.to_le_bytes());
    let segment = Segment::parse(stored).expect("it has the right length");
    let found = segment.find(&ChunkId([0; 24])).next();
    assert!(found.is_some() == (*entry as u32 == 0 && *block as u32 == 0));
    assert!(found.is_none_or(|place| place.offset == (block >> 32) as u32));
}

/// A segment of one pack, one block and one entry with these fields.
fn segment_of_one(entry: u64) -> [u8; 192] {
    let mut stored = [0; 192];
    stored[..8].copy_from_slice(b"COPALIDX");
    (stored[40], stored[44], stored[48]) = (1, 1, 1);
    stored[184..].copy_from_slice(&entry.to_le_bytes());
    stored
}

/// A run of the overlay has exactly the length that its number of marks says.
pub(crate) fn overlays_have_their_length(numbers: &Numbers) {
    let Ok(run) = OverlayRun::parse(overlay(numbers[0], &[0; 96])) else { return };
    assert!(numbers[0] == 2 && run.len() == 2);
}

/// A run of the overlay with this number of marks in its header.
fn overlay(marks: u64, content: &[u8]) -> Vec<u8> {
    let mut run = b"COPALRUN\x06".to_vec();
    run.resize(8 + 8 + DomainId::LEN + 16, 0);
    run.extend_from_slice(&marks.to_le_bytes());
    run.extend_from_slice(content);
    run
}
