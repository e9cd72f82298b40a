//! Wire: reading and writing bytes. Decoders are total: every input gives a value or an error with an offset.

pub mod cbor;
pub mod chain;
pub mod cursor;
pub mod record;
pub mod varint;

/// A decoding error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {offset}")]
pub struct DecodeError {
    /// The offset of the error in bytes.
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
