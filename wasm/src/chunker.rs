//! Chunker: the bytes of files, window by window, cut into chunks and named.

use copal_engine::chunk::{BadChunkSizes, ChunkSizes, Chunker as Cutter};
use copal_engine::id::ChunkId;
use copal_engine::keys::domain::{DomainKey, DomainKeys};

use crate::fault::{Code, Fault};

/// Cuts and names for one domain.
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
    /// How many bytes they are; what follows goes before the next window.
    pub consumed: usize,
}

impl Chunker {
    /// Prepares to cut as a repository's parameters say.
    pub fn new(key: &DomainKey, min: u64, average: u64, max: u64) -> Result<Self, Fault> {
        let sizes = ChunkSizes::new(min, average, max);
        let sizes = sizes.map_err(|error: BadChunkSizes| Fault::of(Code::DescriptorDamaged, &error))?;
        let keys = DomainKeys::new(key);
        let cutter = Cutter::new(sizes, keys.gear());
        Ok(Self { keys, cutter })
    }

    /// The keys that name, for the sealer beside it.
    pub fn keys(&self) -> &DomainKeys {
        &self.keys
    }

    /// Cuts as far as is certain: to the end if nothing follows the window.
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
