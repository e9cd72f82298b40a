//! Searches sorted fixed-width records with evenly spread keys: about two probes and a short gallop.

/// Records of equal width, sorted by the key at their start.
#[derive(Copy, Clone, Debug)]
pub(super) struct Records<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl<'a> Records<'a> {
    /// Takes whole records; `width` is at least 8 bytes.
    pub(super) fn new(bytes: &'a [u8], width: usize) -> Self {
        Self { bytes, width }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    pub(super) fn get(&self, at: usize) -> Option<&'a [u8]> {
        let start = at.checked_mul(self.width)?;
        self.bytes.get(start..start.checked_add(self.width)?)
    }

    /// The position of the first record from `from` on whose key is not less than `key`; `key` is at most as long as a
    /// record. If records are out of order, the result is arbitrary, but the search still ends.
    pub(super) fn lower_bound(&self, key: &[u8], from: usize) -> usize {
        let mut search = Search { records: *self, key, low: from.min(self.len()), high: self.len() };
        let Some(mut guess) = search.guess_from_ends() else { return search.low };
        for _ in 0..2 {
            if search.is_done() {
                return search.low;
            }
            let at = search.probe(guess.at);
            guess = guess.refined(self.head(at), at);
        }
        search.gallop(guess.at, 4);
        search.halve();
        search.low
    }

    /// The first 8 bytes of a record's key as a number, which orders as keys do.
    pub(super) fn head(&self, at: usize) -> u64 {
        self.get(at).map_or(0, head_of)
    }
}

pub(super) fn head_of(key: &[u8]) -> u64 {
    let mut head = [0; 8];
    let length = key.len().min(8);
    head[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(head)
}

/// Searches for ascending keys. Expects each key as far after the previous one as if keys were evenly spread.
pub(super) struct Ascending<'a> {
    records: Records<'a>,
    from: usize,
    head: u64,
    slope: f64,
}

impl<'a> Ascending<'a> {
    pub(super) fn new(records: Records<'a>) -> Self {
        let last = records.len().saturating_sub(1);
        let (least, most) = (records.head(0), records.head(last));
        Self { records, from: 0, head: least, slope: last as f64 / most.saturating_sub(least).max(1) as f64 }
    }

    /// Like [`Records::lower_bound`], for a key not less than the previous one.
    pub(super) fn lower_bound(&mut self, key: &[u8]) -> usize {
        let ahead = self.ahead(key);
        let mut search = Search { records: self.records, key, low: self.from, high: self.records.len() };
        let mut guess = Guess { target: head_of(key), at: self.from as f64 + ahead, slope: self.slope };
        // The error of a distance grows with its square root.
        let mut scatter = ahead.sqrt();
        if ahead > FAR && !search.is_done() {
            let at = search.probe(guess.at);
            guess = guess.refined(self.records.head(at), at);
            scatter = scatter.sqrt();
        }
        search.gallop(guess.at, (scatter as usize).max(2));
        search.halve();
        (self.from, self.head) = (search.low, head_of(key));
        search.low
    }

    /// Touches the first probes of the next searches all at once, so that their memory accesses overlap.
    pub(super) fn touch<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) {
        for key in keys {
            let at = (self.from as f64 + self.ahead(key)) as usize;
            core::hint::black_box(self.records.get(at).map(|record| record[0]));
        }
    }

    fn ahead(&self, key: &[u8]) -> f64 {
        head_of(key).saturating_sub(self.head) as f64 * self.slope
    }
}

/// Where a key is expected. Only a guess: the result does not depend on it.
struct Guess {
    target: u64,
    at: f64,
    slope: f64,
}

impl Guess {
    /// The guess after a probe at `at` found a key that starts with `head`.
    fn refined(self, head: u64, at: usize) -> Self {
        let distance = if self.target >= head { (self.target - head) as f64 } else { -((head - self.target) as f64) };
        Self { at: at as f64 + distance * self.slope, ..self }
    }
}

/// All records before `low` are less than the key; none from `high` on is.
struct Search<'a> {
    records: Records<'a>,
    key: &'a [u8],
    low: usize,
    high: usize,
}

impl Search<'_> {
    fn is_done(&self) -> bool {
        self.low >= self.high
    }

    fn guess_from_ends(&self) -> Option<Guess> {
        let last = self.records.len().checked_sub(1)?;
        let (least, most) = (self.records.head(0), self.records.head(last));
        let slope = last as f64 / most.saturating_sub(least).max(1) as f64;
        let target = head_of(self.key);
        Some(Guess { target, at: target.saturating_sub(least) as f64 * slope, slope })
    }

    /// Narrows the range with the record nearest to the guess; returns that record's position.
    fn probe(&mut self, guess: f64) -> usize {
        // The conversion saturates, so no guess can be out of range.
        let at = (guess as usize).clamp(self.low, self.high - 1);
        let below = self.records.get(at).is_some_and(|record| record[..self.key.len().min(record.len())] < *self.key);
        if below {
            self.low = at + 1;
        } else {
            self.high = at;
        }
        at
    }

    /// Steps away from the guess in doubling steps until the key is passed.
    fn gallop(&mut self, guess: f64, mut step: usize) {
        if self.is_done() {
            return;
        }
        let start = self.probe(guess);
        let upward = self.low > start;
        while self.high - self.low > step {
            let at = if upward { self.low + step } else { self.high - 1 - step };
            self.probe(at as f64);
            if upward != (self.low > at) {
                return;
            }
            step *= 2;
        }
    }

    fn halve(&mut self) {
        while !self.is_done() {
            let middle = self.low + (self.high - self.low) / 2;
            self.probe(middle as f64);
        }
    }
}

/// From this distance in records on, a second guess is worth its probe.
const FAR: f64 = 1024.0;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn linear(records: &Records<'_>, key: &[u8]) -> usize {
        (0..records.len()).find(|&at| &records.get(at).unwrap()[..key.len()] >= key).unwrap_or(records.len())
    }

    /// Keys in clusters, evenly spread, and often equal.
    fn keys() -> impl Strategy<Value = Vec<[u8; 12]>> {
        let key = prop_oneof![
            any::<[u8; 12]>(),
            any::<[u8; 2]>().prop_map(|low| core::array::from_fn(|i| if i < 10 { 0xee } else { low[i - 10] % 4 })),
            any::<u8>().prop_map(|byte| [byte; 12]),
        ];
        prop::collection::vec(key, 0..300)
    }

    proptest! {
        #[test]
        fn a_search_finds_what_a_linear_scan_finds(mut keys in keys(), sought: [u8; 12], pick: prop::sample::Index) {
            keys.sort_unstable();
            let bytes = keys.concat();
            let records = Records::new(&bytes, 12);
            let chosen = if keys.is_empty() { sought } else { keys[pick.index(keys.len())] };
            for key in [sought, chosen, [0; 12], [0xff; 12]] {
                let expected = linear(&records, &key);
                prop_assert_eq!(records.lower_bound(&key, 0), expected);
                prop_assert_eq!(records.lower_bound(&key, expected / 2), expected);
            }
            let mut ascending = [[0; 12], sought, chosen, [0xff; 12]];
            ascending.sort_unstable();
            let mut search = Ascending::new(records);
            search.touch(ascending.iter().map(|key| &key[..]));
            for key in ascending {
                prop_assert_eq!(search.lower_bound(&key), linear(&records, &key));
            }
        }

        #[test]
        fn a_search_ends_whatever_the_records_hold(bytes in prop::collection::vec(any::<u8>(), 0..2000), key: [u8; 9]) {
            let records = Records::new(&bytes, 10);
            prop_assert!(records.lower_bound(&key, 0) <= records.len());
            let mut search = Ascending::new(records);
            search.touch([&key[..]].into_iter());
            prop_assert!(search.lower_bound(&key) <= records.len());
            prop_assert!(search.lower_bound(&key) <= records.len());
        }
    }

    #[test]
    fn evenly_spread_keys_are_found_with_few_probes() {
        let keys: Vec<[u8; 32]> = {
            let mut keys: Vec<_> = (0..100_000u32).map(|i| *blake3::hash(&i.to_le_bytes()).as_bytes()).collect();
            keys.sort_unstable();
            keys
        };
        let bytes = keys.concat();
        let records = Records::new(&bytes, 32);
        let mut farthest = 0;
        for (at, key) in keys.iter().enumerate().step_by(37) {
            assert_eq!(records.lower_bound(key, 0), at);
            let search = Search { records, key, low: 0, high: records.len() };
            let mut guess = search.guess_from_ends().unwrap();
            for _ in 0..2 {
                let probed = (guess.at as usize).min(records.len() - 1);
                guess = guess.refined(records.head(probed), probed);
            }
            farthest = farthest.max((guess.at as usize).abs_diff(at));
        }
        assert!(farthest < 64, "{farthest} records off after two probes");
    }
}
