//! Reader: reads pages and chunks of a repository, from the index to the checked plaintext.
//!
//! Trust comes from the owner secret alone: session keys were wrapped for the owner, and every page and chunk must have
//! the id it was asked for. Index and tables are only hints: if one is wrong, the reader tries other copies.

mod blocks;
mod chunks;
mod newest;
mod pages;

use crate::report::Failure;

pub(crate) use blocks::CopyError;
pub use blocks::{BlockReader, ReadError};
pub use chunks::ChunkReader;
pub(crate) use newest::index_of;
pub use pages::{EntryStream, PageReader, Pages, TreeError, pieces};

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Store(error) => Failure::Store(error),
            ReadError::Damaged { id, object, why } => {
                Failure::Damaged { object, cause: format!("{id} cannot be read: {why}").into() }
            }
            ReadError::Absent { id } => Failure::Damaged { object: id.to_string(), cause: "no pack holds it".into() },
        }
    }
}

impl From<TreeError> for Failure {
    fn from(error: TreeError) -> Self {
        match error {
            TreeError::Read(error) => error.into(),
            TreeError::Walk(error) => Failure::Damaged { object: "the snapshot's tree".into(), cause: error.into() },
        }
    }
}
