//! Shuffle: distributes ids by their first bytes before they are looked up. So ids that are looked up together lie in
//! one part of every segment, however large segments are.

use copal_format::id::ChunkId;
use copal_format::limits;
use copal_format::room::{List, Row, Scratch};

/// An id, and the place where its number is to be stored.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Sought {
    pub(super) id: ChunkId,
    pub(super) place: Position,
}

/// Where a number is to be stored: the height of a page, the start of its record, and whether it is the page's own
/// number or that of one of its references.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Position(u64);

impl Position {
    /// The place of a page's own number; none if `start` is too large to be encoded.
    pub(super) fn new(height: u8, start: usize) -> Option<Self> {
        let start = u64::try_from(start).ok().filter(|start| *start < 1 << START)?;
        Some(Self(start << (HEIGHT + REFERENCE) | u64::from(height)))
    }

    /// The place of one of the page's references, counted from 1.
    pub(super) fn of_reference(self, number: u32) -> Self {
        debug_assert!(number <= limits::PAGE_REFERENCES, "a page has not so many");
        Self(self.0 | u64::from(number) << HEIGHT)
    }

    pub(super) fn level(self) -> usize {
        (self.0 & ((1 << HEIGHT) - 1)) as usize
    }

    pub(super) fn start(self) -> usize {
        (self.0 >> (HEIGHT + REFERENCE)) as usize
    }

    /// The position of the reference; 0 for the page itself.
    pub(super) fn reference(self) -> usize {
        (self.0 >> HEIGHT & ((1 << REFERENCE) - 1)) as usize
    }
}

impl Row for Sought {
    const LEN: usize = ChunkId::LEN + 8;

    fn read(bytes: &[u8]) -> Self {
        let (id, place) = bytes.split_at(ChunkId::LEN);
        Self { id: ChunkId::from_slice(id).unwrap_or(ChunkId([0; ChunkId::LEN])), place: Position(u64::read(place)) }
    }

    fn write(self, bytes: &mut [u8]) {
        bytes[..ChunkId::LEN].copy_from_slice(self.id.as_bytes());
        self.place.0.write(&mut bytes[ChunkId::LEN..]);
    }
}

/// Ids to look up, in parts by their first bytes.
#[derive(Debug, Default)]
pub(super) struct Shuffle {
    parts: Vec<List<Sought>>,
}

impl Shuffle {
    /// Makes parts for a domain of about this many ids.
    pub(super) fn new(ids: u32) -> Self {
        let parts = (ids / PART).clamp(1, PARTS);
        // With many parts, lists too short for a file would take much memory together.
        let part = if parts < 8 { List::default } else { List::long };
        Self { parts: (0..parts).map(|_| part()).collect() }
    }

    pub(super) fn push(&mut self, scratch: &dyn Scratch, sought: Sought) {
        // Ids are evenly spread; if they are not, lookups only take longer.
        let head = sought.id.as_bytes().first_chunk().map_or(0, |head| u64::from(u32::from_be_bytes(*head)));
        let part = (head * self.parts.len() as u64) >> 32;
        self.parts[part as usize].push(scratch, sought);
    }

    /// All ids, a slice at a time. A part's storage is freed with its last slice.
    pub(super) fn slices(self) -> impl Iterator<Item = Vec<Sought>> {
        self.parts.into_iter().flat_map(|part| {
            (0..part.len()).step_by(SLICE).map(move |from| {
                let end = part.len().min(from + SLICE);
                (from..end).map(|at| part.get(at)).collect()
            })
        })
    }
}

/// The bits of a place for height ([`limits::HEIGHT`]) and reference ([`limits::PAGE_REFERENCES`]), then the start.
const HEIGHT: u32 = 5;
const REFERENCE: u32 = 21;
const START: u32 = u64::BITS - HEIGHT - REFERENCE;
/// The approximate number of ids in a part, and the most parts.
const PART: u32 = if cfg!(test) { 8 } else { 1 << 18 };
const PARTS: u32 = 4_096;
/// How many ids are looked up together, at about 120 bytes each.
const SLICE: usize = if cfg!(test) { 16 } else { 1 << 18 };

#[cfg(test)]
mod tests {
    use super::*;
    use copal_format::room::Memory;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn places_tell_height_record_and_reference(
            height in 0..=limits::HEIGHT,
            start in 0usize..1 << START,
            reference in 0..=limits::PAGE_REFERENCES,
        ) {
            let place = Position::new(height, start).unwrap().of_reference(reference);
            prop_assert_eq!((place.level(), place.start(), place.reference()), (height.into(), start, reference as usize));
            prop_assert_eq!(Position::new(height, start + (1 << START)), None);
            prop_assert_eq!(Position::new(height, 1 << START), None);
        }

        #[test]
        fn everything_comes_back_in_parts_that_follow_each_other(ids: Vec<[u8; 24]>, domain in 0u32..200) {
            let mut shuffle = Shuffle::new(domain);
            let sought = |(at, id): (usize, &[u8; 24])| Sought { id: ChunkId(*id), place: Position::new(0, at).unwrap() };
            let all: Vec<Sought> = ids.iter().enumerate().map(sought).collect();
            all.iter().for_each(|sought| shuffle.push(&Memory, *sought));
            let parts: Vec<Vec<Sought>> = shuffle.parts.iter().map(|part| part.iter().collect()).collect();
            for (before, after) in parts.iter().flatten().zip(parts.iter().flatten().skip(1)) {
                let part_of = |sought: &Sought| parts.iter().position(|part| part.contains(sought));
                prop_assert!(part_of(before) == part_of(after) || before.id <= after.id);
            }
            let mut slices: Vec<Sought> = shuffle.slices().inspect(|slice| assert!(slice.len() <= SLICE)).flatten().collect();
            slices.sort_unstable_by_key(|sought| sought.place.start());
            prop_assert_eq!(slices, all);
        }
    }
}
