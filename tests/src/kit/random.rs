//! Random: numbers that follow from a seed.

use std::sync::Mutex;

use copal_format::keys::secret::Secret;
use copal_jobs::context::Entropy;

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed ^ 0x5851_f42d_4c95_7f2d);
        random.word();
        random
    }

    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.word() % end.max(1) as u64) as usize
    }

    /// True in so many of a thousand cases.
    pub fn chance(&mut self, of_a_thousand: u32) -> bool {
        self.below(1000) < of_a_thousand as usize
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        for part in bytes.chunks_mut(8) {
            let word = self.word().to_le_bytes();
            part.copy_from_slice(&word[..part.len()]);
        }
    }

    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    pub fn secret(&mut self) -> Secret {
        Secret::new(self.bytes())
    }
}

/// Randomness for jobs, from a seed.
#[derive(Debug)]
pub struct SeededEntropy(Mutex<Random>);

impl SeededEntropy {
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(Random::new(seed)))
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.lock().expect("nothing panics while it holds the generator").fill(bytes);
    }
}
