//! Reach: follows references. A page refers only to lower ones, so pages are read once, from the highest to the lowest,
//! in the order of their records. This needs no lookups, and only a bit of memory for each id.

use super::bits::{Bits, Ranked};
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

    fn follow(&self, mut reached: Bits, mut unresolved: Vec<ChunkId>) -> Reach {
        let mut absent = Bits::new(self.scratch, self.absent_count());
        let mut is_late = true;
        while is_late {
            is_late = false;
            let mut passed = Bits::new(self.scratch, self.count() as usize);
            for (page, references) in self.levels.iter().rev().flat_map(pages) {
                passed.set(page);
                if !reached.has(page) {
                    continue;
                }
                for number in references {
                    match number.checked_sub(self.count()) {
                        Some(number) => absent.set(number),
                        None if reached.has(number) => {}
                        None => {
                            reached.set(number);
                            // This happens only if a table lies about heights.
                            is_late |= passed.has(number);
                        }
                    }
                }
            }
        }
        unresolved.extend(absent.iter().filter_map(|number| self.absent_id(number as usize)));
        unresolved.sort_unstable();
        unresolved.dedup();
        let unread = reached.and_without(&self.is_page, &self.is_read).filter_map(|page| self.id(page)).collect();
        Reach { reached, unresolved, unread }
    }

    /// The pages, except spared ones, that lead to an id that passes `is_sought`, which gets none for an absent id.
    pub fn above(&self, is_sought: impl Fn(Option<u32>) -> bool, is_spared: impl Fn(u32) -> bool) -> Bits {
        let mut above = Bits::new(self.scratch, self.count() as usize);
        let mut is_late = true;
        // Low pages come first, so one pass is usually enough; another pass confirms it.
        while is_late {
            is_late = false;
            for (page, mut references) in self.levels.iter().flat_map(pages) {
                if above.has(page) || is_spared(page) {
                    continue;
                }
                let known = |number: u32| (number < self.count()).then_some(number);
                if references.any(|number| is_sought(known(number)) || known(number).is_some_and(|of| above.has(of))) {
                    above.set(page);
                    is_late = true;
                }
            }
        }
        above
    }

    /// The order in which ids are first met when these pages are read one after another, each with everything below it.
    /// Positions count from 1; 0 is for ids that are not met.
    pub fn order(&self, pages: impl IntoIterator<Item = ChunkId>) -> Column<u32> {
        let mut is_known = Bits::new(self.scratch, self.count() as usize);
        self.is_page.iter().for_each(|page| is_known.set(page));
        let known = Ranked::new(self.scratch, is_known);
        // The place of each page's record plus one; 0 if unknown. If a page has several records, any of them will do.
        let mut lies_at: Column<u64> = Column::new(self.scratch, known.count() as usize);
        for (height, level) in self.levels.iter().enumerate() {
            for (page, references) in records(level) {
                let at = references.start - HEAD;
                lies_at.set(known.rank(page) as usize, (at * self.levels.len() + height + 1) as u64);
            }
        }
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
                let (at, height) = (place as usize / self.levels.len(), place as usize % self.levels.len());
                let level = &self.levels[height];
                let first = at + HEAD;
                let below = (first..first + level.get(first - 1) as usize).rev().map(|at| level.get(at));
                open.extend(below.filter(|number| *number < self.count()));
            }
        }
        order
    }
}

/// The present pages of one height, with their references, in the order of their records.
fn pages(level: &List<u32>) -> impl Iterator<Item = (u32, impl Iterator<Item = u32> + '_)> + '_ {
    records(level).map(|(page, references)| (page, references.map(|at| level.get(at))))
}
