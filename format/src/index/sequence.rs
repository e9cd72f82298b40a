//! Sequence: reads a segment once from start to end, and keeps only packs, blocks and some entries in memory. So
//! segments larger than memory can be merged, one range of ids at a time.

use core::ops::Range;

use sha2::{Digest, Sha256};

use super::ranged::SegmentHead;
use super::rows::{
    BLOCK_ROW, ENTRY, Front, HEADER, PACK_ROW, RawEntry, SegmentBlock, SegmentPack, block_row, pack_row,
};
use super::segment::{Segment, SegmentError};
use super::write::front;
use crate::id::{ChunkId, ObjectHash};
use crate::state::SegmentRecord;

/// A segment being read.
pub struct Sequence {
    front: Front,
    hasher: Sha256,
    /// The number of bytes fed.
    at: u64,
    /// Everything before the entries, as far as fed.
    dictionary: Vec<u8>,
    /// Entries fed but not taken.
    held: Vec<u8>,
}

impl Sequence {
    /// Begins to read a segment with this header.
    pub fn new(head: &SegmentHead) -> Self {
        Self { front: head.front, hasher: Sha256::new(), at: 0, dictionary: Vec::new(), held: Vec::new() }
    }

    /// The bytes before a segment's entries, which stay in memory while the segment is read.
    pub fn dictionary_bytes(record: &SegmentRecord) -> u64 {
        record.length.saturating_sub(record.entries.saturating_mul(ENTRY as u64))
    }

    /// The bytes to feed next, so that `entries` entries are held, or all that are left.
    pub fn wanted(&self, entries: u64) -> Range<u64> {
        let missing = entries.saturating_mul(ENTRY as u64).saturating_sub(self.held.len() as u64);
        let from = self.at.max(self.front.entries_start());
        self.at..from.saturating_add(missing).min(self.front.length())
    }

    /// Takes the next bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        let ahead = self.front.entries_start().saturating_sub(self.at).min(bytes.len() as u64) as usize;
        self.dictionary.extend_from_slice(&bytes[..ahead]);
        self.held.extend_from_slice(&bytes[ahead..]);
        self.at += bytes.len() as u64;
    }

    /// Whether the whole segment was fed.
    pub fn is_read(&self) -> bool {
        self.at == self.front.length()
    }

    /// The number of entries held.
    pub fn held(&self) -> u64 {
        (self.held.len() / ENTRY) as u64
    }

    /// The number of entries not yet taken, whether fed or not.
    pub fn left(&self) -> u64 {
        (self.front.length() - self.at.max(self.front.entries_start())) / ENTRY as u64 + self.held()
    }

    /// The id of the last entry held.
    pub fn last(&self) -> Option<ChunkId> {
        self.entries().next_back().map(|raw| raw.id)
    }

    /// Takes the held entries up to the first whose id is not `within`, as a segment of their own; none if there are
    /// none, or if none has a readable pack.
    pub fn take(&mut self, within: impl Fn(&ChunkId) -> bool) -> Result<Option<Segment<Vec<u8>>>, SegmentError> {
        let count = self.entries().take_while(|raw| within(&raw.id)).count();
        let entries: Vec<RawEntry> = self.entries().take(count).collect();
        self.held.drain(..count * ENTRY);
        let mut used: Vec<u32> = entries.iter().map(|raw| raw.block).collect();
        used.sort_unstable();
        used.dedup();
        let (mut packs, mut blocks, mut renamed) = (Vec::new(), Vec::new(), Vec::with_capacity(used.len()));
        let mut newest = None;
        for at in used {
            let row = self.block(at).and_then(|block| Some((block, self.pack(block.pack)?)));
            let Some((block, pack)) = row else { continue };
            if newest != Some(block.pack) {
                newest = Some(block.pack);
                packs.push(pack);
            }
            renamed.push((at, blocks.len() as u32));
            blocks.push(SegmentBlock { pack: packs.len() as u32 - 1, ..block });
        }
        // Entries whose block or pack cannot be read are left out, as in any merge.
        let place = |of: u32| renamed.binary_search_by_key(&of, |(at, _)| *at).ok().map(|at| renamed[at].1);
        let mut bytes = Vec::with_capacity(entries.len() * ENTRY);
        let placed = entries.iter().filter_map(|raw| Some(RawEntry { block: place(raw.block)?, ..*raw }));
        placed.for_each(|raw| raw.put(&mut bytes));
        let count = bytes.len() / ENTRY;
        let mut whole = front(self.front.domain, [0; 16], &packs, &blocks, count);
        whole.extend_from_slice(&bytes);
        if count == 0 { Ok(None) } else { Segment::parse(whole).map(Some) }
    }

    /// The hash of everything fed. Once the whole segment was fed, it must equal the segment's name.
    pub fn hash(&self) -> ObjectHash {
        ObjectHash(self.hasher.clone().finalize().into())
    }

    fn entries(&self) -> impl DoubleEndedIterator<Item = RawEntry> {
        self.held.as_chunks().0.iter().map(RawEntry::read)
    }

    fn block(&self, at: u32) -> Option<SegmentBlock> {
        let start = self.front.blocks_start() as usize + at as usize * BLOCK_ROW;
        (at < self.front.blocks).then(|| self.dictionary.get(start..start + BLOCK_ROW).map(block_row)).flatten()
    }

    fn pack(&self, at: u32) -> Option<SegmentPack> {
        let start = HEADER + at as usize * PACK_ROW;
        (at < self.front.packs).then(|| pack_row(self.dictionary.get(start..)?.first_chunk()?)).flatten()
    }
}
