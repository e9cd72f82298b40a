//! File: a regular file's content, read so that a change meanwhile is noticed.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::{Advice, FileType, OFlags, fadvise};
use rustix::io::Errno;

use super::extras::Extras;
use super::holes::{self, Hole};
use crate::open;
use crate::stat::EntryStat;

/// How often a file that changes while it is read is read before what was got is kept.
pub const TRIES: u32 = 3;

/// A regular file opened for backup. It delivers its content without the holes, once, from the start.
#[derive(Debug)]
pub struct SourceFile {
    file: File,
    stat: EntryStat,
    holes: Vec<Hole>,
    /// What is still to be delivered, last part first.
    remaining: Vec<Range<u64>>,
    delivered: u64,
}

/// What a file turned out to be once it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Its metadata at the opening, which belongs to the content unless it changed.
    pub stat: EntryStat,
    /// The holes left out of the content.
    pub holes: Vec<Hole>,
    /// Bytes delivered; with the holes this is the size, unless the file shrank.
    pub delivered: u64,
    /// Whether the file was written to meanwhile, so that the content may be neither the old nor the new one.
    pub changed: bool,
}

/// A file that cannot be opened for backup.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is no longer a regular file.
    #[error("it is no longer a regular file")]
    Kind,
    /// The system refused.
    #[error("cannot open it")]
    Io(#[from] io::Error),
}

/// A file that cannot be read to its end.
#[derive(Debug, thiserror::Error)]
#[error("cannot read it at byte {offset}")]
pub struct ReadError {
    /// Where reading failed.
    pub offset: u64,
    /// What the system says.
    pub source: io::Error,
}

impl SourceFile {
    /// Opens a file that the scan found. Its access time stays as it is where the system allows that.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        // Should a FIFO have taken the file's place, opening it must not wait for a writer.
        let file = File::from(open::quietly(path, OFlags::NONBLOCK | OFlags::NOCTTY)?);
        let stat = EntryStat::of(&file)?;
        if stat.kind() != FileType::RegularFile {
            return Err(OpenError::Kind);
        }
        let sparse = stat.size > 0 && stat.blocks.saturating_mul(512) < stat.size;
        let holes = if sparse { holes::holes(&file, stat.size)? } else { Vec::new() };
        let mut remaining = holes::data(&holes, stat.size);
        remaining.reverse();
        if stat.size >= LARGE {
            // Advice only: a file system that takes none reads as well.
            let _ = fadvise(&file, 0, None, Advice::Sequential);
        }
        Ok(Self { file, stat, holes, remaining, delivered: 0 })
    }

    /// Its metadata at the opening.
    pub fn stat(&self) -> &EntryStat {
        &self.stat
    }

    /// Bytes of content to come: the size without the holes.
    pub fn remaining(&self) -> u64 {
        self.remaining.iter().map(|part| part.end - part.start).sum()
    }

    /// Appends the next content, as much as the buffer has room for without growing; less only at the end of the content.
    /// A file that shrank ends early, one that grew ends where it ended when it was opened.
    pub fn read(&mut self, buffer: &mut Vec<u8>) -> Result<usize, ReadError> {
        let start = buffer.len();
        while buffer.len() < buffer.capacity()
            && let Some(part) = self.remaining.last_mut()
        {
            let wanted = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
            let got = if wanted < buffer.capacity() - buffer.len() {
                let filled = buffer.len();
                buffer.resize(filled + wanted, 0);
                let got = rustix::io::pread(&self.file, &mut buffer[filled..], part.start);
                buffer.truncate(filled + got.unwrap_or(0));
                got
            } else {
                rustix::io::pread(&self.file, spare_capacity(buffer), part.start)
            };
            let got = match got {
                Err(Errno::INTR) => continue,
                Err(error) => return Err(ReadError { offset: part.start, source: error.into() }),
                Ok(got) => got,
            };
            part.start += got as u64;
            let reached = part.start;
            if got == 0 {
                // What the file has lost, holes too, is no part of it any more.
                self.remaining.clear();
                self.holes.retain(|hole| hole.end() <= reached);
            } else if part.is_empty() {
                self.remaining.pop();
            }
        }
        let got = buffer.len() - start;
        self.delivered += got as u64;
        Ok(got)
    }

    /// Reads all content that is left into a buffer, which is cleared first: for small files, where one call of the
    /// kernel does.
    pub fn read_whole(&mut self, buffer: &mut Vec<u8>) -> Result<(), ReadError> {
        buffer.clear();
        buffer.reserve_exact(usize::try_from(self.remaining()).unwrap_or(usize::MAX));
        self.read(buffer).map(|_| ())
    }

    /// Its extended attributes.
    pub fn extras(&self) -> Extras {
        Extras::of_file(&self.file)
    }

    /// Looks at the metadata again.
    pub fn finish(self) -> io::Result<Ending> {
        let now = EntryStat::of(&self.file)?;
        let changed = !now.is_unchanged_since(&self.stat) || self.delivered + self.held() != self.stat.size;
        Ok(Ending { stat: self.stat, holes: self.holes, delivered: self.delivered, changed })
    }

    /// Bytes in holes or not read.
    fn held(&self) -> u64 {
        self.holes.iter().map(|hole| hole.length).sum::<u64>() + self.remaining()
    }
}

/// From here on reading ahead pays.
const LARGE: u64 = 1 << 20;
