//! Lookup: finds the copies of a chunk or page by searching segment files (`docs/format.md` §8).
//!
//! Only a bounded number of pieces of the files is in memory, however large the index is.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::rc::Rc;

use copal_format::id::{ChunkId, DomainId, PackId};
use copal_format::index::Location;
use copal_format::layout::Place;
use copal_format::limits::SEGMENT_ENTRIES;

use crate::directory::{Object, read_range};

/// The bytes of a segment.
pub(crate) enum Source {
    File(Object),
    Memory(Vec<u8>),
}

/// The segments of one domain.
#[derive(Default)]
pub(crate) struct Lookup {
    segments: Vec<Segment>,
    pieces: HashMap<(usize, u64), Rc<[u8]>>,
    /// Cached pieces, oldest first.
    order: VecDeque<(usize, u64)>,
}

struct Segment {
    source: Source,
    length: u64,
    packs: u32,
    blocks: u32,
    entries: u64,
    /// The first 8 bytes of the least and the greatest id.
    bounds: (u64, u64),
}

impl Lookup {
    pub(crate) fn add(&mut self, domain: DomainId, source: Source) -> io::Result<()> {
        let length = match &source {
            Source::File(file) => file.length,
            Source::Memory(bytes) => bytes.len() as u64,
        };
        self.segments.push(Segment { source, length, packs: 0, blocks: 0, entries: 0, bounds: (0, 0) });
        let added = self.read_head(domain);
        if added.is_err() {
            let at = self.segments.len() - 1;
            self.segments.pop();
            self.forget(at);
        }
        added
    }

    /// All copies of a chunk or page in readable segments, and the error of one that is not readable.
    pub(crate) fn copies(&mut self, id: &ChunkId) -> (Vec<Location>, Option<io::Error>) {
        let (mut copies, mut fault) = (Vec::new(), None);
        for at in 0..self.segments.len() {
            if let Err(error) = self.copies_in(at, id, &mut copies) {
                fault = Some(error);
            }
        }
        (copies, fault)
    }

    fn read_head(&mut self, domain: DomainId) -> io::Result<()> {
        let at = self.segments.len() - 1;
        let head: [u8; HEADER as usize] = self.array(at, 0)?;
        let number = |start: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| head[start + byte]));
        let (packs, blocks) = (number(40), number(44));
        let entries = u64::from(number(48)) | u64::from(number(52)) << 32;
        if &head[..8] != b"COPALIDX" || head[8..24] != domain.0 {
            return Err(invalid("it is no index segment of this domain"));
        }
        let segment = &mut self.segments[at];
        (segment.packs, segment.blocks, segment.entries) = (packs, blocks, entries);
        let fits = entries <= SEGMENT_ENTRIES && u64::from(blocks) <= entries && packs <= blocks;
        if !fits || segment.entries_start() + entries * ENTRY != segment.length {
            return Err(invalid("its length does not fit its numbers"));
        }
        if entries > 0 {
            let bound = |id: [u8; 32]| u64::from_be_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|byte| id[byte]));
            self.segments[at].bounds = (bound(self.entry(at, 0)?), bound(self.entry(at, entries - 1)?));
        }
        Ok(())
    }

    fn copies_in(&mut self, at: usize, id: &ChunkId, copies: &mut Vec<Location>) -> io::Result<()> {
        let entries = self.segments[at].entries;
        let first = self.lower_bound(at, id)?;
        for position in first..entries.min(first + COPIES) {
            let entry = self.entry(at, position)?;
            if entry[..ChunkId::LEN] != id.0 {
                break;
            }
            copies.extend(self.locate(at, &entry)?);
        }
        Ok(())
    }

    /// The first entry whose id is not below this one. Searches from a guess, because ids are evenly distributed.
    fn lower_bound(&mut self, at: usize, id: &ChunkId) -> io::Result<u64> {
        let segment = &self.segments[at];
        let (mut low, mut high) = (0, segment.entries);
        if high == 0 {
            return Ok(0);
        }
        let head = u64::from_be_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|byte| id.0[byte]));
        let (least, most) = segment.bounds;
        let distance = u128::from(head.clamp(least, most.max(least)) - least) * u128::from(high - 1);
        let guess = (distance / u128::from(most.saturating_sub(least).max(1))) as u64;
        let mut step = STEP;
        if self.is_below(at, guess, id)? {
            low = guess + 1;
            while low + step < high {
                if !self.is_below(at, low + step, id)? {
                    high = low + step;
                    break;
                }
                (low, step) = (low + step + 1, 2 * step);
            }
        } else {
            high = guess;
            while low + step < high {
                if self.is_below(at, high - step, id)? {
                    low = high - step + 1;
                    break;
                }
                (high, step) = (high - step, 2 * step);
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.is_below(at, middle, id)? { low = middle + 1 } else { high = middle }
        }
        Ok(low)
    }

    fn is_below(&mut self, at: usize, position: u64, id: &ChunkId) -> io::Result<bool> {
        Ok(self.entry(at, position)?[..ChunkId::LEN] < id.0[..])
    }

    fn entry(&mut self, at: usize, position: u64) -> io::Result<[u8; ENTRY as usize]> {
        self.array(at, self.segments[at].entries_start() + position * ENTRY)
    }

    /// The location in an entry; `None` if it names a row that the segment does not have.
    fn locate(&mut self, at: usize, entry: &[u8; ENTRY as usize]) -> io::Result<Option<Location>> {
        let [.., b0, b1, b2, b3, o0, o1, height, page] = *entry;
        let segment = &self.segments[at];
        let block = u32::from_le_bytes([b0, b1, b2, b3]);
        if block >= segment.blocks {
            return Ok(None);
        }
        let row: [u8; 16] = self.array(at, segment.blocks_start() + u64::from(block) * BLOCK_ROW)?;
        let number = |start: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| row[start + byte]));
        let (pack, offset, length, items) = (number(0), number(4), number(8), number(12));
        if pack >= self.segments[at].packs {
            return Ok(None);
        }
        let row: [u8; 52] = self.array(at, HEADER + u64::from(pack) * PACK_ROW)?;
        let place = match row[49] {
            0 => Place::Packs,
            1 => Place::Moved,
            _ => return Ok(None),
        };
        let [id @ .., l0, l1, l2, l3, l4, l5, l6, l7, _, _, _, _, t0, t1, t2, t3, _, _, _, _] = row;
        Ok(Some(Location {
            pack: PackId(id),
            place,
            pack_length: u64::from_le_bytes([l0, l1, l2, l3, l4, l5, l6, l7]),
            table_length: u32::from_le_bytes([t0, t1, t2, t3]),
            offset,
            length,
            items,
            ordinal: u16::from_le_bytes([o0, o1]),
            height,
            is_page: page & 1 == 1,
        }))
    }

    fn array<const N: usize>(&mut self, at: usize, start: u64) -> io::Result<[u8; N]> {
        let mut out = [0; N];
        let mut filled = 0;
        while filled < N {
            let from = start + filled as u64;
            let piece = self.piece(at, from / PIECE)?;
            let rest = piece.get((from % PIECE) as usize..).filter(|rest| !rest.is_empty());
            let rest = rest.ok_or_else(|| invalid("it is shorter than it should be"))?;
            let length = rest.len().min(N - filled);
            out[filled..filled + length].copy_from_slice(&rest[..length]);
            filled += length;
        }
        Ok(out)
    }

    fn piece(&mut self, at: usize, number: u64) -> io::Result<Rc<[u8]>> {
        if let Some(piece) = self.pieces.get(&(at, number)) {
            return Ok(piece.clone());
        }
        let segment = &self.segments[at];
        let start = (number * PIECE).min(segment.length);
        let range = start..segment.length.min(start + PIECE);
        let piece: Rc<[u8]> = match &segment.source {
            Source::File(file) => read_range(file, range)?.into(),
            Source::Memory(bytes) => bytes[range.start as usize..range.end as usize].into(),
        };
        if self.order.len() >= PIECES
            && let Some(oldest) = self.order.pop_front()
        {
            self.pieces.remove(&oldest);
        }
        self.order.push_back((at, number));
        self.pieces.insert((at, number), piece.clone());
        Ok(piece)
    }

    fn forget(&mut self, at: usize) {
        self.order.retain(|(of, _)| *of != at);
        self.pieces.retain(|(of, _), _| *of != at);
    }
}

impl Segment {
    fn blocks_start(&self) -> u64 {
        HEADER + u64::from(self.packs) * PACK_ROW
    }

    fn entries_start(&self) -> u64 {
        (self.blocks_start() + u64::from(self.blocks) * BLOCK_ROW).next_multiple_of(ENTRY)
    }
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

const HEADER: u64 = 64;
const PACK_ROW: u64 = 52;
const BLOCK_ROW: u64 = 16;
const ENTRY: u64 = 32;
/// Bytes per read, and the number of pieces kept.
const PIECE: u64 = 16 << 10;
const PIECES: usize = 1024;
/// The first step away from the guessed position.
const STEP: u64 = 32;
/// Most copies of one id examined per segment.
const COPIES: u64 = 64;
