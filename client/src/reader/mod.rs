//! Reader: reads pages and chunks of a repository, from the index to the checked plaintext.
//!
//! Trust comes from the owner secret alone: session keys were wrapped for the owner, and every page and chunk must have
//! the id it was asked for. Index and tables are only hints: if one is wrong, the reader tries other copies.

mod blocks;
mod chunks;
mod newest;
mod pages;

pub(crate) use blocks::CopyError;
pub use blocks::{BlockReader, ReadError};
pub use chunks::ChunkReader;
pub(crate) use newest::index_of;
pub(crate) use pages::Remembered;
pub use pages::{EntryStream, PageReader, Pages, TreeError, pieces};
