//! Fetch: worker threads: they read blocks, check the chunks, and write them to the files that need them.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use copal_engine::read;
use copal_engine::restore::window::{BlockRead, ChunkRead, RangeRead, Window};
use copal_format::block::{OpenBlock, OpenTools};
use copal_format::id::{ChunkId, PackId};
use copal_format::index::Index;
use copal_format::layout::{self, Place};
use copal_format::seal::BlockKind;
use copal_format::tree::Inline;
use crossbeam_channel::Receiver;

use super::RestoreError;
use super::file::Restoring;
use super::work::Work;
use crate::materialize::Target;
use crate::reader::CopyError;

/// Work for a thread.
pub(super) enum Task {
    /// Files with inline content.
    Write(Vec<(Arc<Restoring>, Inline)>),
    /// Blocks to read, and the files of the window that need them.
    Read(RangeRead, Arc<[Arc<Restoring>]>),
}

pub(super) fn work(tasks: &Receiver<Task>, work: &Work<'_>) {
    let Some(target) = work.target else { return };
    let mut fetch = Fetch { work, target, tools: OpenTools::new() };
    for task in tasks {
        // Drains the channel, so that the sender never blocks.
        if work.is_over() {
            continue;
        }
        match task {
            Task::Write(files) => files.into_iter().for_each(|(file, content)| fetch.write(&file, &content)),
            Task::Read(read, files) => fetch.read(read, &files, &Tried::new()),
        }
    }
}

struct Fetch<'a> {
    work: &'a Work<'a>,
    target: &'a Target,
    tools: OpenTools,
}

/// A chunk that could not be read from one copy.
struct Missed {
    chunk: ChunkRead,
    copy: CopyAt,
    fault: Fault,
}

/// Why a copy could not be read.
#[derive(Clone)]
struct Fault {
    why: String,
    /// Whether the store failed, so that a retry may help.
    may_pass: bool,
}

/// The copies of chunks that were tried; true if a copy may be tried once more because the store failed.
type Tried = HashMap<(ChunkId, CopyAt), bool>;

/// The place of a copy.
type CopyAt = (Place, PackId, u32);

impl Fetch<'_> {
    fn write(&self, file: &Arc<Restoring>, content: &Inline) {
        file.write_inline(self.work, self.target, content);
        file.release(self.work, self.target);
    }

    /// Reads blocks; chunks that fail are read from copies not tried yet.
    fn read(&mut self, read: RangeRead, files: &[Arc<Restoring>], tried: &Tried) {
        let blocks = self.work.request.pages.blocks();
        let mut missed = Vec::new();
        match blocks.read_part(read.place, read.pack, read.pack_length, read.range.clone()) {
            Ok(stored) => {
                self.work.count(|tally| tally.bytes_read += stored.len() as u64);
                for block in &read.blocks {
                    let start = (u64::from(block.offset) - read.range.start) as usize;
                    self.block(&read, block, &stored[start..start + block.length as usize], files, &mut missed);
                }
            }
            // Read block by block, so that one bad sector does not fail its neighbours.
            Err(_) if read.blocks.len() > 1 => {
                for block in read.blocks {
                    if self.work.is_over() {
                        return;
                    }
                    let start = u64::from(block.offset);
                    let range = start..start + u64::from(block.length);
                    let (pack, place, pack_length) = (read.pack, read.place, read.pack_length);
                    self.read(RangeRead { pack, place, pack_length, range, blocks: vec![block] }, files, tried);
                }
                return;
            }
            Err(error) => {
                let fault = Fault::of(error.into(), &read);
                read.blocks.iter().for_each(|block| missed.extend(Missed::all_of(block, &read, &fault)));
            }
        }
        if !missed.is_empty() {
            self.try_others(missed, files, tried.clone());
        }
    }

    fn block(
        &mut self,
        read: &RangeRead,
        block: &BlockRead,
        stored: &[u8],
        files: &[Arc<Restoring>],
        missed: &mut Vec<Missed>,
    ) {
        let blocks = self.work.request.pages.blocks();
        let (place, pack, length) = (read.place, read.pack, read.pack_length);
        let opened = blocks.open_stored(place, pack, length, block.offset, BlockKind::Data, stored, &mut self.tools);
        match opened {
            Ok(open) => {
                for chunk in &block.chunks {
                    if let Err(error) = self.chunk(&open, chunk, files) {
                        missed.push(Missed::of(chunk, block, read, Fault::of(error, read)));
                    }
                }
            }
            Err(error) => {
                let fault = Fault::of(error, read);
                missed.extend(Missed::all_of(block, read, &fault));
            }
        }
    }

    /// Checks a chunk against its id and writes it to all files that need it.
    fn chunk(&self, open: &OpenBlock, chunk: &ChunkRead, files: &[Arc<Restoring>]) -> Result<(), CopyError> {
        let bytes = read::chunk(self.work.request.pages.keys(), &chunk.id, chunk.ordinal, open)?;
        for target in &chunk.targets {
            let file = &files[target.file as usize];
            if bytes.len() == target.length as usize {
                file.write(self.work, self.target, target.offset, bytes);
            } else {
                file.damaged(self.work, format!("chunk {} is not as long as the snapshot says", chunk.id));
            }
            file.release(self.work, self.target);
        }
        Ok(())
    }

    /// Reads chunks from their other copies, including those in a newer index, because prune may have moved them. Marks
    /// the files of a chunk without further copies as damaged.
    fn try_others(&mut self, missed: Vec<Missed>, files: &[Arc<Restoring>], mut tried: Tried) {
        let pages = self.work.request.pages;
        for Missed { chunk, copy, fault } in &missed {
            // A copy that failed twice is not tried again.
            let again = fault.may_pass && !tried.contains_key(&(chunk.id, *copy));
            tried.insert((chunk.id, *copy), again);
        }
        let find = |index: &Index<Bytes>, id: &ChunkId, tried_as: Option<bool>| {
            index
                .best_copies(id)
                .into_iter()
                .find(|at| tried.get(&(*id, (at.place, at.pack, at.offset))).copied() == tried_as)
        };
        let untried = |index: &Index<Bytes>, id: &ChunkId| find(index, id, None);
        let (mut index, mut is_newest) = (pages.index(), false);
        let mut window = Window::default();
        for Missed { chunk, fault, .. } in missed {
            let mut location = untried(&index, &chunk.id);
            if location.is_none() && !is_newest {
                is_newest = true;
                match pages.newer_index(&index) {
                    Ok(Some(newer)) => {
                        index = newer;
                        location = untried(&index, &chunk.id);
                    }
                    Ok(None) => {}
                    Err(error) => return self.work.stop(RestoreError::Store(error)),
                }
            }
            match location.or_else(|| find(&index, &chunk.id, Some(true))) {
                Some(location) => chunk.targets.iter().for_each(|target| window.add(chunk.id, &location, *target)),
                None => {
                    for target in &chunk.targets {
                        let file = &files[target.file as usize];
                        file.damaged(self.work, fault.why.clone());
                        file.release(self.work, self.target);
                    }
                }
            }
        }
        for read in window.into_reads(GAP, MOST) {
            self.read(read, files, &tried);
        }
    }
}

impl Missed {
    fn of(chunk: &ChunkRead, block: &BlockRead, read: &RangeRead, fault: Fault) -> Self {
        Self { chunk: chunk.clone(), copy: (read.place, read.pack, block.offset), fault }
    }

    fn all_of(block: &BlockRead, read: &RangeRead, fault: &Fault) -> impl Iterator<Item = Self> {
        block.chunks.iter().map(move |chunk| Self::of(chunk, block, read, fault.clone()))
    }
}

impl Fault {
    fn of(error: CopyError, read: &RangeRead) -> Self {
        let object = layout::pack(read.place, read.pack);
        match error {
            CopyError::Damaged(why) => Self { why: format!("{object} is damaged: {why}"), may_pass: false },
            CopyError::Store(error) => Self { why: format!("{object}: {error}"), may_pass: true },
        }
    }
}

/// Blocks closer than this are read with one request.
pub(super) const GAP: u64 = 128 << 10;
/// Most bytes per request.
pub(super) const MOST: u64 = 4 << 20;
