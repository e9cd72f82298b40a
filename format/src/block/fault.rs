//! Fault: why a stored block, or one that was just sealed, cannot be read.

use crate::compress::DecompressError;
use crate::seal::OpenError;
use crate::wire::DecodeError;

/// A stored block that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The cipher does not open it.
    #[error(transparent)]
    Sealed(#[from] OpenError),
    /// A holder of the key sealed something that is not a block.
    #[error("malformed block {counter}")]
    Malformed {
        /// The block's number in its session.
        counter: u64,
        /// What is wrong, and where.
        source: DecodeError,
    },
    /// The sealed payload does not decompress.
    #[error("block {counter} does not decompress")]
    Compression {
        /// The block's number in its session.
        counter: u64,
        /// Why.
        source: DecompressError,
    },
}

/// A block that does not read back right after sealing: this program or this machine is faulty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealFault {
    /// It does not open, or what opens is not a block.
    #[error("block {counter} cannot be read back after sealing")]
    Unreadable {
        /// The block's number in its session.
        counter: u64,
        /// Why.
        source: BlockError,
    },
    /// It opens to other bytes.
    #[error("block {counter} reads back as other bytes than were sealed")]
    Differs {
        /// The block's number in its session.
        counter: u64,
    },
}
