//! Chunks: decides where content is cut. Cut points depend on the content, so that an edit moves only those nearby.

mod sizes;

use core::ops::Range;

pub use sizes::{BadChunkSizes, ChunkSizes};

use crate::keys::cuts::CutKeys;

/// Cuts content where a domain's secret keys say, so that neither lengths of chunks nor known cut points tell how other
/// content is cut.
///
/// As in FastCDC (Xia et al. 2020), a gear hash of the last 64 bytes offers candidates, positions below the smallest
/// size are skipped, and a cut is likelier from the average size on. Among the candidates a keyed hash chooses. Without
/// it, somebody who knows enough cut points could compute the gear table
/// ([attacks of 2025](https://blog.ktruong.dev/breaking-cdc)), and with it all others. They say nothing about a keyed
/// hash of other bytes.
#[derive(Clone)]
pub struct Chunker {
    sizes: ChunkSizes,
    keys: CutKeys,
    /// Zero bits at the start of a candidate's gear hash.
    candidate: u32,
    /// Zero bits that the choice needs below the average size.
    strict: u32,
    /// Zero bits that it needs from the average size on.
    loose: u32,
}

impl Chunker {
    /// Makes a chunker from the repository's sizes and the domain's keys.
    pub fn new(sizes: ChunkSizes, keys: &CutKeys) -> Self {
        let average = sizes.average().ilog2();
        let candidate = CANDIDATE.min(average - 1);
        Self { sizes, keys: keys.clone(), candidate, strict: average + 1 - candidate, loose: average - 1 - candidate }
    }

    /// The chunk sizes.
    pub fn sizes(&self) -> ChunkSizes {
        self.sizes
    }

    /// The length of the next chunk. `window` is the start of the remaining content, or all of it if `is_last`. None if
    /// more bytes are needed, or none are left.
    ///
    /// A window of the largest chunk size always has an answer. The search in a shorter one starts again each time.
    pub fn next_cut(&self, window: &[u8], is_last: bool) -> Option<usize> {
        let cut = self.cut(window);
        // A cut at the end of the window is only certain if the window is full: more bytes may follow.
        let is_certain = cut < window.len() || window.len() >= self.sizes.max() || is_last;
        (is_certain && cut > 0).then_some(cut)
    }

    /// The chunks of a whole content, in order.
    pub fn cuts(&self, whole: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        core::iter::from_fn(move || {
            let length = self.next_cut(&whole[start..], true)?;
            start += length;
            Some(start - length..start)
        })
    }

    fn cut(&self, window: &[u8]) -> usize {
        let (min, end) = (self.sizes.min(), window.len().min(self.sizes.max()));
        if end <= min {
            return end;
        }
        let gear = self.keys.gear();
        let next = |hash: u64, byte: u8| (hash << 1).wrapping_add(gear[usize::from(byte)]);
        let bound = 1u64 << (u64::BITS - self.candidate);
        let is_candidate = |hash: u64| hash < bound;
        let mut hash = window[min - WINDOW..min].iter().fold(0, |hash, &byte| next(hash, byte));
        // In a run of one byte all hashes are equal: their choice is computed once. `u64::MAX` is no candidate.
        let mut asked = (u64::MAX, 0);
        let mut is_cut = |hash: u64, length: usize| {
            if hash != asked.0 {
                asked = (hash, self.keys.choice(hash).leading_zeros());
            }
            asked.1 >= if length < self.sizes.average() { self.strict } else { self.loose }
        };
        let (windows, rest) = window[min..end].as_chunks::<WINDOW>();
        for (i, window) in windows.iter().enumerate() {
            // In a run of one byte, as in the unused parts of disk images, the hash stays the same.
            let first = window[0];
            if next(hash, first) == hash && !is_candidate(hash) && window.iter().all(|byte| *byte == first) {
                continue;
            }
            for (j, four) in window.as_chunks::<4>().0.iter().enumerate() {
                // Four steps at once: no step waits for the one before.
                let [a, b, c, d] = four.map(|byte| gear[usize::from(byte)]);
                let ab = (a << 1).wrapping_add(b);
                let abc = (ab << 1).wrapping_add(c);
                let hashes =
                    [hash, (hash << 1).wrapping_add(a), (hash << 2).wrapping_add(ab), (hash << 3).wrapping_add(abc)];
                hash = (hash << 4).wrapping_add((abc << 1).wrapping_add(d));
                for (length, hash) in (min + WINDOW * i + 4 * j..).zip(hashes) {
                    if is_candidate(hash) && is_cut(hash, length) {
                        return length;
                    }
                }
            }
        }
        for (length, &byte) in (end - rest.len()..).zip(rest) {
            if is_candidate(hash) && is_cut(hash, length) {
                return length;
            }
            hash = next(hash, byte);
        }
        end
    }
}

impl core::fmt::Debug for Chunker {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Chunker({:?})", self.sizes)
    }
}

/// Bytes that the hash at a position depends on. No chunk is smaller, so they are the chunk's own.
const WINDOW: usize = 64;

/// One position of 2^9 is a candidate. Stored lengths are padded to 256 bytes: so they do not tell candidates apart from
/// other positions.
const CANDIDATE: u32 = 9;

#[cfg(test)]
mod tests;
