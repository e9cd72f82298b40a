//! Reach: follows references. A page refers only to lower ones, so pages are read once, from the highest to the lowest,
//! in the order of their records. This needs no lookups, and only a bit of memory for each id. Only where a table lies
//! about heights are pages followed one by one, with a table of their records.

use super::bits::{Bits, Ranked};
use super::by_page::ByPage;
use super::graph::{Graph, HEAD, records};
use copal_format::id::ChunkId;
use copal_format::room::{Column, List};

/// The result of following references.
#[derive(Debug)]
pub struct Reach {
    /// The set of reached ids.
    pub reached: Bits,
    /// Ids without a copy that were referred to.
    pub unresolved: Vec<ChunkId>,
    /// Reached pages whose references cannot be read: what they refer to is unknown.
    pub unread: Vec<ChunkId>,
}

impl<B: AsRef<[u8]>> Graph<'_, B> {
    /// Follows references from these pages. Ids without a copy go to [`Reach::unresolved`].
    pub fn reach(&self, pages: impl IntoIterator<Item = ChunkId>) -> Reach {
        let mut reached = Bits::new(self.scratch, self.count() as usize);
        let mut unresolved = Vec::new();
        for id in pages {
            match self.number(&id) {
                Some(number) => reached.set(number),
                None => unresolved.push(id),
            }
        }
        self.follow(reached, unresolved)
    }

    /// Like [`Graph::reach`], from pages given by their numbers.
    pub(crate) fn reach_from(&self, pages: impl IntoIterator<Item = u32>) -> Reach {
        let mut reached = Bits::new(self.scratch, self.count() as usize);
        pages.into_iter().for_each(|number| reached.set(number));
        self.follow(reached, Vec::new())
    }

    fn follow(&self, reached: Bits, mut unresolved: Vec<ChunkId>) -> Reach {
        let mut met = Met { ids: self.count(), reached, absent: Bits::new(self.scratch, self.absent_count()) };
        let late = self.follow_down(&mut met);
        if !late.is_empty() {
            self.follow_late(late, &mut met);
        }
        let Met { reached, absent, .. } = met;
        unresolved.extend(absent.iter().filter_map(|number| self.absent_id(number as usize)));
        unresolved.sort_unstable();
        unresolved.dedup();
        let unread = reached.and_without(&self.is_page, &self.is_read).filter_map(|page| self.id(page)).collect();
        Reach { reached, unresolved, unread }
    }

    /// Follows references in one pass, high pages first. Returns the pages that were reached after one of their records
    /// was passed: there are none unless a table lies about heights.
    fn follow_down(&self, met: &mut Met) -> List<u32> {
        let mut passed = Bits::new(self.scratch, self.count() as usize);
        let mut late = List::default();
        for (page, references) in self.levels.iter().rev().flat_map(pages) {
            passed.set(page);
            if !met.reached.has(page) {
                continue;
            }
            for number in references {
                if met.add(number) && passed.has(number) {
                    late.push(self.scratch, number);
                }
            }
        }
        late
    }

    /// Follows pages that were reached too late, and what they lead to, page by page. With another pass for each lie, a
    /// client could make this take hours.
    fn follow_late(&self, mut late: List<u32>, met: &mut Met) {
        let records = ByPage::new(self.scratch, self.ranked_pages(), || self.places());
        let mut next = 0;
        while next < late.len() {
            let page = late.get(next);
            next += 1;
            for number in records.of(page).flat_map(|place| self.references_at(place)) {
                if met.add(number) && self.is_page.has(number) {
                    late.push(self.scratch, number);
                }
            }
        }
    }

    /// The pages, except spared ones, that lead to an id that passes `is_sought`, which gets none for an absent id.
    pub fn above(&self, is_sought: impl Fn(Option<u32>) -> bool, is_spared: impl Fn(u32) -> bool) -> Bits {
        let mut above = Bits::new(self.scratch, self.count() as usize);
        let mut is_any = false;
        self.rise(&mut above, &is_sought, &is_spared, |_| is_any = true);
        // Low pages come first, so a second pass finds nothing more unless a table lies about heights.
        let mut late = List::default();
        if is_any {
            self.rise(&mut above, &is_sought, &is_spared, |page| late.push(self.scratch, page));
        }
        if !late.is_empty() {
            self.rise_late(late, &mut above, is_spared);
        }
        above
    }

    /// Adds pages that lead to a sought id or to a page of `above`, in one pass, low pages first. Tells each to `found`.
    fn rise(
        &self,
        above: &mut Bits,
        is_sought: &impl Fn(Option<u32>) -> bool,
        is_spared: &impl Fn(u32) -> bool,
        mut found: impl FnMut(u32),
    ) {
        for (page, mut references) in self.levels.iter().flat_map(pages) {
            if above.has(page) || is_spared(page) {
                continue;
            }
            let known = |number: u32| (number < self.count()).then_some(number);
            if references.any(|number| is_sought(known(number)) || known(number).is_some_and(|of| above.has(of))) {
                above.set(page);
                found(page);
            }
        }
    }

    /// Adds the pages that lead to these pages of `above`, page by page. All other pages of `above` are done.
    fn rise_late(&self, mut late: List<u32>, above: &mut Bits, is_spared: impl Fn(u32) -> bool) {
        let is_page = &self.is_page;
        let referrers = ByPage::new(self.scratch, self.ranked_pages(), || {
            self.levels.iter().flat_map(pages).flat_map(move |(page, references)| {
                let below = references.filter(move |number| is_page.has(*number));
                below.map(move |number| (number, u64::from(page)))
            })
        });
        let mut next = 0;
        while next < late.len() {
            for page in referrers.of(late.get(next)) {
                let page = page as u32;
                if !above.has(page) && !is_spared(page) {
                    above.set(page);
                    late.push(self.scratch, page);
                }
            }
            next += 1;
        }
    }

    /// The order in which ids are first met when these pages are read one after another, each with everything below it.
    /// Positions count from 1; 0 is for ids that are not met.
    pub fn order(&self, pages: impl IntoIterator<Item = ChunkId>) -> Column<u32> {
        let known = self.ranked_pages();
        // The place of each page's record plus one; 0 if unknown. If a page has several records, any of them will do.
        let mut lies_at: Column<u64> = Column::new(self.scratch, known.count() as usize);
        self.places().for_each(|(page, place)| lies_at.set(known.rank(page) as usize, place + 1));
        let mut order: Column<u32> = Column::new(self.scratch, self.count() as usize);
        let mut next = 0;
        for page in pages {
            let mut open: Vec<u32> = self.number(&page).into_iter().collect();
            while let Some(number) = open.pop() {
                if order.get(number as usize) != 0 {
                    continue;
                }
                next += 1;
                order.set(number as usize, next);
                if !known.has(number) {
                    continue;
                }
                let Some(place) = lies_at.get(known.rank(number) as usize).checked_sub(1) else { continue };
                open.extend(self.references_at(place).rev().filter(|number| *number < self.count()));
            }
        }
        order
    }

    fn ranked_pages(&self) -> Ranked {
        let mut pages = Bits::new(self.scratch, self.count() as usize);
        self.is_page.iter().for_each(|page| pages.set(page));
        Ranked::new(self.scratch, pages)
    }

    /// All present pages, low ones first, each with the place of its record. A page may have several.
    fn places(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let heights = self.levels.len();
        self.levels.iter().enumerate().flat_map(move |(height, level)| {
            let place = move |at: usize| (at * heights + height) as u64;
            records(level).map(move |(page, references)| (page, place(references.start - HEAD)))
        })
    }

    /// The references of the record at a place.
    fn references_at(&self, place: u64) -> impl DoubleEndedIterator<Item = u32> + '_ {
        let (at, height) = (place as usize / self.levels.len(), place as usize % self.levels.len());
        let level = &self.levels[height];
        let first = at + HEAD;
        (first..first + level.get(first - 1) as usize).map(move |at| level.get(at))
    }
}

/// The ids that a walk along references has met so far.
struct Met {
    /// The number of ids. Numbers from this on stand for absent ids.
    ids: u32,
    reached: Bits,
    absent: Bits,
}

impl Met {
    /// Adds what a reference leads to. Returns whether that is a present id that was not reached before.
    fn add(&mut self, number: u32) -> bool {
        if let Some(absent) = number.checked_sub(self.ids) {
            self.absent.set(absent);
            return false;
        }
        let is_new = !self.reached.has(number);
        if is_new {
            self.reached.set(number);
        }
        is_new
    }
}

/// The present pages of one height, with their references, in the order of their records.
fn pages(level: &List<u32>) -> impl Iterator<Item = (u32, impl Iterator<Item = u32> + '_)> + '_ {
    records(level).map(|(page, references)| (page, references.map(|at| level.get(at))))
}
