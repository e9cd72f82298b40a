//! Chunks: where a file's content is cut. Cut points follow from the content, so that an edit moves only those near it.

mod sizes;

use core::ops::Range;

use fastcdc::v2020::{Normalization, cut_gear, select_masks};
use zeroize::Zeroize;

pub use sizes::{BadChunkSizes, ChunkSizes};

/// Cuts content with a domain's gear table: whoever does not know the table cannot tell content by its chunks' lengths.
#[derive(Clone)]
pub struct Chunker {
    sizes: ChunkSizes,
    strict: u64,
    loose: u64,
    gear: Box<[u64; 256]>,
    gear_doubled: Box<[u64; 256]>,
}

impl Chunker {
    /// Takes the sizes of the repository and the gear table of the domain.
    pub fn new(sizes: ChunkSizes, gear: &[u64; 256]) -> Self {
        let (strict, loose) = select_masks(sizes.average(), Normalization::Level1);
        let gear_doubled = Box::new(gear.map(|word| word << 1));
        Self { sizes, strict, loose, gear: Box::new(*gear), gear_doubled }
    }

    /// The sizes it cuts to.
    pub fn sizes(&self) -> ChunkSizes {
        self.sizes
    }

    /// The length of the first chunk of what is left of the content, of which `window` are the next bytes and `is_last`
    /// says that there are no others. None: the answer needs more bytes (or there are none left at all).
    ///
    /// A window of the largest chunk's size always has an answer; shorter ones are searched again from the start.
    pub fn next_cut(&self, window: &[u8], is_last: bool) -> Option<usize> {
        let cut = self.cut(window);
        // A cut at the end of the window is only certain if the window is full: more bytes may follow.
        let is_certain = cut < window.len() || window.len() >= self.sizes.max() || is_last;
        (is_certain && cut > 0).then_some(cut)
    }

    /// The chunks of a whole content.
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
