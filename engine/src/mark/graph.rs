//! Graph: the ids of a domain and what its pages refer to, as numbers. An id costs a bit, a reference four bytes, a page
//! twelve; the ids themselves stay in the segments.

use std::collections::BTreeMap;

use super::bits::{Bits, Ranked};
use super::merged::{InventoryLimit, MOST, Merged, Placed};
use crate::id::ChunkId;
use crate::index::Segment;
use crate::pack::PackTable;

/// The ids of a domain, numbered in ascending order, and the references between them.
#[derive(Clone, Debug)]
pub struct Graph<B> {
    merged: Merged<B>,
    /// The places where another id begins.
    starts: Ranked,
    /// Whether a copy is a page, by id.
    is_page: Bits,
    /// Whether the references of a page are known, by id.
    is_read: Bits,
    /// Ascending by id; several of one id where its copies disagree: then all are followed.
    pages: Vec<Page>,
    /// Numbers of ids; those from the number of ids on stand for ids that the domain does not have.
    references: Vec<u32>,
    absent: BTreeMap<ChunkId, u32>,
    absent_ids: Vec<ChunkId>,
    is_sorted: bool,
}

/// A page's references.
#[derive(Copy, Clone, Debug)]
struct Page {
    id: u32,
    start: u32,
    count: u32,
}

impl<B: AsRef<[u8]>> Graph<B> {
    /// The ids of these segments.
    pub fn new(segments: Vec<Segment<B>>) -> Result<Self, InventoryLimit> {
        let most: usize = segments.iter().map(Segment::len).sum();
        let mut starts = Bits::new(most);
        // One bit for each place, though there may be fewer ids.
        let mut is_page = Bits::new(most);
        let (mut before, mut ids) = (None, 0);
        let merged = Merged::new(segments, |Placed { place, entry, .. }| {
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
            merged,
            starts: Ranked::new(starts),
            is_read: Bits::new(ids as usize),
            // Most pages have one copy, and most ids one page that refers to them.
            pages: Vec::with_capacity(is_page.count() as usize),
            references: Vec::with_capacity(ids as usize),
            is_page,
            absent: BTreeMap::new(),
            absent_ids: Vec::new(),
            is_sorted: true,
        })
    }

    /// Takes what a table says of the pages it holds; of pages that have no copy in the index, nothing. Copies that claim
    /// different references (a client of the domain lied in a table) are all followed: a lie can only keep more.
    pub fn add_table(&mut self, table: &PackTable) -> Result<(), InventoryLimit> {
        for (at, id) in table.ids.iter().enumerate() {
            let Some(page) = table.page(at) else { continue };
            self.add_page(id, page.references)?;
        }
        Ok(())
    }

    /// Takes the references of one page.
    pub fn add_page(&mut self, id: &ChunkId, references: &[ChunkId]) -> Result<(), InventoryLimit> {
        let Some(number) = self.number(id).filter(|&number| self.is_page.has(number)) else { return Ok(()) };
        let start = self.references.len() as u32;
        if references.len() as u64 + u64::from(start) > u64::from(MOST) {
            return Err(InventoryLimit { what: "references" });
        }
        grow(&mut self.references, references.len());
        for reference in references {
            let number = match self.number(reference) {
                Some(number) => number,
                None => self.absent(reference)?,
            };
            self.references.push(number);
        }
        self.is_read.set(number);
        grow(&mut self.pages, 1);
        self.pages.push(Page { id: number, start, count: references.len() as u32 });
        self.is_sorted = false;
        Ok(())
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

    /// Sorts what was taken, so that references can be followed.
    pub fn finish(&mut self) {
        if self.is_sorted {
            return;
        }
        let references = &self.references;
        let of = |page: &Page| &references[page.start as usize..][..page.count as usize];
        self.pages.sort_unstable_by(|a, b| (a.id, of(a)).cmp(&(b.id, of(b))));
        self.pages.dedup_by(|a, b| a.id == b.id && of(a) == of(b));
        self.is_sorted = true;
    }

    /// How many ids there are.
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

    /// What a page refers to, of all its copies; none for what the domain does not have.
    pub fn references_of(&self, id: u32) -> impl Iterator<Item = Option<u32>> + '_ {
        let count = self.count();
        self.numbers_of(id).map(move |number| (number < count).then_some(number))
    }

    fn numbers_of(&self, id: u32) -> impl Iterator<Item = u32> + '_ {
        debug_assert!(self.is_sorted, "references are followed after they were sorted");
        let first = self.pages.partition_point(|page| page.id < id);
        let pages = self.pages[first..].iter().take_while(move |page| page.id == id);
        pages.flat_map(|page| &self.references[page.start as usize..][..page.count as usize]).copied()
    }

    /// Follows references from pages; ids that the domain lacks are gathered in [`Reach::unresolved`].
    pub fn reach(&self, pages: impl IntoIterator<Item = ChunkId>) -> Reach {
        let mut reach = self.nothing();
        let mut open = Vec::new();
        for id in pages {
            match self.number(&id) {
                Some(number) => self.visit(number, &mut reach, &mut open),
                None => reach.unresolved.push(id),
            }
        }
        self.follow(&mut reach, &mut open);
        reach.sorted()
    }

    /// The same from pages that are given by their numbers.
    pub fn reach_from(&self, pages: impl IntoIterator<Item = u32>) -> Reach {
        let mut reach = self.nothing();
        let mut open = Vec::new();
        for number in pages {
            self.visit(number, &mut reach, &mut open);
            // One by one, so that what is open stays little.
            self.follow(&mut reach, &mut open);
        }
        reach.sorted()
    }

    fn nothing(&self) -> Reach {
        Reach { reached: Bits::new(self.count() as usize), unresolved: Vec::new(), unread: Vec::new() }
    }

    fn follow(&self, reach: &mut Reach, open: &mut Vec<u32>) {
        while let Some(page) = open.pop() {
            if !self.is_read.has(page) {
                reach.unread.extend(self.id(page));
            }
            for number in self.numbers_of(page) {
                self.visit(number, reach, open);
            }
        }
    }

    fn visit(&self, number: u32, reach: &mut Reach, open: &mut Vec<u32>) {
        match number.checked_sub(self.count()) {
            Some(absent) => reach.unresolved.extend(self.absent_ids.get(absent as usize)),
            None if reach.reached.has(number) => {}
            None => {
                reach.reached.set(number);
                if self.is_page.has(number) {
                    open.push(number);
                }
            }
        }
    }

    /// The order in which who reads the pages one after another, each with all below it, first meets each id: a place for
    /// each id, the largest for those that are not met.
    pub fn order(&self, pages: impl IntoIterator<Item = ChunkId>) -> Vec<u32> {
        let mut order = vec![u32::MAX; self.count() as usize];
        let mut next = 0;
        for page in pages {
            let mut open: Vec<u32> = self.number(&page).into_iter().collect();
            while let Some(number) = open.pop() {
                if order[number as usize] != u32::MAX {
                    continue;
                }
                order[number as usize] = next;
                next += 1;
                let below: Vec<u32> = self.references_of(number).flatten().collect();
                open.extend(below.into_iter().rev());
            }
        }
        order
    }

    pub(super) fn merged(&self) -> &Merged<B> {
        &self.merged
    }

    pub(super) fn starts(&self) -> &Ranked {
        &self.starts
    }
}

/// Makes room, an eighth at a time: doubling would need three times what is there.
fn grow<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        list.reserve_exact(more.max(list.capacity() / 8));
    }
}

/// What was reached.
#[derive(Clone, Debug)]
pub struct Reach {
    /// One bit for each id.
    pub reached: Bits,
    /// Ids that were referred to and have no copy.
    pub unresolved: Vec<ChunkId>,
    /// Pages that were reached and whose references cannot be read: what lies below them is unknown.
    pub unread: Vec<ChunkId>,
}

impl Reach {
    fn sorted(mut self) -> Self {
        self.unresolved.sort_unstable();
        self.unresolved.dedup();
        self.unread.sort_unstable();
        self
    }
}
