//! Chunk sizes: the smallest, the average and the largest, fixed for a repository.

use crate::limits::CHUNK_BYTES;

/// Sizes in bytes, checked to be powers of two, in order and within the limits.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct ChunkSizes {
    min: usize,
    average: usize,
    max: usize,
}

impl ChunkSizes {
    /// Checks the sizes, in bytes.
    pub fn new(min: u64, average: u64, max: u64) -> Result<Self, BadChunkSizes> {
        let is_allowed = |size: u64| size.is_power_of_two() && (SMALLEST..=u64::from(CHUNK_BYTES)).contains(&size);
        if let Some(size) = [min, average, max].into_iter().find(|&size| !is_allowed(size)) {
            return Err(BadChunkSizes::Size { size });
        }
        if min > average || average > max {
            return Err(BadChunkSizes::Order { min, average, max });
        }
        Ok(Self { min: min as usize, average: average as usize, max: max as usize })
    }

    /// The smallest size of a chunk, except a file's last one.
    pub fn min(&self) -> usize {
        self.min
    }

    /// The approximate average size of chunks of random content.
    pub fn average(&self) -> usize {
        self.average
    }

    /// The largest size of a chunk.
    pub fn max(&self) -> usize {
        self.max
    }
}

/// Why chunk sizes cannot be used.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BadChunkSizes {
    /// A size is not allowed.
    #[error("chunk size {size} is not a power of two from 256 bytes to 16 MiB")]
    Size { size: u64 },
    /// The sizes are out of order.
    #[error("chunk sizes {min}, {average} and {max} do not ascend")]
    Order { min: u64, average: u64, max: u64 },
}

const SMALLEST: u64 = 256;
