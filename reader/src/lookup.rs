//! Lookup: finds the copies of a chunk or page by searching segment files (`docs/format.md` §8).
//!
//! Only a bounded number of pieces of the files is in memory, however large the index is.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::ops::Range;
use std::rc::Rc;

use copal_format::id::{ChunkId, DomainId};
use copal_format::index::Location;
use copal_format::index::ranged::SegmentHead;

use crate::directory::{Object, read_range};

/// The bytes of a segment.
pub(crate) enum Source {
    File(Object),
    Memory(Vec<u8>),
}

impl Source {
    fn length(&self) -> u64 {
        match self {
            Self::File(file) => file.length,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    fn read(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        match self {
            Self::File(file) => read_range(file, range),
            Self::Memory(bytes) => {
                let part = bytes.get(range.start as usize..range.end as usize);
                part.map(Vec::from).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
            }
        }
    }
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
    head: SegmentHead,
    /// The first 8 bytes of the least and the greatest id.
    bounds: (u64, u64),
}

impl Lookup {
    pub(crate) fn add(&mut self, domain: DomainId, source: Source) -> io::Result<()> {
        let head = SegmentHead::alone(&source.read(SegmentHead::BYTES)?, source.length());
        let head = head.map_err(|error| invalid(&error.to_string()))?;
        if head.domain() != domain {
            return Err(invalid("it is an index segment of another domain"));
        }
        let bound = |at| match head.entry_range(at) {
            Some(range) => Ok(source.read(range)?.first_chunk().map_or(0, |first| u64::from_be_bytes(*first))),
            None => Ok::<_, io::Error>(0),
        };
        let bounds = (bound(0)?, bound(head.entry_count().saturating_sub(1))?);
        self.segments.push(Segment { source, head, bounds });
        Ok(())
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

    fn copies_in(&mut self, at: usize, id: &ChunkId, copies: &mut Vec<Location>) -> io::Result<()> {
        let first = self.lower_bound(at, id)?;
        for position in first..first + COPIES {
            let Some(range) = self.segments[at].head.entry_range(position) else { break };
            let entry = self.bytes(at, range)?;
            if !entry.starts_with(&id.0) {
                break;
            }
            copies.extend(self.locate(at, &entry)?);
        }
        Ok(())
    }

    /// The first entry whose id is not below this one. Searches from a guess, because ids are evenly distributed.
    fn lower_bound(&mut self, at: usize, id: &ChunkId) -> io::Result<u64> {
        let segment = &self.segments[at];
        let (mut low, mut high) = (0, segment.head.entry_count());
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
        let range = self.segments[at].head.entry_range(position);
        Ok(self.bytes(at, range.unwrap_or_default())?.get(..ChunkId::LEN) < Some(&id.0[..]))
    }

    /// The place that an entry names; `None` if it names a row that the segment does not have.
    fn locate(&mut self, at: usize, entry: &[u8]) -> io::Result<Option<Location>> {
        let Some((_, found)) = SegmentHead::entry(entry) else { return Ok(None) };
        let Some(range) = self.segments[at].head.block_range(found.block) else { return Ok(None) };
        let Some(block) = SegmentHead::block(&self.bytes(at, range)?) else { return Ok(None) };
        let Some(range) = self.segments[at].head.pack_range(block.pack) else { return Ok(None) };
        Ok(SegmentHead::pack(&self.bytes(at, range)?).map(|pack| found.locate(&pack, &block)))
    }

    fn bytes(&mut self, at: usize, range: Range<u64>) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity((range.end - range.start) as usize);
        let mut from = range.start;
        while from < range.end {
            let piece = self.piece(at, from / PIECE)?;
            let part = piece.get((from % PIECE) as usize..).filter(|part| !part.is_empty());
            let part = part.ok_or_else(|| invalid("it is shorter than it should be"))?;
            let part = &part[..part.len().min((range.end - from) as usize)];
            bytes.extend_from_slice(part);
            from += part.len() as u64;
        }
        Ok(bytes)
    }

    fn piece(&mut self, at: usize, number: u64) -> io::Result<Rc<[u8]>> {
        if let Some(piece) = self.pieces.get(&(at, number)) {
            return Ok(piece.clone());
        }
        let source = &self.segments[at].source;
        let start = (number * PIECE).min(source.length());
        let piece: Rc<[u8]> = source.read(start..source.length().min(start + PIECE))?.into();
        if self.order.len() >= PIECES
            && let Some(oldest) = self.order.pop_front()
        {
            self.pieces.remove(&oldest);
        }
        self.order.push_back((at, number));
        self.pieces.insert((at, number), piece.clone());
        Ok(piece)
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Bytes per read, and the number of pieces kept.
const PIECE: u64 = 16 << 10;
const PIECES: usize = 1024;
/// The first step away from the guessed position.
const STEP: u64 = 32;
/// Most copies of one id examined per segment.
const COPIES: u64 = 64;
