//! Tree: the Merkle search tree of a snapshot's entries, ordered by path (`docs/format.md` §10).
//!
//! Builders take entries (or the pieces of a huge file) and give pages; walks take pages and give entries. Pages are
//! cut where a keyed hash of the last path says so: one changed entry changes one leaf and the pages above it, and
//! snapshots share all others. Fetching pages, and knowing which are stored already, is the caller's part.

mod build;
mod columns;
mod diff;
mod entries;
mod entry;
mod extras;
mod frontier;
mod level;
mod links;
mod list;
mod list_walk;
mod owners;
mod page;
mod params;
#[cfg(test)]
mod tests;
mod times;
mod walk;

pub use build::{BuildError, Finished, TreeBuilder};
pub use diff::{Change, DiffStep, TreeDiff};
pub use entry::{BadEntry, Content, Entry, EntryKind, Extras, Inline, LIST_AFTER, Mode, Owner, Piece};
pub use frontier::{LostRange, WalkError};
pub use list::{FinishedList, ListBuilder};
pub use list_walk::{ListStep, ListWalk};
pub use page::{Child, ListChild, Page, PageContent, PageError, VerifiedPage, decode, verify};
pub use params::{BadParams, TreeParams};
pub use walk::{Found, Step, TreeWalk};
