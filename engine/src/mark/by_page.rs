//! By page: numbers grouped by the page they belong to. Used only where a table lies about heights, so that a walk by
//! height misses pages.

use copal_format::room::{Column, Scratch};

use super::bits::Ranked;

/// For each page, some numbers.
pub(super) struct ByPage {
    pages: Ranked,
    /// For each page, by rank, the end of its numbers. They begin where those of the page before end.
    ends: Column<u64>,
    numbers: Column<u64>,
}

impl ByPage {
    /// Groups pairs of a page and a number. `pairs` is called twice and gives the same pairs both times.
    pub(super) fn new<P: Iterator<Item = (u32, u64)>>(
        scratch: &dyn Scratch,
        pages: Ranked,
        pairs: impl Fn() -> P,
    ) -> Self {
        let mut ends: Column<u64> = Column::new(scratch, pages.count() as usize);
        for (page, _) in pairs() {
            let rank = pages.rank(page) as usize;
            ends.set(rank, ends.get(rank) + 1);
        }
        let mut count = 0;
        for rank in 0..ends.len() {
            let of_page = ends.get(rank);
            ends.set(rank, count);
            count += of_page;
        }
        // Each page's end is now its start, and moves up with each of its numbers.
        let mut numbers: Column<u64> = Column::new(scratch, count as usize);
        for (page, number) in pairs() {
            let rank = pages.rank(page) as usize;
            let at = ends.get(rank);
            numbers.set(at as usize, number);
            ends.set(rank, at + 1);
        }
        Self { pages, ends, numbers }
    }

    /// The numbers of a page; none for an id that is not a page.
    pub(super) fn of(&self, page: u32) -> impl Iterator<Item = u64> + '_ {
        let range = if self.pages.has(page) {
            let rank = self.pages.rank(page) as usize;
            let start = rank.checked_sub(1).map_or(0, |before| self.ends.get(before));
            start..self.ends.get(rank)
        } else {
            0..0
        };
        range.map(|at| self.numbers.get(at as usize))
    }
}
