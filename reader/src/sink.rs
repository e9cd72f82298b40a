//! Sink: the destination of restored entries.

use copal_format::path::TreePath;
use copal_format::tree::Entry;

use crate::failure::Failure;

/// Takes entries in tree order. A file is begun, gets parts of its bytes in ascending order, and is ended. Bytes that
/// no part covers are zero.
pub(crate) trait Sink {
    /// Takes an entry that is not a regular file.
    fn other(&mut self, entry: &Entry) -> Result<(), SinkError>;
    /// Takes another name of an earlier entry.
    fn link(&mut self, entry: &Entry, first: &TreePath) -> Result<(), SinkError>;
    fn begin(&mut self, entry: Box<Entry>) -> Result<(), SinkError>;
    /// Takes bytes at an offset of the file.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), SinkError>;
    /// Notes that some bytes of the file cannot be read.
    fn missing(&mut self) -> Result<(), SinkError>;
    fn end(&mut self) -> Result<(), SinkError>;
}

#[derive(Debug)]
pub(crate) enum SinkError {
    /// Only this entry failed; with the reason as text.
    Entry(String),
    /// All further entries would fail too.
    All(Failure),
}

impl From<std::io::Error> for SinkError {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind::{BrokenPipe, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        match error.kind() {
            BrokenPipe | QuotaExceeded | ReadOnlyFilesystem | StorageFull => Self::All(error.into()),
            _ => Self::Entry(error.to_string()),
        }
    }
}
