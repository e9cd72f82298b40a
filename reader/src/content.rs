//! Content: gathers chunks of many files, so that each block is opened once for all of them.

use std::collections::HashMap;

use copal_engine::read;
use copal_engine::restore::window::{BlockRead, RangeRead, Target, Window};
use copal_format::id::ChunkId;
use copal_format::index::Location;
use copal_format::seal::BlockKind;
use copal_format::tree::Piece;

use crate::pages::Pages;
use crate::report::Report;

/// Chunks to fetch.
#[derive(Default)]
pub(crate) struct Wanted {
    pieces: Vec<Piece>,
    bytes: usize,
}

/// Fetched chunks, in the order in which they were added.
pub(crate) struct Fetched {
    bytes: Vec<u8>,
    starts: Vec<usize>,
    /// Chunks that cannot be read, and why.
    faults: HashMap<usize, String>,
}

impl Wanted {
    /// Adds a chunk; returns its number.
    pub(crate) fn add(&mut self, piece: Piece) -> usize {
        self.bytes += piece.length as usize;
        self.pieces.push(piece);
        self.pieces.len() - 1
    }

    /// Whether to fetch before adding more.
    pub(crate) fn is_enough(&self) -> bool {
        self.bytes >= MOST_BYTES || self.pieces.len() >= MOST_PIECES
    }

    /// Fetches all chunks, and records those that cannot be read.
    pub(crate) fn fetch(self, pages: &mut Pages<'_>, report: &mut Report<'_>) -> Fetched {
        let ends = self.pieces.iter().scan(0, |end, piece| {
            *end += piece.length as usize;
            Some(*end)
        });
        let starts = std::iter::once(0).chain(ends).collect();
        let mut fetched = Fetched { bytes: vec![0; self.bytes], starts, faults: HashMap::new() };
        let (mut window, mut left) = (Window::default(), Vec::new());
        for (at, piece) in self.pieces.iter().enumerate() {
            let target = Target { file: at as u32, offset: 0, length: piece.length };
            match pages.copies(&piece.id, report).first() {
                Some(location) => window.add(piece.id, location, target),
                None => left.push(at),
            }
        }
        for read in window.into_reads(0, 0) {
            read.blocks.iter().for_each(|block| fetched.take_block(pages, &read, block, &mut left));
        }
        left.sort_unstable();
        for at in left {
            fetched.take_elsewhere(pages, at, &self.pieces[at].id, report);
        }
        fetched
    }
}

impl Fetched {
    /// A chunk by its number; otherwise its length, and why it cannot be read.
    pub(crate) fn chunk(&self, at: usize) -> Result<&[u8], (u64, &str)> {
        let bytes = &self.bytes[self.starts[at]..self.starts[at + 1]];
        match self.faults.get(&at) {
            None => Ok(bytes),
            Some(why) => Err((bytes.len() as u64, why)),
        }
    }

    /// Takes the wanted chunks of a block; adds those that fail to `left`.
    fn take_block(&mut self, pages: &mut Pages<'_>, read: &RangeRead, block: &BlockRead, left: &mut Vec<usize>) {
        let blocks = pages.blocks();
        let opened = blocks.pack(read.place, read.pack);
        let opened = opened.and_then(|pack| blocks.open(&pack, block.offset, BlockKind::Data));
        for chunk in &block.chunks {
            let open = opened.as_ref().ok();
            let bytes = open.and_then(|open| read::chunk(pages.keys(), &chunk.id, chunk.ordinal, open).ok());
            for target in &chunk.targets {
                match bytes {
                    Some(bytes) => self.put(target.file as usize, bytes),
                    None => left.push(target.file as usize),
                }
            }
        }
    }

    /// Takes a chunk from any good copy.
    fn take_elsewhere(&mut self, pages: &mut Pages<'_>, at: usize, id: &ChunkId, report: &mut Report<'_>) {
        match pages.first_good(id, report, |pages, location| chunk_at(pages, id, location)) {
            Ok(bytes) => self.put(at, &bytes),
            Err(why) => drop(self.faults.insert(at, why)),
        }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        let place = &mut self.bytes[self.starts[at]..self.starts[at + 1]];
        if bytes.len() == place.len() {
            place.copy_from_slice(bytes);
        } else {
            self.faults.insert(at, "a chunk of it is not as long as the snapshot says".to_owned());
        }
    }
}

fn chunk_at(pages: &mut Pages<'_>, id: &ChunkId, location: &Location) -> Result<Vec<u8>, String> {
    let pack = pages.blocks().pack(location.place, location.pack)?;
    let block = pages.blocks().open(&pack, location.offset, BlockKind::Data)?;
    read::chunk(pages.keys(), id, location.ordinal, &block).map(<[u8]>::to_vec).map_err(|fault| fault.to_string())
}

/// Bytes per fetch; the last chunk may exceed it.
const MOST_BYTES: usize = 32 << 20;
/// Chunks per fetch.
const MOST_PIECES: usize = 32 << 10;
