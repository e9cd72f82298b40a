//! Look: lists snapshots, and browses, compares and restores their trees, with the owner's secret.
//!
//! All trust follows from that secret: a block opens only with a session key that was wrapped for the owner, and every
//! page and chunk must have the id that was asked for. If the index is wrong, other copies are tried. Data that no copy
//! gives is reported as damage.

mod blocks;
mod comparison;
mod history;
mod library;
mod marking;
mod recent;
mod restore;
mod sessions;
mod sweep;
mod tree;

use copal_format::id::ChunkId;

use crate::view::Read;

pub use blocks::Opened;
pub use comparison::{Changes, Comparison};
pub use history::History;
pub use library::{Library, Snapshot};
pub use restore::{Damage, Piece, Restore, SealedBlock, Started, Window};
pub use sweep::{Range, Sweep, Swept};
pub use tree::{Listing, Tree, id_of, path_of};

/// Why a page or block is not available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// These reads are needed first.
    Needs(Vec<Read>),
    Lost {
        id: ChunkId,
        /// What is wrong with the last copy tried.
        why: String,
    },
}
