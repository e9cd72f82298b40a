//! Chunker: cuts the bytes of files into chunks, window by window, and computes their ids.

use copal_format::chunk::{BadChunkSizes, ChunkSizes, Chunker as Cutter};
use copal_format::id::ChunkId;
use copal_format::keys::domain::{DomainKey, DomainKeys};

use crate::fault::{Code, Fault};

/// Cuts and names chunks for one domain.
#[derive(Debug)]
pub struct Chunker {
    keys: DomainKeys,
    cutter: Cutter,
}

/// The chunks at the start of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Their ids, in order.
    pub ids: Vec<ChunkId>,
    /// Their lengths.
    pub lengths: Vec<u32>,
    /// Bytes of these chunks; the rest goes before the next window.
    pub consumed: usize,
}

impl Chunker {
    /// A chunker with a repository's parameters. Sizes in bytes.
    pub fn new(key: &DomainKey, min: u64, average: u64, max: u64) -> Result<Self, Fault> {
        let sizes = ChunkSizes::new(min, average, max);
        let sizes = sizes.map_err(|error: BadChunkSizes| Fault::of(Code::DescriptorDamaged, &error))?;
        let keys = DomainKeys::new(key);
        let cutter = Cutter::new(sizes, keys.cuts());
        Ok(Self { keys, cutter })
    }

    /// The keys that name chunks, for the sealer of the same worker.
    pub fn keys(&self) -> &DomainKeys {
        &self.keys
    }

    /// Cuts as far as is certain; to the end if `is_last`.
    pub fn cut(&self, window: &[u8], is_last: bool) -> Cut {
        let mut cut = Cut::default();
        while cut.consumed < window.len() {
            let rest = &window[cut.consumed..];
            let Some(length) = self.cutter.next_cut(rest, is_last) else { break };
            cut.ids.push(self.keys.chunk_id(&rest[..length]));
            cut.lengths.push(length as u32);
            cut.consumed += length;
        }
        cut
    }
}
