//! Backup: what a run decides. Which files are read, which chunks are new, in which order blocks, packs and pages are made.

pub mod change;
pub mod content;
pub mod cut;
mod given;
mod seen;
mod stream;
mod terms;
pub mod session;
