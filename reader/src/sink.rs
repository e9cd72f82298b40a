//! Sink: where restored entries go.

use copal_engine::path::TreePath;
use copal_engine::tree::Entry;

use crate::failure::Failure;

/// Takes entries in the order of the tree. A file is begun, gets parts of its bytes from the start to the end, and is ended.
/// What no part covers reads as zeros.
pub(crate) trait Sink {
    /// Takes what is no regular file.
    fn other(&mut self, entry: &Entry) -> Result<(), SinkError>;
    /// Takes another name of what came before, whatever that is.
    fn link(&mut self, entry: &Entry, first: &TreePath) -> Result<(), SinkError>;
    /// Begins a regular file.
    fn begin(&mut self, entry: Box<Entry>) -> Result<(), SinkError>;
    /// Takes the bytes that lie at an offset of the file.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), SinkError>;
    /// Learns that some of its bytes cannot be had.
    fn missing(&mut self) -> Result<(), SinkError>;
    /// Ends it.
    fn end(&mut self) -> Result<(), SinkError>;
}

/// Why an entry is not taken.
#[derive(Debug)]
pub(crate) enum SinkError {
    /// It alone; in words.
    Entry(String),
    /// No other one will be taken either.
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
