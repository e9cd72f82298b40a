//! Fault: why a stored block, or one that was just sealed, cannot be read.

use crate::compress::DecompressError;
use crate::seal::OpenError;
use crate::wire::DecodeError;

/// A stored block that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum BlockError {
    /// The cipher does not open it.
    #[error(transparent)]
    Sealed(#[from] OpenError),
    /// A holder of the key sealed something that is not a block.
    #[error("malformed block {counter}")]
    Malformed { counter: u64, source: DecodeError },
    /// The sealed payload does not decompress.
    #[error("block {counter} does not decompress")]
    Compression { counter: u64, source: DecompressError },
}

/// A block that does not read back right after sealing: this program or this machine is faulty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum SealFault {
    /// It does not open, or what opens is not a block.
    #[error("block {counter} cannot be read back after sealing")]
    Unreadable { counter: u64, source: BlockError },
    /// It opens to other bytes.
    #[error("block {counter} reads back as other bytes than were sealed")]
    Differs { counter: u64 },
}
