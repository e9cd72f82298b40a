//! Window: chunks that are wanted, gathered until there are enough of them, then read pack by pack.
//!
//! Within a window each block is read and opened once, whichever files want its chunks; neighbouring blocks of a pack
//! are read with one request. Memory is bounded by the window's size, not by the snapshot's.

use std::collections::BTreeMap;

use crate::id::{ChunkId, PackId};
use crate::index::Location;
use crate::layout::Place;

/// Where the bytes of a chunk go: a file, by the host's number for it, and the offset in it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The host's number for the file.
    pub file: u32,
    /// Where in the file.
    pub offset: u64,
    /// How many bytes.
    pub length: u32,
}

/// A chunk of a block, and everywhere it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkRead {
    /// The chunk.
    pub id: ChunkId,
    /// Its position in the block.
    pub ordinal: u16,
    /// Where it goes.
    pub targets: Vec<Target>,
}

/// A block to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRead {
    /// Where it starts in the pack.
    pub offset: u32,
    /// Its stored bytes.
    pub length: u32,
    /// The chunks wanted from it.
    pub chunks: Vec<ChunkRead>,
}

/// Blocks of one pack that are read with one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeRead {
    /// The pack.
    pub pack: PackId,
    /// Where it lies.
    pub place: Place,
    /// Its length.
    pub pack_length: u64,
    /// The bytes to read.
    pub range: core::ops::Range<u64>,
    /// The blocks in them, ascending by offset.
    pub blocks: Vec<BlockRead>,
}

/// Gathers wanted chunks.
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
    /// Adds a chunk and where it goes.
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

    /// Bytes that will be written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether nothing is wanted.
    pub fn is_empty(&self) -> bool {
        self.packs.is_empty()
    }

    /// The reads, pack by pack in the order of offsets. Blocks not further apart than `gap` share a request, up to
    /// `most` bytes; what lies between them is read and thrown away.
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
