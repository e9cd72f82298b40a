//! Archive: writes entries as a tar archive in the POSIX (pax) format, which stores everything that a snapshot knows.

mod header;

use std::io::{self, Write};

use copal_format::path::TreePath;
use copal_format::tree::{Entry, EntryKind};
use tar::EntryType;

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
    /// Bytes written so far.
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

    fn header(&mut self, entry: &Entry, kind: EntryType, link: Option<&[u8]>, size: u64) -> Result<(), SinkError> {
        let path = match (entry.kind(), entry.path.as_bytes()) {
            (EntryKind::Directory, []) => b"./".to_vec(),
            (EntryKind::Directory, path) => [path, b"/"].concat(),
            (_, path) => path.to_vec(),
        };
        self.put(&Header::new(entry, kind, &path, link, size).to_bytes())
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
        let kind = match entry.kind() {
            EntryKind::Directory => EntryType::Directory,
            EntryKind::Symlink => EntryType::Symlink,
            EntryKind::Fifo => EntryType::Fifo,
            EntryKind::CharDevice => EntryType::Char,
            EntryKind::BlockDevice => EntryType::Block,
            EntryKind::File | EntryKind::Socket => return Ok(()),
        };
        self.header(entry, kind, entry.extras.link_target.as_deref(), 0)
    }

    fn link(&mut self, entry: &Entry, first: &TreePath) -> Result<(), SinkError> {
        self.header(entry, EntryType::Link, Some(first.as_bytes()), 0)
    }

    fn begin(&mut self, entry: Box<Entry>) -> Result<(), SinkError> {
        let size = entry.size;
        self.header(&entry, EntryType::Regular, None, size)?;
        self.open = Some(Open { size, at: 0 });
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
