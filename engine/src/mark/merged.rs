//! Merged: the segments of a domain as one sorted list of entries. An entry's place is the number of entries before it.
//! Ids stay in the segments; finding places takes no memory except a few cursors at regular places.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use copal_format::id::ChunkId;
use copal_format::index::{Segment, SegmentEntry};
use copal_format::room::{List, Scratch};

/// A domain has more items than a job can handle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a domain has more than {MOST} {what}")]
pub struct InventoryLimit {
    /// The kind of item.
    pub what: &'static str,
}

/// The segments of a domain, as one sorted list.
#[derive(Debug)]
pub(super) struct Merged<B> {
    segments: Vec<Segment<B>>,
    /// The smallest and largest id of each segment, if any: most segments of a large domain do not cover a given id.
    bounds: Vec<Option<(ChunkId, ChunkId)>>,
    /// The cursors of all segments at every `every`-th place.
    cursors: List<u32>,
    every: u32,
    count: u32,
}

#[derive(Copy, Clone, Debug)]
pub(super) struct Placed {
    pub(super) place: u32,
    pub(super) segment: usize,
    pub(super) entry: SegmentEntry,
}

impl<B: AsRef<[u8]>> Merged<B> {
    /// Joins segments. Calls `visit` with every entry once, in order.
    pub(super) fn new(
        segments: Vec<Segment<B>>,
        scratch: &dyn Scratch,
        mut visit: impl FnMut(Placed),
    ) -> Result<Self, InventoryLimit> {
        let count: usize = segments.iter().map(Segment::len).sum();
        let count = u32::try_from(count).ok().filter(|count| *count < MOST);
        let count = count.ok_or(InventoryLimit { what: "entries" })?;
        // Each stored place takes a cursor per segment, so with many segments fewer places are stored.
        let every = EVERY.saturating_mul((segments.len() / FEW).max(1) as u32);
        let mut cursors = List::default();
        let mut walk = Walk::new(&segments, 0, vec![0; segments.len()]);
        loop {
            if walk.place.is_multiple_of(every) {
                walk.cursors.iter().for_each(|cursor| cursors.push(scratch, *cursor));
            }
            match walk.next() {
                Some(placed) => visit(placed),
                None => break,
            }
        }
        let bounds = segments.iter().map(Segment::bounds).collect();
        Ok(Self { segments, bounds, cursors, every, count })
    }

    pub(super) fn segments(&self) -> &[Segment<B>] {
        &self.segments
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The entries from a place on.
    pub(super) fn walk(&self, from: u32) -> impl Iterator<Item = Placed> + '_ {
        let at = (from / self.every) as usize * self.segments.len();
        let cursors = if at + self.segments.len() <= self.cursors.len() {
            (at..at + self.segments.len()).map(|at| self.cursors.get(at)).collect()
        } else {
            // No entry follows the last stored place.
            self.segments.iter().map(|segment| segment.len() as u32).collect()
        };
        Walk::new(&self.segments, from / self.every * self.every, cursors).skip((from % self.every) as usize)
    }

    /// The place of an id's first entry; none if no segment has the id.
    pub(super) fn place_of(&self, id: &ChunkId) -> Option<u32> {
        let mut is_there = false;
        let mut place = 0;
        for (segment, bounds) in self.segments.iter().zip(&self.bounds) {
            match bounds {
                Some((_, last)) if id > last => place += segment.len() as u32,
                Some((first, _)) if id >= first => {
                    let at = segment.lower_bound(id);
                    place += at as u32;
                    is_there |= segment.id_at(at) == Some(*id);
                }
                _ => {}
            }
        }
        is_there.then_some(place)
    }

    /// Like [`Merged::place_of`], for many ids in ascending order.
    pub(super) fn places_of(&self, ids: &[ChunkId]) -> Vec<Option<u32>> {
        let (mut places, mut is_there) = (vec![0; ids.len()], vec![false; ids.len()]);
        // For the first id after the end of each segment, the number of entries in those segments.
        let mut behind = vec![0; ids.len() + 1];
        for (segment, bounds) in self.segments.iter().zip(&self.bounds) {
            let Some((first, last)) = bounds else { continue };
            let start = ids.partition_point(|id| id < first);
            let end = ids.partition_point(|id| id <= last).max(start);
            segment.lower_bounds(&ids[start..end], |at, position| {
                places[start + at] += position as u32;
                is_there[start + at] |= segment.id_at(position) == Some(ids[start + at]);
            });
            behind[end] += segment.len() as u32;
        }
        let mut before = 0;
        for (place, behind) in places.iter_mut().zip(behind) {
            before += behind;
            *place += before;
        }
        places.into_iter().zip(is_there).map(|(place, is_there)| is_there.then_some(place)).collect()
    }
}

struct Walk<'a, B> {
    segments: &'a [Segment<B>],
    cursors: Vec<u32>,
    place: u32,
    heads: BinaryHeap<Reverse<(ChunkId, usize)>>,
}

impl<'a, B: AsRef<[u8]>> Walk<'a, B> {
    fn new(segments: &'a [Segment<B>], place: u32, cursors: Vec<u32>) -> Self {
        let heads = segments.iter().enumerate().zip(&cursors);
        let heads = heads.filter_map(|((at, segment), cursor)| Some(Reverse((segment.id_at(*cursor as usize)?, at))));
        Self { segments, place, heads: heads.collect(), cursors }
    }
}

impl<B: AsRef<[u8]>> Iterator for Walk<'_, B> {
    type Item = Placed;

    fn next(&mut self) -> Option<Placed> {
        let Reverse((_, at)) = *self.heads.peek()?;
        let (segment, cursor) = (&self.segments[at], &mut self.cursors[at]);
        let entry = segment.entry_at(*cursor as usize)?;
        *cursor += 1;
        match segment.id_at(*cursor as usize) {
            Some(id) => *self.heads.peek_mut()? = Reverse((id, at)),
            None => drop(self.heads.pop()),
        }
        let place = self.place;
        self.place += 1;
        Some(Placed { place, segment: at, entry })
    }
}

/// The most entries of a domain, and references of its pages, that a job can handle.
pub(super) const MOST: u32 = u32::MAX - 1;
/// The distance in places between stored cursors, for up to `FEW` segments.
const EVERY: u32 = 256;
const FEW: usize = 16;
