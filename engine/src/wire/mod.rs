//! Wire: reading and writing bytes. Decoders are total: any input gives a value or an error that names the offset.

pub mod cbor;
pub mod chain;
pub mod cursor;
pub mod record;
pub mod varint;

/// Bytes that are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {offset}")]
pub struct DecodeError {
    /// Where in the bytes.
    pub offset: usize,
    /// What is wrong there.
    pub what: &'static str,
}

impl DecodeError {
    /// An error at an offset.
    pub fn new(offset: usize, what: &'static str) -> Self {
        Self { offset, what }
    }
}
