//! Tree: the Merkle search tree of a snapshot's entries, ordered by path (`docs/format.md` §10).
//!
//! Builders take entries, or the pieces of a large file, and return pages; walks take pages and return entries. Pages
//! end where a keyed hash of the last path says so: a changed entry changes one leaf and the pages above it, and
//! snapshots share all other pages. The caller fetches pages, and knows which ones are already stored.

mod build;
mod columns;
mod diff;
mod entries;
mod entry;
mod extents;
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
mod verified;
mod walk;

pub use build::{BuildError, Finished, TreeBuilder};
pub use diff::{Change, DiffStep, TreeDiff};
pub use entry::{BadEntry, Content, Entry, EntryKind, Extras, Inline, LIST_AFTER, Mode, Owner, Piece};
pub use extents::Extents;
pub use frontier::{LostRange, WalkError};
pub use list::{FinishedList, ListBuilder};
pub use list_walk::{ListStep, ListWalk};
pub use page::{Child, ListChild, Page, PageContent, PageError};
pub use params::{BadParams, TreeParams};
pub use verified::{VerifiedPage, decode, verify};
pub use walk::{Found, Passed, Step, TreeWalk};
