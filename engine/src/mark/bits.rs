//! Bits: sets of small numbers.

use copal_format::room::{Column, Scratch};

/// A set of small numbers, one bit each.
#[derive(Debug)]
pub struct Bits(Column<u64>);

impl Bits {
    /// An empty set of numbers below `count`.
    pub fn new(scratch: &dyn Scratch, count: usize) -> Self {
        Self(Column::new(scratch, count.div_ceil(64)))
    }

    /// Whether the set has the number.
    pub fn has(&self, number: u32) -> bool {
        self.word(number as usize / 64) >> (number % 64) & 1 == 1
    }

    /// Adds a number.
    pub fn set(&mut self, number: u32) {
        let at = number as usize / 64;
        self.0.set(at, self.0.get(at) | 1 << (number % 64));
    }

    /// Removes a number.
    pub fn unset(&mut self, number: u32) {
        let at = number as usize / 64;
        self.0.set(at, self.0.get(at) & !(1 << (number % 64)));
    }

    /// The size of the set.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        numbers(self.0.iter())
    }

    /// The numbers that are also in `and` but not in `without`, ascending.
    pub fn and_without<'a>(&'a self, and: &'a Bits, without: &'a Bits) -> impl Iterator<Item = u32> + 'a {
        let words = self.0.iter().enumerate();
        numbers(words.map(|(at, word)| word & and.word(at) & !without.word(at)))
    }

    fn word(&self, at: usize) -> u64 {
        if at < self.0.len() { self.0.get(at) } else { 0 }
    }
}

fn numbers(words: impl Iterator<Item = u64>) -> impl Iterator<Item = u32> {
    words.enumerate().flat_map(|(at, word)| {
        let mut left = word;
        core::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros())?;
            left &= left - 1;
            Some(at as u32 * 64 + bit)
        })
    })
}

/// A set that no longer changes, with fast rank and select.
#[derive(Debug)]
pub(super) struct Ranked {
    bits: Bits,
    /// For each span of [`SPAN`] words, how many numbers come before it.
    before: Column<u32>,
    count: u32,
}

impl Ranked {
    pub(super) fn new(scratch: &dyn Scratch, bits: Bits) -> Self {
        let mut before = Column::new(scratch, bits.0.len().div_ceil(SPAN));
        let mut count = 0;
        for (at, word) in bits.0.iter().enumerate() {
            if at % SPAN == 0 {
                before.set(at / SPAN, count);
            }
            count += word.count_ones();
        }
        Self { bits, before, count }
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.bits.has(number)
    }

    /// How many numbers of the set are less than this one.
    pub(super) fn rank(&self, number: u32) -> u32 {
        let word = number as usize / 64;
        if word / SPAN >= self.before.len() {
            return self.count;
        }
        let whole: u32 = (word / SPAN * SPAN..word).map(|at| self.bits.word(at).count_ones()).sum();
        let part = self.bits.word(word) & ((1 << (number % 64)) - 1);
        self.before.get(word / SPAN) + whole + part.count_ones()
    }

    /// The number with this rank; none if the set is not larger than `rank`.
    pub(super) fn select(&self, rank: u32) -> Option<u32> {
        if rank >= self.count {
            return None;
        }
        let span = self.last_span(rank);
        let mut left = rank - self.before.get(span);
        for at in span * SPAN..self.bits.0.len() {
            let mut word = self.bits.word(at);
            let ones = word.count_ones();
            if left < ones {
                (0..left).for_each(|_| word &= word - 1);
                return Some((at * 64) as u32 + word.trailing_zeros());
            }
            left -= ones;
        }
        None
    }

    /// The last span that has at most `rank` numbers before it.
    fn last_span(&self, rank: u32) -> usize {
        let (mut low, mut high) = (0, self.before.len());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            *if self.before.get(middle) <= rank { &mut low } else { &mut high } = middle;
        }
        low
    }
}

const SPAN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use copal_format::room::Memory;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn bits_of(numbers: &BTreeSet<u32>) -> Bits {
        let mut bits = Bits::new(&Memory, 3000);
        numbers.iter().for_each(|number| bits.set(*number));
        bits
    }

    fn some() -> impl Strategy<Value = BTreeSet<u32>> {
        prop::collection::btree_set(0u32..3000, 0..400)
    }

    proptest! {
        #[test]
        fn ranks_and_selections_agree_with_a_sorted_list(numbers in some()) {
            let bits = bits_of(&numbers);
            prop_assert_eq!(bits.iter().collect::<BTreeSet<_>>(), numbers.clone());
            let ranked = Ranked::new(&Memory, bits);
            prop_assert_eq!(ranked.count() as usize, numbers.len());
            for (rank, number) in numbers.iter().enumerate() {
                prop_assert_eq!(ranked.select(rank as u32), Some(*number));
            }
            for number in 0..=3300 {
                prop_assert_eq!(ranked.rank(number) as usize, numbers.range(..number).count());
            }
            prop_assert_eq!(ranked.select(numbers.len() as u32), None);
        }

        #[test]
        fn sets_are_joined_number_by_number(one in some(), other in some(), less in some()) {
            let joined: Vec<u32> = one.intersection(&other).filter(|number| !less.contains(number)).copied().collect();
            let (one, other, less) = (bits_of(&one), bits_of(&other), bits_of(&less));
            prop_assert_eq!(one.and_without(&other, &less).collect::<Vec<_>>(), joined);
        }
    }
}
