//! Archive: writes entries as a tar archive in the POSIX (pax) format, which stores everything that a snapshot knows.

mod header;

use std::io::{self, Write};

use copal_format::path::TreePath;
use copal_format::tree::{Entry, EntryKind};

use crate::sink::{Sink, SinkError};

pub use header::Header;

/// An archive that is being written.
pub(crate) struct Archive<'a> {
    out: &'a mut dyn Write,
    open: Option<Open>,
}

/// A file that is being written.
struct Open {
    size: u64,
    at: u64,
}

impl<'a> Archive<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, open: None }
    }

    /// Writes the end mark.
    pub(crate) fn finish(self) -> io::Result<()> {
        self.out.write_all(&ZEROS[..2 * BLOCK])?;
        self.out.flush()
    }

    fn header(&mut self, entry: &Entry, first: Option<&TreePath>) -> Result<(), SinkError> {
        Header::of(entry, &entry.path, first).map_or(Ok(()), |header| self.put(&header.to_bytes()))
    }

    /// An error here ends the restore: the archive cannot be continued.
    fn put(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        self.out.write_all(bytes).map_err(|error| SinkError::All(error.into()))
    }

    fn zeros(&mut self, mut length: u64) -> Result<(), SinkError> {
        while length > 0 {
            let now = length.min(ZEROS.len() as u64);
            self.put(&ZEROS[..now as usize])?;
            length -= now;
        }
        Ok(())
    }
}

impl Sink for Archive<'_> {
    fn other(&mut self, entry: &Entry) -> Result<(), SinkError> {
        debug_assert!(entry.kind() != EntryKind::File, "a header with a size, and no content behind it");
        self.header(entry, None)
    }

    fn link(&mut self, entry: &Entry, first: &TreePath) -> Result<(), SinkError> {
        self.header(entry, Some(first))
    }

    fn begin(&mut self, entry: Box<Entry>) -> Result<(), SinkError> {
        self.header(&entry, None)?;
        self.open = Some(Open { size: entry.size, at: 0 });
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), SinkError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        self.zeros(offset - open.at)?;
        self.put(bytes)?;
        open.at = offset + bytes.len() as u64;
        self.open = Some(open);
        Ok(())
    }

    fn missing(&mut self) -> Result<(), SinkError> {
        Ok(())
    }

    fn end(&mut self) -> Result<(), SinkError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        self.zeros(open.size - open.at + padding(open.size) as u64)
    }
}

/// Bytes that fill the last block.
pub fn padding(size: u64) -> usize {
    (size.wrapping_neg() % BLOCK as u64) as usize
}

/// Bytes per block of a tar archive.
pub const BLOCK: usize = 512;

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
