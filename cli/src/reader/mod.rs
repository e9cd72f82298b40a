//! Reader: pages and chunks of a repository, from the index to the checked plaintext.
//!
//! What a reader believes follows from the owner's secret alone: a block opens with a session key that was wrapped for
//! the owner, and every page and chunk must have the id it was asked for. The index and the tables are hints; where one
//! leads astray, other copies are tried.

mod blocks;
mod chunks;
mod pages;

pub(crate) use blocks::CopyError;
pub use blocks::{BlockReader, ReadError};
pub use chunks::ChunkReader;
pub use pages::{EntryStream, PageReader, TreeError};
