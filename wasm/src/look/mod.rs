//! Look: snapshots listed, their trees browsed, compared and restored by whoever has the owner's secret.
//!
//! What a reader believes follows from that secret alone: a block opens with a session key that was wrapped for the
//! owner, and every page and chunk must have the id it was asked for. Where the index leads astray, other copies are
//! tried; what no copy gives is told.

mod blocks;
mod comparison;
mod library;
mod restore;
mod sessions;
mod tree;

use copal_engine::id::ChunkId;

use crate::view::Read;

pub use comparison::{Changes, Comparison};
pub use library::{Library, Snapshot};
pub use restore::{Damage, Opened, Piece, Restore, SealedBlock, Started, Window};
pub use tree::{Listing, Tree, id_of, path_of};

/// Why a page or block is not at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// This is to be read first.
    Needs(Vec<Read>),
    /// No copy of it can be had.
    Lost {
        /// The page or chunk.
        id: ChunkId,
        /// What is wrong with the last copy tried.
        why: String,
    },
}
