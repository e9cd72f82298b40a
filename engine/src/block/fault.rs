//! Fault: why a stored block cannot be read, or one that was just sealed.

use crate::compress::DecompressError;
use crate::seal::OpenError;
use crate::wire::DecodeError;

/// A stored block that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// It does not open.
    #[error(transparent)]
    Sealed(#[from] OpenError),
    /// Who knew the key sealed something that is not a block.
    #[error("malformed block {counter}")]
    Malformed {
        /// The block's number in its session.
        counter: u64,
        /// What is wrong, and where.
        source: DecodeError,
    },
    /// What was sealed does not unpack.
    #[error("block {counter} does not decompress")]
    Compression {
        /// The block's number in its session.
        counter: u64,
        /// Why.
        source: DecompressError,
    },
}

/// A block that does not read back right after it was sealed: this program, or this machine, cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealFault {
    /// It does not open, or not as a block.
    #[error("block {counter} cannot be read back after sealing")]
    Unreadable {
        /// The block's number in its session.
        counter: u64,
        /// Why.
        source: BlockError,
    },
    /// It opens to something else.
    #[error("block {counter} reads back as other bytes than were sealed")]
    Differs {
        /// The block's number in its session.
        counter: u64,
    },
}
