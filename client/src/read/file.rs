//! File: reads a regular file's content, and notices if it changes meanwhile.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use super::holes::data;
use crate::open;
use crate::stat::EntryStat;
use crate::system::{Errno, Extras, FileType, OFlags, append_at, expect_sequential, holes_of};

/// How often to read a file that keeps changing; the last attempt is kept.
pub const TRIES: u32 = 3;

/// A regular file opened for backup. It delivers its content once, from the start, without the holes.
#[derive(Debug)]
pub struct SourceFile {
    file: File,
    stat: EntryStat,
    holes: Vec<Range<u64>>,
    /// Ranges still to be delivered, in reverse order.
    remaining: Vec<Range<u64>>,
    delivered: u64,
}

/// The result of reading a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Metadata when it was opened; describes the content unless `changed`.
    pub stat: EntryStat,
    /// The holes left out of the content.
    pub holes: Vec<Range<u64>>,
    /// Bytes delivered. Together with the holes this is the size, unless the file shrank.
    pub delivered: u64,
    /// Whether the file was written to while it was read. The content may then be a mixture of old and new.
    pub changed: bool,
}

/// A file that cannot be opened for backup.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum OpenError {
    #[error("it is no longer a regular file")]
    Kind,
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
    /// Opens a file that the scan found. Does not change its access time, where the system allows that.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        // NONBLOCK: if a FIFO has taken the file's place, opening it must not wait for a writer.
        let file = File::from(open::quietly(path, OFlags::NONBLOCK | OFlags::NOCTTY)?);
        let stat = EntryStat::of(&file)?;
        if stat.kind() != FileType::RegularFile {
            return Err(OpenError::Kind);
        }
        let sparse = stat.size > 0 && stat.blocks.saturating_mul(512) < stat.size;
        let holes = if sparse { holes_of(&file, stat.size)? } else { Vec::new() };
        // Such a file may have content all the same: procfs and some FUSE file systems do not tell sizes.
        let is_untold = stat.size == 0 && append_at(&file, &mut Vec::with_capacity(1), 1, 0) != Ok(0);
        let mut remaining = data(&holes, if is_untold { UNTOLD + 8 } else { stat.size });
        remaining.reverse();
        if stat.size >= LARGE {
            expect_sequential(&file);
        }
        Ok(Self { file, stat, holes, remaining, delivered: 0 })
    }

    /// Metadata when it was opened.
    pub fn stat(&self) -> &EntryStat {
        &self.stat
    }

    /// Bytes of content to come, at most: the size without the holes.
    pub fn remaining(&self) -> u64 {
        self.remaining.iter().map(|part| part.end - part.start).sum()
    }

    /// Appends content to the buffer, as much as fits without growing it; less only at the end of the content. Stops
    /// early if the file shrank. If the file grew, stops where it ended when it was opened.
    pub fn read(&mut self, buffer: &mut Vec<u8>) -> Result<usize, ReadError> {
        let start = buffer.len();
        while buffer.len() < buffer.capacity()
            && let Some(part) = self.remaining.last_mut()
        {
            let wanted = usize::try_from(part.end - part.start).unwrap_or(usize::MAX);
            let got = append_at(&self.file, buffer, wanted, part.start);
            let got = match got {
                Err(Errno::INTR) => continue,
                Err(error) => return Err(ReadError { offset: part.start, source: error.into() }),
                Ok(got) => got,
            };
            part.start += got as u64;
            let reached = part.start;
            if got == 0 {
                // The file ends here now: drop the ranges and holes beyond its end.
                self.remaining.clear();
                self.holes.retain(|hole| hole.end <= reached);
            } else if part.is_empty() {
                self.remaining.pop();
            }
        }
        let got = buffer.len() - start;
        self.delivered += got as u64;
        Ok(got)
    }

    /// Clears the buffer and reads all remaining content into it. For small files: one system call is enough.
    pub fn read_whole(&mut self, buffer: &mut Vec<u8>) -> Result<(), ReadError> {
        buffer.clear();
        buffer.reserve_exact(usize::try_from(self.remaining()).unwrap_or(usize::MAX));
        self.read(buffer)?;
        if self.stat.size == 0 {
            buffer.shrink_to_fit();
        }
        Ok(())
    }

    /// Its extended attributes.
    pub fn extras(&self) -> Extras {
        Extras::of_file(&self.file)
    }

    /// Reads the metadata again, and tells whether the file changed.
    pub fn finish(self) -> io::Result<Ending> {
        let now = EntryStat::of(&self.file)?;
        let is_untold = self.stat.size == 0 && self.delivered > 0;
        if is_untold && now.size == 0 && self.delivered > UNTOLD {
            return Err(io::Error::other("its size is said to be 0, and it goes on beyond 1 MiB"));
        }
        let is_other = !is_untold && self.delivered + self.held() != self.stat.size;
        let changed = is_other || !now.is_unchanged_since(&self.stat);
        Ok(Ending { stat: self.stat, holes: self.holes, delivered: self.delivered, changed })
    }

    /// Bytes in holes, and bytes not read yet.
    fn held(&self) -> u64 {
        self.holes.iter().map(|hole| hole.end - hole.start).sum::<u64>() + self.remaining()
    }
}

/// The longest file that is saved though its size is said to be 0. Some such files are read eight bytes at a time only.
const UNTOLD: u64 = 1 << 20;
/// File size from which the kernel's read-ahead pays.
const LARGE: u64 = 1 << 20;
