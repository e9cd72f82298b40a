//! Chunks: reads and checks chunks of files, one after another.

use copal_engine::read;
use copal_format::block::{OpenBlock, OpenTools};
use copal_format::id::{ChunkId, PackId};
use copal_format::index::Location;
use copal_format::seal::BlockKind;

use super::blocks::{CopyError, ReadError};
use super::pages::PageReader;

/// Reads chunks. Keeps the blocks opened last, because the next chunk mostly lies in one of them.
pub struct ChunkReader<'a> {
    pages: &'a PageReader,
    tools: OpenTools,
    recent: Vec<((PackId, u32), OpenBlock)>,
}

impl<'a> ChunkReader<'a> {
    /// Reads chunks of the domain of a page reader.
    pub fn new(pages: &'a PageReader) -> Self {
        Self { pages, tools: OpenTools::new(), recent: Vec::new() }
    }

    /// A chunk's bytes, checked against the id. Tries all copies.
    pub fn chunk(&mut self, id: &ChunkId) -> Result<&[u8], ReadError> {
        let pages = self.pages;
        let (at, ordinal) = pages.try_copies(id, |location| Ok((self.find(id, location)?, location.ordinal)))?;
        Ok(self.recent[at].1.chunk(ordinal.into()).expect("it was just looked at"))
    }

    /// Opens and checks a copy; returns its block's position in `recent`.
    fn find(&mut self, id: &ChunkId, location: &Location) -> Result<usize, CopyError> {
        let at = self.open(location)?;
        read::chunk(self.pages.keys(), id, location.ordinal, &self.recent[at].1)?;
        Ok(at)
    }

    fn open(&mut self, location: &Location) -> Result<usize, CopyError> {
        let key = (location.pack, location.offset);
        if let Some(at) = self.recent.iter().position(|(other, _)| *other == key) {
            return Ok(at);
        }
        let block = self.pages.blocks().open_at(location, BlockKind::Data, &mut self.tools)?;
        if self.recent.len() >= RECENT {
            self.recent.remove(0);
        }
        self.recent.push((key, block));
        Ok(self.recent.len() - 1)
    }
}

/// Opened blocks that are held in memory.
const RECENT: usize = 8;
