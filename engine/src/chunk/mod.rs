//! Chunks: decides where content is cut. Cut points depend on the content, so that an edit moves only those nearby.

mod sizes;

use core::ops::Range;

use fastcdc::v2020::{Normalization, cut_gear, select_masks};
use zeroize::Zeroize;

pub use sizes::{BadChunkSizes, ChunkSizes};

/// Cuts content with a domain's secret gear table, so that lengths of chunks do not reveal the content.
#[derive(Clone)]
pub struct Chunker {
    sizes: ChunkSizes,
    strict: u64,
    loose: u64,
    gear: Box<[u64; 256]>,
    gear_doubled: Box<[u64; 256]>,
}

impl Chunker {
    /// Makes a chunker from the repository's sizes and the domain's gear table.
    pub fn new(sizes: ChunkSizes, gear: &[u64; 256]) -> Self {
        let (strict, loose) = select_masks(sizes.average(), Normalization::Level1);
        let gear_doubled = Box::new(gear.map(|word| word << 1));
        Self { sizes, strict, loose, gear: Box::new(*gear), gear_doubled }
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
        let (_, cut) = cut_gear(
            window,
            self.sizes.min(),
            self.sizes.average(),
            self.sizes.max(),
            self.strict,
            self.loose,
            self.strict << 1,
            self.loose << 1,
            &self.gear[..],
            &self.gear_doubled[..],
        );
        cut
    }
}

impl core::fmt::Debug for Chunker {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Chunker({:?})", self.sizes)
    }
}

impl Drop for Chunker {
    fn drop(&mut self) {
        self.gear.as_mut_slice().zeroize();
        self.gear_doubled.as_mut_slice().zeroize();
    }
}

#[cfg(test)]
mod tests;
