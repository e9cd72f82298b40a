//! Merged: the segments of a domain as one sorted list of entries. An entry is known by its place: how many come before
//! it. Ids stay where they are, in the segments; a place costs no memory but that of a few cursors now and then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::id::ChunkId;
use crate::index::{Segment, SegmentEntry};
use crate::room::{List, Scratch};

/// More entries than one run of a job takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a domain has more than {MOST} {what}")]
pub struct InventoryLimit {
    /// Of what there are too many.
    pub what: &'static str,
}

/// The segments of a domain as one sorted list.
#[derive(Debug)]
pub(super) struct Merged<B> {
    segments: Vec<Segment<B>>,
    /// The least and the greatest id of each, if it has any: most segments of a large domain do not cover an id.
    bounds: Vec<Option<(ChunkId, ChunkId)>>,
    /// The cursors of all segments at every so many places.
    cursors: List<u32>,
    every: u32,
    count: u32,
}

/// An entry of the list.
#[derive(Copy, Clone, Debug)]
pub(super) struct Placed {
    pub(super) place: u32,
    /// Its segment.
    pub(super) segment: usize,
    pub(super) entry: SegmentEntry,
}

impl<B: AsRef<[u8]>> Merged<B> {
    /// Joins segments; `visit` gets every entry once, in order.
    pub(super) fn new(
        segments: Vec<Segment<B>>,
        scratch: &dyn Scratch,
        mut visit: impl FnMut(Placed),
    ) -> Result<Self, InventoryLimit> {
        let count: usize = segments.iter().map(Segment::len).sum();
        let count = u32::try_from(count).ok().filter(|count| *count < MOST);
        let count = count.ok_or(InventoryLimit { what: "entries" })?;
        // The more segments there are, the more a place takes.
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
            // Behind the last place there is nothing.
            self.segments.iter().map(|segment| segment.len() as u32).collect()
        };
        Walk::new(&self.segments, from / self.every * self.every, cursors).skip((from % self.every) as usize)
    }

    /// The place of the first entry of an id; none if no segment has it.
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

    /// The same of many ids, which ascend.
    pub(super) fn places_of(&self, ids: &[ChunkId]) -> Vec<Option<u32>> {
        let (mut places, mut is_there) = (vec![0; ids.len()], vec![false; ids.len()]);
        // Entries of segments that end before an id, counted where the first such id is.
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

/// Entries of a domain, and references of its pages, that a job takes.
pub(super) const MOST: u32 = u32::MAX - 1;
/// Places between cursors, for so few segments.
const EVERY: u32 = 256;
const FEW: usize = 16;
