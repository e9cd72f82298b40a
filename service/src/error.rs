//! Why a job ended without doing its work.

use copal_engine::index::SegmentLimit;
use copal_engine::mark::InventoryLimit;
use copal_engine::pack::PackLimit;
use copal_store::StoreError;

use crate::witness::refusal;

/// Why a job ended without doing its work. Nothing is half done: the next run goes on.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An object that the job cannot do without is damaged.
    #[error("{object} is damaged: {why}")]
    Damaged {
        /// The object's name.
        object: String,
        /// What is wrong with it.
        why: String,
    },
    /// No job deletes such an object, whoever has listed it.
    #[error("{name} was to be deleted, and no job deletes an object of such a name")]
    NotDeletable {
        /// The object's name.
        name: String,
    },
    /// The newest state is gone: nobody may write on an older one.
    #[error("the repository's state is lost: {evidence}")]
    StateLost {
        /// What shows it.
        evidence: String,
    },
    /// The newest state says what nobody has signed. Nothing is removed on it.
    #[error("the state of root {root} does not follow from what clients have signed: {why}")]
    Contradicted {
        /// The number of its root.
        root: u64,
        /// What shows it.
        why: String,
    },
    /// Other writers kept winning.
    #[error("other writers were faster {attempts} times in a row")]
    Contended {
        /// How often it was tried.
        attempts: u32,
    },
    /// Entries do not fit a segment.
    #[error(transparent)]
    Segment(#[from] SegmentLimit),
    /// Blocks do not fit a pack.
    #[error(transparent)]
    Pack(#[from] PackLimit),
    /// A domain holds more than one run of a job takes.
    #[error(transparent)]
    Inventory(#[from] InventoryLimit),
    /// A root would be larger than the format allows.
    #[error("the root of number {number} would be too large")]
    RootSize {
        /// Its number.
        number: u64,
    },
}

impl JobError {
    /// Damage of an object, with the decoder's words.
    pub fn damaged(object: impl Into<String>, why: impl core::fmt::Display) -> Self {
        Self::Damaged { object: object.into(), why: why.to_string() }
    }

    /// The object that is at fault and why, if one is: it is damaged, or the store has it and does not give it.
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
