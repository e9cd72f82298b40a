//! Ranged: looks up many ids in a segment of which only byte ranges are read, as from an object store.
//!
//! In each round, the search asks for ranges around the expected positions of ids, the host reads them, and the search
//! narrows each position. Two rounds settle nearly all ids. The bytes read are checked: what no segment can contain is
//! an error. An altered id is not noticed: it makes an entry seem absent.

use core::ops::Range;

use super::rows::{
    BLOCK_ROW, ENTRY, Front, HEADER, Location, PACK_ROW, PAGE, RawEntry, SegmentBlock, SegmentPack, block_row, locate,
    pack_row,
};
use super::search::Records;
use super::segment::SegmentError;
use crate::id::{ChunkId, DomainId};
use crate::state::SegmentRecord;
use crate::wire::DecodeError;

/// A segment's header, checked against the segment's record in the state.
#[derive(Clone, Debug)]
pub struct SegmentHead {
    pub(super) front: Front,
    bounds: (ChunkId, ChunkId),
}

impl SegmentHead {
    /// The range of the header.
    pub const BYTES: Range<u64> = 0..HEADER as u64;

    /// Parses the header.
    pub fn parse(bytes: &[u8], record: &SegmentRecord) -> Result<Self, SegmentError> {
        let front = Front::parse(bytes)?;
        if front.entries != record.entries || front.length() != record.length {
            return Err(DecodeError::new(48, "a segment's numbers are not those that the state has of it").into());
        }
        Ok(Self { front, bounds: (record.first, record.last) })
    }

    /// Parses the header of a segment that no state has a record of. `length` is the segment's, in bytes.
    pub fn alone(bytes: &[u8], length: u64) -> Result<Self, SegmentError> {
        let front = Front::parse(bytes)?;
        if front.length() != length {
            return Err(DecodeError::new(40, "a segment's length does not fit its numbers").into());
        }
        Ok(Self { front, bounds: (ChunkId([0; ChunkId::LEN]), ChunkId([0xff; ChunkId::LEN])) })
    }

    /// The domain of all entries.
    pub fn domain(&self) -> DomainId {
        self.front.domain
    }

    /// The range of a block's row; none if there is no such block.
    pub fn block_range(&self, at: u32) -> Option<Range<u64>> {
        let start = self.front.blocks_start() + u64::from(at) * BLOCK_ROW as u64;
        (at < self.front.blocks).then_some(start..start + BLOCK_ROW as u64)
    }

    /// The number of entries.
    pub fn entry_count(&self) -> u64 {
        self.front.entries
    }

    /// The range of an entry; none if there is no such entry.
    pub fn entry_range(&self, at: u64) -> Option<Range<u64>> {
        (at < self.front.entries).then(|| {
            let start = self.front.entries_start() + at * ENTRY as u64;
            start..start + ENTRY as u64
        })
    }

    /// Parses an entry: its id and content; none if its flags are invalid.
    pub fn entry(bytes: &[u8]) -> Option<(ChunkId, FoundEntry)> {
        let raw = RawEntry::read(bytes.first_chunk()?);
        raw.has_sound_flags().then(|| (raw.id, raw.into()))
    }

    /// The number of packs that the segment refers to.
    pub fn pack_count(&self) -> u32 {
        self.front.packs
    }

    /// The range of a pack's row; none if there is no such pack.
    pub fn pack_range(&self, at: u32) -> Option<Range<u64>> {
        let start = HEADER as u64 + u64::from(at) * PACK_ROW as u64;
        (at < self.front.packs).then_some(start..start + PACK_ROW as u64)
    }

    /// Parses the row of a block.
    pub fn block(row: &[u8]) -> Option<SegmentBlock> {
        row.first_chunk::<BLOCK_ROW>().map(|row| block_row(row))
    }

    /// Parses rows of packs. Skips packs of unknown kind or place.
    pub fn packs(rows: &[u8]) -> impl Iterator<Item = SegmentPack> + '_ {
        rows.chunks_exact(PACK_ROW).filter_map(Self::pack)
    }

    /// Parses the row of a pack; none if its kind or place is unknown.
    pub fn pack(row: &[u8]) -> Option<SegmentPack> {
        pack_row(row.first_chunk()?)
    }
}

/// An entry found by its id.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct FoundEntry {
    /// The block's position among the segment's blocks.
    pub block: u32,
    /// The item's position in the block.
    pub ordinal: u16,
    /// The page's height; 0 for a chunk.
    pub height: u8,
}

impl FoundEntry {
    /// The place of the copy, in this block of this pack.
    pub fn locate(&self, pack: &SegmentPack, block: &SegmentBlock) -> Location {
        let flags = if self.height == 0 { 0 } else { PAGE | u16::from(self.height) };
        locate(pack, block, self.ordinal, flags)
    }
}

impl From<RawEntry> for FoundEntry {
    fn from(raw: RawEntry) -> Self {
        Self { block: raw.block, ordinal: raw.ordinal, height: raw.flags as u8 }
    }
}

/// How many copies of each id are sought.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The first.
    First,
    /// All.
    All,
}

/// A search for many ids among the entries of one segment.
#[derive(Debug)]
pub struct EntrySearch<'i> {
    shelf: Shelf,
    ids: &'i [ChunkId],
    wanted: Wanted,
    open: Vec<Open>,
    /// The ranges of the current round, as positions of entries, and which `open` ids are expected in each.
    pieces: Vec<(Range<u64>, Range<usize>)>,
    rounds: u32,
    found: Vec<(usize, RawEntry)>,
    steps: Steps,
}

/// Sizes of reads, in bytes.
#[derive(Copy, Clone, Debug)]
pub(super) struct Steps {
    /// The smallest and largest window around an expected position. With few ids, windows are wide, to save a round.
    pub(super) least: u64,
    pub(super) most: u64,
    /// The total size of a round's windows, apart from `least`.
    pub(super) round: u64,
    /// The largest gap between two windows that are read together: another request takes longer than these bytes.
    pub(super) gap: u64,
    /// The longest range.
    pub(super) piece: u64,
}

impl Steps {
    const STORE: Self = Self { least: 4 << 10, most: 512 << 10, round: 4 << 20, gap: 32 << 10, piece: 1 << 20 };
}

/// Where the entries are in the segment.
#[derive(Copy, Clone, Debug)]
struct Shelf {
    start: u64,
    count: u64,
    /// The number of blocks: entries name blocks below it.
    blocks: u32,
}

/// An id whose position is not settled. All entries before `low` are less than the id; none from `high` on is.
#[derive(Clone, Debug)]
struct Open {
    at: usize,
    low: Anchor,
    high: Anchor,
    window: Range<u64>,
    /// Whether the id was found, and `low` is where more of its copies may follow.
    is_found: bool,
    is_settled: bool,
}

/// The position of an entry, and the first 8 bytes of its id as a number.
#[derive(Copy, Clone, Debug)]
struct Anchor {
    place: u64,
    head: u64,
}

impl<'i> EntrySearch<'i> {
    /// Starts a search for ids, in ascending order.
    pub fn new(head: &SegmentHead, ids: &'i [ChunkId], wanted: Wanted) -> Self {
        let front = &head.front;
        let shelf = Shelf { start: front.entries_start(), count: front.entries, blocks: front.blocks };
        let (first, last) = head.bounds;
        let within = ids.partition_point(|id| *id < first)..ids.partition_point(|id| *id <= last);
        let low = Anchor { place: 0, head: head_of(&first) };
        let high = Anchor { place: shelf.count, head: head_of(&last) };
        let within = if shelf.count == 0 || within.start >= within.end { 0..0 } else { within };
        let open = |at| Open { at, low, high, window: 0..0, is_found: false, is_settled: false };
        let (pieces, found, steps) = (Vec::new(), Vec::new(), Steps::STORE);
        Self { shelf, ids, wanted, open: within.map(open).collect(), pieces, rounds: 0, found, steps }
    }

    #[cfg(test)]
    pub(super) fn in_steps(self, steps: Steps) -> Self {
        Self { steps, ..self }
    }

    /// The byte ranges to read next; none once every id is settled. Pass each to [`EntrySearch::take`], by its index.
    pub fn next_round(&mut self) -> Vec<Range<u64>> {
        self.open.retain(|open| !open.is_settled);
        let Steps { least, most, round, gap, piece } = self.steps;
        let records = |bytes: u64| bytes / ENTRY as u64;
        let width = records(round / self.open.len().max(1) as u64).clamp(records(least), records(most));
        for open in &mut self.open {
            let target = head_of(&self.ids[open.at]);
            open.window = match open.is_found {
                true => open.low.place..(open.low.place + records(most)).min(self.shelf.count),
                false => open.expected(target, self.rounds < GUESSES, width, self.shelf.count),
            };
        }
        self.rounds += 1;
        self.open.sort_by_key(|open| (open.window.start, open.window.end));
        self.pieces.clear();
        let (gap, longest) = (records(gap), records(piece));
        for (at, Open { window, .. }) in self.open.iter().enumerate() {
            match self.pieces.last_mut() {
                Some((places, of))
                    if window.start <= places.end + gap && window.end.max(places.end) - places.start <= longest =>
                {
                    *places = places.start..window.end.max(places.end);
                    of.end = at + 1;
                }
                _ => self.pieces.push((window.clone(), at..at + 1)),
            }
        }
        let bytes = |place: u64| self.shelf.start + place * ENTRY as u64;
        self.pieces.iter().map(|(places, _)| bytes(places.start)..bytes(places.end)).collect()
    }

    /// Takes the bytes of one range of the round; fails if the entries in them are invalid or not in order.
    pub fn take(&mut self, piece: usize, bytes: &[u8]) -> Result<(), DecodeError> {
        let (places, of) = self.pieces[piece].clone();
        let offset = self.shelf.start as usize + places.start as usize * ENTRY;
        let error = |at: usize, what| DecodeError::new(offset + at * ENTRY, what);
        if bytes.len() as u64 != (places.end - places.start) * ENTRY as u64 {
            return Err(error(0, "a part has another length than was asked for"));
        }
        let mut read: Vec<RawEntry> = Vec::with_capacity(bytes.len() / ENTRY);
        for (at, bytes) in bytes.chunks_exact(ENTRY).enumerate() {
            let record = self.shelf.read(bytes).map_err(|what| error(at, what))?;
            if read.last().is_some_and(|before| before.place() >= record.place()) {
                return Err(error(at, "a part of the index does not ascend"));
            }
            read.push(record);
        }
        let records = Records::new(bytes, ENTRY);
        for open in &mut self.open[of.clone()] {
            let id = self.ids[open.at];
            let from =
                open.narrow(&id, &records, &places).map_err(|at| error(at, "a part of the index does not ascend"))?;
            let Some(from) = from else { continue };
            open.is_found = true;
            let copies = read[from..].iter().take_while(|record| record.id == id);
            let copies = copies.take(if self.wanted == Wanted::First { 1 } else { usize::MAX });
            let before = self.found.len();
            self.found.extend(copies.map(|record| (open.at, *record)));
            let end = places.start + (from + self.found.len() - before) as u64;
            // More copies may follow after this range.
            let is_cut = self.wanted == Wanted::All && end == places.end && end < self.shelf.count;
            open.is_settled = !is_cut;
            open.low.place = end;
            open.high.place = end;
        }
        for open in &mut self.open[of] {
            open.is_settled |= open.low.place == self.shelf.count;
        }
        Ok(())
    }

    /// The results in ascending order of their positions in `ids`; copies of one id keep their order.
    pub fn finish(mut self) -> Vec<(usize, FoundEntry)> {
        // Ranges may have been taken in any order, but copies of one id were taken in order, and this sort is stable.
        self.found.sort_by_key(|(at, _)| *at);
        let found = self.found.into_iter();
        found.map(|(at, raw)| (at, raw.into())).collect()
    }
}

impl Shelf {
    /// Parses an entry; fails if it is invalid.
    fn read(&self, bytes: &[u8]) -> Result<RawEntry, &'static str> {
        let raw = RawEntry::read(bytes.first_chunk().ok_or("an entry is missing")?);
        if raw.block >= self.blocks {
            return Err("an entry's block does not exist");
        }
        if !raw.has_sound_flags() {
            return Err("an entry's flags cannot be");
        }
        Ok(raw)
    }
}

impl Open {
    /// Where to look next: at least one position.
    fn expected(&self, target: u64, may_guess: bool, most: u64, count: u64) -> Range<u64> {
        let (low, high) = (self.low.place, self.high.place);
        let end = |end: u64| end.min(high + 1).min(count);
        if low == high {
            return low..end(low + 1);
        }
        let span = (high - low) as f64;
        let share = if may_guess {
            let of = |head: u64| head.saturating_sub(self.low.head) as f64;
            (of(target) / of(self.high.head).max(1.0)).clamp(0.0, 1.0)
        } else {
            0.5
        };
        // If ids are evenly spread, the id's position is the guess plus or minus three standard deviations.
        let guess = (low + (span * share) as u64).min(count - 1);
        let spread = (3.0 * (span * share * (1.0 - share)).sqrt()) as u64 + 16;
        let spread = if may_guess { spread.min(most / 2) } else { most / 2 };
        guess.saturating_sub(spread).max(low)..end(guess + spread + 1)
    }

    /// Narrows the position by the entries of a range. Returns the index of the first entry not less than the id, once
    /// no earlier entry can be one. Fails, with an index, if the range contradicts earlier ones.
    fn narrow(&mut self, id: &ChunkId, records: &Records<'_>, places: &Range<u64>) -> Result<Option<usize>, usize> {
        let at = records.lower_bound(id.as_bytes(), 0);
        let place = places.start + at as u64;
        if self.is_found {
            // More copies, if any, start here.
            let at = self.low.place.checked_sub(places.start).ok_or(0_usize)?;
            return Ok(Some(at as usize));
        }
        if place > self.high.place || place < self.low.place {
            return Err(at);
        }
        if at == 0 && places.start > self.low.place {
            self.high = Anchor { place, head: records.head(0) };
            return Ok(None);
        }
        if at == records.len() {
            self.low = Anchor { place, head: records.head(at - 1) };
            return Ok(None);
        }
        Ok(Some(at))
    }
}

fn head_of(id: &ChunkId) -> u64 {
    super::search::head_of(id.as_bytes())
}

/// In this many rounds, positions are guessed from evenly spread ids. After that the search halves its range.
const GUESSES: u32 = 6;
