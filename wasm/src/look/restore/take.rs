//! Take: opens and checks the bytes of a window's reads, block by block. The host's cipher may open blocks. The
//! engine's cipher opens the rest, and only it says what is wrong with a block.

use core::ops::Range;

use copal_engine::read;
use copal_engine::restore::window::{BlockRead, ChunkRead, RangeRead};
use copal_format::block::OpenBlock;
use copal_format::layout;
use copal_format::order;
use copal_format::seal::BlockKind;

use super::super::blocks::{Opened, PackAt};
use super::{Again, Damage, Restore};
use crate::fault::Fault;

/// Verified bytes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The file's number.
    pub file: u32,
    /// The offset in the file.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A block of a read for the host's cipher: first the nonce, last the tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedBlock {
    /// Its range in the bytes of the read.
    pub range: Range<u64>,
    /// The number of the session whose key opens it ([`super::super::Library::take_key`]).
    pub session: u32,
    /// The associated data.
    pub associated: Vec<u8>,
}

impl Restore {
    /// The blocks of a read that the host's cipher may open.
    pub fn sealed(&self, at: usize) -> Result<Vec<SealedBlock>, Fault> {
        let read = self.reads.get(at).and_then(Option::as_ref).ok_or_else(no_such_read)?;
        let Some(table) = self.tables.get(&(read.place, read.pack)) else { return Ok(Vec::new()) };
        let mut blocks = self.tree.blocks.borrow_mut();
        let sealed = read.blocks.iter().filter_map(|block| {
            let (session, associated) = blocks.terms(table, block.offset, BlockKind::Data).ok()?;
            Some(SealedBlock { range: range_of(block, read), session, associated })
        });
        Ok(sealed.collect())
    }

    /// Takes a block that the host's cipher has opened, and returns pieces like [`Restore::take`]. `None` if its
    /// plaintext is not the sealed one: then the block remains for [`Restore::take`].
    pub fn take_opened(&mut self, at: usize, start: u64, opened: Opened) -> Result<Option<Vec<Piece>>, Fault> {
        let read = self.reads.get_mut(at).and_then(Option::as_mut).ok_or_else(no_such_read)?;
        let number = read.blocks.iter().position(|block| range_of(block, read).start == start);
        let number = number.ok_or_else(|| Fault::misuse("the read has no such block, or it was taken"))?;
        let pack = (read.place, read.pack);
        let Some(table) = self.tables.get(&pack) else { return Ok(None) };
        let offset = read.blocks[number].offset;
        let opened = self.tree.blocks.borrow_mut().opened(table, offset, BlockKind::Data, opened);
        let Some(opened) = opened else { return Ok(None) };
        let (block, mut pieces) = (read.blocks.remove(number), Vec::new());
        self.give_block(&pack, block, Ok(opened), &mut pieces);
        Ok(Some(pieces))
    }

    /// Whether some blocks of a read were not taken yet.
    pub fn has_left(&self, at: usize) -> bool {
        self.reads.get(at).and_then(Option::as_ref).is_some_and(|read| !read.blocks.is_empty())
    }

    /// Takes the bytes of a read for its remaining blocks; `None` if they do not exist. Returns the pieces that passed
    /// the check.
    pub fn take(&mut self, at: usize, bytes: Option<&[u8]>) -> Result<Vec<Piece>, Fault> {
        let mut read = self.reads.get_mut(at).and_then(Option::take).ok_or_else(no_such_read)?;
        let pack = (read.place, read.pack);
        let bytes = bytes.filter(|bytes| bytes.len() as u64 == read.range.end - read.range.start);
        let mut pieces = Vec::new();
        for block in core::mem::take(&mut read.blocks) {
            let Range { start, end } = range_of(&block, &read);
            let stored = bytes.and_then(|bytes| bytes.get(start as usize..end as usize));
            let opened = match (stored, self.tables.get(&pack)) {
                (Some(stored), Some(table)) => {
                    self.tree.blocks.borrow_mut().open_with(table, block.offset, BlockKind::Data, stored)
                }
                _ => Err("it is not there".to_owned()),
            };
            self.give_block(&pack, block, opened, &mut pieces);
        }
        Ok(pieces)
    }

    /// Files with failed chunks: the next window reads other copies, or reports the damage.
    pub fn unsettled(&self) -> Vec<u32> {
        let targets = self.again.iter().flat_map(|again| &again.targets).map(|target| target.file);
        let mut files: Vec<u32> = targets.filter(|file| self.open.contains_key(file)).collect();
        order::sort(&mut files);
        files.dedup();
        files
    }

    /// Checks the ids of a block's chunks and passes each on.
    fn give_block(
        &mut self,
        pack: &PackAt,
        block: BlockRead,
        opened: Result<OpenBlock, String>,
        pieces: &mut Vec<Piece>,
    ) {
        let keys = self.tree.blocks.borrow_mut().keys(self.tree.domain);
        for chunk in block.chunks {
            let plain = opened.as_ref().map_err(Clone::clone).and_then(|opened| {
                read::chunk(&keys, &chunk.id, chunk.ordinal, opened).map_err(|fault| fault.to_string())
            });
            match plain {
                Ok(plain) => self.give(&chunk, plain, pieces),
                Err(why) => self.put_back(chunk, (*pack, block.offset), &why),
            }
        }
    }

    /// Turns a checked chunk into pieces of its files.
    fn give(&mut self, chunk: &ChunkRead, plain: &[u8], pieces: &mut Vec<Piece>) {
        for target in &chunk.targets {
            let Some(file) = self.open.get_mut(&target.file) else { continue };
            // The id is right, so every copy has this length: the entry is wrong.
            if plain.len() != target.length as usize {
                let why = format!("chunk {} is not as long as the snapshot says", chunk.id);
                self.built.damaged.push(Damage { file: Some(target.file), path: file.path.to_string(), why });
                self.open.remove(&target.file);
                continue;
            }
            file.due = file.due.saturating_sub(target.length.into());
            let within = |offset: u64| offset.saturating_sub(target.offset).min(plain.len() as u64) as usize;
            let wanted = within(file.wanted.start)..within(file.wanted.end);
            let parts = file.extents.parts(target.offset + wanted.start as u64, &plain[wanted]);
            pieces.extend(parts.map(|(offset, bytes)| Piece { file: target.file, offset, bytes: bytes.to_vec() }));
        }
    }

    fn put_back(&mut self, chunk: ChunkRead, (pack, offset): (PackAt, u32), why: &str) {
        let why = format!("{}: {why}", layout::pack(pack.0, pack.1));
        self.tried.0.insert((chunk.id, pack, offset));
        self.again.push(Again { id: chunk.id, targets: chunk.targets, why });
    }
}

/// The range of a block in the bytes of its read.
fn range_of(block: &BlockRead, read: &RangeRead) -> Range<u64> {
    let start = u64::from(block.offset) - read.range.start;
    start..start + u64::from(block.length)
}

fn no_such_read() -> Fault {
    Fault::misuse("the window has no such read, or it was taken")
}
