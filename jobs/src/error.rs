//! Why a job ended without doing its work.

use copal_engine::mark::InventoryLimit;
use copal_format::index::SegmentLimit;
use copal_format::pack::PackLimit;
use copal_store::StoreError;

use crate::witness::refusal;

/// Why a job ended without doing its work. Nothing is half done: the next run continues.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum JobError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An object that the job needs is damaged.
    #[error("{object} is damaged: {why}")]
    Damaged { object: String, why: String },
    /// An object of a kind that no job deletes was listed for deletion.
    #[error("{name} was to be deleted, and no job deletes an object of such a name")]
    NotDeletable { name: String },
    /// The newest state is gone. Nobody may write on an older one.
    #[error("the repository's state is lost: {evidence}")]
    StateLost { evidence: String },
    /// The newest state contradicts what clients have signed. Nothing is removed on it.
    #[error("the state of root {root} does not follow from what clients have signed: {why}")]
    Contradicted { root: u64, why: String },
    /// Other writers kept winning.
    #[error("other writers were faster {attempts} times in a row")]
    Contended { attempts: u32 },
    /// The entries do not fit a segment.
    #[error(transparent)]
    Segment(#[from] SegmentLimit),
    /// The blocks do not fit a pack.
    #[error(transparent)]
    Pack(#[from] PackLimit),
    /// The domain holds more than one run of a job can take.
    #[error(transparent)]
    Inventory(#[from] InventoryLimit),
    /// A root would be larger than the format allows.
    #[error("the root of number {number} would be too large")]
    RootSize { number: u64 },
}

impl JobError {
    /// A damaged object, with the decoder's message.
    pub fn damaged(object: impl Into<String>, why: impl core::fmt::Display) -> Self {
        Self::Damaged { object: object.into(), why: why.to_string() }
    }

    /// The state of this root does not follow from what was signed.
    pub(crate) fn contradicted(root: u64, why: impl Into<String>) -> Self {
        Self::Contradicted { root, why: why.into() }
    }

    /// The object at fault and why; the error itself unless the object is damaged or the store refuses it.
    pub fn blame(self) -> Result<(String, String), Self> {
        match self {
            Self::Damaged { object, why } => Ok((object, why)),
            Self::Store(error) => match refusal(&error) {
                Some((object, why)) => Ok((object.to_owned(), why)),
                None => Err(Self::Store(error)),
            },
            other => Err(other),
        }
    }
}
