//! Content: a pool of threads reads files, cuts them into chunks and computes the chunk ids.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use copal_engine::backup::cut::cut;
use copal_format::chunk::Chunker;
use copal_format::id::ChunkId;
use copal_format::keys::domain::DomainKeys;
use copal_format::path::TreePath;
use copal_format::tree::{Extras as TreeExtras, Piece};
use crossbeam_channel::{Receiver, Sender};

use super::budget::Budget;
use crate::read::{Extras, OpenError, SourceFile, TRIES, link_target};
use crate::reader::ReadError;
use crate::scan::AsPath;
use crate::stat::EntryStat;

/// An entry whose content or metadata must be read.
pub(super) struct Job {
    pub(super) path: TreePath,
    pub(super) stat: EntryStat,
    /// Whether to read the content too, or only xattrs, link target and device number.
    pub(super) is_content_needed: bool,
    /// The file's pieces in the parent snapshot; empty if it had none.
    pub(super) before: Vec<Piece>,
    pub(super) parts: Sender<Part>,
}

/// A message of a job. The parts of the content come first; `Done` or `Failed` is the last message.
pub(super) enum Part<L = Box<Found>> {
    /// The whole content of a small file.
    Inline(Vec<u8>),
    /// A part of the content, cut into chunks.
    Chunks { bytes: Vec<u8>, cuts: Vec<(ChunkId, Range<usize>)> },
    /// The file changed while it was read: discard the parts so far.
    Again,
    /// The job is complete.
    Done(L),
    /// The entry cannot be read.
    Failed(String),
}

/// How reading the content of another snapshot ended. Damage is reported as a failed part; any other failure ends the
/// copy.
pub(super) type Read = Result<(), ReadError>;

/// The metadata that a job found.
pub(super) struct Found {
    /// The metadata that belongs to the content.
    pub(super) stat: EntryStat,
    pub(super) extras: TreeExtras,
    /// The file changed in each attempt to read it.
    pub(super) is_changing: bool,
    /// Xattrs that could not be read, with the reason.
    pub(super) unreadable: Vec<String>,
}

/// The settings and tools that all jobs share.
pub(super) struct Tools<'a> {
    pub(super) keys: &'a DomainKeys,
    pub(super) chunker: &'a Chunker,
    pub(super) inline_max: usize,
    pub(super) budget: &'a Budget,
    /// Where the files lie.
    pub(super) as_path: &'a AsPath,
    pub(super) interrupted: &'a AtomicBool,
}

pub(super) fn work(jobs: &Receiver<Job>, tools: &Tools<'_>) {
    for job in jobs {
        do_job(job, tools);
    }
}

pub(super) fn do_job(job: Job, tools: &Tools<'_>) {
    let last = if job.is_content_needed && job.stat.kind() == crate::system::FileType::RegularFile {
        read_file(&job, tools).unwrap_or_else(Part::Failed)
    } else {
        look_at(&job, tools)
    };
    // Sending fails only if the backup has ended early.
    let _ = job.parts.send(last);
}

fn look_at(job: &Job, tools: &Tools<'_>) -> Part {
    let source = tools.as_path.source_of(&job.path);
    let mut extras = TreeExtras::default();
    if job.stat.kind() == crate::system::FileType::Symlink {
        match link_target(&source) {
            Ok(target) => extras.link_target = Some(target),
            Err(error) => return Part::Failed(words(&error)),
        }
    }
    if matches!(job.stat.kind(), crate::system::FileType::CharacterDevice | crate::system::FileType::BlockDevice) {
        extras.device = Some(job.stat.rdev);
    }
    let unreadable = take_xattrs(Extras::read(&source), &mut extras);
    Part::Done(Box::new(Found { stat: job.stat.clone(), extras, is_changing: false, unreadable }))
}

/// Reads a file, up to `TRIES` times if it changes meanwhile.
fn read_file(job: &Job, tools: &Tools<'_>) -> Result<Part, String> {
    let source = tools.as_path.source_of(&job.path);
    for attempt in 1.. {
        match read_once(&source, job, tools)? {
            Some(found) if !found.is_changing || attempt == TRIES => return Ok(Part::Done(Box::new(found))),
            Some(_) => {}
            None => break,
        }
        if job.parts.send(Part::Again).is_err() {
            break;
        }
    }
    Ok(Part::Failed("the backup has ended".into()))
}

/// Opens a file, and waits as long as another process has a lease on it: Samba and NFS keep one while a client writes.
/// At the first attempt to open the file the kernel asks that process to give up its lease. If the process does not, the
/// kernel ends the lease after 45 s (`/proc/sys/fs/lease-break-time`).
fn past_lease(source: &Path, tools: &Tools<'_>) -> Result<SourceFile, OpenError> {
    let begun = Instant::now();
    loop {
        match SourceFile::open(source) {
            Err(OpenError::Io(error))
                if error.kind() == io::ErrorKind::WouldBlock
                    && begun.elapsed() < LEASE
                    && !tools.interrupted.load(Ordering::Relaxed) =>
            {
                thread::sleep(Duration::from_millis(10));
            }
            opened => return opened,
        }
    }
}

/// Reads a file once; none if the receiver has gone.
fn read_once(source: &Path, job: &Job, tools: &Tools<'_>) -> Result<Option<Found>, String> {
    let mut file = past_lease(source, tools).map_err(|error| match error {
        OpenError::Io(error) => words(&error),
        other => other.to_string(),
    })?;
    let size = file.remaining();
    let is_sent = if size <= WHOLE {
        let mut bytes = Vec::new();
        file.read_whole(&mut bytes).map_err(|error| words(&error.source))?;
        let part = if bytes.len() <= tools.inline_max {
            Part::Inline(bytes)
        } else {
            let cuts = cut(&bytes, &job.before, tools.chunker, tools.keys);
            Part::Chunks { bytes, cuts }
        };
        job.parts.send(part).is_ok()
    } else {
        send_in_pieces(&mut file, job, tools)?
    };
    if !is_sent {
        return Ok(None);
    }
    let xattrs = file.extras();
    let ending = file.finish().map_err(|error| words(&error))?;
    let held: u64 = ending.holes.iter().map(|hole| hole.end - hole.start).sum();
    let mut extras = TreeExtras { holes: ending.holes, ..TreeExtras::default() };
    let unreadable = take_xattrs(xattrs, &mut extras);
    let mut stat = ending.stat;
    // If the file shrank meanwhile, its size is what was read, and the holes.
    stat.size = ending.delivered + held;
    Ok(Some(Found { stat, extras, is_changing: ending.changed, unreadable }))
}

/// Sends a large file in pieces, each up to its last certain cut. False if the receiver has gone.
fn send_in_pieces(file: &mut SourceFile, job: &Job, tools: &Tools<'_>) -> Result<bool, String> {
    let piece = PIECE.max(2 * tools.chunker.sizes().max());
    let mut bytes = Vec::with_capacity(piece);
    loop {
        file.read(&mut bytes).map_err(|error| words(&error.source))?;
        let is_last = bytes.len() < bytes.capacity();
        let cuts = tools.certain_cuts(&bytes, is_last);
        let start = end_of(&cuts);
        let mut rest = Vec::with_capacity(if is_last { 0 } else { piece });
        rest.extend_from_slice(&bytes[start..]);
        bytes.truncate(start);
        if job.parts.send(Part::Chunks { bytes, cuts }).is_err() {
            return Ok(false);
        }
        if is_last {
            return Ok(true);
        }
        bytes = rest;
    }
}

/// Content that arrives in any pieces, and leaves in parts that end at certain cuts.
pub(super) struct Cutting<'t> {
    tools: &'t Tools<'t>,
    bytes: Vec<u8>,
    pub(super) length: u64,
    is_inline: bool,
}

impl<'t> Cutting<'t> {
    pub(super) fn new(tools: &'t Tools<'t>) -> Self {
        Self { tools, bytes: Vec::new(), length: 0, is_inline: true }
    }

    /// Adds bytes. If nobody takes the parts, the next message tells.
    pub(super) fn push<L>(&mut self, bytes: &[u8], parts: &Sender<Part<L>>) {
        self.bytes.extend_from_slice(bytes);
        self.length += bytes.len() as u64;
        if self.bytes.len() >= PIECE.max(2 * self.tools.chunker.sizes().max()) {
            self.send(false, parts);
        }
    }

    /// Sends the rest.
    pub(super) fn finish<L>(mut self, parts: &Sender<Part<L>>) {
        if self.is_inline && self.bytes.len() <= self.tools.inline_max {
            let _ = parts.send(Part::Inline(self.bytes));
        } else {
            self.send(true, parts);
        }
    }

    fn send<L>(&mut self, is_last: bool, parts: &Sender<Part<L>>) {
        self.is_inline = false;
        let cuts = self.tools.certain_cuts(&self.bytes, is_last);
        let rest = self.bytes.split_off(end_of(&cuts));
        let _ = parts.send(Part::Chunks { bytes: std::mem::replace(&mut self.bytes, rest), cuts });
    }
}

fn end_of(cuts: &[(ChunkId, Range<usize>)]) -> usize {
    cuts.last().map_or(0, |(_, range)| range.end)
}

fn take_xattrs(found: Extras, extras: &mut TreeExtras) -> Vec<String> {
    extras.xattrs = found.xattrs;
    let unreadable = found.unreadable.into_iter().filter(|(_, error)| error.kind() != io::ErrorKind::Unsupported);
    let why = |(name, error): (Vec<u8>, io::Error)| match name.as_slice() {
        [] => format!("its attributes: {}", words(&error)),
        name => format!("attribute {}: {}", String::from_utf8_lossy(name), words(&error)),
    };
    unreadable.map(why).collect()
}

/// The text of a system error, without its number.
pub(super) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

impl Tools<'_> {
    /// The chunks at the beginning of some content, as far as their ends are certain; all chunks if `is_last`.
    pub(super) fn certain_cuts(&self, bytes: &[u8], is_last: bool) -> Vec<(ChunkId, Range<usize>)> {
        let mut cuts = Vec::new();
        let mut start = 0;
        while start < bytes.len()
            && let Some(length) = self.chunker.next_cut(&bytes[start..], is_last)
        {
            cuts.push((self.keys.chunk_id(&bytes[start..start + length]), start..start + length));
            start += length;
        }
        cuts
    }

    /// Bytes of the read budget that a file of this size takes while it is read.
    pub(super) fn cost(size: u64) -> u64 {
        size.min(3 * PIECE as u64) + ENTRY_COST
    }
}

/// Files up to this size are read and sent whole.
const WHOLE: u64 = 4 << 20;
/// Larger files are sent in pieces of this size.
const PIECE: usize = 4 << 20;
/// Bytes of the read budget that an entry takes besides its content.
const ENTRY_COST: u64 = 512;
/// How long a lease is waited for.
const LEASE: Duration = Duration::from_secs(60);
