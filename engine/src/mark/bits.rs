//! Bits: sets of small numbers.

/// A set of small numbers, one bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// An empty set of numbers below `count`.
    pub fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// Whether the number is in the set.
    pub fn has(&self, number: u32) -> bool {
        self.0.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Adds a number.
    pub fn set(&mut self, number: u32) {
        self.0[number as usize / 64] |= 1 << (number % 64);
    }

    /// Takes a number out.
    pub fn unset(&mut self, number: u32) {
        self.0[number as usize / 64] &= !(1 << (number % 64));
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut left = *word;
            core::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(at as u32 * 64 + bit)
            })
        })
    }
}

/// A set that does not change any more, with the places of its numbers among each other.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranked {
    bits: Bits,
    /// How many numbers come before each span of [`SPAN`] words.
    before: Vec<u32>,
    count: u32,
}

impl Ranked {
    pub(super) fn new(bits: Bits) -> Self {
        let mut before = Vec::with_capacity(bits.0.len().div_ceil(SPAN));
        let mut count = 0;
        for span in bits.0.chunks(SPAN) {
            before.push(count);
            count += span.iter().map(|word| word.count_ones()).sum::<u32>();
        }
        Self { bits, before, count }
    }

    /// How many numbers there are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.bits.has(number)
    }

    /// How many of the numbers are below this one.
    pub(super) fn rank(&self, number: u32) -> u32 {
        let word = number as usize / 64;
        let Some(before) = self.before.get(word / SPAN) else { return self.count };
        let words = &self.bits.0[word / SPAN * SPAN..word.min(self.bits.0.len())];
        let whole: u32 = words.iter().map(|word| word.count_ones()).sum();
        let part = self.bits.0.get(word).copied().unwrap_or(0) & ((1 << (number % 64)) - 1);
        before + whole + part.count_ones()
    }

    /// The number of this rank; none if there are not so many.
    pub(super) fn select(&self, rank: u32) -> Option<u32> {
        if rank >= self.count {
            return None;
        }
        let span = self.before.partition_point(|before| *before <= rank) - 1;
        let mut left = rank - self.before[span];
        for (at, word) in self.bits.0[span * SPAN..].iter().enumerate() {
            let ones = word.count_ones();
            if left < ones {
                let mut word = *word;
                (0..left).for_each(|_| word &= word - 1);
                return Some(((span * SPAN + at) * 64) as u32 + word.trailing_zeros());
            }
            left -= ones;
        }
        None
    }
}

const SPAN: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranks_and_selections_agree_with_a_sorted_list(numbers in prop::collection::btree_set(0u32..3000, 0..400)) {
            let mut bits = Bits::new(3000);
            numbers.iter().for_each(|number| bits.set(*number));
            prop_assert_eq!(bits.iter().collect::<BTreeSet<_>>(), numbers.clone());
            let ranked = Ranked::new(bits);
            prop_assert_eq!(ranked.count() as usize, numbers.len());
            for (rank, number) in numbers.iter().enumerate() {
                prop_assert_eq!(ranked.select(rank as u32), Some(*number));
            }
            for number in 0..=3300 {
                prop_assert_eq!(ranked.rank(number) as usize, numbers.range(..number).count());
            }
            prop_assert_eq!(ranked.select(numbers.len() as u32), None);
        }
    }
}
