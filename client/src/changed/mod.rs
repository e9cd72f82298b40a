//! Changed: a list of paths that may differ from the parent snapshot. It decides what a backup looks at.
//!
//! Everything else is taken over from the parent snapshot, unseen. So whatever makes that doubtful is a [`Gap`]: the
//! backup then walks everything, as without a list.

mod narrowing;
mod note;

pub use narrowing::{Gap, Narrowing};
pub(crate) use note::{Walked, put};
