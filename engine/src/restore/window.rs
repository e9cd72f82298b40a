//! Window: collects wanted chunks until there are enough, then plans reads pack by pack.
//!
//! Each block of a window is read and opened once, however many files need it. Neighbouring blocks of a pack share a
//! request. So memory is bounded by the window's size, not by the snapshot's.

use std::collections::BTreeMap;

use copal_format::id::{ChunkId, PackId};
use copal_format::index::Location;
use copal_format::layout::Place;

/// Where to write a chunk.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The host's number of the file.
    pub file: u32,
    /// The offset in the file.
    pub offset: u64,
    /// The length in bytes.
    pub length: u32,
}

/// A chunk to take from a block, and all its targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkRead {
    /// The chunk.
    pub id: ChunkId,
    /// Its position in the block.
    pub ordinal: u16,
    /// Where to write it.
    pub targets: Vec<Target>,
}

/// A block to read and open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRead {
    /// Its offset in the pack.
    pub offset: u32,
    /// Its stored length in bytes.
    pub length: u32,
    /// The chunks to take from it.
    pub chunks: Vec<ChunkRead>,
}

/// Blocks of one pack that are read with a single request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRead {
    /// The pack.
    pub pack: PackId,
    /// The folder in which the pack is stored.
    pub place: Place,
    /// The pack's length in bytes.
    pub pack_length: u64,
    /// The range to read.
    pub range: core::ops::Range<u64>,
    /// The blocks in the range, ascending by offset.
    pub blocks: Vec<BlockRead>,
}

/// Collects wanted chunks.
#[derive(Debug, Default)]
pub struct Window {
    packs: BTreeMap<PackId, PackReads>,
    bytes: u64,
}

#[derive(Debug)]
struct PackReads {
    place: Place,
    length: u64,
    blocks: BTreeMap<u32, BlockReads>,
}

#[derive(Debug)]
struct BlockReads {
    length: u32,
    chunks: BTreeMap<u16, (ChunkId, Vec<Target>)>,
}

impl Window {
    /// Adds a chunk and one of its targets.
    pub fn add(&mut self, id: ChunkId, location: &Location, target: Target) {
        self.bytes += u64::from(target.length);
        let pack = self.packs.entry(location.pack).or_insert_with(|| PackReads {
            place: location.place,
            length: location.pack_length,
            blocks: BTreeMap::new(),
        });
        let block = pack
            .blocks
            .entry(location.offset)
            .or_insert_with(|| BlockReads { length: location.length, chunks: BTreeMap::new() });
        block.chunks.entry(location.ordinal).or_insert_with(|| (id, Vec::new())).1.push(target);
    }

    /// The number of bytes that will be written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether no chunk is wanted.
    pub fn is_empty(&self) -> bool {
        self.packs.is_empty()
    }

    /// The reads, by pack and offset. Blocks at most `gap` bytes apart share a request of up to `most` bytes; bytes
    /// between them are read and discarded.
    pub fn into_reads(self, gap: u64, most: u64) -> Vec<RangeRead> {
        let mut reads: Vec<RangeRead> = Vec::new();
        for (id, pack) in self.packs {
            let mut open: Option<RangeRead> = None;
            for (offset, block) in pack.blocks {
                let start = u64::from(offset);
                let end = start + u64::from(block.length);
                let block = BlockRead {
                    offset,
                    length: block.length,
                    chunks: block
                        .chunks
                        .into_iter()
                        .map(|(ordinal, (id, targets))| ChunkRead { id, ordinal, targets })
                        .collect(),
                };
                match &mut open {
                    Some(read) if start <= read.range.end.saturating_add(gap) && end - read.range.start <= most => {
                        read.range.end = read.range.end.max(end);
                        read.blocks.push(block);
                    }
                    _ => {
                        reads.extend(open.take());
                        open = Some(RangeRead {
                            pack: id,
                            place: pack.place,
                            pack_length: pack.length,
                            range: start..end,
                            blocks: vec![block],
                        });
                    }
                }
            }
            reads.extend(open);
        }
        reads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(pack: u8, offset: u32, ordinal: u16) -> Location {
        Location {
            pack: PackId([pack; 32]),
            place: Place::Packs,
            pack_length: 1000,
            table_length: 0,
            offset,
            length: 100,
            items: 1,
            ordinal,
            height: 0,
            is_page: false,
        }
    }

    fn target(file: u32) -> Target {
        Target { file, offset: 0, length: 10 }
    }

    #[test]
    fn a_block_is_read_once_for_all_files_that_want_it() {
        let mut window = Window::default();
        window.add(ChunkId([1; 24]), &location(1, 50, 0), target(0));
        window.add(ChunkId([1; 24]), &location(1, 50, 0), target(1));
        window.add(ChunkId([2; 24]), &location(1, 50, 3), target(2));
        let reads = window.into_reads(0, 1000);
        assert_eq!(reads.len(), 1);
        let chunks = &reads[0].blocks[0].chunks;
        assert_eq!(chunks.iter().map(|c| (c.ordinal, c.targets.len())).collect::<Vec<_>>(), [(0, 2), (3, 1)]);
    }

    #[test]
    fn neighbours_share_a_request_and_distant_blocks_do_not() {
        let mut window = Window::default();
        for offset in [0, 100, 250, 600] {
            window.add(ChunkId([offset as u8; 24]), &location(1, offset, 0), target(0));
        }
        window.add(ChunkId([9; 24]), &location(2, 0, 0), target(0));
        let ranges: Vec<_> = window.into_reads(50, 1000).into_iter().map(|read| (read.pack.0[0], read.range)).collect();
        assert_eq!(ranges, [(1, 0..350), (1, 600..700), (2, 0..100)]);
    }

    #[test]
    fn a_request_is_bounded() {
        let mut window = Window::default();
        for offset in [0, 100, 200] {
            window.add(ChunkId([offset as u8; 24]), &location(1, offset, 0), target(0));
        }
        let ranges: Vec<_> = window.into_reads(50, 200).into_iter().map(|read| read.range).collect();
        assert_eq!(ranges, [0..200, 200..300]);
    }
}
