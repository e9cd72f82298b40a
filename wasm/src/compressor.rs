//! Compressor: the bytes of a block, compressed, padded, unpacked again and compared.

use copal_engine::block::{PendingBlock, SealTools};
use copal_engine::compress::Parameters;
use copal_engine::limits::{BLOCK_BYTES, BLOCK_ENTRIES, CHUNK_BYTES};

use crate::fault::Fault;

/// Compresses one block after another. It has no key.
#[derive(Debug)]
pub struct Compressor {
    tools: SealTools,
}

/// What is sealed of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// The block's plaintext.
    pub plaintext: Vec<u8>,
    /// Its digest, for the one who seals it.
    pub digest: [u8; 32],
}

impl Compressor {
    /// Prepares to compress at a level; one that there is not is taken for the nearest.
    pub fn new(level: i32) -> Self {
        Self { tools: SealTools::new(parameters(level)) }
    }

    /// Compresses chunks of these lengths, which follow each other in `raw`.
    pub fn compress(&mut self, lengths: &[u32], raw: &[u8]) -> Result<Compressed, Fault> {
        let sum: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        let fits = (1..=BLOCK_ENTRIES as usize).contains(&lengths.len())
            && lengths.iter().all(|&length| length <= CHUNK_BYTES)
            && raw.len() <= BLOCK_BYTES as usize;
        if sum != raw.len() as u64 || !fits {
            return Err(Fault::misuse("the lengths are not those of a block's bytes"));
        }
        let plaintext = self.tools.plaintext(0, lengths, raw)?;
        let digest = PendingBlock::digest(&plaintext);
        Ok(Compressed { plaintext, digest })
    }
}

/// A level as browsers have it: what searches longer than level 3 is not in the module.
pub(crate) fn parameters(level: i32) -> Parameters {
    Parameters::of_level(level.clamp(-7, 3))
}
