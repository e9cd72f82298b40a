//! Gather: collects files into a window, so that each block is read once for many files.

use std::sync::Arc;

use copal_engine::restore::window::{Target, Window};
use copal_format::id::ChunkId;
use copal_format::index::Location;
use copal_format::tree::{Content, Entry, Inline, ListStep, ListWalk, Piece};
use copal_store::StoreError;
use crossbeam_channel::Sender;

use super::RestoreError;
use super::fetch::{GAP, MOST, Task};
use super::file::Restoring;
use super::work::Work;
use crate::causes::with_causes;
use crate::reader::ReadError;

/// Collects what is to be written and sends it to the threads.
pub(super) struct Gather<'a> {
    work: &'a Work<'a>,
    tasks: Sender<Task>,
    /// Files with inline content.
    ready: Vec<(Arc<Restoring>, Inline)>,
    window: Window,
    /// The files that need chunks of the window; its targets refer to positions here.
    files: Vec<Arc<Restoring>>,
    pieces: usize,
    /// Whether the newest index was loaded.
    is_newest: bool,
    most_bytes: u64,
}

impl<'a> Gather<'a> {
    pub(super) fn new(work: &'a Work<'a>, tasks: Sender<Task>) -> Self {
        let window = Window::default();
        Self {
            work,
            tasks,
            ready: Vec::new(),
            window,
            files: Vec::new(),
            pieces: 0,
            is_newest: false,
            most_bytes: FIRST_BYTES,
        }
    }

    pub(super) fn file(&mut self, file: Arc<Restoring>, entry: Entry) {
        let walk = ListWalk::of(&entry);
        match entry.content {
            Content::None => self.ready(file, Inline::default()),
            Content::Inline(content) => self.ready(file, content),
            Content::Chunks(_) | Content::List { .. } => {
                self.content(&file, walk);
                self.release(file);
            }
        }
    }

    /// Sends what is left.
    pub(super) fn finish(&mut self) {
        self.flush_ready();
        self.flush_window();
    }

    fn ready(&mut self, file: Arc<Restoring>, content: Inline) {
        self.ready.push((file, content));
        if self.ready.len() >= READY_FILES {
            self.flush_ready();
        }
    }

    /// Adds the pieces of a file. A page of its list that cannot be read loses only the pieces that it names.
    fn content(&mut self, file: &Arc<Restoring>, mut walk: ListWalk) {
        while !self.work.is_over() {
            match walk.step() {
                ListStep::Done => return,
                ListStep::Piece { offset, piece } => self.piece(file, offset, piece),
                ListStep::Need(id) => {
                    let page = match self.work.request.pages.page(&id) {
                        Err(ReadError::Store(error)) => return self.work.stop(RestoreError::Store(error)),
                        page => page.map_err(|error| with_causes(&error)),
                    };
                    let supplied = page.and_then(|page| walk.supply(page).map_err(|error| with_causes(&error)));
                    if let Err(why) = supplied {
                        file.damaged(self.work, why);
                        walk.skip(id);
                    }
                }
            }
        }
    }

    fn piece(&mut self, file: &Arc<Restoring>, offset: u64, piece: Piece) {
        let location = match self.locate(&piece.id) {
            Ok(Some(location)) => location,
            Ok(None) => return file.damaged(self.work, format!("no pack holds chunk {}", piece.id)),
            Err(error) => return self.work.stop(RestoreError::Store(error)),
        };
        if !self.files.last().is_some_and(|last| Arc::ptr_eq(last, file)) {
            self.files.push(file.clone());
        }
        file.expect();
        let target = Target { file: self.files.len() as u32 - 1, offset, length: piece.length };
        self.window.add(piece.id, &location, target);
        self.pieces += 1;
        if self.window.bytes() >= self.most_bytes || self.pieces >= MOST_PIECES {
            self.flush_window();
        }
    }

    /// The best copy of a chunk. If the index does not know the chunk, loads a newer index, but only once: that one
    /// knows what was moved meanwhile, and the rest is lost.
    fn locate(&mut self, id: &ChunkId) -> Result<Option<Location>, StoreError> {
        let pages = self.work.request.pages;
        let index = pages.index();
        let known = index.lookup(id);
        if known.is_some() || self.is_newest {
            return Ok(known);
        }
        self.is_newest = true;
        Ok(pages.newer_index(&index)?.and_then(|newer| newer.lookup(id)))
    }

    /// Ends the adding of pieces: a file without pieces under way is finished.
    fn release(&mut self, file: Arc<Restoring>) {
        if let Some(target) = self.work.target {
            file.release(self.work, target);
        }
    }

    fn flush_ready(&mut self) {
        if !self.ready.is_empty() {
            let ready = std::mem::take(&mut self.ready);
            self.hand_over(Task::Write(ready));
        }
    }

    fn flush_window(&mut self) {
        let files: Arc<[Arc<Restoring>]> = std::mem::take(&mut self.files).into();
        for read in std::mem::take(&mut self.window).into_reads(GAP, MOST) {
            self.hand_over(Task::Read(read, files.clone()));
        }
        self.pieces = 0;
        // The first windows are small, so that the threads soon have work.
        self.most_bytes = (2 * self.most_bytes).min(MOST_BYTES);
    }

    fn hand_over(&self, task: Task) {
        self.tasks.send(task).expect("the threads take tasks until there are no more");
    }
}

/// Most bytes of the first window.
const FIRST_BYTES: u64 = 8 << 20;
/// Most bytes of a window.
const MOST_BYTES: u64 = 128 << 20;
/// Most pieces of a window.
const MOST_PIECES: usize = 32 << 10;
/// Files with inline content per task.
const READY_FILES: usize = 64;
