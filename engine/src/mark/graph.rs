//! Graph: the ids of a domain and the references of its pages, as numbers in scratch storage. An id takes a few bits, a
//! reference four bytes, a page twelve. The ids themselves stay in the segments.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use super::bits::{Bits, Ranked};
use super::merged::{InventoryLimit, MOST, Merged, Placed};
use super::shuffle::{Position, Shuffle, Sought};
use copal_format::id::ChunkId;
use copal_format::index::Segment;
use copal_format::limits;
use copal_format::pack::{PackTable, PageView};
use copal_format::room::{List, Scratch};

/// The ids of a domain, numbered in ascending order, and the references between them.
pub struct Graph<'a, B> {
    pub(super) scratch: &'a dyn Scratch,
    merged: Merged<B>,
    /// The positions of entries at which another id begins.
    starts: Ranked,
    /// For each id, whether a copy of it is a page.
    pub(super) is_page: Bits,
    /// For each id, whether it is a page with known references.
    pub(super) is_read: Bits,
    /// For each height, the records of pages: the page's number, or [`NONE`] if the domain lacks it; the number of the
    /// pack whose table lists it; its number of references; these, as numbers of ids. Numbers above those of ids stand
    /// for absent ids. If copies of a page disagree, each has a record, and all are followed.
    pub(super) levels: Vec<List<u32>>,
    absent: BTreeMap<ChunkId, u32>,
    absent_ids: Vec<ChunkId>,
    /// Ids of pages, then ids of references, whose numbers are not looked up yet.
    sought: [Shuffle; 2],
}

impl<'a, B: AsRef<[u8]>> Graph<'a, B> {
    /// Numbers the ids of these segments.
    pub fn new(segments: Vec<Segment<B>>, scratch: &'a dyn Scratch) -> Result<Self, InventoryLimit> {
        let most: usize = segments.iter().map(Segment::len).sum();
        let mut starts = Bits::new(scratch, most);
        // One bit for each entry, although there may be fewer ids.
        let mut is_page = Bits::new(scratch, most);
        let (mut before, mut ids) = (None, 0);
        let merged = Merged::new(segments, scratch, |Placed { place, entry, .. }| {
            if before != Some(entry.id) {
                before = Some(entry.id);
                starts.set(place);
                ids += 1;
            }
            if entry.is_page {
                is_page.set(ids - 1);
            }
        })?;
        Ok(Self {
            scratch,
            merged,
            starts: Ranked::new(scratch, starts),
            is_read: Bits::new(scratch, ids as usize),
            is_page,
            levels: (0..=limits::HEIGHT).map(|_| List::default()).collect(),
            absent: BTreeMap::new(),
            absent_ids: Vec::new(),
            sought: [Shuffle::new(ids), Shuffle::new(ids)],
        })
    }

    /// Adds the pages of a pack's table; `pack` is the caller's number for the pack. Ignores pages without a copy. If
    /// copies claim different references (a client lied in a table), all are followed: a lie can only keep more.
    pub fn add_table(&mut self, pack: u32, table: &PackTable) -> Result<(), InventoryLimit> {
        for (at, id) in table.ids.iter().enumerate() {
            let Some(page) = table.page(at) else { continue };
            self.add_page(pack, id, page)?;
        }
        Ok(())
    }

    /// Adds the references of one page.
    pub fn add_page(&mut self, pack: u32, id: &ChunkId, page: PageView<'_>) -> Result<(), InventoryLimit> {
        let PageView { height, references, .. } = page;
        let height = height.min(limits::HEIGHT);
        let level = &mut self.levels[usize::from(height)];
        let place = Position::new(height, level.len()).ok_or(InventoryLimit { what: "references" })?;
        level.push(self.scratch, NONE);
        level.push(self.scratch, pack);
        level.push(self.scratch, references.len() as u32);
        references.iter().for_each(|_| level.push(self.scratch, NONE));
        let [pages, of_pages] = &mut self.sought;
        pages.push(self.scratch, Sought { id: *id, place });
        for (reference, number) in references.iter().zip(1..) {
            of_pages.push(self.scratch, Sought { id: *reference, place: place.of_reference(number) });
        }
        Ok(())
    }

    /// Looks up the numbers of everything added. Only then can references be followed.
    pub fn finish(&mut self) -> Result<(), InventoryLimit> {
        let [pages, references] = std::mem::take(&mut self.sought);
        for slice in pages.slices() {
            for (Sought { place, .. }, number) in self.numbers(slice) {
                if number != NONE && self.is_page.has(number) {
                    self.is_read.set(number);
                    self.levels[place.level()].set(place.start(), number);
                }
            }
        }
        for slice in references.slices() {
            for (Sought { id, place }, number) in self.numbers(slice) {
                let is_needed = self.levels[place.level()].get(place.start()) != NONE;
                let number = if number == NONE && is_needed { self.absent(&id)? } else { number };
                self.levels[place.level()].set(place.start() + HEAD - 1 + place.reference(), number);
            }
        }
        Ok(())
    }

    /// Looks up the numbers of ids in ascending order, so that consecutive lookups touch nearby memory.
    fn numbers(&self, mut sought: Vec<Sought>) -> Vec<(Sought, u32)> {
        sought.sort_unstable_by_key(|sought| sought.id);
        let ids: Vec<ChunkId> = sought.iter().map(|sought| sought.id).collect();
        let places = self.merged.places_of(&ids).into_iter();
        let numbers = places.map(|place| place.map_or(NONE, |place| self.starts.rank(place)));
        sought.into_iter().zip(numbers).collect()
    }

    fn absent(&mut self, id: &ChunkId) -> Result<u32, InventoryLimit> {
        if let Some(number) = self.absent.get(id) {
            return Ok(*number);
        }
        let number = self.count().checked_add(self.absent_ids.len() as u32).filter(|number| *number < MOST);
        let number = number.ok_or(InventoryLimit { what: "ids" })?;
        self.absent.insert(*id, number);
        self.absent_ids.push(*id);
        Ok(number)
    }

    /// The number of ids.
    pub fn count(&self) -> u32 {
        self.starts.count()
    }

    /// The number of an id.
    pub fn number(&self, id: &ChunkId) -> Option<u32> {
        let place = self.merged.place_of(id)?;
        self.starts.has(place).then(|| self.starts.rank(place))
    }

    /// The id of a number.
    pub fn id(&self, number: u32) -> Option<ChunkId> {
        Some(self.merged.walk(self.starts.select(number)?).next()?.entry.id)
    }

    /// Whether an id is a page.
    pub fn is_page(&self, id: u32) -> bool {
        self.is_page.has(id)
    }

    /// Ids without a copy to which any page refers, ascending.
    pub fn absent_ids(&self) -> impl Iterator<Item = &ChunkId> + '_ {
        self.absent.keys()
    }

    /// The packs whose tables list a present page with a reference to an absent id that passes `is_meant`.
    pub fn packs_lacking(&self, is_meant: impl Fn(&ChunkId) -> bool) -> BTreeSet<u32> {
        let mut meant = Bits::new(self.scratch, self.absent_ids.len());
        (0..).zip(&self.absent_ids).filter(|(_, id)| is_meant(id)).for_each(|(number, _)| meant.set(number));
        if meant.iter().next().is_none() {
            return BTreeSet::new();
        }
        let is_meant = |number: u32| number.checked_sub(self.count()).is_some_and(|number| meant.has(number));
        let records = self.levels.iter().flat_map(|level| records(level).map(move |record| (level, record)));
        let lacking = records.filter(|(level, (_, references))| references.clone().any(|at| is_meant(level.get(at))));
        lacking.map(|(level, (_, references))| level.get(references.start - HEAD + 1)).collect()
    }

    /// The id behind a reference to an absent id.
    pub(super) fn absent_id(&self, number: usize) -> Option<&ChunkId> {
        self.absent_ids.get(number)
    }

    pub(super) fn absent_count(&self) -> usize {
        self.absent_ids.len()
    }

    /// The scratch storage for data as large as the domain.
    pub fn scratch(&self) -> &'a dyn Scratch {
        self.scratch
    }

    pub(super) fn merged(&self) -> &Merged<B> {
        &self.merged
    }

    pub(super) fn starts(&self) -> &Ranked {
        &self.starts
    }
}

/// Stands for "no id".
pub(super) const NONE: u32 = u32::MAX;
/// The number of words in a page's record before its references.
pub(super) const HEAD: usize = 3;

/// The present pages of one height, with the positions of their references.
pub(super) fn records(level: &List<u32>) -> impl Iterator<Item = (u32, Range<usize>)> + '_ {
    let mut at = 0;
    let all = core::iter::from_fn(move || {
        let start = Some(at).filter(|start| *start < level.len())?;
        let first = start + HEAD;
        at = first + level.get(first - 1) as usize;
        Some((level.get(start), first..at))
    });
    all.filter(|(page, _)| *page != NONE)
}
